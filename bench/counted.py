"""How many rows a search reads, beside their codes."""

import contextlib
from unittest import mock

from fastclf.neighbors import code_filter, scan


@contextlib.contextmanager
def rows_read():
    """Context that gives a list; each kernel call inside adds the rows it reads in full, once for each query.

    A filter reads the rows that its codes do not rule out, a scan all; those of a tree are not counted.
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
