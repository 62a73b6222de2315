"""Calls from compiled code, one row each, compared with the same calls of methods from Python.

A search among a single row shows the overhead of a call.
"""

import numpy as np
from comparison import Work, comparison, estimator
from embedding import calls

import fastclf


def each_row(method):
    """Answers for the rows of a block, by one call for each row."""

    def call(block):
        for rows in block:
            answers = [method(rows[i : i + 1]) for i in range(len(rows))]
        return answers

    return call


def work(rows, ours, peers, agree, **more):
    block = calls.in_passes(rows)
    return Work([block], ours, peers, agree, items=block.shape[0] * block.shape[1], **more)


def same_neighbors(ours, theirs):
    [(distance, index)], [answers] = ours, theirs
    same = np.array_equal(index, np.concatenate([found for _, found in answers]))
    close = np.allclose(distance, np.concatenate([found for found, _ in answers]))
    return same and close, "equal rows" if same else "other rows"


def close_numbers(ours, theirs):
    return np.allclose(ours[0], np.concatenate(theirs[0])), ""


def searching(n, language):
    rng = np.random.default_rng(0)
    X, rows = rng.standard_normal((n, 10)), rng.standard_normal((200, 10))
    k = min(n, 5)
    theirs = {"n_neighbors": k, "algorithm": "brute", "n_jobs": 1}
    return work(
        rows,
        lambda: calls.nearest_loop(language, fastclf.embed(fastclf.NearestNeighbors(algorithm="brute").fit(X)), k),
        {"sklearn": lambda: each_row(estimator("sklearn.neighbors", "NearestNeighbors", "kneighbors", X, **theirs))},
        same_neighbors,
    )


@comparison("embedded search beyond the kernel, from C", threads=(1,), most=3e-6)
def beyond_c(scale, threads):
    return searching(1, "C")


@comparison("embedded search beyond the kernel, from Cython", threads=(1,), most=3e-6)
def beyond_cython(scale, threads):
    return searching(1, "Cython")


@comparison("embedded search beyond the kernel, from Numba", threads=(1,), most=3e-6)
def beyond_numba(scale, threads):
    return searching(1, "Numba")


@comparison("embedded search of 1000 x 10, from C", threads=(1,))
def search(scale, threads):
    return searching(1000, "C")


# A round has several blocks: the first calls are slower, while the processor leaves its idle state.
@comparison("embedded linear decision, d = 64", threads=(1,), most=50e-9)
def decision(scale, threads):
    rows = np.random.default_rng(0).standard_normal((200, 64))
    model = fastclf.LogisticRegression().fit(rows, rows[:, 0] > 0.5)
    return work(
        rows,
        lambda: calls.row_loop("decide_d", fastclf.embed(model), np.float64),
        {"from Python": lambda: each_row(model.decision_function)},
        close_numbers,
        calls=9,
    )


@comparison("embedded tree of depth 20", threads=(1,), most=200e-9)
def descent(scale, threads):
    model, rows = calls.deep_tree(2000)
    return work(
        rows,
        lambda: calls.row_loop("apply_d", fastclf.embed(model), np.int64),
        {"from Python": lambda: each_row(model.apply)},
        close_numbers,
        calls=9,
    )
