"""The same work on fastclf and on other libraries, in one process: python bench/peers.py [--only NAME] [--scale 0.1]

Equal threads and dtype; answers are compared first, then rounds of ours and the peer's alternate, fewer (but 3) where a
peer is slow. A ratio is the peer's time over ours in the same round, and a target is met by the median. "cores" is
processor time over wall time, ours and the peer's: that the threads were equal is seen, not assumed. BUSY marks a ratio
that means little, because other processes had more than a tenth of a CPU: whoever waits at a barrier for a thread
without a core loses most. A peer that is missing, or whose answers are not ours, counts as a target not met. Exit
status 0 if all targets are met.
"""

import argparse
import contextlib
import gc
import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from statistics import median

import data
import numpy as np
from limits import limit_threads, stopwatch, time_text, watch_others

from fastclf import _simd

_BUDGET = 20.0  # seconds that the rounds against one peer should take


@dataclass(frozen=True)
class Work:
    """One comparison's queries and competitors."""

    blocks: list  # a call answers one block of queries; a round takes the next `calls` blocks, and their median time
    ours: Callable  # ours() prepares fastclf and returns the call to time
    peers: dict[str, Callable]  # the same for each peer; raises ImportError where it cannot be had
    agree: Callable  # agree(our answers, theirs), one answer per block, gives (bool, remark)
    calls: int = 1


@dataclass(frozen=True)
class Comparison:
    """Work to compare; `targets` are least ratios by peer, `most` the seconds that a query may take us."""

    name: str
    threads: int
    build: Callable  # build(scale, threads) returns the Work
    targets: dict[str, float]
    most: float | None


COMPARISONS = []


def comparison(name, threads=(1, 2), most=None, **targets):
    """Register a comparison, once for each number of threads; targets go by the peer's name, its spaces as "_"."""
    targets = {peer.replace("_", " "): ratio for peer, ratio in targets.items()}

    def register(build):
        for n in threads:
            COMPARISONS.append(Comparison(f"{name}, {n} thread{'s' * (n > 1)}", n, build, targets, most))
        return build

    return register


def estimator(module, kind, method, *fit, **parameters):
    """The call `kind(**parameters).fit(*fit).method` of fastclf, scikit-learn or sklearnex."""
    with refused_fallback():
        model = getattr(import_module(module), kind)(**parameters).fit(*fit)
        getattr(model, method)(fit[0][:1])
    return getattr(model, method)


@contextlib.contextmanager
def refused_fallback():
    """sklearnex runs scikit-learn's code where it has none of its own, and tells only its log."""

    def refuse(record):
        if "fallback" in record.getMessage():
            raise ImportError("has only scikit-learn's code for this")
        return False

    logger = logging.getLogger("sklearnex")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addFilter(refuse)
    try:
        yield
    finally:
        logger.removeFilter(refuse)
        logger.setLevel(level)


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
    """Exact up to the rounding of the rotation; the first coordinates of the principal axes rule most rows out."""
    import faiss

    index = faiss.index_factory(X.shape[1], f"PCA{X.shape[1]},FlatL2Panorama8")
    index.train(X)
    index.add(X)

    def search(Q):
        squares, indices = index.search(Q, k)
        return np.sqrt(squares), indices

    return search


def faiss_vote(X, y, k, threads):
    """The call that predicts by the vote of faiss's neighbours; the first of equal classes wins."""
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


def same_labels(ours, theirs):
    differing = int((np.concatenate(ours) != np.concatenate(theirs)).sum())
    return differing == 0, f"other labels in {differing} rows"


def nearest(X, blocks, threads, *names, k=10, metric="euclidean", calls=1):
    """Work of finding the k nearest rows of X. float32 distances agree to 1e-4: peers compute them as ||x||^2 - 2xq."""

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
    }
    agree = partial(same_neighbors, 1e-4 if X.dtype == np.float32 else 1e-9)
    return Work(blocks, like_sklearn("fastclf", "auto"), {name: known[name] for name in names}, agree, calls)


def predicted(X, y, X_test, threads):
    """Work of predicting X_test by the vote of 5 neighbours."""

    def classifier(module):
        return partial(estimator, module, "KNeighborsClassifier", "predict", X, y, n_neighbors=5, n_jobs=threads)

    peers = {name: classifier(f"{name}.neighbors") for name in ("sklearn", "sklearnex")}
    peers["faiss"] = partial(faiss_vote, X, y, 5, threads)
    return Work([X_test], classifier("fastclf"), peers, same_labels)


def in_blocks(Q, size=1):
    return [Q[i : i + size] for i in range(0, len(Q), size)]


@comparison("A single query", threads=(1,), faiss=12, faiss_panorama=2.5, sklearn=40)
def a_single(scale, threads):
    X, Q = data.clustered(int(1_000_000 * scale), 1000)
    return nearest(X, in_blocks(Q), threads, "faiss", "faiss panorama", "sklearn", calls=20)


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


@comparison("iid single query", threads=(1,), faiss=2.5)
def iid_single(scale, threads):
    X, Q = data.iid(int(1_000_000 * scale), 1000)
    return nearest(X, in_blocks(Q), threads, "faiss", calls=20)


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


def duel(work, ours, make, rounds, threads):
    """Compare the answers, then time rounds of both calls in turn: `rounds`, or as many as fit _BUDGET, but 3."""
    try:
        theirs = make()
    except ImportError as error:
        return {"missing": str(error)}
    blocks, calls = work.blocks, work.calls

    def time_round(call, number):
        taken = [blocks[i % len(blocks)] for i in range(number * calls, (number + 1) * calls)]
        time.sleep(0.05)  # the other's OpenMP threads spin for about 5 ms after their last call, on our cores
        wall, processor, _ = zip(*(stopwatch(call, block) for block in taken))
        return median(wall) / len(taken[0]), sum(processor) / sum(wall)

    with limit_threads(threads):
        began = time.perf_counter()
        agree, remark = work.agree(*([call(block) for block in blocks[:calls]] for call in (ours, theirs)))
        rounds = min(rounds, max(3, int(_BUDGET / (time.perf_counter() - began))))
        others = watch_others()
        timed = np.array([[time_round(call, number) for call in (ours, theirs)] for number in range(rounds)])
        others = others()
    seconds, cores = np.median(timed, axis=0).T.tolist()
    ratios = (timed[:, 1, 0] / timed[:, 0, 0]).tolist()
    return {"agree": agree, "remark": remark, "seconds": seconds, "cores": cores, "others": others, "ratios": ratios}


def versions():
    """Version of each library that is installed, and of the SIMD level in use."""
    found = {"simd": _simd.level()}
    for name in ("fastclf", "numpy", "scikit-learn", "scikit-learn-intelex", "faiss-cpu", "scipy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def verdict(result):
    """The target and whether it is met."""
    target = result["target"]
    words = {None: "", True: "met", False: "NOT MET"}[result["met"]]
    return words if target is None else f"target {target}: {words}"


def describe(result):
    """One line of the table."""
    if "missing" in result:
        return f"  {result['peer']:16} missing ({result['missing']})  {verdict(result)}"
    ratios, (own, peer), cores = result["ratios"], map(time_text, result["seconds"]), result["cores"]
    busy = f"BUSY (others: {result['others']:.1f} CPUs)  " if result["others"] > 0.1 else ""
    return (
        f"  {result['peer']:16} {median(ratios):6.2f} [{min(ratios):.2f}, {max(ratios):.2f}]  {own:>8} : {peer:<8}"
        f"  cores {cores[0]:.2f} : {cores[1]:.2f}  {'' if result['agree'] else 'ANSWERS DIFFER: '}{result['remark']}"
        f"  {busy}{verdict(result)}"
    )


def compare(registered, scale, rounds):
    """The results of one comparison, one a peer, and one for the target of seconds where there is one; printed, too."""
    work = registered.build(scale, registered.threads)
    ours = work.ours()
    print(registered.name)
    results = []
    for peer, make in work.peers.items():
        about = {"comparison": registered.name, "peer": peer, "threads": registered.threads}
        result = about | {"target": registered.targets.get(peer)} | duel(work, ours, make, rounds, registered.threads)
        if not result.get("agree"):
            result["met"] = False
        else:
            result["met"] = None if result["target"] is None else median(result["ratios"]) >= result["target"]
        print(describe(result), flush=True)
        results.append(result)
        gc.collect()
    own = [result["seconds"][0] for result in results if "seconds" in result]
    if registered.most is not None and own:
        about = {"comparison": registered.name, "peer": "fastclf", "threads": registered.threads}
        result = about | {"target": f"at most {time_text(registered.most)}", "met": median(own) <= registered.most}
        print(f"  {'fastclf':16} {time_text(median(own))} a query  {verdict(result)}", flush=True)
        results.append(result | {"seconds": [median(own)]})
    return results


def main():
    parser = argparse.ArgumentParser(description="Compare fastclf with other libraries on the same work.")
    parser.add_argument("--only", default="", help="only the comparisons with this in their name")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of rows of generated data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="file to save the results to")
    options = parser.parse_args()
    results = []
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print("digits:", data.FOLDER if data.FOLDER.exists() else f"sets of their shape, as there is no {data.FOLDER}")
    print("median ratio peer / ours [least, greatest], time per query ours : peer")
    for each in COMPARISONS:
        if options.only in each.name:
            results += compare(each, options.scale, options.rounds)
    if not results:
        parser.error(f"no comparison has {options.only!r} in its name")
    counted = [result["met"] for result in results if result["met"] is not None]
    print(f"targets met: {sum(counted)} of {len(counted)}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"versions": versions(), "results": results}, file, indent=1)
    return int(not all(counted))


if __name__ == "__main__":
    sys.exit(main())
