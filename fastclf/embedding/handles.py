"""Fitted models inside other people's compiled code: handles, addresses and headers. EMBEDDING.md has examples."""

import ctypes
import functools
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .. import _simd, capi
from ..naive_bayes.joints import in_lanes
from ..neighbors.code_filter import Filter
from ..neighbors.kdtree import Tree
from ..neighbors.scan import Scan
from ..tree import _descend
from . import _embed
from .forms import Linear, Machine, Rows, TreeNodes, form_of

_CTYPES = {
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "Py_ssize_t": ctypes.c_ssize_t,
    "void": None,
}


class Embedded:
    """A fitted model for compiled code: its arrays, kept as they are until the last reference to it is given up.

    A later `fit`, `partial_fit` or `remove` of the estimator does not change it. Only the rows of neighbours that were
    fitted from an array are the caller's own, here as there, and must not be written to.

    Attributes
    ----------
    kind : {'neighbors', 'linear', 'bayes', 'tree', 'machine'}
    n_features, n_outputs : int
    classes : ndarray or None
        What the positions that `classify` gives stand for.
    address : int
        Of the model, as `const fastclf_model *`: valid as long as this object, or what `take` gave, is.
    capsule : PyCapsule, named "fastclf.model"
        For SciPy's LowLevelCallable, as user_data.
    """

    def __init__(self, kind, n_features, n_outputs, classes, state):
        self.kind, self.n_features, self.n_outputs, self.classes = kind, n_features, n_outputs, classes
        self.capsule = _embed.make(kind, n_features, n_outputs, 0 if classes is None else len(classes), state)
        self.address = _embed.pointer(self.capsule)

    def __repr__(self):
        return f"<Embedded {self.kind} model of {self.n_features} features at {self.address:#x}>"

    def scratch_size(self, n=1, k=1):
        """Bytes of scratch for a call with n rows, and of `nearest` for k neighbours."""
        return functions()["scratch_size"].ctypes(self.address, n, k)


class Function(NamedTuple):
    """A function of `fastclf.capi`: where it is, and what it takes.

    Attributes
    ----------
    address : int
    signature : str
        As C writes a type, with Py_ssize_t for sizes: "int (const fastclf_model *, const double *, Py_ssize_t, ...)".
    """

    address: int
    signature: str

    @property
    def types(self):
        """(result, arguments) as ctypes has them; every pointer is a void pointer, so `array.ctypes` fits."""
        result, arguments = self.signature.removesuffix(")").split(" (")
        return _ctype(result), [_ctype(argument) for argument in arguments.split(", ") if argument != "void"]

    @property
    def ctypes(self):
        """The function for ctypes, which lets go of the GIL while it runs."""
        result, arguments = self.types
        return ctypes.CFUNCTYPE(result, *arguments)(self.address)


def _ctype(name):
    return ctypes.c_void_p if name.endswith("*") else _CTYPES[name.removeprefix("const ")]


@functools.cache
def functions():
    """{name: Function} of all that `fastclf/capi.pxd` lists but `take`, `retain` and `release`, which count references.

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
    """The signature in the words of `fastclf.h`: const first, as Cython has it last."""
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
        Fitted: a linear classifier by `coef_`, GaussianNB, MultinomialNB, BernoulliNB, PoissonNB, CategoricalNB, a
        decision tree, SVC by a named kernel, or an estimator by nearest neighbours of dense rows by a named metric (for
        `nearest` alone).

    Returns
    -------
    embedded : Embedded
        It keeps or copies the model's arrays: O(1) for trees and neighbours, O(size of the coefficients) for the
        others; neighbours whose rows were added to or removed from are copied.

    Raises
    ------
    TypeError
        If compiled code can have no such model.

    Examples
    --------
    >>> import fastclf
    >>> model = fastclf.LeastSquaresClassifier().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> embedded = fastclf.embed(model)
    >>> embedded.kind, embedded.n_outputs, embedded.classes
    ('linear', 1, array(['high', 'low'], dtype='<U4'))
    """
    form = form_of(model)
    d, classes = model.n_features_in_, getattr(model, "classes_", None)
    if isinstance(form, Rows):
        state = _neighbors_state(form)
        return Embedded("neighbors", d, 1, None if isinstance(classes, list) else classes, state)
    if isinstance(form, TreeNodes):
        state = SimpleNamespace(**form._asdict(), **_descend.ADDRESSES)
        return Embedded("tree", d, form.value.shape[1], classes, state)
    if isinstance(form, Linear):
        addresses = _simd.load("linear_model._scores").ADDRESSES
        state = SimpleNamespace(**form._asdict(), **addresses)
        return Embedded("linear", d, len(form.coef), classes, state)
    if isinstance(form, Machine):
        state = SimpleNamespace(**form._asdict(), **_simd.load("svm._pair_scores").ADDRESSES)
        return Embedded("machine", d, len(form.intercept), classes, state)
    return Embedded("bayes", d, len(form.begin), classes, _bayes_state(form))


def _neighbors_state(form):
    index = form.index
    if type(index) not in (Scan, Filter, Tree) or index.metric.function is not None:
        metric = index.metric.shown
        raise TypeError(
            f"model searches by metric {metric!r}, for which compiled code has no search; a named metric of"
            " rows in an array is wanted, and not 'jaccard', 'nan_euclidean' or 'hamming' of bools"
        )
    state = SimpleNamespace(X=index.X, metric=index.metric, allowed=form.allowed, coder=None)
    state.n_findable = len(index.X) if form.allowed is None else int(np.count_nonzero(form.allowed))
    state.panels = state.boxes = state.rows = None
    kernels = "neighbors._scan"
    if isinstance(index, Filter):
        kernels = "neighbors._code_scan"
        for name in ("coder", "width", "code", "half", "slack", "length"):
            setattr(state, name, getattr(index, name))
        state.encode = _simd.load("neighbors._encode").ADDRESSES["encode"]
        state.scan = _simd.load("neighbors._scan").ADDRESSES["search"]
    elif isinstance(index, Tree):
        kernels = "neighbors._kdtree_search"
        for name in ("panels", "boxes", "rows"):
            setattr(state, name, getattr(index, name))
    state.search = _simd.load(kernels).ADDRESSES["search"]
    return state


def _bayes_state(form):
    state = SimpleNamespace(**form._asdict(), **_simd.load("naive_bayes._joints").ADDRESSES)
    state.first = state.n_wanted = None
    if form.tables is not None:
        state.first = np.concatenate([[0], np.cumsum([table.shape[1] for table in form.tables])])
        state.weight = np.concatenate(form.tables, axis=1)
    if form.wanted is not None:
        state.n_wanted = form.wanted.sum(axis=1).astype(np.float64)
    for name in ("weight", "mean", "constant", "impossible", "wanted"):
        if getattr(state, name) is not None:
            setattr(state, name, in_lanes(getattr(state, name)))
    state.zero = np.zeros(state.weight.shape[1])
    return state
