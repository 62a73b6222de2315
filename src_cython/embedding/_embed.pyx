# Construction of the models of `fastclf/capi.pxd`, from the forms of `fastclf/embedding/forms.py`.
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
    """The address of an array; NULL for None."""
    return NULL if array is None else <void*> <size_t> array.ctypes.data


cdef int fill_neighbors(model_t* m, form, functions) except -1:
    """Fill in a model from `Rows` (training rows and their index), with the search functions of the index."""
    cdef metrics_t* metrics = <metrics_t*> calloc(1, sizeof(metrics_t))
    if metrics == NULL:
        raise MemoryError
    m.neighbors.metrics = metrics
    index, allowed = form.index, form.allowed
    fill_metric(metrics, index.metric, None)  # None: the norms of queries are set by each call of a search
    m.search = <search_f> <size_t> functions["search"]
    m.neighbors.n_rows = len(index.X)
    m.neighbors.n_findable = len(index.X) if allowed is None else np.count_nonzero(allowed)
    m.neighbors.narrow = index.X.dtype == np.float32
    m.neighbors.X = address(index.X)
    m.neighbors.allowed = <const unsigned char*> address(allowed)
    if form.is_tree:
        m.neighbors.panels = address(index.panels)
        m.neighbors.boxes = address(index.boxes)
        m.neighbors.rows = <const Py_ssize_t*> address(index.rows)
    if form.is_filter:
        fill_filter(m, index, functions)
    return 0


cdef int fill_filter(model_t* m, index, functions) except -1:
    """Fill in the codes and the Coder of a Filter."""
    cdef object coder = index.coder
    m.neighbors.width = index.width
    m.neighbors.code = <const unsigned char*> address(index.code)
    m.neighbors.half = <const int*> address(index.half)
    m.neighbors.slack = <const float*> address(index.slack)
    m.neighbors.length = <const float*> address(index.length)
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
    m.neighbors.encode = <encode_f> <size_t> functions["encode"]
    m.neighbors.scan = <search_f> <size_t> functions["scan"]
    return 0


cdef int fill_bayes(model_t* m, lanes, functions) except -1:
    """Fill in a naive Bayes model from a `BayesInLanes`."""
    form = lanes.form
    m.bayes.width = len(lanes.zero)
    m.bayes.begin = <const double*> address(form.begin)
    m.bayes.zero = <const double*> address(lanes.zero)
    m.bayes.constant = <const double*> address(form.constant)
    m.bayes.mean = <const double*> address(form.mean)
    m.bayes.weight = <const double*> address(form.weight)
    m.bayes.first = <const int64_t*> address(lanes.first)
    m.bayes.binary = form.threshold is not None
    m.bayes.threshold = form.threshold or 0
    m.bayes.nonnegative = form.nonnegative
    m.bayes.impossible = <const double*> address(form.impossible)
    m.bayes.wanted = <const double*> address(form.wanted)
    m.bayes.n_wanted = <const double*> address(lanes.n_wanted)
    m.bayes.normalise = <normalise_f> <size_t> functions["normalise"]
    return 0


cdef int fill_machine(model_t* m, form) except -1:
    """Fill in a kernel machine from a `Machine`."""
    m.machine.kernel = form.kernel
    m.machine.degree = form.degree
    m.machine.gamma = form.gamma
    m.machine.coef0 = form.coef0
    m.machine.n_support = len(form.support)
    m.machine.support = <const double*> address(form.support)
    m.machine.starts = <const int64_t*> address(form.starts)
    m.machine.coef = <const double*> address(form.coef)
    m.machine.intercept = <const double*> address(form.intercept)
    return 0


cdef void forget(capsule) noexcept:
    release(<fastclf_model*> PyCapsule_GetPointer(capsule, MODEL))


def make(kind, n_features, n_outputs, n_classes, form, functions):
    """A capsule with a model, which keeps the form alive.

    `form` holds the arrays: Rows, TreeNodes, Linear, Machine or BayesInLanes; `functions` maps the names of kernels to
    their addresses.
    """
    cdef model_t* m = <model_t*> calloc(1, sizeof(model_t))
    if m == NULL:
        raise MemoryError
    m.references = 1
    m.owner = <void*> <PyObject*> form
    Py_INCREF(form)
    capsule = PyCapsule_New(m, MODEL, forget)
    m.kind = KINDS[kind]
    m.n_features = n_features
    m.n_outputs = n_outputs
    m.n_classes = n_classes
    if m.kind == FASTCLF_NEIGHBORS:
        fill_neighbors(m, form, functions)
    elif m.kind == FASTCLF_TREE:
        m.tree.steps = <const int64_t*> address(form.steps)
        m.tree.subsets = <const uint64_t*> address(form.subsets)
        m.tree.value = <const double*> address(form.value)
        m.tree.best = <const int32_t*> address(form.best)
        m.tree.apply_float = <apply_float_f> <size_t> functions["apply_f"]
        m.tree.apply_double = <apply_double_f> <size_t> functions["apply_d"]
    else:
        m.score_float = <score_float_f> <size_t> functions["score_f"]
        m.score_double = <score_double_f> <size_t> functions["score_d"]
        if m.kind == FASTCLF_BAYES:
            fill_bayes(m, form, functions)
        elif m.kind == FASTCLF_MACHINE:
            fill_machine(m, form)
        else:
            m.linear.coef = <const double*> address(form.coef)
            m.linear.intercept = <const double*> address(form.intercept)
    return capsule


def pointer(capsule):
    """The address of the struct `model_t` of the model."""
    return <size_t> PyCapsule_GetPointer(capsule, MODEL)
