"""Least squares on Dask: the sums of blocks of rows, from which the client solves as the plain fit does."""

import numpy as np

from .. import linear_model as plain
from .._csr import Csr, as_unchecked_rows
from .._estimator import clone
from .._labels import class_factors, require_two
from .._threads import advance
from .._validation import require_finite
from ..linear_model.row_sums import sample_step
from ..sums.blocks import added, by_length
from ..sums.class_sums import class_count_spans, span_bounds
from ..sums.layout import by_column
from ..sums.moments import add_products, joined_products, product_bounds, product_range, product_sums
from .base import OnDask, on_dask
from .blocks import Reader, Shards

# The largest number of columns with which workers sum sparse rows. With more columns, all rows are copied to the
# client, which fits them as without Dask: that fit keeps the rows sparse.
_MANY_COLUMNS = 4096


def silent(model):
    """The unfitted model without progress and callback, which belong to the client."""
    return clone(model).set_params(verbose=0, callback=None)


def require_finite_rows(rows, name, owner):
    """Refuse NaN and infinity in dense rows; sparse rows are checked when they are read."""
    if not isinstance(rows, Csr):
        require_finite(rows, name, owner)


def weighed(codes, weight, factor):
    """The weights of rows times the factors of their classes; `weight` and `factor` may be None."""
    return weight if factor is None else factor[codes] * (1.0 if weight is None else weight)


def product_state(model, rows, codes, weight, state, shift, n_classes, factor):
    """The sums of products of a block after these rows."""
    n, d = rows.shape
    state, weight = state or product_sums(n_classes, d), weighed(codes, weight, factor)
    with np.errstate(all="ignore"):
        for start, stop in by_length(0, n, product_range(d)):
            add_products(rows, codes, weight, shift, start, stop, state)
    if not np.isfinite(state[1].diagonal()).all():
        require_finite_rows(rows, "X", type(model).__name__)
    return state


def class_sizes(model, rows, codes, weight, bounds, n_classes, factor):
    """The total weight of each class in each block."""
    return class_count_spans(codes, weighed(codes, weight, factor), n_classes, bounds)


def sizes_of(shards, factor=None):
    """The total weight of each class."""
    if not shards.weighted and factor is None:
        return shards.counts
    sums = shards.sums(class_sizes, span_bounds(shards.n, 0, 0), len(shards.classes), factor)
    return added(np.array(sums))


class ShardSums:
    """The sums of `fastclf.linear_model.row_sums.RowSums` for rows on places.

    factor: the factor of the weights of each class, or None.
    """

    def __init__(self, shards, factor):
        self._shards, self._factor = shards, factor
        self.shape, self.sparse = (shards.n, shards.columns["n_features_in_"]), shards.sparse

    def __len__(self):
        return self.shape[0]

    def sample_mean(self):
        n = len(self)
        return np.asarray(self._shards.rows_at(np.arange(0, n, sample_step(n))), np.float64).mean(axis=0)

    def products(self, shift, progress):
        n_classes, (n, d) = len(self._shards.classes), self.shape
        bounds = product_bounds(n, n_classes, d)
        blocks = self._shards.chained(product_state, bounds, shift, n_classes, self._factor)
        # the first block's sums are copied, because those of the other blocks are added to them in place
        blocks[0] = [array.copy() for array in blocks[0]]
        advance(progress, n)
        return joined_products(blocks, d)

    def sizes(self):
        return sizes_of(self._shards, self._factor)

    def blocks(self, size):
        """Yield (rows, codes, weights or None) of successive blocks; the next block is on its way meanwhile."""
        starts = range(0, len(self), size)
        coming = self._shards.copies(0, size)
        for start in starts:
            refs = coming
            coming = self._shards.copies(start + size, start + 2 * size)
            rows, codes, weight = self._shards.here(refs)
            yield rows, codes, weighed(codes, weight, self._factor)

    def require_finite(self, owner):
        """Nothing is left to be refused: the tasks have checked the rows."""


class _LeastSquares(OnDask):
    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._check_parameters()
        reader = Reader(silent(model), as_unchecked_rows, True, require_finite_rows)
        shards = Shards(places, X, y, sample_weight, reader)
        require_two("y", shards.classes)
        class_weight, factor = getattr(model, "class_weight", None), None
        if class_weight is not None:
            factor = class_factors(class_weight, shards.classes, sizes_of(shards))
        n, d = shards.n, shards.columns["n_features_in_"]
        if n < d or (shards.sparse and d > _MANY_COLUMNS):
            rows, codes, weight = shards.here(shards.copies(0, n))
            found = self._solve(model, rows, codes, shards.classes, weighed(codes, weight, factor))
        else:
            found = self._solve(model, ShardSums(shards, factor), None, shards.classes, None)
            if shards.sparse and len(found["coef_"]) > 1:
                found["coef_"] = by_column(found["coef_"])
        return model._become(**shards.columns, **found)


@on_dask(plain.LeastSquaresClassifier)
class LeastSquaresClassifier(_LeastSquares):
    """Least squares on the indicators of the classes, on Dask: `fastclf.LeastSquaresClassifier`, bit for bit.

    The sums of squares come from the workers in two rounds. If the condition number of their matrix is above 1e5, all
    rows pass through the client in blocks of 8 MB, once or twice, as they do one after another in the plain fit. If X
    has fewer rows than columns, or is sparse with more than 4096 columns, the client collects X.
    """

    _solve = staticmethod(lambda model, *problem: model._solved(*problem, with_inverse=False)[0])


@on_dask(plain.RidgeClassifier)
class RidgeClassifier(_LeastSquares):
    """Ridge regression on the indicators of the classes, on Dask: `fastclf.RidgeClassifier`, bit for bit.

    The work is shared as by :class:`LeastSquaresClassifier`.
    """

    _solve = staticmethod(lambda model, *problem: model._solved_fast(*problem))
