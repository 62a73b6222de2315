"""Naive Bayes and centroids on Dask have the bits of the plain fit, for any partitions, and whatever worker dies."""

import numpy as np
import pytest
from clusters import client, cluster, cuts, same_bits, same_state
from scipy import sparse

import fastclf
from fastclf.dask import centroid
from fastclf.sums import class_sums

N = 30_011
RNG = np.random.default_rng(0)
Y = np.array(["ant", "bee", "cicada"])[RNG.integers(0, 3, N)]
REAL = RNG.standard_normal((N, 5)) + (Y == "bee")[:, None]
COUNTS = RNG.poisson(1 + (Y == "ant")[:, None], (N, 5))
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
ROWS = {"GaussianNB": REAL, "NearestCentroid": REAL, "BernoulliNB": REAL}
NAMES = ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "PoissonNB", "CategoricalNB", "NearestCentroid"]


@pytest.mark.parametrize("kind", cuts(N))
def test_fits_have_the_bits_of_the_plain_fit_for_any_partitions(cluster, kind):
    sizes = cuts(N)[kind]
    y = cluster.cut(Y, sizes)
    for name in NAMES if "7" in kind or "empty" in kind else NAMES[:3]:
        X = ROWS.get(name, COUNTS)
        plain = getattr(fastclf, name)().fit(X, Y)
        model = getattr(cluster.module, name)().fit(cluster.cut(X, sizes), y)
        same_state(model.to_local(), plain)
        same_bits(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_weights_and_float32_keep_the_bits(cluster, name):
    sizes = cuts(N)["uneven"]
    X = ROWS.get(name, COUNTS)
    X = X.astype(np.float32) if X.dtype.kind == "f" else X.astype(np.uint8)
    model = getattr(cluster.module, name)().fit(
        cluster.cut(X, sizes, 2), cluster.cut(Y, sizes), cluster.cut(WEIGHT, [N // 2, N - N // 2])
    )
    same_state(model.to_local(), getattr(fastclf, name)().fit(X, Y, WEIGHT))


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB"])
def test_sparse_partitions_keep_the_bits(cluster, name):
    X, sizes = sparse.csr_array(COUNTS * (COUNTS > 1)).astype(float), cuts(N)["empty and of one row"]
    model = getattr(cluster.module, name)().fit(cluster.cut(X, sizes), cluster.cut(Y, sizes))
    same_state(model.to_local(), getattr(fastclf, name)().fit(X, Y))
    same_bits(model.predict(cluster.cut(X, sizes)).compute(), model.predict(X))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_centroids_of_sparse_rows_and_medians_keep_the_bits(cluster, monkeypatch, metric, form):
    X, sizes = (REAL * (REAL > 0.5)).astype(np.float32), cuts(N)["empty and of one row"]
    rows, y = cluster.cut(form(X), sizes), cluster.cut(Y, sizes)
    monkeypatch.setattr(centroid, "_MEDIAN_BYTES", 16 * N)  # each task computes the medians of two columns
    for weight in (None, WEIGHT):
        plain = fastclf.NearestCentroid(metric, priors="empirical").fit(form(X), Y, weight)
        weights = None if weight is None else cluster.cut(weight, [N // 2, N - N // 2])
        model = cluster.module.NearestCentroid(metric, priors="empirical").fit(rows, y, weights)
        same_state(model.to_local(), plain)
        same_bits(model.predict(form(X)), plain.predict(form(X)))


def test_small_blocks_that_many_partitions_share_keep_the_bits(cluster, monkeypatch):
    X, y = REAL[:500], Y[:500]
    monkeypatch.setattr(class_sums, "_SPAN_ROWS", 37)
    plain = fastclf.GaussianNB().fit(X, y)
    for sizes in ([3] * 166 + [2], [36, 1, 38, 0, 36, 389], [37 * 5, 315]):
        same_state(cluster.module.GaussianNB().fit(cluster.cut(X, sizes), cluster.cut(y, sizes)).to_local(), plain)


def test_a_bad_entry_is_refused_with_its_partition(cluster):
    X = REAL.copy()
    X[20_000, 3] = np.nan
    with pytest.raises(ValueError, match=r"in partition 1 \(.* from its row 1384\): Input X contains NaN \(row 3616"):
        cluster.module.GaussianNB().fit(cluster.cut(X, [15_000, N - 15_000]), cluster.cut(Y, [15_000, N - 15_000]))
    with pytest.raises(ValueError, match="in partition 0: Negative values in data"):
        cluster.module.MultinomialNB().fit(cluster.cut(REAL, [N]), cluster.cut(Y, [N]))


def test_parameters_are_refused_as_by_the_plain_classes(cluster):
    X, y = cluster.cut(REAL, [N]), cluster.cut(Y, [N])
    with pytest.raises(ValueError, match="var_smoothing"):
        cluster.module.GaussianNB(var_smoothing=-1).fit(X, y)
    with pytest.raises(ValueError, match="Number of priors must match"):
        cluster.module.GaussianNB(priors=[0.5, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="metric is 'cosine'"):
        cluster.module.NearestCentroid(metric="cosine").fit(X, y)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        cluster.module.GaussianNB().fit(X, y, cluster.cut(np.zeros(N), [N]))
