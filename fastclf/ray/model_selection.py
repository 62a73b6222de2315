"""Cross-validation and tuning on Ray: the tasks are those on Dask."""

from ..dask.model_selection import on_cluster, plain
from .places import Connection


def cross_validate(estimator, X, y=None, **options):
    """Fit and score estimators on the same folds, on Ray: `fastclf.cross_validate`, with its scores to the last bit.

    Parameters
    ----------
    estimator : estimator or mapping of name to estimator
    X : what `fastclf.cross_validate` takes, or Rows
        It must fit into the memory of each node, to which it is sent once; Rows do not pass through this process.
    y : array-like or Rows, default=None
    **options
        The other arguments of `fastclf.cross_validate`. `n_jobs` has no effect: a task has one thread.

    Returns
    -------
    CrossValidation or CrossValidations
    """
    return on_cluster(plain.cross_validate, Connection(), X, y, (estimator,), options)


def tune(estimator, param_grid, X, y=None, **options):
    """Choose parameters by cross-validation, on Ray: `fastclf.tune`, with its scores and choice to the last bit.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict of str to list, or list of dicts
    X : what `fastclf.tune` takes, or Rows
        It must fit into the memory of each node, to which it is sent once; Rows do not pass through this process.
    y : array-like or Rows, default=None
    **options
        The other arguments of `fastclf.tune`. `n_jobs` has no effect: a task has one thread.

    Returns
    -------
    Tuning
        The chosen estimator is fitted by this process or, if X or y is Rows, by a node.
    """
    return on_cluster(plain.tune, Connection(), X, y, (estimator, param_grid), options)
