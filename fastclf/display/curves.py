"""Pictures of errors as a function of a parameter, of the number of rows, or of the time of a query."""

import numpy as np

from .._validation import require_integer, require_strings, require_truth
from .drawing import axes, finish, require_method
from .scores import ScoreStyle, draw_scores


def _band(ax, x, errors, colour, label, style="-"):
    """Draw a line of mean errors, in a band of one standard error; returns both."""
    mean = errors.mean(axis=1)
    n_folds = errors.shape[1]
    spread = errors.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(mean))
    band = ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
    [line] = ax.plot(x, mean, style, color=colour, label=label, marker="o", markersize=3)
    return line, band


def _keep(display, *drawn):
    """Store the drawn lines and bands as attributes with scikit-learn's names."""
    display.lines_, display.fill_between_ = map(list, zip(*drawn))
    display.errorbar_ = None


def _scale(ax, values):
    """Make the x axis logarithmic if no value is negative and the largest is above 30 times the least above 0."""
    values = np.asarray(values, float)
    positive = values[values > 0]
    if (values >= 0).all() and len(positive) > 1 and positive.max() > 30 * positive.min():
        if (values == 0).any():
            ax.set_xscale("symlog", linthresh=positive.min())
        else:
            ax.set_xscale("log")


class _Curves:
    """The base of displays of curves; a subclass has `_draw(ax, style)`, which draws errors or scores."""

    _score_type = "both"  # what `plot` draws if its argument score_type is None

    def plot(
        self,
        ax=None,
        *,
        negate_score=False,
        score_name=None,
        score_type=None,
        std_display_style="fill_between",
        line_kw=None,
        fill_between_kw=None,
        errorbar_kw=None,
    ):
        """Draw into `ax`, by default into a new figure, and return self.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        negate_score : bool, default=False
            Whether the scores are multiplied by -1.
        score_name : str, default=None
        score_type : {'test', 'train', 'both', 'error'} or None, default=None
            The rows whose scores are drawn; 'error': errors instead of scores, with bands of one standard error. None:
            'error' for a display of a Tuning, otherwise 'both'.
        std_display_style : {'fill_between', 'errorbar'} or None, default='fill_between'
            How the standard deviation of the folds' scores is drawn.
        line_kw, fill_between_kw, errorbar_kw : dict, default=None
            Arguments of matplotlib for lines, bands and error bars.

        Returns
        -------
        self
        """
        score_type = self._score_type if score_type is None else score_type
        style = ScoreStyle(
            negate_score, score_name, score_type, std_display_style, line_kw, fill_between_kw, errorbar_kw
        )
        return self._draw(ax, style)


class ValidationCurveDisplay(_Curves):
    """The scores as a function of a parameter; or the error with one standard error, where the best value and the
    simplest near it are marked.

    Parameters
    ----------
    tuning : Tuning, default=None
        The result of tuning one parameter; None: scores are given.
    train_errors : ndarray of shape (n_values, n_folds), default=None
    param_name : str, default=None
    param_range : array-like of shape (n_values,), default=None
    train_scores, test_scores : ndarray of shape (n_values, n_folds), default=None
        The name and the values of the parameter, and the scores of :func:`fastclf.validation_curve`; only without
        `tuning`.
    score_name : str, default=None
        The label of the axis of scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_, fill_between_, errorbar_ : list of matplotlib Artist or None
        What was drawn of scores.

    Examples
    --------
    >>> from fastclf import KNeighborsClassifier
    >>> from fastclf.display import ValidationCurveDisplay
    >>> X, y = [[float(i)] for i in range(40)], [i // 20 for i in range(40)]
    >>> grid = {"param_name": "n_neighbors", "param_range": [1, 5, 9, 15]}
    >>> display = ValidationCurveDisplay.from_estimator(KNeighborsClassifier(), X, y, cv=5, **grid)
    >>> display.ax_.get_xlabel()
    'n_neighbors'
    """

    def __init__(
        self,
        tuning=None,
        *,
        train_errors=None,
        param_name=None,
        param_range=None,
        train_scores=None,
        test_scores=None,
        score_name=None,
    ):
        self.tuning, self.train_errors, self.score_name = tuning, train_errors, score_name
        self.train_scores, self.test_scores = train_scores, test_scores
        self._score_type = "both" if tuning is None else "error"
        if tuning is None:
            if param_name is None or param_range is None or train_scores is None or test_scores is None:
                raise TypeError("tuning is None; param_name, param_range, train_scores and test_scores are wanted")
            self.param_name, self.param_range = param_name, param_range
            return
        names = {tuple(params) for params in tuning.params}
        if len(names) != 1 or len(next(iter(names))) != 1:
            raise ValueError(f"tuning is of the parameters {sorted(names)}; one parameter is wanted for a curve")
        [(self.param_name,)] = names
        self.values = self.param_range = [params[self.param_name] for params in tuning.params]

    @classmethod
    def from_estimator(cls, estimator, X, y, *, param_name, param_range, train=True, ax=None, **options):
        """Draw the scores of :func:`fastclf.validation_curve`; `options` are its arguments and those of :meth:`plot`.

        With `score_type="error"` the parameter is tuned, the options are those of :func:`fastclf.tune`, and `train`
        tells whether the errors of the rows of the fit are drawn, too.
        """
        from ..model_selection.curves import validation_curve
        from ..model_selection.tuning import as_grids, tune

        require_strings([param_name], "param_name")
        param_range = as_grids({param_name: param_range})[0][param_name]
        style = ScoreStyle.taken(options)
        if style.score_type != "error":
            named = {"param_name": param_name, "param_range": param_range}
            train_scores, test_scores = validation_curve(estimator, X, y, **named, **options)
            name = style.name(options.get("scoring"))
            display = cls(train_scores=train_scores, test_scores=test_scores, score_name=name, **named)
            return display.plot(ax, **style._asdict())
        found = tune(estimator, {param_name: param_range}, X, y, refit=False, **options)
        errors = None
        if require_truth("train", train):
            kept = {k: v for k, v in options.items() if k in ("cv", "groups", "scoring", "n_jobs", "random_state")}
            scores, _ = validation_curve(estimator, X, y, param_name=param_name, param_range=param_range, **kept)
            errors = 1 - scores
        return cls(found, train_errors=errors).plot(ax)

    def _draw(self, ax, style):
        if style.score_type != "error":
            if self.test_scores is None:
                self.train_scores, self.test_scores = 1 - self._shown_train_errors(), self.tuning.scores
            # values other than numbers are shown as strings, which matplotlib places at equal distances
            numbers = all(isinstance(value, (int, float, np.number)) for value in self.param_range)
            draw_scores(self, ax, self.param_range if numbers else [str(value) for value in self.param_range], style)
            self.ax_.set_xlabel(f"{self.param_name}")
            return self
        if self.tuning is None:
            raise ValueError("score_type is 'error', and tuning is None; a display of a Tuning is wanted for errors")
        return self._plot_errors(ax)

    def _shown_train_errors(self):
        return np.full_like(self.tuning.scores, np.nan) if self.train_errors is None else self.train_errors

    def _plot_errors(self, ax):
        ax, found = axes(ax, (6.5, 4.5)), self.tuning
        numbers = all(isinstance(value, (int, float, np.number)) for value in self.values)
        order = np.argsort(np.asarray(self.values, float)) if numbers else np.arange(len(self.values))
        x = np.array([self.values[i] for i in order], float) if numbers else np.arange(len(self.values))
        drawn = [_band(ax, x, 1 - found.scores[order], "C0", "left-out rows \N{PLUS-MINUS SIGN} one standard error")]
        if self.train_errors is not None:
            drawn.insert(0, _band(ax, x, self.train_errors[order], "C1", "rows of the fit", "--"))
        _keep(self, *drawn)
        best, simple = (np.flatnonzero(order == i)[0] for i in (found.best_index, found.one_standard_error_index))
        error = 1 - found.mean_score[order]
        spread = found.standard_error[found.best_index]
        if not np.isnan(spread):
            ax.axhline(
                error[best] + spread, color="0.6", linewidth=0.8, linestyle=":", label="best + one standard error"
            )
        for at, marker, text in ((best, "v", "best"), (simple, "s", "simplest within one standard error")):
            label = f"{text}: {self.values[order[at]]:.4g}" if numbers else f"{text}: {self.values[order[at]]}"
            ax.plot(x[at], error[at], marker, color="C3", markersize=9, fillstyle="none", linestyle="none", label=label)
        if numbers:
            _scale(ax, x)
        else:
            ax.set_xticks(x, [str(value) for value in self.values])
        ax.set_ylim(bottom=min(0, ax.get_ylim()[0]) if error.min() < 0 else 0)
        ax.set_xlabel(self.param_name)
        ax.set_ylabel("error")
        ax.legend()
        return finish(self, ax)


class PruningDisplay(ValidationCurveDisplay):
    """The error of a decision tree as a function of `ccp_alpha`, with the number of leaves at the top.

    Parameters
    ----------
    tuning : Tuning
        The result of tuning `ccp_alpha`.
    train_errors : ndarray of shape (n_values, n_folds), default=None
    path : dict, default=None
        The result of `cost_complexity_pruning_path` for all rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf import DecisionTreeClassifier
    >>> from fastclf.display import PruningDisplay
    >>> X, y = [[float(i % 7), float(i)] for i in range(40)], [i // 20 for i in range(40)]
    >>> PruningDisplay.from_estimator(DecisionTreeClassifier(), X, y, cv=5).ax_.get_xlabel()
    'ccp_alpha'
    """

    def __init__(self, tuning, *, train_errors=None, path=None):
        super().__init__(tuning, train_errors=train_errors)
        self.path = path

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_alphas=50, train=True, ax=None, **options):
        """Draw the errors for at most `n_alphas` alphas, each between two alphas where the tree of all rows changes."""
        require_method(estimator, "cost_complexity_pruning_path")
        n_alphas = require_integer("n_alphas", n_alphas, 1)
        path = estimator.cost_complexity_pruning_path(X, y)
        alphas = path["ccp_alphas"]
        # the geometric mean of two alphas, between which the pruned tree stays the same (Breiman et al. 1984)
        between = np.append(np.sqrt(np.maximum(alphas[:-1], 0) * alphas[1:]), alphas[-1])
        kept = np.unique(np.linspace(0, len(between) - 1, min(n_alphas, len(between))).round().astype(int))
        grid = {"param_name": "ccp_alpha", "param_range": between[kept].tolist()}
        display = super().from_estimator(
            estimator, X, y, train=train, ax=axes(ax, (7, 4.8)), score_type="error", **grid, **options
        )
        display.path = path
        return display._label_leaves()

    def _label_leaves(self):
        ax, values = self.ax_, np.unique(np.asarray(self.values, float))
        n_leaves = self.path["n_leaves"][np.searchsorted(self.path["ccp_alphas"], values, side="right") - 1]
        ax.autoscale_view()
        place = (ax.transData + ax.transAxes.inverted()).transform(np.column_stack([values, np.zeros(len(values))]))[
            :, 0
        ]
        last = -1.0
        # where two numbers of leaves would overlap, only that of the larger alpha, hence the smaller tree, is shown
        for i in np.argsort(-values):
            if last < 0 or last - place[i] > 0.06:
                last = place[i]
                style = {"ha": "center", "va": "bottom", "fontsize": "small", "textcoords": "offset points"}
                ax.annotate(f"{n_leaves[i]}", (values[i], 1), (0, 3), xycoords=ax.get_xaxis_transform(), **style)
        ax.set_title("leaves of the tree of all rows", fontsize="small", pad=16)
        return self


class LearningCurveDisplay(_Curves):
    """The scores, or the errors, as a function of the number of train rows.

    Parameters
    ----------
    train_sizes : ndarray of shape (n_sizes,)
    train_scores : ndarray of shape (n_sizes, n_folds)
    test_scores : ndarray of shape (n_sizes, n_folds)
    score_name : str, default=None
        The label of the axis of scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_, fill_between_, errorbar_ : list of matplotlib Artist or None
        What was drawn of scores.

    Examples
    --------
    >>> from fastclf import GaussianNB
    >>> from fastclf.display import LearningCurveDisplay
    >>> X, y = [[float(i)] for i in range(40)], [i // 20 for i in range(40)]
    >>> display = LearningCurveDisplay.from_estimator(GaussianNB(), X, y, train_sizes=[0.8, 1.0], cv=5)
    >>> display.train_sizes.tolist()
    [25, 32]
    """

    def __init__(self, train_sizes, train_scores, test_scores, score_name=None):
        self.train_sizes, self.train_scores, self.test_scores = train_sizes, train_scores, test_scores
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None, **options):
        """Compute a learning curve and draw it.

        `options` are those of :func:`fastclf.learning_curve` and of :meth:`plot`.
        """
        from ..model_selection.curves import learning_curve

        style = ScoreStyle.taken(options)
        name = style.name(options.get("scoring"))
        return cls(*learning_curve(estimator, X, y, **options)[:3], score_name=name).plot(ax, **style._asdict())

    def _draw(self, ax, style):
        if style.score_type != "error":
            draw_scores(self, ax, self.train_sizes, style)
            self.ax_.set_xlabel("Number of samples in the training set")
            return self
        ax = axes(ax, (6.5, 4.5))
        label = "left-out rows \N{PLUS-MINUS SIGN} one standard error"
        test = _band(ax, self.train_sizes, 1 - self.test_scores, "C0", label)
        _keep(self, _band(ax, self.train_sizes, 1 - self.train_scores, "C1", "rows of the fit", "--"), test)
        _scale(ax, self.train_sizes)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("rows fitted on")
        ax.set_ylabel("error")
        ax.legend()
        return finish(self, ax)


class QueryCostDisplay:
    """Errors against the time of a query: the cost of accuracy.

    Parameters
    ----------
    results : mapping of name to CrossValidation
        The result of :func:`fastclf.cross_validate` for several estimators, best with n_jobs=1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf import GaussianNB, NearestCentroid, cross_validate
    >>> from fastclf.display import QueryCostDisplay
    >>> X, y = [[float(i % 20), i % 3] for i in range(40)], [i // 20 for i in range(40)]
    >>> results = cross_validate({"Bayes": GaussianNB(), "centroid": NearestCentroid()}, X, y, n_jobs=1)
    >>> sorted(text.get_text() for text in QueryCostDisplay.from_results(results).ax_.texts)
    ['Bayes', 'centroid']
    """

    def __init__(self, results):
        self.results = results

    @classmethod
    def from_results(cls, results, *, ax=None):
        """Draw the results of :func:`fastclf.cross_validate`, by default into a new figure."""
        return cls(results).plot(ax)

    def plot(self, ax=None):
        """Draw into `ax`, by default into a new figure, and return self."""
        ax = axes(ax, (6.5, 4.5))
        cost = np.array([result.microseconds_per_query for result in self.results.values()])
        error = np.array([result.error for result in self.results.values()])
        spread = np.nan_to_num([result.standard_error for result in self.results.values()])
        ax.errorbar(cost, error, yerr=spread, fmt="o", color="C0", ecolor="0.7", capsize=3)
        best = np.array([(error[cost <= limit] >= e).all() for limit, e in zip(cost, error)])
        order = np.argsort(cost[best])
        ax.step(cost[best][order], error[best][order], where="post", color="C3", linewidth=1, linestyle="--", zorder=0)
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.margins(x=0.25)
        _name_dots(ax, zip(self.results, cost, error))
        ax.set_xlabel("microseconds per query")
        ax.set_ylabel("error \N{PLUS-MINUS SIGN} one standard error")
        return finish(self, ax)


# The places of a dot's name, first choice first: (points to the right, points up, the side of the text at the dot).
_PLACES = [(6, 4, "left"), (6, -11, "left"), (-6, 4, "right"), (-6, -11, "right"), (6, 16, "left"), (6, -23, "left")]


def _name_dots(ax, dots):
    """Write each dot's name beside it, where it covers no other name, if there is such a place; dots: (name, x, y)."""
    taken = []
    for name, x, y in sorted(dots, key=lambda dot: dot[1:]):
        text = ax.annotate(name, (x, y), xytext=(0, 0), textcoords="offset points", fontsize="small")
        for right, up, side in _PLACES:
            text.set_position((right, up))
            text.set_horizontalalignment(side)
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)
