"""k-NN compared with other libraries; `python bench/peers.py` runs the comparison."""

from functools import partial

import data
import numpy as np
from comparison import Work, comparison, estimator, in_blocks, same_labels


def faiss_flat(X, k, threads, metric):
    import faiss

    kinds = {
        "euclidean": (faiss.METRIC_L2, np.sqrt),
        "manhattan": (faiss.METRIC_L1, np.asarray),
        "cosine": (faiss.METRIC_INNER_PRODUCT, lambda products: 1 - products),
        "dot": (faiss.METRIC_INNER_PRODUCT, np.negative),
    }
    kind, as_distance = kinds[metric]
    prepare = unit_rows if metric == "cosine" else np.asarray
    index = faiss.IndexFlat(X.shape[1], kind)
    index.add(prepare(X))

    def search(Q):
        found, indices = index.search(prepare(Q), k)
        return as_distance(found), indices

    return search


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def faiss_panorama(X, k, threads, metric):
    """A search by faiss's PCA and Panorama, exact up to rounding: the first principal coordinates exclude most rows."""
    import faiss

    index = faiss.index_factory(X.shape[1], f"PCA{X.shape[1]},FlatL2Panorama8")
    index.train(X)
    index.add(X)

    def search(Q):
        squares, indices = index.search(Q, k)
        return np.sqrt(squares), indices

    return search


def faiss_inverted(X, k, threads, metric):
    """A search of the 4 nearest of 1024 cells by faiss: not exact."""
    import faiss

    index = faiss.index_factory(X.shape[1], "IVF1024,Flat")
    index.train(X)
    index.add(X)
    index.nprobe = 4

    def search(Q):
        squares, indices = index.search(Q, k)
        return np.sqrt(squares), indices

    return search


def usearch_flat(X, k, threads, metric):
    """An exact search by USearch, which scans all rows."""
    from usearch.index import MetricKind, search

    def nearest(Q):
        found = search(X, Q, k, MetricKind.L2sq, exact=True, threads=threads)
        return np.sqrt(found.distances).reshape(len(Q), k), found.keys.reshape(len(Q), k).astype(np.intp)

    return nearest


def usearch_graph(X, k, threads, metric):
    """A search of USearch's graph (HNSW): not exact."""
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(X)), X)

    def nearest(Q):
        found = index.search(Q, k, threads=threads)
        return np.sqrt(found.distances).reshape(len(Q), k), found.keys.reshape(len(Q), k).astype(np.intp)

    return nearest


def faiss_vote(X, y, k, threads):
    """A call that predicts by the vote of faiss's neighbours; of equal classes the first wins."""
    search = faiss_flat(X, k, threads, "euclidean")
    classes, codes = np.unique(y, return_inverse=True)

    def predict(Q):
        found = codes[search(Q)[1]]
        return classes[(found[:, :, None] == np.arange(len(classes))).sum(axis=1).argmax(axis=1)]

    return predict


def scipy_tree(X, k, threads, metric):
    from scipy.spatial import cKDTree

    return partial(cKDTree(X).query, k=k, workers=threads)


def scipy_cdist(X, k, threads, metric):
    from scipy.spatial.distance import cdist

    def search(Q):
        D = cdist(Q, X, metric)
        indices = np.argpartition(D, k, axis=1)[:, :k]
        distances = np.take_along_axis(D, indices, axis=1)
        order = np.argsort(distances, axis=1)
        return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)

    return search


def same_neighbors(rtol, ours, theirs):
    (d, i), (e, j) = (map(np.concatenate, zip(*answers)) for answers in (ours, theirs))
    rows = int((np.sort(i, axis=1) != np.sort(j, axis=1)).any(axis=1).sum())
    return bool(np.allclose(d, e, rtol=rtol, atol=0)), f"other neighbours in {rows} of {len(i)} rows"


def near_neighbors(least, ours, theirs):
    """Whether peers that are not exact find at least this share of our neighbours."""
    found = np.mean([np.isin(j, i).mean() for (_, I), (_, J) in zip(ours, theirs) for i, j in zip(I, J)])
    return bool(found >= least), f"found {found:.2%} of the neighbours"


def nearest(X, blocks, threads, *names, k=10, metric="euclidean", calls=1, algorithm="auto", least=None):
    """The Work of finding the k nearest rows; float32 distances agree to 1e-4, as peers compute ||x||^2 - 2xq.

    With `least`, peers need not be exact, but find at least this share of the neighbours.
    """

    def like_sklearn(module, algorithm="brute"):
        parameters = {"n_neighbors": k, "metric": metric, "algorithm": algorithm, "n_jobs": threads}
        return partial(estimator, module, "NearestNeighbors", "kneighbors", X, **parameters)

    known = {
        "sklearn": like_sklearn("sklearn.neighbors"),
        "sklearn kd_tree": like_sklearn("sklearn.neighbors", "kd_tree"),
        "sklearnex": like_sklearn("sklearnex.neighbors"),
        "faiss": partial(faiss_flat, X, k, threads, metric),
        "faiss panorama": partial(faiss_panorama, X, k, threads, metric),
        "scipy cKDTree": partial(scipy_tree, X, k, threads, metric),
        "scipy cdist": partial(scipy_cdist, X, k, threads, metric),
        "faiss inverted": partial(faiss_inverted, X, k, threads, metric),
        "usearch": partial(usearch_flat, X, k, threads, metric),
        "usearch graph": partial(usearch_graph, X, k, threads, metric),
    }
    agree = partial(same_neighbors, 1e-4 if X.dtype == np.float32 else 1e-9)
    if least is not None:
        agree = partial(near_neighbors, least)
    return Work(blocks, like_sklearn("fastclf", algorithm), {name: known[name] for name in names}, agree, calls)


def predicted(X, y, X_test, threads):
    """The Work of predicting X_test by the vote of 5 neighbours."""

    def classifier(module):
        return partial(estimator, module, "KNeighborsClassifier", "predict", X, y, n_neighbors=5, n_jobs=threads)

    peers = {name: classifier(f"{name}.neighbors") for name in ("sklearn", "sklearnex")}
    peers["faiss"] = partial(faiss_vote, X, y, 5, threads)
    return Work([X_test], classifier("fastclf"), peers, same_labels)


@comparison("A single query", threads=(1,), faiss=12, faiss_panorama=2.5, sklearn=40)
def a_single(scale, threads):
    X, Q = data.clustered(int(1_000_000 * scale), 1000)
    return nearest(X, in_blocks(Q), threads, "faiss", "faiss panorama", "sklearn", calls=20)


@comparison("A single query by cells", threads=(1,), most=0.25e-3, faiss_inverted=0.5)
def a_single_by_cells(scale, threads):
    X, Q = data.clustered(int(1_000_000 * scale), 1000)
    blocks = in_blocks(Q)
    return nearest(X, blocks, threads, "faiss inverted", calls=200, algorithm="cells", least=0.99)


@comparison("A 50k, batch, beside a graph", threads=(2,), usearch_graph=0.5)
def a_graph(scale, threads):
    X, Q = data.clustered(int(50_000 * scale), 1000)
    return nearest(X, [Q], threads, "usearch graph", least=0.9)


@comparison("A 10 queries", threads=(2,), faiss=5, sklearnex=5)
def a_ten(scale, threads):
    X, Q = data.clustered(int(1_000_000 * scale), 1000)
    return nearest(X, in_blocks(Q, 10), threads, "faiss", "sklearnex", calls=10)


@comparison("A batch", threads=(2,), sklearnex=8, sklearn=20)
@comparison("A batch", threads=(1,))
def a_batch(scale, threads):
    X, Q = data.clustered(int(1_000_000 * scale), 1000)
    return nearest(X, [Q], threads, "sklearnex", "sklearn", "faiss")


@comparison("A 200k, batch, manhattan", threads=(2,), faiss=4)
def a_manhattan(scale, threads):
    X, Q = data.clustered(int(200_000 * scale), 200)
    return nearest(X, [Q], threads, "faiss", "sklearn", metric="manhattan")


@comparison("A 200k, batch, cosine", threads=(2,))
def a_cosine(scale, threads):
    X, Q = data.clustered(int(200_000 * scale), 200)
    return nearest(X, [Q], threads, "faiss", "sklearn", metric="cosine")


@comparison("A 200k, batch, dot", threads=(2,))
def a_dot(scale, threads):
    X, Q = data.clustered(int(200_000 * scale), 200)
    return nearest(X, [Q], threads, "faiss", metric="dot")


@comparison("iid single query", threads=(1,), faiss=2.5, usearch=2.5)
def iid_single(scale, threads):
    X, Q = data.iid(int(1_000_000 * scale), 1000)
    return nearest(X, in_blocks(Q), threads, "faiss", "usearch", calls=20)


@comparison("iid batch", threads=(2,), sklearnex=3)
def iid_batch(scale, threads):
    X, Q = data.iid(int(1_000_000 * scale), 1000)
    return nearest(X, [Q], threads, "sklearnex", "sklearn", "faiss")


@comparison("iid 200k, batch, float64")
def iid_float64(scale, threads):
    X, Q = data.iid(int(200_000 * scale), 200, dtype="float64")
    return nearest(X, [Q], threads, "sklearn", *["scipy cdist"] * (threads == 1))


@comparison("M single query", threads=(1,), faiss=20)
def m_single(scale, threads):
    X, Q = data.mnist_shifted()
    return nearest(X[: int(len(X) * scale)], in_blocks(Q), threads, "faiss", calls=20)


@comparison("C d=2, batch", scipy_cKDTree=1.5)
def low_2(scale, threads):
    X, Q = data.iid(int(1_000_000 * scale), 20_000, 2, "float64")
    return nearest(X, [Q], threads, "scipy cKDTree", "sklearn kd_tree")


@comparison("C d=3, batch", scipy_cKDTree=1.5)
def low_3(scale, threads):
    X, Q = data.iid(int(1_000_000 * scale), 20_000, 3, "float64")
    return nearest(X, [Q], threads, "scipy cKDTree", "sklearn kd_tree")


@comparison("C d=8, batch", scipy_cKDTree=4)
def low_8(scale, threads):
    X, Q = data.iid(int(1_000_000 * scale), 4000, 8, "float64")
    return nearest(X, [Q], threads, "scipy cKDTree")


@comparison("1000 x 10, single query", threads=(1,), most=30e-6, sklearn=10)
def small(scale, threads):
    X, Q = data.iid(1000, 1000, 10)
    return nearest(X, in_blocks(Q), threads, "sklearn", "sklearnex", "faiss", k=5, calls=200)


@comparison("usps, 5-NN predict", threads=(2,), sklearn=3, sklearnex=3, faiss=3)
@comparison("usps, 5-NN predict", threads=(1,))
def usps(scale, threads):
    X, y, X_test, _ = data.usps()
    return predicted(X, y, X_test, threads)


@comparison("mnist10k, 5-NN predict", threads=(2,), sklearn=3, sklearnex=3, faiss=3)
@comparison("mnist10k, 5-NN predict", threads=(1,))
def mnist(scale, threads):
    X, y = data.mnist10k()
    return predicted(X[:9000], y[:9000], X[9000:], threads)
