# Models for `fastclf/capi.pxd`, made from the arrays of a state of `fastclf/embedding/handles.py`, which checks them.
from types import SimpleNamespace

import numpy as np

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc

from _model cimport (
    MODEL, apply_double_f, apply_float_f, encode_f, model_t, normalise_f, score_double_f, score_float_f, search_f,
)
from neighbors._search cimport fill_metric, metrics_t
from fastclf.capi cimport (
    FASTCLF_BAYES, FASTCLF_LINEAR, FASTCLF_MACHINE, FASTCLF_NEIGHBORS, FASTCLF_TREE, fastclf_model, release,
)

KINDS = {
    "neighbors": FASTCLF_NEIGHBORS, "linear": FASTCLF_LINEAR, "bayes": FASTCLF_BAYES, "tree": FASTCLF_TREE,
    "machine": FASTCLF_MACHINE,
}


cdef void* address(array) except? NULL:
    """Where an array begins; NULL for None."""
    return NULL if array is None else <void*> <size_t> array.ctypes.data


cdef int fill_neighbors(model_t* m, state) except -1:
    cdef object coder = state.coder
    cdef metrics_t* metrics = <metrics_t*> calloc(1, sizeof(metrics_t))
    if metrics == NULL:
        raise MemoryError
    m.neighbors.metrics = metrics
    # the norms of queries are the caller's, later
    fill_metric(metrics, state.metric, SimpleNamespace(query_norm2=np.zeros(1)))
    m.search = <search_f> <size_t> state.search
    m.neighbors.n_rows = len(state.X)
    m.neighbors.n_findable = state.n_findable
    m.neighbors.narrow = state.X.dtype == np.float32
    m.neighbors.X = address(state.X)
    m.neighbors.allowed = <const unsigned char*> address(state.allowed)
    m.neighbors.panels = address(state.panels)
    m.neighbors.boxes = address(state.boxes)
    m.neighbors.rows = <const Py_ssize_t*> address(state.rows)
    if coder is not None:
        m.neighbors.width = state.width
        m.neighbors.code = <const unsigned char*> address(state.code)
        m.neighbors.half = <const int*> address(state.half)
        m.neighbors.slack = <const float*> address(state.slack)
        m.neighbors.length = <const float*> address(state.length)
        m.neighbors.n_axes = 0 if coder.axes is None else coder.axes_t.shape[1]
        m.neighbors.center = <const double*> address(coder.center)
        m.neighbors.scale = coder.scale
        m.neighbors.step = coder.step
        m.neighbors.code_shift = coder.shift
        m.neighbors.delta = coder.delta
        m.neighbors.kappa = coder.kappa
        m.neighbors.per = coder.per
        m.neighbors.center_norm = np.linalg.norm(coder.center)
        m.neighbors.axes = <const float*> address(coder.axes)
        m.neighbors.axes_t = <const float*> address(coder.axes_t)
        m.neighbors.encode = <encode_f> <size_t> state.encode
        m.neighbors.scan = <search_f> <size_t> state.scan
    return 0


cdef int fill_bayes(model_t* m, state) except -1:
    m.bayes.width = len(state.zero)
    m.bayes.begin = <const double*> address(state.begin)
    m.bayes.zero = <const double*> address(state.zero)
    m.bayes.constant = <const double*> address(state.constant)
    m.bayes.mean = <const double*> address(state.mean)
    m.bayes.weight = <const double*> address(state.weight)
    m.bayes.first = <const int64_t*> address(state.first)
    m.bayes.binary = state.threshold is not None
    m.bayes.threshold = state.threshold or 0
    m.bayes.nonnegative = state.nonnegative
    m.bayes.impossible = <const double*> address(state.impossible)
    m.bayes.wanted = <const double*> address(state.wanted)
    m.bayes.n_wanted = <const double*> address(state.n_wanted)
    m.bayes.normalise = <normalise_f> <size_t> state.normalise
    return 0


cdef int fill_machine(model_t* m, state) except -1:
    m.machine.kernel = state.kernel
    m.machine.degree = state.degree
    m.machine.gamma = state.gamma
    m.machine.coef0 = state.coef0
    m.machine.n_support = len(state.support)
    m.machine.support = <const double*> address(state.support)
    m.machine.starts = <const int64_t*> address(state.starts)
    m.machine.coef = <const double*> address(state.coef)
    m.machine.intercept = <const double*> address(state.intercept)
    return 0


cdef void forget(capsule) noexcept:
    release(<fastclf_model*> PyCapsule_GetPointer(capsule, MODEL))


def make(kind, n_features, n_outputs, n_classes, state):
    """A capsule of the model whose arrays the state holds; the model keeps the state."""
    cdef model_t* m = <model_t*> calloc(1, sizeof(model_t))
    if m == NULL:
        raise MemoryError
    m.references = 1
    m.owner = <void*> <PyObject*> state
    Py_INCREF(state)
    capsule = PyCapsule_New(m, MODEL, forget)
    m.kind = KINDS[kind]
    m.n_features = n_features
    m.n_outputs = n_outputs
    m.n_classes = n_classes
    if m.kind == FASTCLF_NEIGHBORS:
        fill_neighbors(m, state)
    elif m.kind == FASTCLF_TREE:
        m.tree.steps = <const int64_t*> address(state.steps)
        m.tree.subsets = <const uint64_t*> address(state.subsets)
        m.tree.value = <const double*> address(state.value)
        m.tree.best = <const int32_t*> address(state.best)
        m.tree.apply_float = <apply_float_f> <size_t> state.apply_f
        m.tree.apply_double = <apply_double_f> <size_t> state.apply_d
    else:
        m.score_float = <score_float_f> <size_t> state.score_f
        m.score_double = <score_double_f> <size_t> state.score_d
        if m.kind == FASTCLF_BAYES:
            fill_bayes(m, state)
        elif m.kind == FASTCLF_MACHINE:
            fill_machine(m, state)
        else:
            m.linear.coef = <const double*> address(state.coef)
            m.linear.intercept = <const double*> address(state.intercept)
    return capsule


def pointer(capsule):
    """The model's address."""
    return <size_t> PyCapsule_GetPointer(capsule, MODEL)
