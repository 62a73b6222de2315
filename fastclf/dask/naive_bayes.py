"""Naive Bayes on Dask: the sums of blocks of rows, added in the order of the plain fit."""

import numpy as np

from .. import naive_bayes as plain
from ..sums.class_sums import count_categories, require_finite, span_bounds
from ..sums.moments import joined_moments, moment_bounds, moment_spans, pool
from .base import OnDask, on_dask
from .blocks import Reader, Shards


def moments(model, rows, codes, weight, bounds, n_classes):
    """The moments of each block by class; with n_classes 0, of all classes together and without weights."""
    if n_classes == 0:
        codes, weight, n_classes = np.zeros(len(rows), np.int32), None, 1
    found = list(moment_spans(rows, codes, weight, n_classes, model.n_jobs, bounds))
    if not all(np.isfinite(squares).all() for *_, squares in found):
        require_finite(rows, type(model).__name__)
    return found


def counts(model, rows, codes, weight, bounds, n_classes, first):
    """The weights and sums of each block by class."""
    return model._spans(rows, codes.astype(np.int32), weight, n_classes, bounds, first)


def largest_categories(model, rows, codes, weight, bounds):
    """The number of categories of each column, for each block that counts: one for all blocks of a piece."""
    return [count_categories(rows, model.n_jobs, type(model).__name__)]


class _NaiveBayes(OnDask):
    def _fit(self, places, X, y, sample_weight):
        model = self._plain_unfitted()
        model._require_parameters()
        shards = Shards(places, X, y, sample_weight, Reader(model, model._as_rows))
        model._check_parameters(shards.columns["n_features_in_"], len(shards.classes))
        sums = self._sums(model, shards, len(shards.classes), shards.columns["n_features_in_"])
        return model._become(classes_=shards.classes, **shards.columns, **model._conclude(sums))


@on_dask(plain.GaussianNB)
class GaussianNB(_NaiveBayes):
    """Naive Bayes with a normal distribution for each class and column, on Dask: `fastclf.GaussianNB`, bit for bit."""

    def _sums(self, model, shards, n_classes, d):
        def total(n_classes, argument):
            bounds = moment_bounds(shards.n, shards.size, n_classes, d)
            return joined_moments(shards.sums(moments, bounds, argument), n_classes, d)

        found = total(n_classes, n_classes)
        # epsilon, which is added to variances, ignores the sample weights, as in the fit without Dask
        return model._of_moments(*found, pool(*(total(1, 0) if shards.weighted else found)))


class _Discrete(_NaiveBayes):
    def _sums(self, model, shards, n_classes, d):
        first = self._first_cells(model, shards)
        bounds = span_bounds(shards.n, shards.size, n_classes * model._n_cells(d, first))
        return model._of_spans(shards.sums(counts, bounds, n_classes, first), first)

    def _first_cells(self, model, shards):
        """The index of each feature's first category in one list of all categories; None for features without any."""


@on_dask(plain.MultinomialNB)
class MultinomialNB(_Discrete):
    """Naive Bayes with a multinomial distribution for each class, on Dask: `fastclf.MultinomialNB`, bit for bit."""


@on_dask(plain.ComplementNB)
class ComplementNB(_Discrete):
    """Naive Bayes by the counts of all other classes, on Dask: `fastclf.ComplementNB`, bit for bit."""


@on_dask(plain.BernoulliNB)
class BernoulliNB(_Discrete):
    """Naive Bayes with a Bernoulli distribution per class and column, on Dask: `fastclf.BernoulliNB`, bit for bit."""


@on_dask(plain.PoissonNB)
class PoissonNB(_Discrete):
    """Naive Bayes with a Poisson distribution for each class and column, on Dask: `fastclf.PoissonNB`, bit for bit."""


@on_dask(plain.CategoricalNB)
class CategoricalNB(_Discrete):
    """Naive Bayes with a distribution of categories per class, on Dask: `fastclf.CategoricalNB`, bit for bit."""

    def _first_cells(self, model, shards):
        bounds = span_bounds(shards.n, shards.size, shards.columns["n_features_in_"])
        return model._places_of(np.max(shards.sums(largest_categories, bounds), axis=0))
