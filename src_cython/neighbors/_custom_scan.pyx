# Distances by the user's C function, which is called without the GIL.
#
#     double metric(const double* query, const double* row, ptrdiff_t d, void* user_data)
#
# The parameter user_data may be missing. Rows of float32 are converted to float64 in a buffer. A distance that is NaN
# ends the search, after its query and row are written to `bad`.
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from cython cimport floating
from libc.math cimport fabs, isnan
from libc.stdint cimport uintptr_t

from neighbors._search cimport fill_found, search_t, take

ctypedef double (*plain_t)(const double*, const double*, Py_ssize_t) noexcept nogil
ctypedef double (*full_t)(const double*, const double*, Py_ssize_t, void*) noexcept nogil

ctypedef struct function_t:
    uintptr_t address
    uintptr_t user_data
    bint takes_user_data


cdef inline double call(const function_t* f, const double* q, const double* x, Py_ssize_t d) noexcept nogil:
    if f.takes_user_data:
        return (<full_t> <void*> f.address)(q, x, d, <void*> f.user_data)
    return (<plain_t> <void*> f.address)(q, x, d)


cdef inline const double* widened(const floating* x, Py_ssize_t d, double* buffer) noexcept nogil:
    cdef Py_ssize_t j
    if floating is double:
        return x
    else:
        for j in range(d):
            buffer[j] = x[j]
        return buffer


cdef function_t function_of(compiled):
    cdef function_t f
    f.address = compiled.address
    f.user_data = compiled.user_data
    f.takes_user_data = compiled.takes_user_data
    return f


def scan(const floating[:, ::1] X, Py_ssize_t start, Py_ssize_t stop, compiled, state):
    """Search rows X[start:stop]; `compiled` and `state` are the classes of `fastclf/neighbors/custom_metric.py`.

    Returns the number of hits.
    """
    cdef search_t s
    cdef function_t f = function_of(compiled)
    cdef const double[:, ::1] Q = state.query
    cdef double[::1] buffer = state.buffer
    cdef Py_ssize_t[::1] bad = state.bad
    cdef Py_ssize_t d = X.shape[1], row, query
    cdef const double* x
    cdef double distance
    fill_found(&s, X.shape[0], Q.shape[0], state)
    with nogil:
        for row in range(start, stop):
            if s.allowed != NULL and not s.allowed[row]:
                continue
            x = widened(&X[row, 0], d, &buffer[0])
            for query in range(s.n_queries):
                if s.self_row != NULL and s.self_row[query] == row:
                    continue
                distance = call(&f, &Q[query, 0], x, d)
                if isnan(distance):
                    bad[0] = query
                    bad[1] = row
                    break
                take(&s, distance, row, query)
            if bad[0] >= 0:
                break
    return s.n_hits


def distances(
    const floating[:, ::1] X, const Py_ssize_t[::1] rows, Py_ssize_t start, Py_ssize_t stop, compiled,
    const double[::1] query, double[::1] buffer, double[::1] distance_out,
):
    """Write the user's distances of rows X[rows[i]], i from start to stop, from one query; a distance may be NaN."""
    cdef function_t f = function_of(compiled)
    cdef Py_ssize_t d = X.shape[1], i
    with nogil:
        for i in range(start, stop):
            distance_out[i] = call(&f, &query[0], widened(&X[rows[i], 0], d, &buffer[0]), d)


def lower_bounds(
    const double[:, ::1] from_pivots, const double[::1] to_pivots, double slack, Py_ssize_t start, Py_ssize_t stop,
    double[::1] bound_out,
):
    """Lower bounds of a query's distances from the rows start to stop, by the triangle inequality.

    A bound is the largest |a - b| - slack (a + b) over the pivots, at least 0, for the distances a from the row and b
    from the query to a pivot.
    """
    cdef Py_ssize_t row, p
    cdef double bound, a, b
    with nogil:
        for row in range(start, stop):
            bound = 0
            for p in range(from_pivots.shape[1]):
                a = from_pivots[row, p]
                b = to_pivots[p]
                a = fabs(a - b) - slack * (a + b)
                # `a`, a lower bound of the distance, is NaN for two infinite distances; the comparison is then false
                if a > bound:
                    bound = a
            bound_out[row] = bound


def unpack(capsule):
    """The name, the function's address and the context of a PyCapsule that holds the user's distance function."""
    cdef const char* name = PyCapsule_GetName(capsule)
    return (
        "" if name == NULL else name.decode("utf-8", "replace"),
        <uintptr_t> PyCapsule_GetPointer(capsule, name),
        <uintptr_t> PyCapsule_GetContext(capsule),
    )
