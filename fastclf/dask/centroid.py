"""The nearest centroid on Dask: the moments of blocks of rows, joined in the order of the plain fit."""

import numpy as np

from .. import neighbors as plain
from .._csr import is_sparse
from .._labels import require_two
from .._validation import as_unchecked_matrix, require_finite
from ..sums.blocks import added
from ..sums.class_sums import class_count_spans
from ..sums.moments import joined_moments, moment_bounds, moment_spans
from .base import OnDask, on_dask
from .blocks import Reader, Shards


def _dense_rows(X, owner):
    if is_sparse(X):
        raise TypeError(f"X has sparse partitions, which {owner} of fastclf.dask does not take; dense ones are wanted")
    return as_unchecked_matrix(X, owner)


def class_moments(model, rows, codes, weight, bounds, n_classes):
    """The weights and the moments of each block by class."""
    found = list(moment_spans(rows, codes, weight, n_classes, model.n_jobs, bounds))
    if not all(np.isfinite(squares).all() for *_, squares in found):
        require_finite(rows, "X", type(model).__name__)
    return list(zip(class_count_spans(codes, weight, n_classes, bounds), found))


@on_dask(plain.NearestCentroid)
class NearestCentroid(OnDask):
    """Classify by the nearest centroid, on Dask: `fastclf.NearestCentroid`, bit for bit.

    X is dense, and `metric` is 'euclidean', since medians would need whole columns.
    """

    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._require_parameters()
        if model.metric != "euclidean":
            raise ValueError(
                "metric is 'manhattan', whose medians need whole columns on one machine; 'euclidean' is wanted, or"
                " fastclf.NearestCentroid"
            )
        model._check_shrinking()
        shards = Shards(places, X, y, sample_weight, Reader(model, _dense_rows, True, require_finite))
        n_classes, d = len(shards.classes), shards.columns["n_features_in_"]
        require_two("y", shards.classes)
        bounds = moment_bounds(shards.n, shards.size, n_classes, d)
        sizes, spans = zip(*shards.sums(class_moments, bounds, n_classes))
        size = added(sizes)
        prior = model._prior(size)
        _, means, squares = joined_moments(spans, n_classes, d)
        with np.errstate(over="ignore"):
            squares = squares.sum(axis=0)
        return model._become(
            **shards.columns, classes_=shards.classes, **model._of_moments(size, prior, means, means, squares)
        )
