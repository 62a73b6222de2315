"""Handles, addresses and headers for compiled code that calls fitted models; EMBEDDING.md has examples."""

import ctypes
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import _simd, capi
from .._csr import Csr
from ..naive_bayes.joints import in_lanes
from ..neighbors.metrics import names_with
from ..neighbors.scan import Scan
from ..table import is_number
from ..tree import _descend
from ..tree.nodes import split_steps
from . import _embed
from .forms import MIXED_KINDS, Bayes, Linear, Machine, Mixed, Products, Rows, TableRows, TreeNodes, form_of

# The largest number of values of sparse rows that `embed` writes into an array: 512 MB.
_MOST_DENSE = 1 << 26

_CTYPES = {
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "Py_ssize_t": ctypes.c_ssize_t,
    "void": None,
}


class Embedded:
    """A fitted model for compiled code. It keeps its arrays unchanged until the last reference to it is released.

    A later `fit`, `partial_fit` or `remove` of the estimator does not change it. The array to which an estimator by
    nearest neighbours was fitted still belongs to the caller, who must not write to it.

    Attributes
    ----------
    kind : {'neighbors', 'linear', 'bayes', 'tree', 'machine'}
    n_features, n_outputs : int
    classes : ndarray or None
        The labels by the index that `classify` returns.
    columns : list of str or None
        Of a TableClassifier: the names of the columns.
    categories : list or None
        Of a TableClassifier: for each column the list of its categories, whose indices rows have; None for numbers.
    address : int
        The address of the model, as `const fastclf_model *`: valid as long as this object, or the result of `take`,
        exists.
    capsule : PyCapsule, named "fastclf.model"
        For use as user_data of SciPy's LowLevelCallable.
    """

    def __init__(self, kind, n_outputs, classes, capsule, front=None):
        self.kind, self.n_outputs, self.classes, self.capsule = kind, n_outputs, classes, capsule
        self.columns = None if front is None else front.names
        self.categories = None if front is None else front.categories
        self.address = _embed.pointer(capsule)
        self.n_features = functions()["n_features"].ctypes(self.address)

    def __repr__(self):
        return f"<Embedded {self.kind} model of {self.n_features} features at {self.address:#x}>"

    def scratch_size(self, n=1, k=1):
        """The scratch space in bytes for a call with n rows and, for `nearest`, k neighbours."""
        return functions()["scratch_size"].ctypes(self.address, n, k)


class Function(NamedTuple):
    """A function of `fastclf.capi`: its address and its signature.

    Attributes
    ----------
    address : int
    signature : str
        In C's notation, with Py_ssize_t for sizes: "int (const fastclf_model *, const double *, Py_ssize_t, ...)".
    """

    address: int
    signature: str

    @property
    def types(self):
        """(result, arguments) as ctypes types; all pointers are void pointers, so that `array.ctypes` can be passed."""
        result, arguments = self.signature.removesuffix(")").split(" (")
        return _ctype(result), [_ctype(argument) for argument in arguments.split(", ") if argument != "void"]

    @property
    def ctypes(self):
        """The function for ctypes; it releases the GIL while it runs."""
        result, arguments = self.types
        return ctypes.CFUNCTYPE(result, *arguments)(self.address)


def _ctype(name):
    return ctypes.c_void_p if name.endswith("*") else _CTYPES[name.removeprefix("const ")]


@functools.cache
def functions():
    """{name: Function} of the functions in `fastclf/capi.pxd`, except the reference counting `take`, `retain` and
    `release`.

    Returns
    -------
    functions : dict

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf.embedding import functions
    >>> x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    >>> functions()["dot_d"].signature
    'double (const double *, const double *, Py_ssize_t)'
    >>> functions()["dot_d"].ctypes(x.ctypes, y.ctypes, 2)
    11.0
    """
    counting = ("take", "retain", "release")
    listed = capi.addresses().items()
    return {name: Function(where, _in_c(text)) for name, (where, text) in listed if name not in counting}


def _in_c(signature):
    """The signature in the notation of `fastclf.h`, with const first; Cython writes const last."""
    result, arguments = signature.removesuffix(")").split(" (")
    words = [_const_first(word) for word in arguments.split(", ")]
    return f"{result} ({', '.join(words)})"


def _const_first(word):
    word = " ".join(word.replace("*", " * ").split())
    return f"const {word.replace(' const ', ' ')}" if " const " in word else word


def get_include():
    """The folder of `fastclf.h`, for a C or C++ compiler.

    Returns
    -------
    folder : str

    Examples
    --------
    >>> import os, fastclf
    >>> os.listdir(fastclf.get_include())
    ['fastclf.h']
    """
    return str(Path(__file__).parents[1] / "include")


def embed(model):
    """A handle of a fitted model for compiled code: Cython, C, C++, Numba, ctypes, cffi.

    Parameters
    ----------
    model : estimator
        Fitted: a linear classifier with `coef_`, GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, PoissonNB,
        CategoricalNB, a decision tree, SVC with a named kernel, or (for `nearest` only) an estimator by nearest
        neighbours of dense rows with a named metric; NaiveBayes (without 'kernel' and 'multinomial'); a
        GeneralisedLinearClassifier with PolynomialFeatures, or a TableClassifier, of one of these. The rows of a
        TableClassifier have a number for each column of the table: NaN for a missing value, and for a category its
        index in `categories_`, which the function `category` of `fastclf.capi` finds. Compiled code then encodes,
        replaces missing values, scales and predicts.

    Returns
    -------
    embedded : Embedded
        It refers to the model's arrays or copies them: O(1) for trees and neighbours, O(size of the coefficients) for
        the others; neighbours are copied if rows were added or removed.

    Raises
    ------
    TypeError
        There is no such model for compiled code.

    Examples
    --------
    >>> import fastclf
    >>> model = fastclf.LeastSquaresClassifier().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> embedded = fastclf.embed(model)
    >>> embedded.kind, embedded.n_outputs, embedded.classes
    ('linear', 1, array(['high', 'low'], dtype='<U4'))
    """
    return _embedded(form_of(model), model)


def _embedded(form, model, front=None):
    """The `Embedded` of a fitted model, from its form; front: the Front that computes features of rows, or None."""
    if isinstance(form, TableRows):
        return _of_table(form)
    if isinstance(form, Products):
        if isinstance(form.form, TreeNodes):
            raise TypeError(
                f"model is {model!r}; compiled code calls no tree on the features of PolynomialFeatures;"
                " export_c writes it as C; any other classifier on these features is taken, such as LogisticRegression"
            )
        return _before(_embedded(form.form, form.model), _products(form, model), model.n_features_in_)
    classes = getattr(model, "classes_", None)
    kind, form, n_outputs, addresses = _kernels(form)
    if kind == "neighbors" and isinstance(classes, list):
        classes = None
    n_classes = 0 if classes is None else len(classes)
    capsule = _embed.make(kind, model.n_features_in_, n_outputs, n_classes, form, addresses, front)
    return Embedded("bayes" if kind == "mixed" else kind, n_outputs, classes, capsule, front)


def _before(inner, front, n_features):
    """An `Embedded` that computes features of a row by the Front `front`, and passes them to the Embedded `inner`."""
    capsule = _embed.make_table(inner.capsule, n_features, front)
    return Embedded(inner.kind, inner.n_outputs, inner.classes, capsule, front)


def _kernels(form):
    """(kind of model, form in the layout of its kernels, number of outputs, {name of a kernel: address}) of a form."""
    if isinstance(form, Rows):
        form = _dense(form)
        return "neighbors", form, 1, _search_addresses(form)
    if isinstance(form, TreeNodes):
        return "tree", form, form.value.shape[1], _descend.ADDRESSES
    if isinstance(form, Linear):
        return "linear", form, len(form.coef), _simd.load("linear_model._scores").ADDRESSES
    if isinstance(form, Machine):
        return "machine", form, len(form.intercept), _simd.load("svm._pair_scores").ADDRESSES
    addresses = _simd.load("naive_bayes._joints").ADDRESSES
    if isinstance(form, Mixed):
        return "mixed", MixedArrays.of(form), len(form.begin), addresses
    return "bayes", _bayes_in_lanes(form), len(form.begin), addresses


def _of_table(form):
    front = Front.of_table(form)
    if not form.native:
        return _before(_embedded(form.form, form.model), front, len(form.names))
    inner = form.form
    if isinstance(inner, TreeNodes):
        inner = _with_table_codes(inner, form.codes)
    return _embedded(inner, form.model, front)


def _with_table_codes(nodes, codes):
    """A tree for the categories of a table, some of which it may not know: these go where a missing value goes.

    codes: for each column None, or the tree's own code of each category, -1 if it has none.
    """
    steps = split_steps(nodes._asdict())
    threshold, subsets, size = steps.threshold.copy(), [], 0
    for node in np.flatnonzero(steps.by_subset).tolist():
        own = codes[steps.feature[node]]
        left = np.append(steps.members(nodes.subsets, node), steps.missing_left[node])[own]
        bits = np.zeros((len(left) + 63) // 64 * 64, np.uint8)
        bits[: len(left)] = left
        words = np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
        threshold[node] = size
        subsets += [np.array([len(left)], np.uint64), words]
        size += 1 + len(words)
    if not subsets:
        return nodes
    packed_steps = nodes.steps.copy()
    packed_steps.view(np.float64)[:, 0] = threshold
    return nodes._replace(steps=packed_steps, subsets=np.concatenate(subsets))


def _dense(form):
    """The Rows with an array in the place of a sparse matrix, which compiled code cannot search."""
    X, metric = form.index.X, form.index.metric
    if not isinstance(X, Csr) or metric.name not in names_with("scanned"):
        return form
    if len(X) * X.shape[1] > _MOST_DENSE:
        raise ValueError(
            f"model has {len(X)} sparse rows of {X.shape[1]} features; compiled code searches an array, which may have"
            f" at most {_MOST_DENSE} numbers: fewer rows or features are wanted"
        )
    return form._replace(index=Scan(np.ascontiguousarray(X), metric))


def _search_addresses(form):
    """{name: address} of the kernel that searches Rows; for a Filter also those that encode queries and scan rows."""
    metric = form.index.metric
    scan = _simd.load("neighbors._scan").ADDRESSES["search"]
    if form.is_filter:
        encode = _simd.load("neighbors._encode").ADDRESSES["encode"]
        return {"search": _simd.load("neighbors._code_scan").ADDRESSES["search"], "encode": encode, "scan": scan}
    if form.is_tree:
        return _simd.load("neighbors._kdtree_search").ADDRESSES
    if type(form.index) is Scan:
        return {"search": scan}
    raise TypeError(
        f"model searches by metric {metric.shown!r}, for which compiled code has no search; a named metric of rows in"
        " an array is wanted, and not 'jaccard', 'nan_euclidean' or 'hamming' of bools"
    )


class Front(NamedTuple):
    """What happens to a row before its model: the arrays of `table_t` in `src_cython/_model.pxd`."""

    names: list | None = None  # the names of the columns that the model was fitted to; None: there are no names
    categories: list | None = None  # for each column the list of its categories, or None for a column of numbers
    mean: np.ndarray | None = None
    spread: np.ndarray | None = None
    factors: np.ndarray | None = None
    degree: np.ndarray | None = None
    levels: np.ndarray | None = None
    first: np.ndarray | None = None
    code: np.ndarray | None = None
    value: np.ndarray | None = None
    begin: np.ndarray | None = None
    texts: np.ndarray | None = None

    @classmethod
    def of_table(cls, form):
        """The Front of a TableRows form."""
        ordered = [sorted((str(text).encode(), i) for i, text in enumerate(known or [])) for known in form.categories]
        texts = [text for known in ordered for text, _ in known]
        values = [float(text) if is_number(text) else np.nan for text in texts]
        return cls(
            form.names,
            form.categories,
            mean=np.array(form.mean, np.float64),
            spread=np.array(form.spread, np.float64) if form.shifted else None,
            levels=np.array([-1 if known is None else len(known) for known in form.categories], np.intc),
            first=np.cumsum([0, *map(len, ordered)], dtype=np.int64)[:-1].copy(),
            code=np.array([i for known in ordered for _, i in known], np.intc),
            value=np.array(values, np.float64),
            begin=np.cumsum([0, *(len(text) + 1 for text in texts)], dtype=np.int64),
            texts=np.frombuffer(b"\0".join(texts) + b"\0", np.uint8),
        )


def _products(form, model):
    """The Front that computes the features of a model of products of columns."""
    names = getattr(model, "feature_names_in_", None)
    return Front(
        None if names is None else list(names),
        factors=np.array([j for factors in form.factors for j in factors], np.intc),
        degree=np.array([len(factors) for factors in form.factors], np.intc),
    )


class MixedArrays(NamedTuple):
    """The arrays of a Mixed form, as `mixed_t` in `src_cython/_model.pxd` describes them."""

    begin: np.ndarray
    kind: np.ndarray
    size: np.ndarray
    whole: np.ndarray
    start: np.ndarray
    terms: np.ndarray
    missing: bool

    @classmethod
    def of(cls, form):
        numbers = [np.concatenate([column.cells, np.ravel(column.terms.T)]) for column in form.columns]
        return cls(
            np.array(form.begin, np.float64),
            np.array([MIXED_KINDS.index(column.kind) for column in form.columns], np.intc),
            np.array([len(column.cells) for column in form.columns], np.intc),
            np.array([column.counts for column in form.columns], np.intc),
            np.cumsum([0, *map(len, numbers)], dtype=np.int64)[:-1].copy(),
            np.concatenate(numbers).astype(np.float64),
            form.missing,
        )


class BayesInLanes(NamedTuple):
    """A Bayes form whose arrays have the classes as last axis, padded to `width`, a multiple of a SIMD vector."""

    # a Bayes form whose arrays have the classes, padded to whole SIMD vectors, as last axis; `weight` has a row for
    # each feature or, if there are tables of log probabilities, for each entry of the tables in order
    form: Bayes
    # (n_features + 1,), int64: the row of `weight` with which each feature's table begins, then the number of all rows
    first: np.ndarray | None
    # (n_classes,), float64: for each class the number of features whose value 0 makes the class impossible
    n_wanted: np.ndarray | None
    # (n_classes rounded up to whole SIMD vectors,), float64: zeros, as the `constant` of a form that has none
    zero: np.ndarray


def _bayes_in_lanes(form):
    first = n_wanted = None
    if form.tables is not None:
        first = np.concatenate([[0], np.cumsum([table.shape[1] for table in form.tables])])
        form = form._replace(weight=np.concatenate(form.tables, axis=1))
    if form.wanted is not None:
        n_wanted = form.wanted.sum(axis=1).astype(np.float64)
    arrays = {name: getattr(form, name) for name in ("weight", "mean", "constant", "impossible", "wanted")}
    form = form._replace(**{name: in_lanes(array) for name, array in arrays.items() if array is not None})
    return BayesInLanes(form, first, n_wanted, np.zeros(form.weight.shape[1]))
