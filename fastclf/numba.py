"""The functions of `fastclf.capi` for Numba's nopython code; needs Numba.

`embedded = fastclf.embed(model)` is an argument of a compiled function, which may be `nogil`, `parallel` or both:

    @numba.njit(nogil=True, parallel=True)
    def search(embedded, queries, distance, index):
        for i in numba.prange(len(queries)):
            scratch = make_scratch(embedded, 1, distance.shape[1])
            nearest(embedded, queries[i : i + 1], distance[i : i + 1], index[i : i + 1], scratch)

Arrays are C-contiguous; rows are float32 or float64 of shape (n, n_features). Each function returns a status: 0 for
success, and other numbers as in `fastclf/capi.pxd`. Arrays of wrong shapes give the status 2 and are not written.
`scratch`, an array of uint8, comes from `make_scratch` and is used by one thread at a time.
"""

import ctypes

from numba import njit
from numba.core import cgutils, errors, types
from numba.extending import NativeValue, intrinsic, models, overload, register_model, typeof_impl, unbox

from .embedding.handles import Embedded, functions

__all__ = [
    "apply", "axpy", "classify", "decide", "dot", "estimate", "foreign", "log_joint", "log_proba", "make_scratch",
    "nearest", "proba", "squared_distances",
]  # fmt: skip

_BAD_SIZE = 2


class _EmbeddedType(types.Type):
    def __init__(self):
        super().__init__("fastclf.Embedded")


_embedded_type = _EmbeddedType()


@register_model(_EmbeddedType)
class _EmbeddedModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, manager.lookup(types.uintp).get_value_type())


@typeof_impl.register(Embedded)
def _typeof(value, context):
    return _embedded_type


@unbox(_EmbeddedType)
def _unbox(kind, embedded, c):
    number = c.pyapi.object_getattr_string(embedded, "address")
    address = c.pyapi.number_as_ssize_t(number)
    c.pyapi.decref(number)
    return NativeValue(address, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@intrinsic
def _address(context, embedded):
    return types.uintp(embedded), lambda context, builder, signature, values: values[0]


def foreign(name):
    """A function of `fastclf.capi` for compiled code, which takes addresses (`array.ctypes.data`) for pointers."""
    function = functions()[name]
    result, arguments = function.types
    arguments = [ctypes.c_size_t if kind is ctypes.c_void_p else kind for kind in arguments]
    return ctypes.CFUNCTYPE(result, *arguments)(function.address)


_n_features, _n_outputs, _scratch_size = map(foreign, ("n_features", "n_outputs", "scratch_size"))
_distances_scratch = foreign("squared_distances_scratch")


def _require(array, name, dtypes, ndim):
    """Raise Numba's TypingError, while a call is compiled, if an argument has a wrong type."""
    if not (isinstance(array, types.Array) and array.ndim == ndim and array.layout == "C" and array.dtype in dtypes):
        wanted = " or ".join(map(str, dtypes))
        raise errors.TypingError(f"{name} is {array}; a C-contiguous array of {wanted} with {ndim} axes is wanted")


_REAL, _DOUBLE, _INDEX, _BYTE = (types.float32, types.float64), (types.float64,), (types.int64,), (types.uint8,)


def _of_dtype(name, array):
    return foreign(f"{name}_{'f' if array.dtype == types.float32 else 'd'}")


def _stub(name, arguments, meaning):
    """A function that only compiled code can call; a call from Python raises TypeError."""

    def stub(*_):
        raise TypeError(f"fastclf.numba.{name} is for functions that Numba compiles; it was called from Python")

    stub.__name__ = stub.__qualname__ = name
    stub.__doc__ = f"{name}({arguments}): {meaning}, in compiled code."
    return stub


def make_scratch(embedded, n=1, k=1):
    """Scratch space, made in compiled code, for calls with at most n rows and, for `nearest`, at most k neighbours."""
    raise TypeError("fastclf.numba.make_scratch is for functions that Numba compiles; it was called from Python")


@overload(make_scratch)
def _make_scratch(embedded, n=1, k=1):
    import numpy as np

    return lambda embedded, n=1, k=1: np.empty(_scratch_size(_address(embedded), n, k), np.uint8)


nearest = _stub(
    "nearest", "embedded, queries, distance, index, scratch", "the k nearest rows of each query, both (n, k)"
)


@overload(nearest)
def _nearest(embedded, queries, distance, index, scratch):
    for array, name, dtypes, ndim in (
        (queries, "queries", _REAL, 2),
        (distance, "distance", _DOUBLE, 2),
        (index, "index", _INDEX, 2),
        (scratch, "scratch", _BYTE, 1),
    ):
        _require(array, name, dtypes, ndim)
    function = _of_dtype("nearest", queries)

    def call(embedded, queries, distance, index, scratch):
        model, (n, k) = _address(embedded), distance.shape
        if (
            queries.shape != (n, _n_features(model))
            or index.shape != (n, k)
            or scratch.size < _scratch_size(model, n, k)
        ):
            return _BAD_SIZE
        return function(model, queries.ctypes.data, n, k, distance.ctypes.data, index.ctypes.data, scratch.ctypes.data)

    return call


def _of_scores(name, meaning):
    """Make a function for compiled code, such as decide, that writes an array of shape (n, n_outputs)."""
    stub = _stub(name, "embedded, rows, out, scratch", f"{meaning}, (n, n_outputs)")

    @overload(stub)
    def _scores(embedded, rows, out, scratch):
        _require(rows, "rows", _REAL, 2)
        _require(out, "out", _DOUBLE, 2)
        _require(scratch, "scratch", _BYTE, 1)
        function = _of_dtype(name, rows)

        def call(embedded, rows, out, scratch):
            model, n = _address(embedded), len(rows)
            if rows.shape[1] != _n_features(model) or out.shape != (n, _n_outputs(model)):
                return _BAD_SIZE
            if scratch.size < _scratch_size(model, n, 1):
                return _BAD_SIZE
            return function(model, rows.ctypes.data, n, out.ctypes.data, scratch.ctypes.data)

        return call

    return stub


decide = _of_scores("decide", "scores of a linear model")
log_joint = _of_scores("log_joint", "log P(x, class) of naive Bayes")
log_proba = _of_scores("log_proba", "log P(class | x) of naive Bayes")
proba = _of_scores("proba", "P(class | x) of naive Bayes or a tree")


def _of_labels(name, dtypes, meaning, width):
    """Make a function for compiled code, such as classify, that writes `width(model)` numbers for each of n rows."""
    stub = _stub(name, "embedded, rows, out, scratch", meaning)

    @overload(stub)
    def _labels(embedded, rows, out, scratch):
        _require(rows, "rows", _REAL, 2)
        _require(out, "out", dtypes, 1)
        _require(scratch, "scratch", _BYTE, 1)
        function = _of_dtype(name, rows)

        def call(embedded, rows, out, scratch):
            model, n = _address(embedded), len(rows)
            if rows.shape[1] != _n_features(model) or len(out) != n * width(model):
                return _BAD_SIZE
            if scratch.size < _scratch_size(model, n, 1):
                return _BAD_SIZE
            return function(model, rows.ctypes.data, n, out.ctypes.data, scratch.ctypes.data)

        return call

    return stub


_one = njit(lambda model: 1)
classify = _of_labels("classify", _INDEX, "positions in `classes`, (n,)", _one)
estimate = _of_labels("estimate", _DOUBLE, "the predictions of a regression tree, (n * n_outputs,)", _n_outputs)

apply = _stub("apply", "embedded, rows, leaf", "the leaf of each row, (n,)")


@overload(apply)
def _apply(embedded, rows, leaf):
    _require(rows, "rows", _REAL, 2)
    _require(leaf, "leaf", _INDEX, 1)
    function = _of_dtype("apply", rows)

    def call(embedded, rows, leaf):
        model = _address(embedded)
        if rows.shape != (len(leaf), _n_features(model)):
            return _BAD_SIZE
        return function(model, rows.ctypes.data, len(leaf), leaf.ctypes.data)

    return call


dot = _stub("dot", "x, y", "the sum of the products in float64, NaN where the lengths differ")


@overload(dot)
def _dot(x, y):
    _require(x, "x", _REAL, 1)
    _require(y, "y", (x.dtype,), 1)
    function = _of_dtype("dot", x)
    return lambda x, y: function(x.ctypes.data, y.ctypes.data, len(x)) if len(x) == len(y) else float("nan")


axpy = _stub("axpy", "a, x, y", "y += a x")


@overload(axpy)
def _axpy(a, x, y):
    _require(x, "x", _REAL, 1)
    _require(y, "y", (x.dtype,), 1)
    function = _of_dtype("axpy", x)
    return lambda a, x, y: function(len(x), a, x.ctypes.data, y.ctypes.data) if len(x) == len(y) else _BAD_SIZE


squared_distances = _stub(
    "squared_distances", "rows, queries, out, scratch", "squared Euclidean distances, (n_queries, n_rows)"
)


@overload(squared_distances)
def _squared_distances(rows, queries, out, scratch):
    _require(rows, "rows", _REAL, 2)
    _require(queries, "queries", (rows.dtype,), 2)
    _require(out, "out", _DOUBLE, 2)
    _require(scratch, "scratch", _BYTE, 1)
    function = _of_dtype("squared_distances", rows)

    def call(rows, queries, out, scratch):
        n, d = rows.shape
        if queries.shape != (len(out), d) or out.shape[1] != n or scratch.size < _distances_scratch(d):
            return _BAD_SIZE
        return function(rows.ctypes.data, n, queries.ctypes.data, len(out), d, out.ctypes.data, scratch.ctypes.data)

    return call
