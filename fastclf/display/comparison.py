"""Pictures of a comparison of methods."""

from .drawing import axes, finish, need_matplotlib


class ComparisonDisplay:
    """Errors of several classifiers on one data set, as dots with bars of one standard error.

    Make it with :meth:`from_results`.

    Parameters
    ----------
    results : mapping of name to CrossValidation
        The result of :func:`fastclf.cross_validate` for a mapping of estimators.
    baseline : float, optional
        Error of always predicting the majority class, drawn as a dashed line.
    title : str, optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsClassifier, cross_validate
    >>> from fastclf.display import ComparisonDisplay
    >>> X, y = np.arange(40.0).reshape(20, 2), [0] * 10 + [1] * 10
    >>> results = cross_validate({f"{k}-NN": KNeighborsClassifier(k) for k in (1, 5)}, X, y)
    >>> display = ComparisonDisplay.from_results(results, baseline=0.5, title="two halves")
    >>> display.ax_.get_title(loc="left")
    'two halves'
    """

    def __init__(self, results, *, baseline=None, title=None):
        self.results = results
        self.baseline = baseline
        self.title = title

    @classmethod
    def from_results(cls, results, *, baseline=None, title=None, ax=None):
        """Draw immediately; the parameters are those of the class and of :meth:`plot`."""
        return cls(results, baseline=baseline, title=title).plot(ax)

    def plot(self, ax=None):
        """Draw into `ax`, by default into a new figure, and return self.

        The error axis is logarithmic, so that errors of both 1 % and 90 % are legible; an error of zero is drawn
        as if half a test row were wrong.
        """
        ax = axes(ax, (8, _height(self.results)))
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        def write_right_of_panel(text, y, points, **style):
            style = {"ha": "right", "va": "center", "textcoords": "offset points"} | style
            ax.annotate(text, (1, y), xytext=(points, 0), **style)

        right_edge = ax.get_yaxis_transform()
        drawn = [self.baseline] if self.baseline else []
        for i, result in enumerate(self.results.values()):
            error, spread, cost = result.error, result.standard_error, result.microseconds_per_query
            # a single fold has the standard error NaN: its bar has no length
            spread = 0.0 if spread != spread else spread
            half_row = 0.5 / max(result.n_test.sum(), 1)
            left, dot, right = (max(value, half_row) for value in (error - spread, error, error + spread))
            drawn += [left if left > half_row else dot / 2, right]
            ax.errorbar(dot, i, xerr=[[dot - left], [right - dot]], fmt="o", color="C0", capsize=3)
            write_right_of_panel(f"{error:.2%} \N{PLUS-MINUS SIGN} {spread:.2%}", i, 105, xycoords=right_edge)
            cost = f"{cost:.1f}" if cost < 100 else f"{cost:,.0f}"
            write_right_of_panel(cost, i, 165, xycoords=right_edge)
        style = {"xycoords": "axes fraction", "va": "bottom", "color": "0.4"}
        write_right_of_panel("error", 1, 105, **style)
        write_right_of_panel("\N{MICRO SIGN}s/query", 1, 165, **style)

        low, high = min(drawn) / 1.25, max(drawn) * 1.25
        if self.baseline:
            ax.axvline(self.baseline, linestyle="--", color="C3")
            ax.annotate(
                f"always the majority class: {self.baseline:.1%}",
                (self.baseline, 1),
                xycoords=ax.get_xaxis_transform(),
                ha="right" if self.baseline**2 > low * high else "left",
                va="bottom",
                color="C3",
            )
        ax.set_xscale("log")
        ax.set_xlim(low, min(high, 1.1))
        digits = (1, 2, 5) if high > 5 * low else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
        ax.xaxis.set_major_locator(FixedLocator([d * 10.0**e for e in range(-6, 1) for d in digits]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
        ax.set_yticks(range(len(self.results)), list(self.results))
        ax.set_ylim(len(self.results) - 0.5, -0.5)
        ax.set_axisbelow(True)
        ax.grid(axis="x", color="0.9")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("error in cross-validation (\N{PLUS-MINUS SIGN} one standard error)")
        if self.title is not None:
            ax.set_title(self.title, loc="left", pad=20)
        return finish(self, ax)


def comparison_figure(displays):
    """One figure with a panel for each ComparisonDisplay, made without a window.

    Returns a matplotlib Figure, to be saved with ``savefig``.
    """
    need_matplotlib()
    from matplotlib.figure import Figure

    heights = [_height(display.results) for display in displays]
    figure = Figure(figsize=(8, sum(heights)), layout="constrained")
    figure.get_layout_engine().set(hspace=0.06)
    panels = figure.subplots(len(displays), 1, squeeze=False, height_ratios=heights)
    for display, ax in zip(displays, panels[:, 0], strict=True):
        display.plot(ax)
    return figure


def _height(results):
    return 1.3 + 0.32 * len(results)
