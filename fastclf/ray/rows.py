"""Rows of data in Ray's object store, as fits take them and answers return them."""

import numpy as np
import ray

from .._validation import described, feature_names
from ..dask.lazy import answer_part, ask_part, first_row, merged_parts, pick_part
from .places import RayPlaces


def _empty(part):
    """A copy of a partition without its rows, which has the same columns and dtypes."""
    part = part.iloc[:0] if hasattr(part, "iloc") else part[:0]
    return part.copy()


class Rows:
    """Rows, labels or weights in Ray's object store, one reference per partition, in the order of the rows.

    Parameters
    ----------
    refs : list of ray.ObjectRef, or ray.data.Dataset
        References to arrays, pandas DataFrames or SciPy's sparse matrices, each with some of the rows. Values that
        tasks have returned can be made again if a node dies; those of `ray.put` cannot. A Dataset becomes references to
        DataFrames, whose order is that of its rows if its option `preserve_order` is set.

    Examples
    --------
    >>> rows = Rows([read.remote(path) for path in paths])  # doctest: +SKIP
    >>> GaussianNB().fit(rows, Rows([read_labels.remote(path) for path in paths]))  # doctest: +SKIP
    """

    is_rows = True

    def __init__(self, refs):
        refs = refs.to_pandas_refs() if hasattr(refs, "to_pandas_refs") else refs
        refs = list(refs) if isinstance(refs, (list, tuple)) else refs
        if not isinstance(refs, list) or not refs or not all(isinstance(ref, ray.ObjectRef) for ref in refs):
            raise TypeError(f"refs is {described(refs)}; a list of ray.ObjectRef, one per partition, is wanted")
        self._known(refs, RayPlaces().get([RayPlaces().call(_empty, refs[0])])[0])

    def _known(self, refs, empty):
        self.refs, self._meta = refs, empty

    @classmethod
    def _of(cls, refs, empty):
        rows = object.__new__(cls)
        rows._known(refs, empty)
        return rows

    @property
    def ndim(self):
        return self._meta.ndim

    @property
    def shape(self):
        """(the number of rows, which is not known before a fit counts them: NaN; the number of columns)."""
        return (np.nan, *self._meta.shape[1:])

    @property
    def dtype(self):
        return getattr(self._meta, "dtype", None)

    def __repr__(self):
        return f"Rows({len(self.refs)} partitions)"

    def feature_names(self):
        return feature_names(self._meta)

    def compute(self):
        """All rows, in the memory of this process."""
        from ..dask.model_selection import gathered

        return gathered(RayPlaces().get(self.refs))

    def first_row(self):
        """A row in the form of the partitions; of arrays, it is made up."""
        return self.real_row() if hasattr(self._meta, "iloc") else first_row(self)

    def real_row(self):
        """The first of the rows; no row if there is none."""
        places = RayPlaces()
        parts = places.get([places.call(_first, ref) for ref in self.refs])
        return next((part for part in parts if part.shape[0]), parts[0])

    def answered(self, model, method, form, arguments):
        """The answer of a fitted model for each partition: Rows, or a tuple or list of Rows."""
        places = RayPlaces()
        several = type(form) if isinstance(form, (tuple, list)) else None
        empty = [array[:0] for array in (form if several else [form])]
        shared = ray.put(model)
        answers = [places.call(answer_part, shared, method, ref, empty, arguments) for ref in self.refs]
        found = _picked(places, answers, empty)
        return several(found) if several else found[0]

    def merged(self, shards, search, finish, empty):
        """[Rows of f([ask(shard, partition, *rest) of each shard], *arguments)]; see `lazy_merge`."""
        places, (ask, *rest), (f, *arguments) = RayPlaces(), search, finish
        answers = []
        for ref in self.refs:
            found = [places.call(ask_part, ask, shard, ref, *rest) for shard in shards]
            answers.append(places.call(merged_parts, found, empty, f, *arguments))
        return _picked(places, answers, empty)


def _first(part):
    return part.iloc[:1] if hasattr(part, "iloc") else part[:1]


def _picked(places, answers, empty):
    return [
        Rows._of([places.call(pick_part, answer, i, None) for answer in answers], array)
        for i, array in enumerate(empty)
    ]
