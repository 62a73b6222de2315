"""Dask's collections as partitions: the checks that need no data, and the partitions' numbers of rows."""

import contextlib
import mmap
from typing import NamedTuple

import numpy as np

from .._validation import described, feature_names
from .places import own_threads


def is_collection(X):
    """Whether X is Rows on Ray, or Dask's: an array, a dataframe, a series, a bag or a Delayed object."""
    return hasattr(type(X), "__dask_graph__") or is_rows(X)


def is_rows(X):
    """Whether X is Rows on Ray."""
    return hasattr(type(X), "is_rows")


def _is_frame(X):
    # attributes are looked up in the type, because an object of Dask's type Delayed seems to have every attribute
    return hasattr(type(X), "to_delayed") and hasattr(type(X), "divisions")


def _is_array(X):
    return hasattr(type(X), "to_delayed") and hasattr(type(X), "rechunk")


def require_kind(places, parts):
    """Refuse Rows on Dask, and all but Rows on Ray; parts: {name: a part of the data, or None}."""
    for name, part in parts.items():
        if part is not None and is_rows(part) != places.on_ray:
            wanted = "fastclf.ray.Rows" if places.on_ray else "a dask array or dataframe"
            raise TypeError(f"{name} is {described(part)}; {wanted} is wanted")


def require_collection(X, name, owner):
    """Refuse all but Dask's arrays and dataframes, and categories that are not known."""
    if is_rows(X):
        return
    if not is_collection(X):
        raise TypeError(
            f"{name} is {described(X)}; a dask array or dataframe is wanted, such as dask.array.from_array({name}),"
            f" or {owner} of fastclf itself for arrays in memory"
        )
    if not (_is_frame(X) or _is_array(X)):
        raise TypeError(f"{name} is a {type(X).__name__} of dask; a dask array or dataframe is wanted")
    if _is_frame(X):
        dtypes = list(X.dtypes.items()) if hasattr(X.dtypes, "items") else [(getattr(X, "name", name), X.dtype)]
        for column, dtype in dtypes:
            if str(dtype) == "category" and "UNKNOWN" in str(list(dtype.categories)):
                raise ValueError(
                    f"column {column!r} of {name} has unknown categories, so that partitions may number them"
                    f" differently; {name}.categorize() makes them known"
                )


def as_rows(X, name, owner):
    """A matrix whose partitions have all columns, from a collection X of rows."""
    require_collection(X, name, owner)
    if X.ndim != 2:
        expected = f"Expected 2D array, got {X.ndim}D array instead: " if X.ndim < 2 else ""
        raise ValueError(f"{expected}{name} has shape {X.shape}; (n_samples, n_features) is wanted")
    if X.shape[1] == 0:
        raise ValueError(f"{name} has no columns; a minimum of 1 is required by {owner}.")
    if _is_array(X) and len(X.chunks[1]) > 1:
        return X.rechunk({1: -1})
    return X


def columns_of(X):
    """The attributes about the columns of X that `fit` sets, such as n_features_in_."""
    names = X.feature_names() if is_rows(X) else feature_names(X)
    return {"n_features_in_": int(X.shape[1])} | ({} if names is None else {"feature_names_in_": names})


def beside(column, X, name, owner):
    """A collection with an entry for each row of X, cut as X is if both have known chunk sizes."""
    require_collection(column, name, owner)
    if _is_array(column) and _is_array(X):
        known = not any(np.isnan(size) for part in (column, X) for size in part.chunks[0])
        if known and column.shape[0] == X.shape[0] and column.chunks[0] != X.chunks[0]:
            column = column.rechunk({0: X.chunks[0]})
        if column.ndim == 2 and len(column.chunks[1]) > 1:
            column = column.rechunk({1: -1})
    return column


def parts_of(collection):
    """The partitions of a collection as a list of Dask's Delayed objects, or of references on Ray."""
    if is_rows(collection):
        return collection.refs
    # optimize_graph is False: otherwise Dask forgets the futures of a persisted collection that the caller has dropped
    parts = collection.to_delayed(optimize_graph=False)
    return parts.ravel().tolist() if isinstance(parts, np.ndarray) else list(parts)


def put_all(places, collections):
    """For each collection the references to its partitions, or None for None, put by one call."""
    parts = [None if each is None else parts_of(each) for each in collections]
    refs = iter(places.put([part for each in parts if each is not None for part in each]))
    return [None if each is None else [next(refs) for _ in each] for each in parts]


class Recipe:
    """How a task computes a partition anew, because the workers cannot hold all partitions.

    It is no tuple, in which Dask would look for the tasks of the graph and run them itself.
    """

    def __init__(self, graph, key):
        self.graph = graph  # the tasks of Dask that compute the partition
        self.key = key  # the key, in `graph`, of the task whose result is the partition


def value_of(part):
    """A partition, or the value of a Recipe."""
    if not isinstance(part, Recipe):
        return part
    import dask

    return dask.get(part.graph, part.key)


def give_back(part):
    """Give back the memory pages of a memory map, which Dask counts as memory of the worker."""
    mapped = getattr(part, "_mmap", None)
    if mapped is not None and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


def recipes(X, places):
    """(Recipes of the partitions of X, the addresses of their workers), if X is not persisted and too large; else None.

    X is too large if it takes more than half of the memory of the workers.
    """
    there = places.places()
    limited = bool(there) and all(place.memory for place in there)
    # `not ... >` is also true if nbytes is NaN, as for an array with chunks of unknown size
    if not limited or not _is_array(X) or not X.nbytes > sum(place.memory for place in there) / 2:
        return None
    from dask._task_spec import convert_legacy_graph, cull
    from distributed import futures_of

    if futures_of(X):
        return None
    graph = convert_legacy_graph(dict(X.__dask_graph__()))
    keys = [part.key for part in parts_of(X)]
    found = [Recipe(cull(graph, [key]), key) for key in keys]
    return found, [there[i * len(there) // len(keys)].address for i in range(len(keys))]


class Partition(NamedTuple):
    """A partition of the rows of a fit."""

    number: int
    arrays: list  # references to the partition's parts of X, y and sample_weight; None for an argument that is None
    place: str | None  # the address of the worker that has the part of X
    n: int  # the number of rows of the partition that the fit uses


@contextlib.contextmanager
def naming(number, start=0):
    """Add the number of the partition, and the row from which rows are counted, to an error about its data."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        where = f"in partition {number}" + (f" (rows are counted from its row {start})" if start else "")
        raise type(error)(f"{where}: {error}") from None


def by_place(items, place_of):
    """{place: the items of that place}, in the order of the items."""
    found = {}
    for item in items:
        found.setdefault(place_of(item), []).append(item)
    return found


def lengths(parts):
    """The number of rows of each part."""
    parts = map(value_of, parts)
    return [part.shape[0] if hasattr(part, "shape") else len(part) for part in parts]


def cut(part, start, stop):
    """A copy of some entries of a part."""
    part = part.iloc[start:stop] if hasattr(part, "iloc") else part[start:stop]
    return part.copy()


def chain(pieces):
    """Pieces of a column, of any type of array, as one array."""
    return np.concatenate([np.asarray(piece) for piece in pieces])


def count(places, refs, where=None):
    """The number of rows of each part, counted where the parts are, or at the addresses in `where`."""
    numbered = list(enumerate(zip(refs, where or places.places(refs))))
    groups = by_place(numbered, lambda item: item[1][1])
    found = places.get(
        [places.call(lengths, [ref for _, (ref, _) in group], near=place) for place, group in groups.items()]
    )
    total = [0] * len(refs)
    for group, counted in zip(groups.values(), found):
        for (i, _), n in zip(group, counted):
            total[i] = n
    return total


def aligned(places, refs, wanted, name):
    """References to the entries of a column, cut as the rows of X, whose partitions have the lengths `wanted`."""
    have = count(places, refs)
    if have == wanted:
        return refs
    if sum(have) != sum(wanted):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {name} has {sum(have)} entries and X"
            f" {sum(wanted)} rows; one entry per row is wanted"
        )
    starts, cuts, first = np.concatenate([[0], np.cumsum(have)]), [], 0
    for n in wanted:
        overlaps = [
            (refs[i], max(first, starts[i]) - starts[i], min(first + n, starts[i + 1]) - starts[i])
            for i in range(len(refs))
            if max(first, starts[i]) < min(first + n, starts[i + 1])
        ] or [(refs[0], 0, 0)]
        pieces = [places.call(cut, ref, int(start), int(stop)) for ref, start, stop in overlaps]
        cuts.append(places.call(chain, pieces))
        first += n
    return cuts


def threads_of(n_jobs):
    """The number of threads of a task: those of its worker, at most `n_jobs` if this is a positive number."""
    own = own_threads()
    return min(own, n_jobs) if isinstance(n_jobs, int) and n_jobs > 0 else own
