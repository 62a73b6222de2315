"""Curves of scores in scikit-learn's style: mean scores of left-out rows and of the rows of the fit."""

from typing import NamedTuple

import numpy as np

from .._validation import described
from .drawing import axes, finish


class ScoreStyle(NamedTuple):
    """The arguments of scikit-learn's displays of curves; `score_type` may be "error", too."""

    negate_score: bool = False
    score_name: str | None = None
    score_type: str | None = None
    std_display_style: str | None = "fill_between"
    line_kw: dict | None = None
    fill_between_kw: dict | None = None
    errorbar_kw: dict | None = None

    @classmethod
    def taken(cls, options):
        """The style from a dict of options, from which its entries are removed."""
        return cls(**{name: options.pop(name) for name in cls._fields if name in options})

    def name(self, scoring):
        """The label of the axis of scores, by scikit-learn's rules."""
        if self.score_name is not None:
            return self.score_name
        if scoring is None:
            return "Negative score" if self.negate_score else "Score"
        name = scoring.__name__ if callable(scoring) else scoring
        was_negative = name.startswith("neg_")
        name = name.removeprefix("neg_")
        return (name if was_negative == self.negate_score else f"Negative {name}").replace("_", " ").capitalize()


def draw_scores(display, ax, x, style):
    """Draw the display's `train_scores` and `test_scores` over x, and keep what was drawn as in scikit-learn."""
    ax = axes(ax, (6.4, 4.8))
    if style.std_display_style is not None and not _among(style.std_display_style, ("errorbar", "fill_between")):
        raise ValueError(
            f"Unknown std_display_style: {described(style.std_display_style)}. Should be one of 'errorbar',"
            " 'fill_between', or None."
        )
    wanted = style.score_type
    if not _among(wanted, ("test", "train", "both")):
        raise ValueError(f"Unknown score_type: {described(wanted)}. Should be one of 'test', 'train', or 'both'.")
    sign = -1 if style.negate_score else 1
    scores = {"Train": sign * np.asarray(display.train_scores), "Test": sign * np.asarray(display.test_scores)}
    scores = {label: score for label, score in scores.items() if wanted in ("both", label.lower())}
    display.lines_ = display.errorbar_ = display.fill_between_ = None
    curves = [(label, score.mean(axis=1), score.std(axis=1)) for label, score in scores.items()]
    if style.std_display_style == "errorbar":
        given = style.errorbar_kw or {}
        display.errorbar_ = [ax.errorbar(x, mean, std, label=label, **given) for label, mean, std in curves]
    else:
        display.lines_ = [ax.plot(x, mean, label=label, **style.line_kw or {})[0] for label, mean, _ in curves]
    if style.std_display_style == "fill_between":
        given = {"alpha": 0.5} | (style.fill_between_kw or {})
        display.fill_between_ = [ax.fill_between(x, mean - std, mean + std, **given) for _, mean, std in curves]
    ax.legend()
    ax.set_xscale(_x_scale(x))
    ax.set_ylabel(f"{display.score_name if style.score_name is None else style.score_name}")
    return finish(display, ax)


def _among(value, names):
    return isinstance(value, str) and value in names


def _x_scale(x):
    x = np.asarray(x)
    if x.dtype.kind not in "iuf" or len(x) < 2:
        return "linear"
    steps = np.diff(np.sort(x))
    if steps.max() <= 5 * steps.min():
        return "linear"
    return "symlog" if x.min() <= 0 else "log"
