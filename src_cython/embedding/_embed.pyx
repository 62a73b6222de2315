# Construction of the models of `fastclf/capi.pxd`, from the forms of `fastclf/embedding/forms.py`.
import numpy as np

from cython cimport floating
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.math cimport floor, lgamma
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc

from _model cimport (
    MODEL, apply_double_f, apply_float_f, encode_f, features_double_f, features_float_f, model_t, normalise_f,
    score_double_f, score_float_f, search_f,
)
from neighbors._metrics cimport fill_metric, metrics_t
from fastclf.capi cimport (
    FASTCLF_BAD_VALUE, FASTCLF_BAYES, FASTCLF_LINEAR, FASTCLF_MACHINE, FASTCLF_NEIGHBORS, FASTCLF_OK, FASTCLF_TREE,
    fastclf_model, release,
)

# The kinds of a column's log density in naive Bayes with a distribution for each column.
cdef enum:
    NORMAL = 0
    CELLS = 1
    BINS = 2
    RATE = 3
    BINARY = 4

KINDS = {
    "neighbors": FASTCLF_NEIGHBORS, "linear": FASTCLF_LINEAR, "bayes": FASTCLF_BAYES, "tree": FASTCLF_TREE,
    "machine": FASTCLF_MACHINE, "mixed": FASTCLF_BAYES,
}


cdef void columns_to_features(const model_t* m, const floating* rows, Py_ssize_t n, double* out) noexcept nogil:
    """Write the features of a table's rows: numbers, missing ones replaced, then a zero or one for each category."""
    cdef Py_ssize_t d = m.n_features, i, j
    cdef floating mean
    cdef double x
    cdef int c
    for i in range(n):
        for j in range(d):
            if m.table.levels[j] < 0:
                mean = <floating> m.table.mean[j]
                x = rows[i * d + j] if rows[i * d + j] == rows[i * d + j] else mean
                out[0] = x if m.table.spread == NULL else (x - m.table.mean[j]) / m.table.spread[j]
                out += 1
        for j in range(d):
            for c in range(m.table.levels[j]):
                out[0] = rows[i * d + j] == c
                out += 1


cdef void columns_to_products(const model_t* m, const floating* rows, Py_ssize_t n, double* out) noexcept nogil:
    """Write the features of a table's rows: products of columns, as PolynomialFeatures makes them."""
    cdef Py_ssize_t n_products = m.table.inner.n_features, i, j
    cdef const int* factor
    cdef const int* end
    for i in range(n):
        factor = m.table.factors
        for j in range(n_products):
            end = factor + m.table.degree[j]
            out[0] = 1
            while factor < end:
                out[0] *= rows[i * m.n_features + factor[0]]
                factor += 1
            out += 1


cdef int mixed_scores(
    const model_t* m, const floating* rows, Py_ssize_t n, double* out, char* scratch
) noexcept nogil:
    """Write log P(x, class) of rows by naive Bayes with a distribution for each column."""
    cdef const double* end = out + n * m.n_outputs
    cdef Py_ssize_t K = m.n_outputs, j, k
    cdef const double* cells
    cdef const double* term
    cdef double v, penalty
    cdef int kind, place
    while out < end:
        for k in range(K):
            out[k] = m.mixed.begin[k]
        for j in range(m.n_features):
            v = rows[0]
            rows += 1
            kind, cells, place = m.mixed.kind[j], m.mixed.terms + m.mixed.start[j], 0
            term = cells + m.mixed.size[j]
            if v != v:
                if m.mixed.missing:
                    continue
                return FASTCLF_BAD_VALUE
            if v - v != 0 or (m.mixed.whole[j] and v != floor(v)) or (kind == RATE and v < 0):
                return FASTCLF_BAD_VALUE
            if kind == NORMAL:
                for k in range(K):
                    out[k] += term[K + k] * (v - term[k]) * (v - term[k]) + term[2 * K + k]
            elif kind == RATE:
                penalty = lgamma(v + 1) if m.mixed.whole[j] else 0
                for k in range(K):
                    # counts of 0 add no term, because the coefficient may be infinite, and its product with 0 would be
                    # NaN
                    out[k] += term[k] - penalty + (term[K + k] * v if v > 0 else 0)
            else:
                while place < m.mixed.size[j] and (v >= cells[place] if kind == BINS else v != cells[place]):
                    place += 1
                if kind == BINARY and place == m.mixed.size[j]:
                    return FASTCLF_BAD_VALUE
                for k in range(K):
                    out[k] += term[place * K + k]
        out += K
    return FASTCLF_OK


cdef features_float_f _columns_float = columns_to_features[float]
cdef features_double_f _columns_double = columns_to_features[double]
cdef features_float_f _products_float = columns_to_products[float]
cdef features_double_f _products_double = columns_to_products[double]
cdef score_float_f _mixed_float = mixed_scores[float]
cdef score_double_f _mixed_double = mixed_scores[double]


cdef void* address(array) except? NULL:
    """The address of the first number of an array; NULL for None."""
    return NULL if array is None else <void*> <size_t> array.ctypes.data


cdef int fill_neighbors(model_t* m, form, functions) except -1:
    """Fill in a model from `Rows` (training rows and their index), with the search functions of the index."""
    cdef metrics_t* metrics = <metrics_t*> calloc(1, sizeof(metrics_t))
    if metrics == NULL:
        raise MemoryError
    m.neighbors.metrics = metrics
    index, allowed = form.index, form.allowed
    # the argument None leaves out the norms of queries, which each search computes for its own queries
    fill_metric(metrics, index.metric, None)
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
    """Fill in a model from a `Filter`, a k-NN index: the one-byte codes of its rows, and how queries are coded."""
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
    """Fill in a naive Bayes model from a `BayesInLanes`, whose arrays have the classes side by side in SIMD lanes."""
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
    """Fill in a kernel machine (support vectors, coefficients, intercepts) from a `Machine`."""
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


cdef int fill_mixed(model_t* m, lanes, functions) except -1:
    """Fill in a naive Bayes model that has a distribution for each column, from a `MixedArrays`."""
    m.score_float, m.score_double = _mixed_float, _mixed_double
    m.mixed.begin = <const double*> address(lanes.begin)
    m.mixed.kind = <const int*> address(lanes.kind)
    m.mixed.size = <const int*> address(lanes.size)
    m.mixed.whole = <const int*> address(lanes.whole)
    m.mixed.start = <const int64_t*> address(lanes.start)
    m.mixed.terms = <const double*> address(lanes.terms)
    m.mixed.missing = lanes.missing
    m.bayes.normalise = <normalise_f> <size_t> functions["normalise"]
    return 0


cdef int fill_table(model_t* m, table) except -1:
    """Fill in, from a `Front`, how the rows of a table are converted to the features of a model."""
    m.table.mean = <const double*> address(table.mean)
    m.table.spread = <const double*> address(table.spread)
    m.table.factors = <const int*> address(table.factors)
    m.table.degree = <const int*> address(table.degree)
    m.table.levels = <const int*> address(table.levels)
    m.table.first = <const int64_t*> address(table.first)
    m.table.code = <const int*> address(table.code)
    m.table.value = <const double*> address(table.value)
    m.table.begin = <const int64_t*> address(table.begin)
    m.table.texts = <const char*> address(table.texts)
    return 0


cdef void forget(capsule) noexcept:
    release(<fastclf_model*> PyCapsule_GetPointer(capsule, MODEL))


def make(kind, n_features, n_outputs, n_classes, form, functions, table):
    """A capsule with a model, which keeps the form and the table alive.

    `form` holds the arrays: Rows, TreeNodes, Linear, Machine, BayesInLanes or MixedArrays; `functions` maps the names
    of kernels to their addresses; `table` is a `Front` with the texts of categories, or None.
    """
    cdef model_t* m = <model_t*> calloc(1, sizeof(model_t))
    if m == NULL:
        raise MemoryError
    owner = form, table
    m.references = 1
    m.owner = <void*> <PyObject*> owner
    Py_INCREF(owner)
    capsule = PyCapsule_New(m, MODEL, forget)
    m.kind = KINDS[kind]
    m.n_features = n_features
    m.n_outputs = n_outputs
    m.n_classes = n_classes
    if table is not None:
        fill_table(m, table)
    if kind == "mixed":
        fill_mixed(m, form, functions)
    elif m.kind == FASTCLF_NEIGHBORS:
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


def make_table(capsule, n_features, table):
    """A capsule with a model of rows of columns, whose features the model in `capsule` takes.

    `table` is the `Front` that says how features are made.
    """
    cdef const model_t* inner = <const model_t*> PyCapsule_GetPointer(capsule, MODEL)
    cdef model_t* m = <model_t*> calloc(1, sizeof(model_t))
    if m == NULL:
        raise MemoryError
    owner = capsule, table
    m.references = 1
    m.owner = <void*> <PyObject*> owner
    Py_INCREF(owner)
    made = PyCapsule_New(m, MODEL, forget)
    m.kind, m.n_outputs, m.n_classes, m.n_features = inner.kind, inner.n_outputs, inner.n_classes, n_features
    m.neighbors.n_findable = inner.neighbors.n_findable
    m.bayes.normalise = inner.bayes.normalise
    m.table.inner = inner
    if table.degree is not None:
        m.table.features_float, m.table.features_double = _products_float, _products_double
    else:
        m.table.features_float, m.table.features_double = _columns_float, _columns_double
    fill_table(m, table)
    return made


def pointer(capsule):
    """The address of the struct `model_t` in the capsule of a model."""
    return <size_t> PyCapsule_GetPointer(capsule, MODEL)
