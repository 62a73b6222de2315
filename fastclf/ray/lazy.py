"""Answers of fitted estimators for Rows."""

from ..dask import lazy


class Lazy(lazy.Lazy):
    """A fitted estimator of any kind, which answers Rows by tasks.

    Parameters
    ----------
    estimator : fitted estimator
        It is sent to a node once, and each of its answers for a row must not depend on other rows.

    Notes
    -----
    The methods are those of the estimator that answer row by row: `predict`, `predict_proba`, `predict_log_proba`,
    `predict_joint_log_proba`, `decision_function`, `transform`, `score_samples`, `apply`, `kneighbors` and
    `radius_neighbors`. Of Rows the answer is Rows (of several arrays, several), with a task for each partition; the
    call does not wait for the tasks. Of any other X it is the estimator's own answer. The bits are those of the
    estimator. A task uses one thread.

    Examples
    --------
    >>> from fastclf.ray import Lazy, Rows
    >>> model = Lazy(LogisticRegression().fit(X, y))  # doctest: +SKIP
    >>> model.predict(Rows([read.remote(path) for path in paths])).compute()  # doctest: +SKIP
    """
