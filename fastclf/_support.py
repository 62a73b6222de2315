"""Support vectors beside new rows."""

import numpy as np

from ._csr import Csr


def slots(support, rows):
    """(support, and the rows that are not in it, once each; where each row is among them)."""
    columns = np.concatenate([support, rows[~np.isin(rows, support)]])
    by_row = np.argsort(columns, kind="stable")
    return columns, by_row[np.searchsorted(columns, rows, sorter=by_row)].astype(np.intp)


def stacked(first, second):
    """Rows below rows, dense, or sparse if one of both is."""
    if not (isinstance(first, Csr) or isinstance(second, Csr)):
        return np.concatenate([first, second])
    first, second = (rows if isinstance(rows, Csr) else Csr.from_dense(rows) for rows in (first, second))
    return Csr(
        np.concatenate([first.indptr, first.indptr[-1] + second.indptr[1:]]),
        np.concatenate([first.indices[: first.size], second.indices[: second.size]]),
        np.concatenate([first.data[: first.size], second.data[: second.size]]),
        first.n_columns,
    )
