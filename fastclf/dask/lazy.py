"""Lazy answers of fitted estimators for Dask's collections: each partition is answered when its answer is computed."""

import copy
import functools
import uuid

import numpy as np

from .._validation import described
from .partitions import as_rows, is_collection, is_rows, parts_of

# The methods whose answer for a row does not depend on other rows, so that partitions can be answered one by one.
ROW_METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "transform",
    "score_samples",
    "apply",
    "kneighbors",
    "radius_neighbors",
)


def _alone(model):
    """A copy of a fitted model that works on the calling thread, since a worker runs a task on each of its threads."""
    model = copy.copy(model)
    if hasattr(model, "set_params"):
        names = [name for name in model.get_params() if name.rpartition("__")[2] == "n_jobs"]
        if any("__" in name for name in names):
            model = copy.deepcopy(model)
        model.set_params(**dict.fromkeys(names, 1))
    return model


def first_row(X):
    """A row in the form of the partitions of X, from which types and shapes of answers are read."""
    if hasattr(X, "divisions"):
        meta = X._meta_nonempty.iloc[:1].copy()
        numeric = [name for name in meta.columns if meta[name].dtype.kind in "biuf"]
        for name in numeric:
            meta[name] = np.zeros(1, meta[name].dtype)
        return meta
    row = np.zeros((1, X.shape[1]), X.dtype)
    return row.astype(X.dtype) if not hasattr(X._meta, "tocsr") else type(X._meta)(row)


def answer_part(model, method, X, like, arguments):
    """The arrays of an answer as a list; for no rows, empty arrays in the form of those in `like`."""
    if X.shape[0] == 0:
        return [array[:0] for array in like]
    answer = getattr(model, method)(X, **arguments)
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def _form(model, method, made_up, real, arguments):
    """The answer for a single row, `made_up` or, if that is refused, real(); lazy answers get their types from it."""
    try:
        return getattr(model, method)(made_up, **arguments)
    except (TypeError, ValueError):
        return getattr(model, method)(real(), **arguments)


class _Held:
    """What a lazy answer keeps alive on the client: collections and shards, whose futures Dask drops from the graph.

    Workers get an empty object.
    """

    def __init__(self, kept=None):
        self.kept = kept

    def __reduce__(self):
        return _Held, ()


def pick_part(answers, place, held):
    return answers[place]


def lazy_answer(model, method, X, arguments):
    """The answer of a fitted model for a collection X, as dask arrays that are computed partition by partition."""
    X, model = as_rows(X, "X", type(model).__name__), _alone(model)
    if is_rows(X):
        return X.answered(model, method, _form(model, method, X.first_row(), X.real_row, arguments), arguments)
    import dask

    parts = parts_of(X)
    form = _form(model, method, first_row(X), lambda: dask.compute(parts[0])[0][:1], arguments)
    several = type(form) if isinstance(form, (tuple, list)) else None
    empty = [array[:0] for array in (form if several else [form])]
    token = uuid.uuid4().hex
    # the model is one value of Dask's task graph, to which the tasks of all partitions refer, instead of a copy in each
    shared = dask.delayed(model, name=f"fastclf-model-{token}", traverse=False)
    work = dask.delayed(answer_part, pure=False)
    answers = [
        work(shared, method, part, empty, arguments, dask_key_name=f"fastclf-{method}-{token}-{i}")
        for i, part in enumerate(parts)
    ]
    found = _as_arrays(X, answers, empty, token)
    return several(found) if several else found[0]


def _as_arrays(X, answers, empty, token, shards=()):
    """Dask arrays of the answers for the partitions of X, each a list of arrays in the form of those in `empty`.

    X and the shards stay in memory as long as the arrays are there.
    """
    import dask
    import dask.array as da

    sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(answers)
    pick, held, found = dask.delayed(pick_part, pure=False, traverse=False), _Held((X, shards)), []
    for place, array in enumerate(empty):
        blocks = []
        for i, (part, size) in enumerate(zip(answers, sizes)):
            one = pick(part, place, held, dask_key_name=f"fastclf-pick-{token}-{place}-{i}")
            blocks.append(da.from_delayed(one, (size, *array.shape[1:]), meta=array))
        found.append(da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True))
    return found


def ask_part(ask, shard, part, *rest):
    return None if part.shape[0] == 0 else ask(shard, np.asarray(part), *rest)


def merged_parts(found, empty, finish, *arguments):
    return empty if all(part is None for part in found) else finish(found, *arguments)


def lazy_merge(X, shards, search, finish, empty):
    """Dask arrays whose partitions are f([ask(shard, partition of X, *rest) of each shard], *arguments).

    `search` is (ask, *rest), `finish` is (f, *arguments), and `empty` has empty arrays in the form of the results. The
    shards stay where they are, and each partition goes to all of them.
    """
    if is_rows(X):
        return X.merged(shards, search, finish, empty)
    import dask

    (ask, *rest), (f, *arguments), token = search, finish, uuid.uuid4().hex
    work, merge = dask.delayed(ask_part, pure=False), dask.delayed(merged_parts, pure=False)
    answers = []
    for i, part in enumerate(parts_of(X)):
        found = [
            work(ask, shard, part, *rest, dask_key_name=f"fastclf-{ask.__name__}-{token}-{i}-{j}")
            for j, shard in enumerate(shards)
        ]
        answers.append(merge(found, empty, f, *arguments, dask_key_name=f"fastclf-{f.__name__}-{token}-{i}"))
    return _as_arrays(X, answers, empty, token, shards)


class Lazy:
    """A fitted estimator of any kind, whose answers for collections of Dask are lazy.

    Parameters
    ----------
    estimator : fitted estimator
        It is copied into the graph once, and each of its answers for a row must not depend on other rows.

    Notes
    -----
    The methods are those of the estimator that answer row by row: `predict`, `predict_proba`, `predict_log_proba`,
    `predict_joint_log_proba`, `decision_function`, `transform`, `score_samples`, `apply`, `kneighbors` and
    `radius_neighbors`. Of a dask array or dataframe the answer is a dask array (of several arrays, several), whose
    partitions are answered when they are computed. Of any other X it is the estimator's own answer. The bits are those
    of the estimator. A task uses one thread, since a worker runs a task on each of its threads.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from fastclf import LogisticRegression
    >>> from fastclf.dask import Lazy
    >>> model = Lazy(LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]))
    >>> model.predict(da.from_array(np.array([[0.5], [2.5], [1.0]]), chunks=2)).compute()
    array([0, 1, 0])
    """

    def __init__(self, estimator):
        missing = not any(hasattr(type(estimator), method) for method in ROW_METHODS)
        if isinstance(estimator, type) or missing:
            raise TypeError(f"estimator is {described(estimator)}; a fitted estimator is wanted")
        self.estimator = estimator

    def to_local(self):
        """The estimator itself."""
        return self.estimator

    def __getattr__(self, name):
        if name.startswith("__") or "estimator" not in vars(self):
            raise AttributeError(name)
        value = getattr(self.estimator, name)
        return lazily(self.estimator, name) if name in ROW_METHODS else value

    def __dir__(self):
        return sorted({*super().__dir__(), *(name for name in dir(self.estimator) if not name.startswith("_"))})

    def __repr__(self):
        return f"Lazy({self.estimator!r})"


def lazily(model, method):
    """The method of a fitted model, which answers collections lazily."""
    own = getattr(model, method)

    @functools.wraps(own)
    def answer(X, **arguments):
        return lazy_answer(model, method, X, arguments) if is_collection(X) else own(X, **arguments)

    return answer
