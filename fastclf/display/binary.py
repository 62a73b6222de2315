"""Curves of classifiers of two classes: ROC, precision and recall, detection errors, calibration."""

from statistics import NormalDist

import numpy as np

from .._exceptions import not_fitted_error, warn
from .._validation import encode_labels, require_strings, require_truth
from ..metrics.areas import average_precision_score
from ..metrics.curves import auc, det_curve, precision_recall_curve, roc_curve
from ..metrics.probabilities import calibration_curve
from ..metrics.scorers import first_method, kind_of, responses
from ..metrics.targets import as_scores, as_targets, positive_label, require_same_length, target_kind
from ..model_selection.rows import take_rows
from .drawing import axes, finish, require_method

_METHODS = ("predict_proba", "decision_function")


def scores_of_positive(estimator, X, response_method, pos_label):
    """(the scores of the positive one of two classes, its label), by a fitted classifier."""
    wanted = "Expected 'estimator' to be a binary classifier."
    require_method(estimator, "fit")
    if kind_of(estimator) not in ("classifier", None):
        raise ValueError(f"{wanted} Got {type(estimator).__name__} instead.")
    if not hasattr(estimator, "classes_"):
        raise not_fitted_error(f"This {type(estimator).__name__} instance is not fitted yet; a fitted one is wanted")
    if len(estimator.classes_) != 2:
        raise ValueError(f"{wanted} Got {len(estimator.classes_)} classes instead.")
    require_strings([response_method], "response_method")
    methods = _METHODS if response_method == "auto" else (response_method,)
    name = first_method(estimator, methods)
    return responses(estimator, X, name, pos_label), estimator.classes_[1] if pos_label is None else pos_label


def _given_score(y_score, y_pred):
    """The argument `y_score`, which scikit-learn also takes under its earlier name."""
    if isinstance(y_pred, str) and y_pred == "deprecated":
        return y_score
    if y_score is not None:
        raise ValueError("`y_pred` and `y_score` cannot be both specified. Please use `y_score` only")
    warn("y_pred was deprecated in 1.8 of scikit-learn. Please use `y_score` instead.", FutureWarning)
    return y_pred


def _positive(y_true, y_score, pos_label):
    """The positive label, after a check that y_true has two labels."""
    y_true, score = as_targets(y_true, "y_true"), as_scores(y_score)
    require_same_length(y_true=y_true, y_score=score)
    if target_kind(y_true) != "binary":
        raise ValueError(f"The target y is not binary. Got {target_kind(y_true)} type of target.")
    return positive_label(pos_label, encode_labels(y_true)[0])


def _folds(cv_results, X, y, sample_weight):
    """For each fold of a result of `cross_validate`: its model, and a function that picks an array's test rows."""
    if not all(key in cv_results for key in ("estimator", "indices")):
        raise ValueError(
            "`cv_results` does not contain one of the following required keys: {'estimator', 'indices'}. Set explicitly"
            " the parameters `return_estimator=True` and `return_indices=True` to the function`cross_validate`."
        )
    train, test = (cv_results["indices"][side] for side in ("train", "test"))
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != len(train[0]) + len(test[0]):
        raise ValueError(
            f"`X` does not contain the correct number of samples. Expected {len(train[0]) + len(test[0])}, got {n}."
        )
    require_same_length(X=np.empty(n), y=y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
    kind = target_kind(as_targets(y, "y"))
    if kind != "binary":
        raise ValueError(f"The target `y` is not binary. Got {kind} type of target.")
    for model, rows in zip(cv_results["estimator"], test):
        yield (
            model,
            lambda array, rows=rows: (
                None if array is None else take_rows(np.asarray(array) if isinstance(array, list) else array)(rows)
            ),
        )


def _several(value):
    return value if value is None or isinstance(value, list) else [value]


def style(defaults, given):
    """The user's arguments for matplotlib's lines, with the defaults that they lack; short names are written out."""
    from matplotlib import cbook, lines

    return {**defaults, **cbook.normalize_kwargs(dict(given or {}), lines.Line2D)}


def _legend(name, figure, value):
    told = None if value is None else f"{figure} = {value:0.2f}"
    return f"{name} ({told})" if name is not None and told else told or name


def _labels(names, figure, values, together):
    """The text of each curve in the legend; together: one text, with the mean and the deviation of all values."""
    if not together:
        return [_legend(name, figure, value) for name, value in zip(names, values)]
    label = names[0]
    if values[0] is not None:
        spread = f"{figure} = {np.mean(values):0.2f} +/- {np.std(values):0.2f}"
        label = spread if label is None else f"{label} ({spread})"
    return [label] + [None] * (len(names) - 1)


def _styles(names, values, figure, curve_kwargs, defaults):
    """The arguments that matplotlib gets for each curve."""
    n = max(len(names), len(values))
    if isinstance(curve_kwargs, list) and len(curve_kwargs) != n:
        raise ValueError(f"`curve_kwargs` must be None, a dictionary or a list of length {n}. Got: {curve_kwargs}.")
    if len(set(names)) > 1 and not isinstance(curve_kwargs, list):
        raise ValueError(
            "To avoid labeling individual curves that have the same appearance, `curve_kwargs` should be a list of"
            f" {n} dictionaries. Alternatively, set `name` to `None` or a single string to label a single legend entry"
            " for all curves."
        )
    together = n > 1 and not isinstance(curve_kwargs, list)
    if n > 1:
        defaults = {**defaults, "alpha": 0.5, "linestyle": "--", "color": "blue"}
    each = curve_kwargs if isinstance(curve_kwargs, list) else [curve_kwargs] * n
    texts = _labels(names, figure, values, together)
    return [style({"label": text, **defaults}, given) for text, given in zip(texts, each)]


def _same_lengths(owner, required, optional):
    """Refuse lists of different lengths; `required` and `optional` are {name: list or None}."""
    given = {**required, **{name: value for name, value in optional.items() if isinstance(value, list)}}
    if len({len(value) for value in given.values()}) > 1:
        *names, last = given
        lengths = ", ".join(f"{name}: {len(value)}" for name, value in given.items())
        plot = " (or `plot`)" if "'name' (or self.name)" in given else ""
        raise ValueError(
            f"{', '.join(names)} and {last} from `{owner}` initialization{plot}, should all be lists of the same"
            f" length. Got: {lengths}"
        )


class _Curves:
    """The base of displays of one curve, or of a curve for each fold."""

    # the names of the attributes that hold the curves' points, in the order of the arguments of `__init__`
    _axes = ("", "")
    _across = ("", "")  # the names of the attributes that hold the curves' points, that of the horizontal axis first
    _figure = ""  # the name of the attribute that holds the areas below the curves
    _figure_name = ""  # what the legend calls the area below a curve, such as "AUC"

    def _draw(self, ax, name, curve_kwargs, defaults, more):
        """Draw the curves; returns for each curve the keyword arguments that matplotlib got."""
        points = {f"self.{key}": _several(getattr(self, key)) for key in self._axes}
        n = len(next(iter(points.values())))
        values, names = _several(getattr(self, self._figure)), _several(self.name if name is None else name)
        require_strings([each for each in names or () if each is not None], "name")
        optional = {f"self.{key}": _several(getattr(self, key)) for key in (self._figure, *more)}
        if names is not None and len(names) != 1:
            optional["'name' (or self.name)"] = names
        _same_lengths(type(self).__name__, points, optional)
        names = [None] * n if names is None else names * n if len(names) == 1 else names
        styles = _styles(names, values or [None] * n, self._figure_name, curve_kwargs, defaults)
        x, y = (points[f"self.{key}"] for key in self._across)
        lines = [line for xs, ys, each in zip(x, y, styles) for line in ax.plot(xs, ys, **each)]
        self.line_ = lines[0] if len(lines) == 1 else lines
        return styles

    def _titles(self, ax, x, y):
        told = "" if self.pos_label is None else f" (Positive label: {self.pos_label})"
        ax.set(xlabel=x + told, ylabel=y + told, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")


def _despine(ax):
    """Remove the upper and the right side of the frame around a plot."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        ax.spines[side].set_bounds(0, 1)


class RocCurveDisplay(_Curves):
    """The ROC curve: the share of positive rows found, against the share of negative rows taken for positive.

    Parameters
    ----------
    fpr : ndarray of shape (n_points,), or list of these
        One curve, or several, such as one for each fold.
    tpr : ndarray of shape (n_points,), or list of these
    roc_auc : float or list of floats, default=None
        The areas.
    name : str or list of str, default=None
        Names in the legend.
    pos_label : label, default=None
        The positive class, for the titles of the axes.

    Attributes
    ----------
    line_ : matplotlib Line2D, or list of these
    chance_level_ : matplotlib Line2D or None
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf.display import RocCurveDisplay
    >>> RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).roc_auc
    0.75
    """

    _axes, _across, _figure, _figure_name = ("fpr", "tpr"), ("fpr", "tpr"), "roc_auc", "AUC"

    def __init__(self, fpr, tpr, *, roc_auc=None, name=None, pos_label=None):
        self.fpr, self.tpr, self.roc_auc, self.name, self.pos_label = fpr, tpr, roc_auc, name, pos_label

    def plot(
        self, ax=None, *, name=None, curve_kwargs=None, plot_chance_level=False, chance_level_kw=None, despine=False
    ):
        """Draw into `ax`, by default into a new figure, and return self."""
        ax = axes(ax)
        styles = self._draw(ax, name, curve_kwargs, {}, ())
        self._titles(ax, "False Positive Rate", "True Positive Rate")
        self.chance_level_, chance = None, {}
        if require_truth("plot_chance_level", plot_chance_level):
            chance = style({"label": "Chance level (AUC = 0.5)", "color": "k", "linestyle": "--"}, chance_level_kw)
            [self.chance_level_] = ax.plot((0, 1), (0, 1), **chance)
        if require_truth("despine", despine):
            _despine(ax)
        if styles[0].get("label") is not None or chance.get("label") is not None:
            ax.legend(loc="lower right")
        return finish(self, ax)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        sample_weight=None,
        drop_intermediate=True,
        response_method="auto",
        pos_label=None,
        name=None,
        ax=None,
        **options,
    ):
        """Draw the curve of a fitted classifier's scores of rows X with the labels y.

        Without `response_method`, probabilities are preferred to other scores; `options` are those of :meth:`plot`.
        """
        score, positive = scores_of_positive(estimator, X, response_method, pos_label)
        options |= {"sample_weight": sample_weight, "drop_intermediate": drop_intermediate, "ax": ax}
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, pos_label=positive, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_score=None,
        *,
        sample_weight=None,
        drop_intermediate=True,
        pos_label=None,
        name=None,
        ax=None,
        **options,
    ):
        """Draw the curve of scores; `options` are those of :meth:`plot`."""
        positive = _positive(y_true, y_score, pos_label)
        fpr, tpr, _ = roc_curve(
            y_true, y_score, pos_label=positive, sample_weight=sample_weight, drop_intermediate=drop_intermediate
        )
        name = "Classifier" if name is None else name
        return cls(fpr, tpr, roc_auc=auc(fpr, tpr), name=name, pos_label=positive).plot(ax, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results,
        X,
        y,
        *,
        sample_weight=None,
        drop_intermediate=True,
        response_method="auto",
        pos_label=None,
        ax=None,
        name=None,
        chance_level_kwargs=None,
        **options,
    ):
        """Draw the curve of each fold of a :func:`fastclf.cross_validate` with `return_estimator`, `return_indices`.

        `options` are those of :meth:`plot`.
        """
        found = []
        for model, rows in _folds(cv_results, X, y, sample_weight):
            score, positive = scores_of_positive(model, rows(X), response_method, pos_label)
            weight = {"sample_weight": rows(sample_weight), "drop_intermediate": drop_intermediate}
            fpr, tpr, _ = roc_curve(rows(y), score, pos_label=positive, **weight)
            found.append((fpr, tpr, auc(fpr, tpr)))
        fpr, tpr, area = map(list, zip(*found))
        display = cls(fpr, tpr, roc_auc=area, name=name, pos_label=positive)
        return display.plot(ax, chance_level_kw=chance_level_kwargs, **options)


class PrecisionRecallDisplay(_Curves):
    """The precision-recall curve: the share of positives among rows predicted as such, against the share found.

    Parameters
    ----------
    precision : ndarray of shape (n_points,), or list of these
        One curve, or several, such as one for each fold.
    recall : ndarray of shape (n_points,), or list of these
    average_precision : float or list of floats, default=None
    name : str or list of str, default=None
        Names in the legend.
    pos_label : label, default=None
        The positive class, for the titles of the axes.
    prevalence_pos_label : float or list of floats, default=None
        The share of positive rows, which is the precision of random predictions.
    estimator_name : str, default='deprecated'
        An earlier name of `name`.

    Attributes
    ----------
    line_ : matplotlib Line2D, or list of these
    chance_level_ : matplotlib Line2D, list of these, or None
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf.display import PrecisionRecallDisplay
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(display.average_precision, 4)
    0.8333
    """

    _axes, _across = ("precision", "recall"), ("recall", "precision")
    _figure, _figure_name = "average_precision", "AP"

    def __init__(
        self,
        precision,
        recall,
        *,
        average_precision=None,
        name=None,
        pos_label=None,
        prevalence_pos_label=None,
        estimator_name="deprecated",
    ):
        if estimator_name != "deprecated":
            if name:
                raise ValueError("Cannot provide both `estimator_name` and `name`. Use `name` only.")
            warn("`estimator_name` is deprecated in 1.8 of scikit-learn. Use `name` instead.", FutureWarning)
            name = estimator_name
        self.precision, self.recall, self.average_precision = precision, recall, average_precision
        self.name, self.pos_label, self.prevalence_pos_label = name, pos_label, prevalence_pos_label

    def plot(
        self,
        ax=None,
        *,
        name=None,
        curve_kwargs=None,
        plot_chance_level=False,
        chance_level_kw=None,
        despine=False,
        **kwargs,
    ):
        """Draw into `ax`, by default into a new figure, and return self."""
        if kwargs and curve_kwargs:
            raise ValueError(
                "Cannot provide both `curve_kwargs` and `kwargs`. `**kwargs` is deprecated. Pass all matplotlib"
                " arguments to `curve_kwargs` as a dictionary."
            )
        if kwargs:
            warn("`**kwargs` is deprecated and will be removed; pass a dictionary as `curve_kwargs`.", FutureWarning)
        ax = axes(ax)
        given = kwargs or curve_kwargs
        styles = self._draw(ax, name, given, {"drawstyle": "steps-post"}, ("prevalence_pos_label",))
        self._titles(ax, "Recall", "Precision")
        self.chance_level_ = self._draw_chance(ax, chance_level_kw) if plot_chance_level else None
        if require_truth("despine", despine):
            _despine(ax)
        if styles[0].get("label") is not None or plot_chance_level:
            ax.legend(loc="lower left")
        return finish(self, ax)

    def _draw_chance(self, ax, chance_level_kw):
        shares = _several(self.prevalence_pos_label)
        if shares is None:
            raise ValueError(
                "You must provide prevalence_pos_label when constructing the PrecisionRecallDisplay object in order to"
                " plot the chance level line. Alternatively, you may use PrecisionRecallDisplay.from_estimator or"
                " PrecisionRecallDisplay.from_predictions to automatically set prevalence_pos_label"
            )
        given = style({"color": "k", "linestyle": "--"} | ({"alpha": 0.3} if len(shares) > 1 else {}), chance_level_kw)
        lines = [line for share in shares for line in ax.plot((0, 1), (share, share), **given)]
        if "label" not in given:
            spread = f" +/- {np.std(shares):0.2f}" if len(shares) > 1 else ""
            lines[0].set_label(f"Chance level (AP = {np.mean(shares):0.2f}{spread})")
        return lines[0] if len(lines) == 1 else lines

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        sample_weight=None,
        drop_intermediate=False,
        response_method="auto",
        pos_label=None,
        name=None,
        ax=None,
        **options,
    ):
        """Draw the curve of a fitted classifier's scores of rows X with the labels y.

        Without `response_method`, probabilities are preferred to other scores; `options` are those of :meth:`plot`.
        """
        score, positive = scores_of_positive(estimator, X, response_method, pos_label)
        options |= {"sample_weight": sample_weight, "drop_intermediate": drop_intermediate, "ax": ax}
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, pos_label=positive, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_score=None,
        *,
        sample_weight=None,
        drop_intermediate=False,
        pos_label=None,
        name=None,
        ax=None,
        y_pred="deprecated",
        **options,
    ):
        """Draw the curve of scores; `options` are those of :meth:`plot`."""
        y_score = _given_score(y_score, y_pred)
        positive = _positive(y_true, y_score, pos_label)
        weight = {"pos_label": positive, "sample_weight": sample_weight}
        precision, recall, _ = precision_recall_curve(y_true, y_score, drop_intermediate=drop_intermediate, **weight)
        display = cls(
            precision,
            recall,
            average_precision=average_precision_score(y_true, y_score, **weight),
            name="Classifier" if name is None else name,
            pos_label=positive,
            prevalence_pos_label=float(np.mean(as_targets(y_true, "y_true") == positive)),
        )
        return display.plot(ax, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results,
        X,
        y,
        *,
        sample_weight=None,
        drop_intermediate=True,
        response_method="auto",
        pos_label=None,
        name=None,
        ax=None,
        chance_level_kwargs=None,
        **options,
    ):
        """Draw the curve of each fold of a :func:`fastclf.cross_validate` with `return_estimator`, `return_indices`.

        `options` are those of :meth:`plot`.
        """
        found = []
        for model, rows in _folds(cv_results, X, y, sample_weight):
            score, positive = scores_of_positive(model, rows(X), response_method, pos_label)
            weight, labels = {"pos_label": positive, "sample_weight": rows(sample_weight)}, np.asarray(rows(y))
            precision, recall, _ = precision_recall_curve(labels, score, drop_intermediate=drop_intermediate, **weight)
            average = average_precision_score(labels, score, **weight)
            found.append((precision, recall, average, np.count_nonzero(labels == positive) / len(labels)))
        precision, recall, average, shares = map(list, zip(*found))
        display = cls(
            precision, recall, average_precision=average, name=name, pos_label=positive, prevalence_pos_label=shares
        )
        return display.plot(ax, chance_level_kw=chance_level_kwargs, **options)


def _deviates(shares):
    """The quantiles of the normal distribution for shares from 0 to 1; 0 and 1 are moved inwards by an epsilon."""
    least, normal = np.finfo(float).eps, NormalDist()
    return np.array([normal.inv_cdf(share) for share in np.clip(shares, least, 1 - least).tolist()])


class DetCurveDisplay:
    """The detection errors: the share of positive rows missed, against the share of negative rows taken for positive.

    Both axes show quantiles of the normal distribution, in which curves of normal scores are straight lines.

    Parameters
    ----------
    fpr : ndarray of shape (n_points,)
    fnr : ndarray of shape (n_points,)
    estimator_name : str, default=None
        A name in the legend.
    pos_label : label, default=None
        The positive class, for the titles of the axes.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf.display import DetCurveDisplay
    >>> display = DetCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.fnr.tolist()
    [2.220446049250313e-16, 0.5, 0.5]
    """

    def __init__(self, *, fpr, fnr, estimator_name=None, pos_label=None):
        self.fpr, self.fnr, self.estimator_name, self.pos_label = fpr, fnr, estimator_name, pos_label

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw into `ax`, by default into a new figure, and return self; `kwargs` are those of matplotlib's `plot`."""
        ax, name = axes(ax), self.estimator_name if name is None else name
        require_strings([] if name is None else [name], "name")
        given = ({} if name is None else {"label": name}) | kwargs
        least = np.finfo(np.asarray(self.fpr).dtype).eps
        self.fpr, self.fnr = (np.clip(shares, least, 1 - least) for shares in (self.fpr, self.fnr))
        [self.line_] = ax.plot(_deviates(self.fpr), _deviates(self.fnr), **given)
        told = "" if self.pos_label is None else f" (Positive label: {self.pos_label})"
        ticks = [0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999]
        texts = [f"{share:.0%}" if (100 * share).is_integer() else f"{share:.1%}" for share in ticks]
        ax.set_xticks(_deviates(ticks), texts)
        ax.set_yticks(_deviates(ticks), texts)
        ax.set(xlabel="False Positive Rate" + told, ylabel="False Negative Rate" + told, xlim=(-3, 3), ylim=(-3, 3))
        if "label" in given:
            ax.legend(loc="lower right")
        return finish(self, ax)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        sample_weight=None,
        drop_intermediate=True,
        response_method="auto",
        pos_label=None,
        name=None,
        ax=None,
        **kwargs,
    ):
        """Draw the curve of a fitted classifier's scores of rows X with the labels y."""
        score, positive = scores_of_positive(estimator, X, response_method, pos_label)
        kwargs |= {"sample_weight": sample_weight, "drop_intermediate": drop_intermediate, "ax": ax}
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, pos_label=positive, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_score=None,
        *,
        sample_weight=None,
        drop_intermediate=True,
        pos_label=None,
        name=None,
        ax=None,
        y_pred="deprecated",
        **kwargs,
    ):
        """Draw the curve of scores."""
        y_score = _given_score(y_score, y_pred)
        positive = _positive(y_true, y_score, pos_label)
        options = {"sample_weight": sample_weight, "drop_intermediate": drop_intermediate}
        fpr, fnr, _ = det_curve(y_true, y_score, pos_label=positive, **options)
        name = "Classifier" if name is None else name
        return cls(fpr=fpr, fnr=fnr, estimator_name=name, pos_label=positive).plot(ax, **kwargs)


class CalibrationDisplay:
    """The frequency of the positive class among rows with about the same predicted probability.

    Parameters
    ----------
    prob_true : ndarray of shape (n_bins,)
    prob_pred : ndarray of shape (n_bins,)
        As :func:`fastclf.calibration_curve` returns them.
    y_prob : ndarray of shape (n_samples,)
        The predicted probabilities.
    estimator_name : str, default=None
        A name in the legend.
    pos_label : label, default=None
        The positive class, for the titles of the axes.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf.display import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], n_bins=2)
    >>> display.prob_true.round(2).tolist()
    [0.33, 1.0]
    """

    def __init__(self, prob_true, prob_pred, y_prob, *, estimator_name=None, pos_label=None):
        self.prob_true, self.prob_pred, self.y_prob = prob_true, prob_pred, y_prob
        self.estimator_name, self.pos_label = estimator_name, pos_label

    def plot(self, *, ax=None, name=None, ref_line=True, **kwargs):
        """Draw into `ax`, by default into a new figure, and return self; `kwargs` are those of matplotlib's `plot`."""
        ref_line = require_truth("ref_line", ref_line)
        ax, name = axes(ax), self.estimator_name if name is None else name
        require_strings([] if name is None else [name], "name")
        given = style({"marker": "s", "linestyle": "-"} | ({} if name is None else {"label": name}), kwargs)
        best = "Perfectly calibrated"
        if ref_line and best not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], "k:", label=best)
        [self.line_] = ax.plot(self.prob_pred, self.prob_true, **given)
        ax.legend(loc="lower right")
        told = "" if self.pos_label is None else f"(Positive class: {self.pos_label})"
        ax.set(xlabel=f"Mean predicted probability {told}", ylabel=f"Fraction of positives {told}")
        return finish(self, ax)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        n_bins=5,
        strategy="uniform",
        pos_label=None,
        name=None,
        ax=None,
        ref_line=True,
        **kwargs,
    ):
        """Draw the curve of a fitted classifier's probabilities of rows X with the labels y."""
        proba, positive = scores_of_positive(estimator, X, "predict_proba", pos_label)
        kwargs |= {"n_bins": n_bins, "strategy": strategy, "ref_line": ref_line, "ax": ax}
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, proba, pos_label=positive, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_prob,
        *,
        n_bins=5,
        strategy="uniform",
        pos_label=None,
        name=None,
        ax=None,
        ref_line=True,
        **kwargs,
    ):
        """Draw the curve of probabilities."""
        positive = _positive(y_true, y_prob, pos_label)
        shares, means = calibration_curve(y_true, y_prob, n_bins=n_bins, strategy=strategy, pos_label=positive)
        name = "Classifier" if name is None else name
        display = cls(shares, means, y_prob, estimator_name=name, pos_label=positive)
        return display.plot(ax=ax, ref_line=ref_line, **kwargs)
