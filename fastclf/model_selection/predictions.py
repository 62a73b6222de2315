"""Predictions for each row by a model that was not fitted on it."""

import sys

import numpy as np

from .._exceptions import warn
from .._threads import run
from .._validation import as_array, described, require_strings
from .candidates import Candidates
from .evaluation import Evaluation, Request, check_estimator, documented
from .routing import route

# Methods whose results have a column for each class.
_BY_CLASS = ("predict_proba", "predict_log_proba", "decision_function")


@documented
def cross_val_predict(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    cv=None,
    n_jobs=None,
    verbose=0,
    params=None,
    pre_dispatch="2*n_jobs",
    method="predict",
):
    """For each row the prediction of a model that was fitted without it.

    Parameters
    ----------
    {estimator}
    {X}
    {y}
    {groups}
    cv : int, "loo", splitter or iterable, default=None
        As for :func:`cross_validate`; each row must be in one test fold.
    {n_jobs}
    {verbose}
    {params}
    {pre_dispatch}
    method : {"predict", "predict_proba", "predict_log_proba", "decision_function"}, default="predict"
        The method of the fitted estimator that gives the predictions.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_classes), or a sparse matrix or list of ndarray, as the method gives
        The columns are the sorted labels of y; if a fold's train rows lack a label, its entries are 0 for
        probabilities, and the smallest possible number for the other methods.

    Examples
    --------
    >>> from fastclf import GaussianNB, cross_val_predict
    >>> X, y = [[0.0], [0.1], [0.2], [2.0], [2.1], [2.2]], ["n", "n", "n", "p", "p", "p"]
    >>> cross_val_predict(GaussianNB(), X, y, cv=3)
    array(['n', 'n', 'n', 'p', 'p', 'p'], dtype='<U1')
    """
    check_estimator(estimator)
    require_strings([method], "method")
    known = None
    by_class = method in _BY_CLASS and y is not None
    if by_class:
        y, known = _encoded(as_array(y, "y"))
    candidates = Candidates(estimator)
    request = route(Request(X, y, cv, groups, None, params, "raise"), estimator, "cross_val_predict")
    evaluation = Evaluation(request, [candidates])
    order = np.concatenate(evaluation.tests)
    if not np.array_equal(np.sort(order), np.arange(evaluation.n)):
        raise ValueError("cross_val_predict only works for partitions; cv has to put each row into one test fold")
    if method == "predict" and not params and evaluation.labels is not None:
        answers = candidates.all_answers(evaluation.X, evaluation.targets, evaluation.folds)
        if answers is not None:
            return _in_order([answers[0]], order)
    found, threads = {}, evaluation.threads(n_jobs)
    candidates = candidates.sharing(threads) if threads > 1 else candidates

    def work(i):
        train, test = evaluation.folds[i]
        part = evaluation.part(train)
        [model] = candidates.fit(part.X, part.y, evaluation.fit_params(train))
        if not hasattr(model, method):
            raise AttributeError(f"estimator is {described(estimator)}, which has no {method}; one with it is wanted")
        answers = getattr(model, method)(evaluation.part(test, train).X)
        found[i] = answers, model.classes_ if by_class else None
        yield

    run(work, range(len(evaluation.folds)), threads)
    parts = [found[i] for i in range(len(evaluation.folds))]
    # The folds are completed in their order, so that threads do not decide which fold an error is about.
    parts = [_all_classes(answers, classes, known, method) if by_class else answers for answers, classes in parts]
    return _in_order(parts, order)


def _encoded(y):
    """The labels of y as codes 0, 1, ..., and the number of different labels, in a list if y has several columns."""
    if y.ndim == 0:
        raise ValueError("y has shape (); (n_samples,), one label per row, is wanted")
    if y.ndim == 1 or y.shape[1] == 1:
        labels, codes = np.unique(y, return_inverse=True)
        return codes.ravel(), len(labels)
    columns = [np.unique(column, return_inverse=True) for column in y.T]
    return np.column_stack([codes for _, codes in columns]), [len(labels) for labels, _ in columns]


def _all_classes(answers, classes, known, method):
    """The predictions of a fold's model with a column for each class of all rows, even if its train rows lack some."""
    if isinstance(answers, list):
        return [_all_classes(output, *each, method) for output, *each in zip(answers, classes, known)]
    n = len(known) if isinstance(known, list) else known
    if len(classes) == n:
        return answers
    warn(
        f"Number of classes in training fold ({len(classes)}) does not match total number of classes ({n}). Results may"
        " not be appropriate for your use case. To fix this, use a cross-validation technique resulting in properly"
        " stratified folds",
        RuntimeWarning,
    )
    if method == "decision_function":
        if answers.ndim == 2 and answers.shape[1] != len(classes):
            raise ValueError(
                f"Output shape {answers.shape} of {method} does not match number of classes ({len(classes)}) in fold."
                " Irregular decision_function outputs are not currently supported by cross_val_predict"
            )
        if len(classes) <= 2:
            raise ValueError(
                f"Only {len(classes)} class/es in training fold, but {n} in overall dataset. This is not supported for"
                " decision_function with imbalanced folds. To fix this, use a cross-validation technique resulting in"
                " properly stratified folds"
            )
    least = 0 if method == "predict_proba" else np.finfo(answers.dtype).min
    filled = np.full((len(answers), n), least, answers.dtype)
    filled[:, classes] = answers
    return filled


def _in_order(parts, order):
    """The predictions of all folds, one fold after another, brought into the order of the rows."""
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    if isinstance(parts[0], list):
        return [np.concatenate(pieces)[place] for pieces in zip(*parts)]
    if hasattr(parts[0], "tocsr"):
        return sys.modules["scipy.sparse"].vstack(parts, format=parts[0].format)[place]
    return np.concatenate(parts)[place]
