"""Cross-validation and tuning on Dask: each task fits an estimator, or those of one search, on some of the folds."""

import asyncio

import numpy as np

from .. import model_selection as plain
from .._threads import n_threads
from ..model_selection.candidates import Failed
from ..model_selection.evaluation import RUNNER, CandidateResults
from .partitions import is_collection, put_all, require_collection, require_kind
from .places import is_asynchronous, places_of

# The number of tasks for each thread of a worker, so that threads end at about the same time.
_TASKS_PER_THREAD = 4


def shortcut(evaluation, c):
    """What the shortcut of candidate number c finds for all folds, or None if it has none."""
    result = CandidateResults(evaluation, evaluation.candidates[c])
    return result.shortcut if evaluation._take_shortcut(result) else None


def folds(evaluation, c, numbers):
    """[(number of the fold, its FoldResults, the errors of failed fits)] of candidate number c."""
    found = []
    for i in numbers:
        train, test = evaluation.folds[i]
        parts = evaluation.part(train), evaluation.part(test, train)
        # an estimator gets one thread, because a worker runs a task on each of its threads
        models, measured = evaluation._measure(
            evaluation.candidates[c], *parts, evaluation.fit_params(train), None, n_threads()
        )
        found.append((i, measured, [model.error for model in models if isinstance(model, Failed)]))
    return found


def _on(places):
    """A function for `evaluation.RUNNER` that evaluates all candidates on the workers of a cluster."""

    def run(evaluation, results):
        places.with_copies(evaluation, lambda shared: measure(shared, len(evaluation.folds), results))

    def measure(shared, n_folds, results):
        found = places.get([places.call(shortcut, shared, c) for c in range(len(results))])
        tasks = []
        n_tasks = max(1, _TASKS_PER_THREAD * sum(place.threads for place in places.places()))
        n_parts = min(n_folds, -(-n_tasks // len(results)))
        for c, (result, answers) in enumerate(zip(results, found)):
            result.shortcut = answers
            if answers is None:
                for part in range(n_parts):
                    numbers = range(part, n_folds, n_parts)
                    tasks.append((result, places.call(folds, shared, c, numbers)))
        for (result, _), measured in zip(tasks, places.get([ref for _, ref in tasks])):
            for i, rows, failures in measured:
                result.by_fold[i] = rows
                result.failures += failures

    return run


def gathered(parts):
    """The partitions of a collection as one array, data frame or sparse matrix."""
    parts = [part for part in parts if part.shape[0]] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def evaluated(function, client, X, y, estimator, arguments):
    """The result of a function of `fastclf.model_selection`, whose folds are evaluated by the cluster of this task."""
    X, y = (gathered(part) if isinstance(part, list) else part for part in (X, y))
    with places_of(client) as places:
        token = RUNNER.set(_on(places))
        try:
            return function(*estimator, X, y, **arguments)
        finally:
            RUNNER.reset(token)


def on_cluster(function, client, X, y, estimator, arguments):
    """The result of a function of `fastclf.model_selection` whose folds are evaluated by the workers of a client.

    If X or y is a collection, a worker puts it together and sends it to the others, so that the client gets no rows.
    """

    def work():
        with places_of(client) as places:
            if is_collection(X) or is_collection(y):
                parts = {name: part for name, part in (("X", X), ("y", y)) if is_collection(part)}
                require_kind(places, parts)
                for name, part in parts.items():
                    require_collection(part, name, function.__name__)
                refs = put_all(places, [part if is_collection(part) else None for part in (X, y)])
                given = [part if ref is None else ref for part, ref in zip((X, y), refs)]
                task = function, places.client_in_tasks, *given, estimator, arguments
                return places.get([places.call(evaluated, *task)])[0]
            token = RUNNER.set(_on(places))
            try:
                return function(*estimator, X, y, **arguments)
            finally:
                RUNNER.reset(token)

    return asyncio.to_thread(work) if is_asynchronous(client) else work()


def cross_validate(estimator, X, y=None, *, client=None, **options):
    """Fit and score estimators on the same folds, on Dask: `fastclf.cross_validate`, with its scores to the last bit.

    Parameters
    ----------
    estimator : estimator or mapping of name to estimator
    X : what `fastclf.cross_validate` takes, or a dask collection
        It must fit into the memory of each worker, to which it is sent once; a collection does not pass through the
        client.
    y : array-like or dask collection, default=None
    client : distributed.Client, default=None
        The cluster. None: within a task its cluster, otherwise Dask's default client.
    **options
        The other arguments of `fastclf.cross_validate`. `n_jobs` has no effect: a task has one thread.

    Returns
    -------
    CrossValidation or CrossValidations
        If `client` is asynchronous, an awaitable of it.
    """
    return on_cluster(plain.cross_validate, client, X, y, (estimator,), options)


def tune(estimator, param_grid, X, y=None, *, client=None, **options):
    """Choose parameters by cross-validation, on Dask: `fastclf.tune`, with its scores and choice to the last bit.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict of str to list, or list of dicts
    X : what `fastclf.tune` takes, or a dask collection
        It must fit into the memory of each worker, to which it is sent once; a collection does not pass through the
        client.
    y : array-like or dask collection, default=None
    client : distributed.Client, default=None
        The cluster. None: within a task its cluster, otherwise Dask's default client.
    **options
        The other arguments of `fastclf.tune`. `n_jobs` has no effect: a task has one thread.

    Returns
    -------
    Tuning
        If `client` is asynchronous, an awaitable of it. The chosen estimator is fitted by the client or, if X or y is a
        collection, by a worker.
    """
    return on_cluster(plain.tune, client, X, y, (estimator, param_grid), options)
