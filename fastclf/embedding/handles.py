"""Handles, addresses and headers for compiled code that calls fitted models; EMBEDDING.md has examples."""

import ctypes
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import _simd, capi
from ..naive_bayes.joints import in_lanes
from ..neighbors.scan import Scan
from ..tree import _descend
from . import _embed
from .forms import Bayes, Linear, Machine, Mixed, Products, Rows, TableRows, TreeNodes, form_of

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
    address : int
        The address of the model, as `const fastclf_model *`: valid as long as this object, or the result of `take`,
        exists.
    capsule : PyCapsule, named "fastclf.model"
        For use as user_data of SciPy's LowLevelCallable.
    """

    def __init__(self, kind, n_features, n_outputs, classes, form, addresses):
        self.kind, self.n_features, self.n_outputs, self.classes = kind, n_features, n_outputs, classes
        n_classes = 0 if classes is None else len(classes)
        self.capsule = _embed.make(kind, n_features, n_outputs, n_classes, form, addresses)
        self.address = _embed.pointer(self.capsule)

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
        neighbours of dense rows with a named metric. Of a TableClassifier, its model: the rows of the handle are those
        that `features(X)` makes; `export_c` has the code from the table to the label.

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
    form = form_of(model)
    if isinstance(form, TableRows):
        known = [codes for codes in form.codes if codes is not None]
        if not all(np.array_equal(codes, np.arange(len(codes))) for codes in known):
            raise TypeError(
                f"model is {model!r}, whose tree lacks categories of the table; export_c takes it, and for"
                " compiled code a fit with the categories that occur is wanted"
            )
        model, form = form.model, form.form
    if isinstance(form, (Mixed, Products)):
        raise TypeError(
            f"model is {model!r}, for which compiled code has no functions; export_c and export_onnx take it, and for"
            " compiled code GaussianNB or a linear model is wanted"
        )
    d, classes = model.n_features_in_, getattr(model, "classes_", None)
    if isinstance(form, Rows):
        labels = None if isinstance(classes, list) else classes
        return Embedded("neighbors", d, 1, labels, form, _search_addresses(form))
    if isinstance(form, TreeNodes):
        return Embedded("tree", d, form.value.shape[1], classes, form, _descend.ADDRESSES)
    if isinstance(form, Linear):
        return Embedded("linear", d, len(form.coef), classes, form, _simd.load("linear_model._scores").ADDRESSES)
    if isinstance(form, Machine):
        return Embedded("machine", d, len(form.intercept), classes, form, _simd.load("svm._pair_scores").ADDRESSES)
    addresses = _simd.load("naive_bayes._joints").ADDRESSES
    return Embedded("bayes", d, len(form.begin), classes, _bayes_in_lanes(form), addresses)


def _search_addresses(form):
    """{name: address} of the kernels that search Rows; for a Filter also those that encode queries and that scan."""
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


class BayesInLanes(NamedTuple):
    """A Bayes form whose arrays have the classes as last axis, padded to `width`, a multiple of a SIMD vector."""

    # the model's arrays; `weight` has the shape (n_features, width) or, for tables stacked one after another,
    # (n_entries, width)
    form: Bayes
    # (n_features + 1,), int64: the first entry of each feature's table, then the number of all entries
    first: np.ndarray | None
    # (n_classes,), float64: the number of features for which the value 0 makes each class impossible
    n_wanted: np.ndarray | None
    zero: np.ndarray  # (width,), float64: zeros, for kernels that take constant terms where the form has none


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
