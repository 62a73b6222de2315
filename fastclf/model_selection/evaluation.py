"""Evaluation of estimators on folds: the checked request, its execution, and interruption."""

import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .._csr import sound
from .._document import document
from .._estimator import Classifier, Estimator
from .._exceptions import warn
from .._threads import Progress, distinct, n_threads, run
from .._validation import as_array, described, require_truth
from ..metrics.contingency import contingency_table
from ..metrics.scoring import Part, as_scorers, from_answers, judge, judge_folds, settled
from .candidates import Failed, shared_columns
from .folds import as_folds
from .results import CrossValidation
from .rows import as_y, n_rows, take_rows

documented = document(
    estimator="""\
estimator : estimator
    An object with ``fit``, ``get_params`` and, without `scoring`, ``score``, of any library. It is cloned for every
    fold and does not change.""",
    X="""\
X : array, memory map, sparse matrix, data frame or list of shape (n_samples, n_features)""",
    y="""\
y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
    Labels of any sortable type: ints, strings, bools; or numbers for a regressor, whose score is R^2.""",
    groups="""\
groups : array-like of shape (n_samples,), default=None
    The train and test rows of a fold have no group in common, if `cv` is an int or a splitter that takes groups.""",
    scoring="""\
scoring : str, callable, list or dict, default=None
    None: ``estimator.score``. A figure by scikit-learn's name, such as "f1_macro", "roc_auc", "neg_log_loss" or "r2"
    (of two classes the second is the positive one); :func:`cost_scorer`; a function of (estimator, X, y) that returns
    a number or a dict of numbers; or several of them.""",
    cv="""\
cv : int, "loo", splitter or iterable, default=None
    None is 5. An int from 2 to n_samples makes the folds of :class:`StratifiedKFold` for a classifier and of
    :class:`KFold` for others; with `random_state` those of :func:`stratified_folds`. "loo" leaves out each row in turn.
    Otherwise an object with ``split(X, y)``, or an iterable of pairs of row indices (train, test).""",
    n_jobs="""\
n_jobs : int or None, default=None
    Number of folds that are processed in parallel. None: every CPU that the process may use, if all estimators are of
    this library, which then get the remaining threads; otherwise 1. With 1, measured times are undisturbed. Scores do
    not depend on it.""",
    verbose="""\
verbose : int, default=0
    1 shows progress on stderr.""",
    params="""\
params : dict, default=None
    Further arguments of ``fit``. An argument with one entry per row, such as sample_weight, is restricted to the train
    rows of each fold.""",
    pre_dispatch="""\
pre_dispatch : ignored
    Folds are made when they are needed.""",
    error_score="""\
error_score : number or "raise", default=nan
    The score if a fit or a scorer fails, which also causes a warning; "raise" raises the error. If all fits fail, the
    error is raised in any case.""",
    repeats="""\
repeats : int >= 1, default=1
    The number of repetitions with new random stratified folds, if `cv` is an int.""",
    random_state="""\
random_state : int, Generator or None, default=None
    Seed for shuffling the rows, if `cv` is an int. None: they are shuffled only for `repeats`, differently in each
    call.""",
    shortcuts="""\
shortcuts : bool, default=True
    Whether an estimator's faster algorithm for leaving rows out is used, if its answers equal those of separate fits:
    nearest neighbours for leave-one-out, naive Bayes, least squares, and `SVC` if its kernel is the same in each fold
    (no `gamma="scale"`, no balanced weights), whose folds start from the solution for all rows.""",
    callback="""\
callback : callable, optional
    ``callback(step, total, value)`` after each fold of each estimator. Returning True stops: the results then hold the
    finished folds.""",
)


# A function runner(evaluation, results) that evaluates the folds in other processes, and fills in the CandidateResults
# of all candidates; None: this process evaluates them. `fastclf.dask` sets the function for the duration of a call.
RUNNER = ContextVar("RUNNER", default=None)


def check_estimator(estimator, name="estimator", scoring="given"):
    """Refuse an object that cannot be fitted on folds or, without `scoring`, cannot be scored."""
    if isinstance(estimator, type):
        raise TypeError(f"{name} is the class {estimator.__name__}; an object, {estimator.__name__}(), is wanted")
    missing = [method for method in ("fit", "get_params") if not hasattr(estimator, method)]
    if missing:
        raise TypeError(f"{name} is {described(estimator)}, which has no {missing[0]} method; an estimator is wanted")
    if scoring is None and not hasattr(estimator, "score"):
        raise TypeError(
            "If no scoring is specified, the estimator passed should have a 'score' method."
            f" {name} is {described(estimator)}, which has none"
        )


def classifies(estimator):
    """Whether an estimator, of any library, predicts labels."""
    if isinstance(estimator, Estimator):
        return estimator._estimator_type == "classifier"
    if hasattr(estimator, "__sklearn_tags__"):
        return estimator.__sklearn_tags__().estimator_type == "classifier"
    return getattr(estimator, "_estimator_type", "classifier") == "classifier"


@dataclass
class Request:
    """What to evaluate, and how; `documented` describes the fields that users pass as arguments."""

    X: object
    y: object
    cv: object = None
    groups: object = None
    scoring: object = None
    params: dict | None = None
    error_score: object = np.nan
    random_state: object = None
    repeats: int = 1
    train_scores: bool = False  # whether the train rows are scored in addition to the test rows
    keep_models: bool = False  # whether the result keeps the fitted models
    keep_answers: bool = False  # whether the result keeps the predictions of classifiers, for a contingency table
    # for estimators of other libraries: whether one candidate is fitted to all folds before the next candidate is
    one_after_another: bool = False
    score_params: dict | None = None  # further arguments of a scorer, from scikit-learn's metadata routing


class FoldResult(NamedTuple):
    """The result of one model on one fold."""

    fit_time: float
    score_time: float
    scores: dict
    train_scores: dict | None
    answers: np.ndarray | None  # the predictions of a classifier for the fold's test rows; None if they are not kept
    model: object  # the fitted model; None if it is not kept


class CandidateResults:
    """The results of one Candidates: scores fold by fold, or predictions for all folds by a shortcut."""

    def __init__(self, evaluation, candidates):
        self.evaluation, self.candidates = evaluation, candidates
        self.by_fold = {}  # a dict {fold number: a list with a FoldResult for each parameter value}
        self.failures = []  # the exceptions that fits have raised
        # (seconds per fold, predictions for each parameter value) from the estimator's shortcut, which computes the
        # predictions of all folds at once; None: no shortcut was used
        self.shortcut = None

    @property
    def folds(self):
        """The numbers of the finished folds."""
        return sorted(self.by_fold) if self.shortcut is None else list(range(len(self.evaluation.folds)))

    def result(self, v):
        """The CrossValidation of the models with parameter value number v."""
        evaluation, folds = self.evaluation, self.folds
        tests = [evaluation.tests[i] for i in folds]
        result = CrossValidation()
        if self.shortcut is None:
            answers = self._fill_from_folds(result, [self.by_fold[i][v] for i in folds])
        else:
            answers = self._fill_from_shortcut(result, v)
        result.n_train = np.array([evaluation.n_train(i) for i in folds], np.intp)
        result.n_test = np.array([len(test) for test in tests], np.intp)
        result.shortcut = self.shortcut is not None
        result.interrupted = len(folds) < len(evaluation.folds)
        result.folds = folds
        if answers is not None and folds and evaluation.labels is not None:
            pooled = evaluation.targets[np.concatenate(tests)]
            result.table = contingency_table(pooled, answers, labels=evaluation.labels)
        return result

    def _fill_from_folds(self, result, rows):
        for name in ("fit_time", "score_time"):
            result[name] = np.array([getattr(row, name) for row in rows], float)
        request, otherwise = self.evaluation.request, self.evaluation.error_score
        sides = {"test": [row.scores for row in rows]}
        if request.train_scores:
            sides["train"] = [row.train_scores for row in rows]
        # The names of the scores are those of the longest dict: a failed fit has the scorers' names, but a function for
        # `scoring` that returns a dict has names of its own.
        scorers = self.evaluation.scorers
        for name in max(sides["test"], key=lambda own: (len(own), own.keys() != scorers.keys()), default=scorers):
            for side, figures in sides.items():
                result[f"{side}_{name}"] = np.array([scores.get(name, otherwise) for scores in figures], float)
        if request.keep_models:
            result["estimator"] = [row.model for row in rows]
        answers = [row.answers for row in rows]
        return None if any(predictions is None for predictions in answers) or not answers else np.concatenate(answers)

    def _fill_from_shortcut(self, result, v):
        evaluation, (seconds, answers) = self.evaluation, self.shortcut
        n_folds = len(evaluation.folds)
        result["fit_time"], result["score_time"] = np.zeros(n_folds), np.full(n_folds, seconds)
        scorers = settled(evaluation.scorers, self.candidates.estimator)
        figures = judge_folds(scorers, evaluation.targets, evaluation.tests, answers[v], evaluation.labels)
        result |= {f"test_{name}": scores for name, scores in figures.items()}
        return answers[v] if isinstance(self.candidates.estimator, Classifier) else None


class Evaluation:
    """Candidates on the same rows and folds: a checked Request, and its execution."""

    def __init__(self, request, candidates):
        self.request, self.candidates = request, candidates
        self.ours = all(isinstance(candidate.estimator, Estimator) for candidate in candidates)
        self.error_score = _as_error_score(request.error_score)
        self.scorers = as_scorers(request.scoring)
        if request.params is not None and not isinstance(request.params, Mapping):
            raise TypeError(
                f"params is {described(request.params)}; a dict of an argument's name to its value is wanted"
            )
        request.train_scores = require_truth("return_train_score", request.train_scores)
        request.keep_models = require_truth("return_estimator", request.keep_models)
        X, y = (_as_container(value, name) for value, name in ((request.X, "X"), (request.y, "y")))
        self.n = _n_rows(X)
        self.targets = None if y is None or hasattr(y, "tocsr") else _as_targets(y)
        if y is not None and n_rows(y) != self.n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[self.n, n_rows(y)]}, of X and y; the"
                " same number is wanted"
            )
        if hasattr(X, "tocsr") and not hasattr(X, "iloc"):
            X = sound(X).tocsr()
        elif self.ours and isinstance(X, (list, tuple)):
            X = as_array(X, "X")
        elif self.ours and not hasattr(X, "iloc"):
            X = np.asarray(X)
        self.X = X
        self._take_X = take_rows(self.X, as_lists=not self.ours)
        self._pairwise = any(_is_pairwise(candidate.estimator) for candidate in candidates)
        by_itself = hasattr(y, "iloc") or self.targets is None or (isinstance(y, list) and not self.ours)
        self._take_y = take_rows(y if by_itself else self.targets, as_lists=True)
        stratify = all(classifies(candidate.estimator) for candidate in candidates)
        self.folds = as_folds(
            request.cv, X, y if self.targets is None else self.targets, self.n, request.groups, request.random_state,
            request.repeats, stratify,
        )  # fmt: skip

    @cached_property
    def labels(self):
        """The different targets, sorted; None if rows have no target, or several."""
        one_a_row = self.targets is not None and self.targets.ndim == 1
        return distinct(self.targets) if one_a_row else None

    @cached_property
    def tests(self):
        """The test rows of each fold."""
        if self.folds.leave_one_out:
            return list(np.arange(self.n)[:, None])
        return [np.arange(self.n)[test] for _, test in self.folds]

    def n_train(self, i):
        """The number of train rows of a fold."""
        pairs = self.folds.pairs
        return self.n - len(self.tests[i]) if pairs is None else len(np.arange(self.n)[pairs[i][0]])

    def part(self, numbers, train=None):
        """The rows with these numbers, as a Part.

        A matrix of kernel values or distances keeps only the columns of the rows `train`.
        """
        X = self._take_X(numbers)
        if self._pairwise:
            if getattr(self.X, "ndim", 0) != 2 or self.X.shape[0] != self.X.shape[1]:
                raise ValueError("X should be a square kernel matrix, as an array or a sparse matrix")
            X = X[:, numbers if train is None else train]
        targets = None if self.targets is None else self.targets[numbers]
        return Part(X, self._take_y(numbers), targets, self._of_rows(self.request.score_params, numbers))

    def fit_params(self, numbers):
        """The user's further arguments of `fit`, for a fit to the rows with these numbers."""
        return self._of_rows(self.request.params, numbers)

    def _of_rows(self, params, numbers):
        """A dict of arguments; an argument with one entry per row is restricted to the given rows."""
        return {
            name: take_rows(value, as_lists=True)(numbers) if _has_a_row_each(value, self.n) else value
            for name, value in (params or {}).items()
        }

    def threads(self, n_jobs):
        """The number of folds that are processed in parallel."""
        return min(1 if n_jobs is None and not self.ours else n_threads(n_jobs), len(self.folds))

    def run(self, n_jobs=None, verbose=0, callback=None, label="cross-validation"):
        """The CandidateResults of all Candidates, for the folds finished before Ctrl-C or a stop by the callback."""
        threads = self.threads(n_jobs)
        results = [CandidateResults(self, candidate) for candidate in self.candidates]
        n_values = sum(len(candidate.values) for candidate in self.candidates)
        runner = RUNNER.get()
        with Progress(len(self.folds) * n_values, label, verbose=verbose, callback=callback, unit="fits") as progress:
            if runner is not None:
                runner(self, results)
                progress.advance(len(self.folds) * n_values)
                return results
            try:
                for result in results:
                    if not progress.stopped and self._take_shortcut(result):
                        progress.advance(len(self.folds) * len(result.candidates.values))
                left = [result for result in results if result.shortcut is None]
                # candidates of other libraries are fitted in scikit-learn's order, so that they draw the same numbers
                # as in scikit-learn from NumPy's global generator
                in_turn = self.request.one_after_another and not self.ours
                for group in [[result] for result in left] if in_turn else [left] * bool(left):
                    run(self._fold_worker(group, threads, progress), range(len(self.folds)), threads)
            except KeyboardInterrupt:
                done = max(len(result.folds) for result in results)
                if done == 0:
                    raise
                warn(f"interrupted: the results hold {done} of {len(self.folds)} folds")
        return results

    def _fold_worker(self, results, threads, progress):
        """A generator function of a fold's number, which fits and scores all candidates and stores the results."""
        lock, shared = threading.Lock(), {}
        # columns that are sorted once for all folds need ascending train rows, but a user's train-test pairs may have
        # any order
        if self.folds.pairs is None:
            rows = self.X.iloc if hasattr(self.X, "iloc") else self.X
            shared = shared_columns([result.candidates for result in results], rows, threads)

        def work(i):
            if progress.stopped:
                return
            train, test = self.folds[i]
            parts, params = (self.part(train), self.part(test, train)), self.fit_params(train)
            for result in results:
                columns = shared[result.candidates].among(train) if result.candidates in shared else None
                models, measured = self._measure(result.candidates, *parts, params, columns, threads)
                with lock:
                    if progress.stopped:
                        return
                    result.by_fold[i] = measured
                    result.failures += [model.error for model in models if isinstance(model, Failed)]
                    for _ in measured:
                        progress.advance(1)
                yield

        return work

    def _measure(self, candidates, train, test, params, columns, threads):
        """The models fitted to the train rows of one fold, and a FoldResult for each model."""
        if threads > 1 and not self.request.keep_models:
            candidates = candidates.sharing(threads)
        start = perf_counter()
        models = candidates.fit(train.X, train.y, params, columns, self.error_score != "raise")
        fitted = perf_counter()
        judged = self.judge(candidates, models, test, self.request.keep_answers)
        seconds = (fitted - start) / len(models), (perf_counter() - fitted) / len(models)
        train_scores = [None] * len(models)
        if self.request.train_scores:
            train_scores = [scores for scores, _ in self.judge(candidates, models, train)]
        kept = models if self.request.keep_models else [None] * len(models)
        rows = zip(judged, train_scores, kept)
        return models, [
            FoldResult(*seconds, scores, on_train, answers, model) for (scores, answers), on_train, model in rows
        ]

    def judge(self, candidates, models, part, keep_answers=False):
        """A list of (scores, predictions or None) on the rows of `part`, one pair for each model."""
        scorers = self._settled(candidates)
        fitted = [model for model in models if not isinstance(model, Failed)]
        answers = [None] * len(fitted)
        kept = keep_answers and self.labels is not None and all(_is_classifier(model) for model in fitted)
        if fitted and (kept or any(scorer.wants_answers for scorer in scorers.values())):
            try:
                answers = candidates.answers(fitted, part.X)
            except Exception as error:
                if self.error_score == "raise":
                    raise
                answers = [error] if len(fitted) == 1 else [_answers_of(model, part.X) for model in fitted]
        otherwise = None if self.error_score == "raise" else self._scoring_failed
        judged = iter(
            [
                (
                    judge(scorers, part, predictions, self.labels, model, otherwise),
                    _known(predictions, self.labels) if kept else None,
                )
                for model, predictions in zip(fitted, answers)
            ]
        )
        failed = dict.fromkeys(scorers, self.error_score), None
        return [failed if isinstance(model, Failed) else next(judged) for model in models]

    def _settled(self, candidates):
        """The scorers; with one target per row, the usual `score` of a candidate is replaced by accuracy or R2."""
        return self.scorers if self.labels is None else settled(self.scorers, candidates.estimator)

    def _scoring_failed(self, error):
        warn(
            "Scoring failed. The score on this train-test partition for these parameters will be set to"
            f" {self.error_score}. Details: \n{type(error).__name__}: {error}"
        )
        return self.error_score

    def _take_shortcut(self, result):
        """Predict for all folds by the estimator's shortcut, if predictions are enough; returns whether it was used."""
        request = self.request
        scorers = self._settled(result.candidates)
        if request.train_scores or request.keep_models or request.params or not from_answers(scorers):
            return False
        if self.labels is None:
            return False
        start = perf_counter()
        try:
            answers = result.candidates.all_answers(self.X, self.targets, self.folds)
        except Exception:
            if self.error_score == "raise":
                raise
            return False  # the error does not tell which of the fits fail, so that models are fitted one by one
        if answers is None:
            return False
        result.shortcut = (perf_counter() - start) / len(self.folds) / len(answers), answers
        return True


def tell_failures(results):
    """Warn about failed fits in a list of CandidateResults; raise an error if all fits failed."""
    failures = [error for result in results for error in result.failures]
    n_fits = sum(len(result.by_fold) * len(result.candidates.values) for result in results)
    if not failures:
        return
    first = f"{type(failures[0]).__name__}: {' '.join(str(failures[0]).split())}"
    if len(failures) == n_fits and all(result.shortcut is None for result in results):
        raise ValueError(
            f"All the {n_fits} fits failed. It is very likely that your model is misconfigured; error_score='raise'"
            f" raises the first error as it is: {first}"
        ) from failures[0]
    warn(
        f"{len(failures)} fits failed out of a total of {n_fits}. The score on these train-test partitions for these"
        f" parameters will be set to {results[0].evaluation.error_score}. If these failures are not expected,"
        f" error_score='raise' raises the first error: {first}",
        "FitFailedWarning",
    )


def _answers_of(model, X):
    """The predictions of a model, or the exception that `predict` raised."""
    try:
        return model.predict(X)
    except Exception as error:
        return error


def _as_error_score(error_score):
    if isinstance(error_score, str) and error_score == "raise":
        return error_score
    if isinstance(error_score, bool) or not isinstance(error_score, Real):
        raise ValueError(f"error_score is {described(error_score)}; a number or 'raise' is wanted")
    return error_score


def _as_container(value, name):
    """The value itself if it is None or has a length or shape; otherwise an array made from it."""
    return value if value is None or hasattr(value, "shape") or hasattr(value, "__len__") else as_array(value, name)


def _is_pairwise(estimator):
    """Whether an estimator takes a square X with a column for each row, such as a matrix of kernel values."""
    if isinstance(estimator, Estimator):
        return "precomputed" in (getattr(estimator, "kernel", None), getattr(estimator, "metric", None))
    return hasattr(estimator, "__sklearn_tags__") and estimator.__sklearn_tags__().input_tags.pairwise


def _n_rows(X):
    try:
        return n_rows(X)
    except (TypeError, IndexError):
        raise ValueError(f"X has shape {np.shape(X)}; (n_samples, n_features) is wanted") from None


def _as_targets(y):
    """The targets as an array: labels or numbers, one or several per row."""
    array = as_array(y, "y")
    return array if array.ndim == 2 and array.shape[1] > 1 else as_y(y)


def _has_a_row_each(value, n):
    """Whether an argument of `fit` has one entry for each of n rows."""
    if isinstance(value, str) or not (hasattr(value, "shape") or hasattr(value, "__len__")):
        return False
    return (getattr(value, "ndim", 1) != 0 or hasattr(value, "tocsr")) and n_rows(value) == n


def _is_classifier(model):
    return hasattr(model, "classes_") and hasattr(model, "predict")


def _known(answers, labels):
    """The predictions, if there is one per row and each is one of the `labels`; otherwise None."""
    answers = None if isinstance(answers, Exception) else np.asarray(answers)
    return answers if answers is not None and answers.ndim == 1 and np.isin(answers, labels).all() else None
