"""Lazy answers for collections have the bits of the estimator's own answers, for every estimator."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import client, cluster, same_bits
from every_estimator import FITTED, MIXED, asked
from sklearn.linear_model import LogisticRegression

import fastclf
from fastclf import TableClassifier
from fastclf.dask import Lazy
from fastclf.dask.lazy import ROW_METHODS


def require_the_same_lazily(name, model, rows, lazy, lazy_rows, computed):
    """Require that `lazy` answers the rows and the collection of the same rows as the model does."""
    asked_of = 0
    for method in ROW_METHODS:
        if not hasattr(model, method):
            assert not hasattr(lazy, method)
            continue
        try:
            wanted = getattr(model, method)(rows)
        except ValueError:  # the queries of some models have another number of columns
            continue
        found = getattr(lazy, method)(lazy_rows)
        if isinstance(wanted, (tuple, list)):
            assert type(found) is type(wanted)
            found = [computed(part) for part in found]
        else:
            assert type(found) is type(lazy_rows) or isinstance(found, da.Array)
            found = computed(found)
        own = getattr(lazy, method)(rows)
        if hasattr(wanted, "toarray"):
            found, own, wanted = found.toarray(), own.toarray(), wanted.toarray()
        same_bits(own, wanted, method)
        if name == "bayes, table":  # the probabilities depend on the number of rows of a call, by a rounding error
            parts = [getattr(model, method)(rows[i : i + 14]) for i in range(0, len(rows), 14)]
            wanted = np.concatenate(parts)
        same_bits(found, wanted, method)
        asked_of += 1
    assert asked_of or not any(hasattr(model, method) for method in ROW_METHODS)
    assert lazy.to_local() is model


@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_answers_collections_lazily_with_its_bits(name):
    model = FITTED[name]()
    if isinstance(model, TableClassifier):
        table = pd.DataFrame(dict(zip(MIXED.names, MIXED.columns)))
        rows, lazy_rows = table, dd.from_pandas(table, npartitions=3, sort=False)
    else:
        rows = np.asarray(asked(model))
        lazy_rows = da.from_array(rows, chunks=((5, 0, 1, len(rows) - 6), 1))
    require_the_same_lazily(name, model, rows, Lazy(model), lazy_rows, lambda part: part.compute(scheduler="sync"))


def test_answers_know_their_type_and_shape_before_they_are_computed():
    X = np.random.default_rng(0).standard_normal((90, 3))
    model = fastclf.KNeighborsClassifier().fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    rows = da.from_array(X, chunks=40)
    labels, shares = Lazy(model).predict(rows), Lazy(model).predict_proba(rows)
    assert (labels.dtype, labels.shape, labels.chunks) == (np.dtype("<U3"), (90,), ((40, 40, 10),))
    assert (shares.dtype, shares.shape) == (np.float64, (90, 2))
    distances, numbers = Lazy(model).kneighbors(rows, n_neighbors=2)
    assert (distances.shape, numbers.dtype) == ((90, 2), np.intp)


def test_an_estimator_of_another_library_answers_lazily():
    X = np.random.default_rng(0).standard_normal((90, 3))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    same_bits(Lazy(model).predict(da.from_array(X, chunks=40)).compute(scheduler="sync"), model.predict(X))


def test_what_is_no_fitted_estimator_is_refused():
    for wrong in (fastclf.GaussianNB, 3, None):
        with pytest.raises(TypeError, match="a fitted estimator is wanted"):
            Lazy(wrong)
    with pytest.raises(ValueError, match="not fitted yet"):
        Lazy(fastclf.GaussianNB()).predict(da.ones((3, 2)))
