"""Pictures of the errors of predicted numbers."""

from numbers import Real

import numpy as np

from .._validation import as_numbers, as_vector, described
from ..metrics.targets import require_same_length
from .binary import style
from .drawing import axes, finish, require_method

_KINDS = ("actual_vs_predicted", "residual_vs_predicted")


class PredictionErrorDisplay:
    """Predicted numbers and their errors: a dot for each row, and the line of no error.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted numbers.

    Attributes
    ----------
    line_ : matplotlib Line2D
    scatter_ : matplotlib PathCollection
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fastclf.display import PredictionErrorDisplay
    >>> display = PredictionErrorDisplay.from_predictions([1.0, 2.0, 4.0], [1.5, 2.0, 3.0])
    >>> display.scatter_.get_offsets().data.tolist()
    [[1.5, -0.5], [2.0, 0.0], [3.0, 1.0]]
    """

    def __init__(self, *, y_true, y_pred):
        self.y_true, self.y_pred = y_true, y_pred

    @classmethod
    def from_estimator(cls, estimator, X, y, *, subsample=1000, random_state=None, ax=None, **options):
        """Draw the errors of a fitted regressor; the other parameters are those of :meth:`from_predictions`."""
        require_method(estimator, "predict")
        drawn = {"subsample": subsample, "random_state": random_state, "ax": ax}
        return cls.from_predictions(y, estimator.predict(X), **drawn, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_pred,
        *,
        kind="residual_vs_predicted",
        subsample=1000,
        random_state=None,
        ax=None,
        **options,
    ):
        """Draw the errors of predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            The true and the predicted numbers.
        kind : {'residual_vs_predicted', 'actual_vs_predicted'}, default='residual_vs_predicted'
        subsample : int, float in (0, 1] or None, default=1000
            The number or the share of rows that are drawn, chosen at random; None: all rows.
        random_state : int, RandomState or None, default=None
            Seed of this choice.
        ax : matplotlib Axes, default=None
        **options
            `scatter_kwargs` and `line_kwargs` of :meth:`plot`.

        Returns
        -------
        display : PredictionErrorDisplay
        """
        y_true, y_pred = (
            as_numbers(as_vector(value, name)) for value, name in ((y_true, "y_true"), (y_pred, "y_pred"))
        )
        require_same_length(y_true=y_true, y_pred=y_pred)
        size = _size(subsample, len(y_true))
        if size < len(y_true):
            source = np.random if random_state is None else random_state
            if not hasattr(source, "choice"):
                source = np.random.RandomState(random_state)
            rows = source.choice(np.arange(len(y_true)), size=size)
            y_true, y_pred = y_true[rows], y_pred[rows]
        return cls(y_true=y_true, y_pred=y_pred).plot(ax, kind=kind, **options)

    def plot(self, ax=None, *, kind="residual_vs_predicted", scatter_kwargs=None, line_kwargs=None):
        """Draw into `ax`, by default into a new figure, and return self.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        kind : {'residual_vs_predicted', 'actual_vs_predicted'}, default='residual_vs_predicted'
        scatter_kwargs, line_kwargs : dict, default=None
            Arguments of matplotlib for the dots and for the line.

        Returns
        -------
        self
        """
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(_KINDS)}. Got {described(kind)} instead.")
        ax = axes(ax, (6.4, 4.8))
        line = style({"color": "black", "alpha": 0.7, "linestyle": "--"}, line_kwargs)
        dots = style({"color": "tab:blue", "alpha": 0.8}, scatter_kwargs)
        true, predicted = np.asarray(self.y_true), np.asarray(self.y_pred)
        if kind == "actual_vs_predicted":
            ends = min(true.min(), predicted.min()), max(true.max(), predicted.max())
            [self.line_] = ax.plot(ends, ends, **line)
            self.scatter_ = ax.scatter(predicted, true, **dots)
            ax.set_aspect("equal", adjustable="datalim")
            ax.set(xticks=np.linspace(*ends, 5), yticks=np.linspace(*ends, 5), ylabel="Actual values")
        else:
            [self.line_] = ax.plot([predicted.min(), predicted.max()], [0, 0], **line)
            self.scatter_ = ax.scatter(predicted, true - predicted, **dots)
            ax.set_ylabel("Residuals (actual - predicted)")
        ax.set_xlabel("Predicted values")
        return finish(self, ax)


def _size(subsample, n):
    """The number of the n rows that the picture shows, from the argument `subsample`."""
    if subsample is None:
        return n
    if isinstance(subsample, Real) and not isinstance(subsample, bool):
        if hasattr(subsample, "__index__"):
            if subsample <= 0:
                raise ValueError(f"When an integer, subsample={subsample} should be positive.")
            return int(subsample)
        if 0 < subsample <= 1:
            return int(n * subsample)
        raise ValueError(f"When a floating-point, subsample={subsample} should be in the [0, 1] range.")
    raise TypeError(f"subsample is {described(subsample)}; a number of rows, a share of them, or None is wanted")
