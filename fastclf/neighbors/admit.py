"""Which metrics there are, and how rows and queries are checked for each."""

from .._csr import as_csr, is_sparse
from .._validation import as_array, as_matrix, require_choice
from .custom_metric import as_compiled
from .metrics import NAMED, Metric, named_norm, names_with, require_no_more, resolve_metric
from .packed_bits import PackedRows, as_bits, as_packed


def admit(X, metric, p, metric_params, owner):
    """(rows, Metric): X, checked, in the form in which it is searched: an array, PackedRows, or Csr."""
    params = dict(metric_params or {})
    compiled = as_compiled(metric)
    if compiled is not None or callable(metric):
        triangle = params.pop("triangle", False)
        if not isinstance(triangle, bool):
            raise TypeError(f"metric_params['triangle'] is {triangle!r}; True or False is wanted")
        if compiled is None:
            return as_matrix(X, owner), Metric("callable", -1, function=metric, keywords=params, triangle=triangle)
        require_no_more(params, metric)
        return as_matrix(X, owner), Metric("compiled", -1, compiled=compiled, triangle=triangle)
    require_choice("metric", metric, sorted(NAMED))
    named = NAMED[metric]
    if named.packed:
        X = as_array(X, "X")
        n_bits = params.pop("n_bits", None)
        rows = as_bits(X, metric, owner) if n_bits is None else as_packed(X, n_bits, owner)
        if rows is not None:
            require_no_more(params, metric)
            return rows, Metric(metric, -1)
    if named.missing:
        require_no_more(params, metric)
        return as_matrix(X, owner, allow_nan=True), Metric(metric, -1)
    sparse = is_sparse(X)
    rows = as_csr(X, owner) if sparse else as_matrix(X, owner)
    resolved = resolve_metric(metric, p, metric_params, rows.shape[1])
    if sparse and not resolved.named.sparse:
        raise TypeError(
            f"X is a sparse matrix, and metric is {metric!r}; one of {', '.join(names_with('sparse'))} is wanted with"
            " it, or a dense array (pass X.toarray())"
        )
    return rows, resolved


def admit_queries(X, rows, metric, owner):
    """Queries, checked, in the form in which they meet rows like those that `admit` has returned."""
    if isinstance(rows, PackedRows):
        return as_packed(X, rows.n_bits, owner) if rows.given else as_bits(X, metric.name, owner, fitted=True)
    if metric.named.missing:
        return as_matrix(X, owner, allow_nan=True)
    return as_csr(X, owner) if is_sparse(X) and metric.custom is None else as_matrix(X, owner)


def takes_sparse(metric, p):
    """Whether X may be sparse."""
    return isinstance(metric, str) and metric in NAMED and named_norm(metric, p).sparse
