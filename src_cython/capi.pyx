# The functions of `fastclf/capi.pxd`: they check sizes and kinds, and call the kernels.
#
# This module is compiled at the baseline SIMD level; the kernels run at the level in use. A model holds the addresses
# of its kernels. The addresses of the building blocks are taken here, once, at import. Functions with more than 8
# arguments have the signature of the C interface; where possible they pass the arguments on in one struct.
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_XDECREF
from cython cimport floating
from libc.math cimport INFINITY, NAN
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.stdlib cimport free, strtod
from libc.string cimport strcmp, strpbrk

from neighbors._code_lists cimport codes_bytes
from neighbors._panel_layout cimport PANEL_BYTES
from neighbors._raw_queries cimport PY_SSIZE_T_MAX, QUERIES, scratch_bytes
from _model cimport (
    MODEL, axpy_double_f, axpy_float_f, column_t, distances_double_f, distances_float_f, dot_double_f, dot_float_f,
    dual_t, epoch_double_f, epoch_float_f, model_t, piece, raw_search_t, smo_first_f, smo_second_f, smo_step_f,
    split_double_f, split_float_f, table_t,
)
from _winner cimport most_votes, winner
from fastclf._heap cimport push, sort

from . import _simd

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    #define add_reference(count, change) (_InterlockedExchangeAdd64((count), (change)) + (change))
    #else
    #define add_reference(count, change) __atomic_add_fetch((count), (change), __ATOMIC_ACQ_REL)
    #endif
    """
    int64_t add_reference(int64_t* count, int64_t change) nogil

cdef enum:
    TILE = 16  # the number of rows whose scores are computed at a time, in the caller's scratch space
    MOST_FUNCTIONS = 256


# The next functions of the C interface take a model from Python, count references to it, and describe it.

cdef int abi() noexcept nogil:
    return FASTCLF_ABI


cdef fastclf_model* take(object embedded) except NULL:
    capsule = getattr(embedded, "capsule", None)
    if not PyCapsule_IsValid(capsule, MODEL):
        raise TypeError(f"embedded is {embedded!r}; the result of fastclf.embed is wanted")
    cdef fastclf_model* model = <fastclf_model*> PyCapsule_GetPointer(capsule, MODEL)
    retain(model)
    return model


cdef void retain(fastclf_model* model) noexcept nogil:
    add_reference(&(<model_t*> model).references, 1)


cdef void release(fastclf_model* model) noexcept nogil:
    if model != NULL and add_reference(&(<model_t*> model).references, -1) == 0:
        with gil:
            Py_XDECREF(<PyObject*> (<model_t*> model).owner)
        free(<void*> (<model_t*> model).neighbors.metrics)
        free(model)


cdef int kind(const fastclf_model* model) noexcept nogil:
    return (<const model_t*> model).kind


cdef Py_ssize_t n_features(const fastclf_model* model) noexcept nogil:
    return (<const model_t*> model).n_features


cdef Py_ssize_t n_outputs(const fastclf_model* model) noexcept nogil:
    return (<const model_t*> model).n_outputs


cdef Py_ssize_t n_classes(const fastclf_model* model) noexcept nogil:
    return (<const model_t*> model).n_classes


cdef Py_ssize_t n_rows(const fastclf_model* model) noexcept nogil:
    return (<const model_t*> model).neighbors.n_findable


cdef Py_ssize_t scratch_size(const fastclf_model* model, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    cdef const model_t* m = <const model_t*> model
    cdef Py_ssize_t d = m.n_features, width = m.neighbors.width
    n = min(max(n, 1), <Py_ssize_t> QUERIES)
    if m.table.inner != NULL:
        # a table's model needs space for the features of a tile of rows and for its inner model; if that searches
        # neighbours, its own space includes the features, which are its queries
        d = 0 if m.kind == FASTCLF_NEIGHBORS else 8 * TILE * m.table.inner.n_features + 64
        return d + scratch_size(<const fastclf_model*> m.table.inner, n, k)
    if m.kind == FASTCLF_NEIGHBORS:
        return 8 * n * d + scratch_bytes(d) + (codes_bytes(d, width, n, max(k, 1)) if width else 0)
    if m.kind == FASTCLF_TREE:
        return 8 * n
    # The number of bytes of scratch space for the scores of a tile of rows. Naive Bayes also needs space for copies of
    # rows and for counts, and a support vector machine for a copy of a row, its kernel values and the votes.
    return 8 * (4 * d + (TILE + 1) * m.n_outputs + m.machine.n_support + m.n_classes) + 512


# The next functions of the C interface search neighbours, or compute scores and probabilities.

cdef int nearest_d(
    const fastclf_model* model, const double* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    void* scratch
) noexcept nogil:
    return nearest(<const model_t*> model, queries, n, k, distance, index, <char*> scratch)


cdef int nearest_f(
    const fastclf_model* model, const float* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    void* scratch
) noexcept nogil:
    return nearest(<const model_t*> model, queries, n, k, distance, index, <char*> scratch)


cdef inline int nearest(
    const model_t* m, const floating* queries, Py_ssize_t n, Py_ssize_t k, double* distance, Py_ssize_t* index,
    char* scratch
) noexcept nogil:
    cdef const model_t* searched = m.table.inner if m.table.inner != NULL else m
    cdef Py_ssize_t d = m.n_features, start = 0, i
    cdef double* wide = <double*> scratch
    cdef raw_search_t raw
    cdef int status
    if m.kind != FASTCLF_NEIGHBORS:
        return FASTCLF_BAD_MODEL
    if n < 0 or k < 1 or k > m.neighbors.n_findable:
        return FASTCLF_BAD_SIZE
    raw.k, raw.scratch = k, scratch + min(n, <Py_ssize_t> QUERIES) * searched.n_features * 8
    while start < n:
        raw.n = min(<Py_ssize_t> QUERIES, n - start)
        raw.distance, raw.index = distance + start * k, index + start * k
        raw.query = wide
        if searched != m:
            features(m, queries + start * d, raw.n, wide)
        elif floating is double:
            raw.query = queries + start * d
        else:
            for i in range(raw.n * d):
                wide[i] = queries[start * d + i]
        status = searched.search(searched, &raw)
        if status != FASTCLF_OK:
            return status
        start += raw.n
    return FASTCLF_OK


cdef inline void features(const model_t* m, const floating* rows, Py_ssize_t n, double* out) noexcept nogil:
    if floating is float:
        m.table.features_float(m, rows, n, out)
    else:
        m.table.features_double(m, rows, n, out)


cdef inline int score_features(
    const model_t* m, const floating* rows, Py_ssize_t n, double* out, char* scratch
) noexcept nogil:
    """Write the scores of a table's rows, which its inner model computes from the rows' features."""
    cdef const model_t* inner = m.table.inner
    cdef double* made = <double*> piece(&scratch, 8 * TILE * inner.n_features)
    cdef Py_ssize_t start = 0, some
    cdef int status = FASTCLF_OK
    while start < n and status == FASTCLF_OK:
        some = min(<Py_ssize_t> TILE, n - start)
        features(m, rows + start * m.n_features, some, made)
        status = score(inner, inner.kind, made, some, out + start * m.n_outputs, scratch)
        start += some
    return status


cdef inline int score(
    const model_t* m, int wanted, const floating* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    if m.kind != wanted:
        return FASTCLF_BAD_MODEL
    if n < 0:
        return FASTCLF_BAD_SIZE
    if m.table.inner != NULL:
        return score_features(m, rows, n, out, <char*> scratch)
    if floating is float:
        return m.score_float(m, rows, n, out, <char*> scratch)
    else:
        return m.score_double(m, rows, n, out, <char*> scratch)


cdef inline int decide(
    const model_t* m, const floating* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil:
    return score(m, FASTCLF_MACHINE if m.kind == FASTCLF_MACHINE else FASTCLF_LINEAR, rows, n, scores, scratch)


cdef int decide_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil:
    return decide(<const model_t*> model, rows, n, scores, scratch)


cdef int decide_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* scores, void* scratch
) noexcept nogil:
    return decide(<const model_t*> model, rows, n, scores, scratch)


cdef int log_joint_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return score(<const model_t*> model, FASTCLF_BAYES, rows, n, out, scratch)


cdef int log_joint_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return score(<const model_t*> model, FASTCLF_BAYES, rows, n, out, scratch)


cdef inline int posterior(
    const model_t* m, const floating* rows, Py_ssize_t n, double* out, void* scratch, bint log_wanted
) noexcept nogil:
    cdef int status = score(m, FASTCLF_BAYES, rows, n, out, scratch)
    if status == FASTCLF_OK:
        m.bayes.normalise(out, m.n_outputs, 0, n, log_wanted)
    return status


cdef int log_proba_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return posterior(<const model_t*> model, rows, n, out, scratch, True)


cdef int log_proba_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return posterior(<const model_t*> model, rows, n, out, scratch, True)


cdef inline int probabilities(
    const model_t* m, const floating* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    if m.kind == FASTCLF_TREE and m.n_classes:
        return leaf_values(m, rows, n, out)
    return posterior(m, rows, n, out, scratch, False)


cdef int proba_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return probabilities(<const model_t*> model, rows, n, out, scratch)


cdef int proba_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return probabilities(<const model_t*> model, rows, n, out, scratch)


# The next functions of the C interface are for trees.

cdef inline int leaves(const model_t* m, const floating* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil:
    if m.kind != FASTCLF_TREE:
        return FASTCLF_BAD_MODEL
    if n < 0:
        return FASTCLF_BAD_SIZE
    if floating is float:
        return m.tree.apply_float(m, rows, n, leaf)
    else:
        return m.tree.apply_double(m, rows, n, leaf)


cdef int apply_d(const fastclf_model* model, const double* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil:
    return leaves(<const model_t*> model, rows, n, leaf)


cdef int apply_f(const fastclf_model* model, const float* rows, Py_ssize_t n, int64_t* leaf) noexcept nogil:
    return leaves(<const model_t*> model, rows, n, leaf)


cdef inline int leaf_values(const model_t* m, const floating* rows, Py_ssize_t n, double* out) noexcept nogil:
    cdef int64_t leaf[TILE]
    cdef Py_ssize_t K = m.n_outputs, start = 0, some, i, j
    cdef int status = FASTCLF_OK if n >= 0 else FASTCLF_BAD_SIZE
    while start < n:
        some = min(<Py_ssize_t> TILE, n - start)
        status = leaves(m, rows + start * m.n_features, some, leaf)
        if status != FASTCLF_OK:
            return status
        for i in range(some):
            for j in range(K):
                out[(start + i) * K + j] = m.tree.value[leaf[i] * K + j]
        start += some
    return status


cdef int estimate_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return estimate(<const model_t*> model, rows, n, out)


cdef int estimate_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, double* out, void* scratch
) noexcept nogil:
    return estimate(<const model_t*> model, rows, n, out)


cdef inline int estimate(const model_t* m, const floating* rows, Py_ssize_t n, double* out) noexcept nogil:
    return FASTCLF_BAD_MODEL if m.kind != FASTCLF_TREE or m.n_classes else leaf_values(m, rows, n, out)


cdef int classify_d(
    const fastclf_model* model, const double* rows, Py_ssize_t n, Py_ssize_t* code, void* scratch
) noexcept nogil:
    return classify(<const model_t*> model, rows, n, code, <char*> scratch)


cdef int classify_f(
    const fastclf_model* model, const float* rows, Py_ssize_t n, Py_ssize_t* code, void* scratch
) noexcept nogil:
    return classify(<const model_t*> model, rows, n, code, <char*> scratch)


cdef inline int classify(
    const model_t* m, const floating* rows, Py_ssize_t n, Py_ssize_t* code, char* scratch
) noexcept nogil:
    cdef Py_ssize_t K = m.n_outputs, start = 0, some, i
    cdef int64_t leaf[TILE]
    cdef double* scores
    cdef double* votes
    cdef int status = FASTCLF_OK if n >= 0 else FASTCLF_BAD_SIZE
    if not m.n_classes or m.kind == FASTCLF_NEIGHBORS:
        return FASTCLF_BAD_MODEL
    scores = NULL if m.kind == FASTCLF_TREE else <double*> piece(&scratch, 8 * TILE * K)
    votes = NULL if m.kind != FASTCLF_MACHINE or K == 1 else <double*> piece(&scratch, 8 * m.n_classes)
    while start < n:
        some = min(<Py_ssize_t> TILE, n - start)
        if m.kind == FASTCLF_TREE:
            status = leaves(m, rows + start * m.n_features, some, leaf)
        else:
            status = score(m, m.kind, rows + start * m.n_features, some, scores, scratch)
        if status != FASTCLF_OK:
            return status
        for i in range(some):
            if scores == NULL:
                code[start + i] = m.tree.best[leaf[i]]
            elif votes == NULL:
                code[start + i] = winner(scores + i * K, K)
            else:
                code[start + i] = most_votes(scores + i * K, m.n_classes, votes)
        start += some
    return status


cdef double category(const fastclf_model* model, Py_ssize_t column, const char* text) noexcept nogil:
    cdef const table_t* table = &(<const model_t*> model).table
    cdef Py_ssize_t low, high, middle, first, last
    cdef double value
    cdef char* end
    cdef int order
    if table.levels == NULL or not 0 <= column < (<const model_t*> model).n_features or text == NULL:
        return NAN
    first = low = table.first[column]
    high = last = first + max(table.levels[column], 0)
    while low < high:
        middle = low + (high - low) // 2
        order = strcmp(table.texts + table.begin[middle], text)
        if order == 0:
            return table.code[middle]
        if order < 0:
            low = middle + 1
        else:
            high = middle
    value = strtod(text, &end)
    if end != text and end[0] == 0 and strpbrk(text, "xX") == NULL:
        for middle in range(first, last):
            if table.value[middle] == value:
                return table.code[middle]
    return NAN


# The next functions of the C interface are building blocks, which need no model.

_blocks = _simd.load("embedding._building_blocks").ADDRESSES
_neighbors = _simd.load("neighbors._scan").ADDRESSES
_perceptron = _simd.load("linear_model._perceptron").ADDRESSES

cdef dot_float_f _dot_f = <dot_float_f> <size_t> _blocks["dot_f"]
cdef dot_double_f _dot_d = <dot_double_f> <size_t> _blocks["dot_d"]
cdef axpy_float_f _axpy_f = <axpy_float_f> <size_t> _blocks["axpy_f"]
cdef axpy_double_f _axpy_d = <axpy_double_f> <size_t> _blocks["axpy_d"]
cdef distances_float_f _distances_f = <distances_float_f> <size_t> _neighbors["distances_f"]
cdef distances_double_f _distances_d = <distances_double_f> <size_t> _neighbors["distances_d"]
cdef split_float_f _split_f = <split_float_f> <size_t> _blocks["split_f"]
cdef split_double_f _split_d = <split_double_f> <size_t> _blocks["split_d"]
cdef smo_first_f _smo_first = <smo_first_f> <size_t> _blocks["smo_first"]
cdef smo_second_f _smo_second = <smo_second_f> <size_t> _blocks["smo_second"]
cdef smo_step_f _smo_step = <smo_step_f> <size_t> _blocks["smo_step"]
cdef epoch_float_f _epoch_f = <epoch_float_f> <size_t> _perceptron["epoch_f"]
cdef epoch_double_f _epoch_d = <epoch_double_f> <size_t> _perceptron["epoch_d"]


cdef double dot_d(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    return _dot_d(x, y, n)


cdef double dot_f(const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    return _dot_f(x, y, n)


cdef int axpy_d(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil:
    return _axpy_d(n, a, x, y)


cdef int axpy_f(Py_ssize_t n, float a, const float* x, float* y) noexcept nogil:
    return _axpy_f(n, a, x, y)


cdef int heap_begin(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(k):
        distance[i] = INFINITY
        index[i] = PY_SSIZE_T_MAX
    return FASTCLF_OK if k > 0 else FASTCLF_BAD_SIZE


cdef int heap_push(double* distance, Py_ssize_t* index, Py_ssize_t k, double a, Py_ssize_t i) noexcept nogil:
    if k < 1:
        return FASTCLF_BAD_SIZE
    if a != a:
        return FASTCLF_BAD_VALUE
    push(distance, index, k, a, i)
    return FASTCLF_OK


cdef int heap_sort(double* distance, Py_ssize_t* index, Py_ssize_t k) noexcept nogil:
    if k < 1:
        return FASTCLF_BAD_SIZE
    sort(distance, index, k)
    return FASTCLF_OK


cdef Py_ssize_t squared_distances_scratch(Py_ssize_t d) noexcept nogil:
    return (PANEL_BYTES + 8) * d + 512


cdef int squared_distances_d(
    const double* rows, Py_ssize_t n_rows, const double* queries, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    void* scratch
) noexcept nogil:
    if n_rows < 0 or n_queries < 0 or d < 1:
        return FASTCLF_BAD_SIZE
    return _distances_d(rows, n_rows, queries, n_queries, d, out, <char*> scratch)


cdef int squared_distances_f(
    const float* rows, Py_ssize_t n_rows, const float* queries, Py_ssize_t n_queries, Py_ssize_t d, double* out,
    void* scratch
) noexcept nogil:
    if n_rows < 0 or n_queries < 0 or d < 1:
        return FASTCLF_BAD_SIZE
    return _distances_f(rows, n_rows, queries, n_queries, d, out, <char*> scratch)


cdef Py_ssize_t best_split_scratch(Py_ssize_t n, Py_ssize_t n_classes) noexcept nogil:
    return 8 * (2 * n + 3 * n_classes) + 192


# Arguments: this function has more than 8, because C callers pass them one by one, as `capi.pxd` declares.
cdef int best_split_d(
    const double* x, const int* code, const double* y, const double* weight, Py_ssize_t n, Py_ssize_t n_classes,
    int criterion, Py_ssize_t min_leaf, Py_ssize_t* cut, double* threshold, double* score, void* scratch
) noexcept nogil:
    cdef column_t column = column_t(
        code, y, weight, n, n_classes, criterion, min_leaf, cut, threshold, score, <char*> scratch
    )
    return FASTCLF_BAD_SIZE if n < 1 or n_classes < 1 else _split_d(x, &column)


# Arguments: this function has more than 8, because C callers pass them one by one, as `capi.pxd` declares.
cdef int best_split_f(
    const float* x, const int* code, const double* y, const double* weight, Py_ssize_t n, Py_ssize_t n_classes,
    int criterion, Py_ssize_t min_leaf, Py_ssize_t* cut, double* threshold, double* score, void* scratch
) noexcept nogil:
    cdef column_t column = column_t(
        code, y, weight, n, n_classes, criterion, min_leaf, cut, threshold, score, <char*> scratch
    )
    return FASTCLF_BAD_SIZE if n < 1 or n_classes < 1 else _split_f(x, &column)


cdef int smo_first(
    Py_ssize_t n, const double* y, const double* C, const double* alpha, const double* grad, Py_ssize_t* i,
    double* violation
) noexcept nogil:
    # the called function only reads alpha and grad, so that their const may be cast away
    cdef dual_t problem = dual_t(n, y, C, <double*> alpha, <double*> grad)
    return _smo_first(&problem, i, violation)


# Arguments: this function has more than 8, because C callers pass them one by one, as `capi.pxd` declares.
cdef int smo_second(
    Py_ssize_t n, const double* y, const double* C, const double* alpha, const double* grad, Py_ssize_t i,
    const double* K_i, const double* diagonal, Py_ssize_t* j
) noexcept nogil:
    # the called function only reads alpha and grad, so that their const may be cast away
    cdef dual_t problem = dual_t(n, y, C, <double*> alpha, <double*> grad)
    return _smo_second(&problem, i, K_i, diagonal, j)


# Arguments: this function has more than 8, because C callers pass them one by one, as `capi.pxd` declares.
cdef int smo_step(
    Py_ssize_t n, const double* y, const double* C, double* alpha, double* grad, Py_ssize_t i, Py_ssize_t j,
    const double* K_i, const double* K_j
) noexcept nogil:
    cdef dual_t problem = dual_t(n, y, C, alpha, grad)
    return _smo_step(&problem, i, j, K_i, K_j)


# Arguments: this function has more than 8, because C callers pass them one by one, as `capi.pxd` declares.
cdef int perceptron_epoch_d(
    const double* rows, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, int intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil:
    return _epoch_d(rows, n, d, code, order, eta, intercept, w, b, mistakes) if n >= 0 < d else FASTCLF_BAD_SIZE


# Arguments: this function has more than 8, because C callers pass them one by one, as `capi.pxd` declares.
cdef int perceptron_epoch_f(
    const float* rows, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, int intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil:
    return _epoch_f(rows, n, d, code, order, eta, intercept, w, b, mistakes) if n >= 0 < d else FASTCLF_BAD_SIZE


# The addresses of the C interface's functions, in the order of the table of `fastclf.h`; new ones are appended.
NAMES = """
    abi take retain release kind n_features n_outputs n_classes n_rows scratch_size nearest_d nearest_f decide_d
    decide_f log_joint_d log_joint_f log_proba_d log_proba_f proba_d proba_f apply_d apply_f classify_d
    classify_f estimate_d estimate_f dot_d dot_f axpy_d axpy_f heap_begin heap_push heap_sort
    squared_distances_scratch squared_distances_d squared_distances_f best_split_scratch best_split_d
    best_split_f smo_first smo_second smo_step perceptron_epoch_d perceptron_epoch_f category
""".split()

cdef void* _table[MOST_FUNCTIONS]


def addresses():
    """A dict {name: (address, signature in Cython's spelling)} of all functions, in the order of the table."""
    exported, found = globals()["__pyx_capi__"], {}
    for name in NAMES:
        signature = PyCapsule_GetName(exported[name])
        found[name] = <size_t> PyCapsule_GetPointer(exported[name], signature), signature.decode()
    return found


cdef object fill_table():
    cdef Py_ssize_t i
    for i, (where, _) in enumerate(addresses().values()):
        _table[i] = <void*> <size_t> where
    return PyCapsule_New(_table, "fastclf.capi.functions", NULL)


functions = fill_table()
