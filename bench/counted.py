"""Counts of the rows whose coordinates a search reads; reading their codes does not count."""

import contextlib
from unittest import mock

from fastclf.neighbors import code_filter, scan


@contextlib.contextmanager
def rows_read():
    """A context manager that yields a list.

    Each kernel call inside appends the number of rows read in full, summed over queries. A filter reads the rows that
    its codes do not rule out, a scan reads all rows; rows read by a tree are not counted.
    """
    read = []

    def counting(kernel, count):
        def call(*arguments):
            result = kernel(*arguments)
            read.append(count(result, *arguments))
            return result

        return call

    def measured(result, *arguments):
        return result

    def scanned(result, X, start, stop, metric, state):
        return (stop - start) * len(state.queries.query)

    def found(result, X, *arguments):
        return len(X)

    with contextlib.ExitStack() as stack:
        for kernels, name, count in (
            (code_filter.kernels, "scan", measured),
            (code_filter.kernels, "finish", measured),
            (scan.kernels, "scan", scanned),
            (scan.kernels, "find", found),
        ):
            stack.enter_context(mock.patch.object(kernels, name, counting(getattr(kernels, name), count)))
        yield read
