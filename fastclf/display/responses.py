"""Pictures of what a model answers on the plane, in scikit-learn's style."""

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._threads import distinct
from .._validation import as_float64, described, require_finite, require_integer, require_memory, require_number
from ..metrics.scorers import first_method, kind_of, responses
from ..metrics.targets import target_kind
from .drawing import axes, finish

_PLOTS = ("contourf", "contour", "pcolormesh")
_METHODS = ["decision_function", "predict_proba", "predict"]

# The number of bytes that a point of the grid takes: its coordinates, its answer and its colour.
_PIXEL_BYTES = 100

# scikit-learn's colours of up to ten classes (Petroff 2021, Accessible color sequences for data visualization).
_PETROFF = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"),
    *("#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
)


class Surface(NamedTuple):
    """The answers of a model on a grid: the arguments of scikit-learn's DecisionBoundaryDisplay."""

    xx0: np.ndarray
    xx1: np.ndarray
    n_classes: int  # the number of classes; 2 if the answers are numbers
    response: np.ndarray  # the answers on the grid, (grid rows, grid columns) or (grid rows, grid columns, n_classes)
    multiclass_colors: str | list | None = None
    xlabel: str | None = None
    ylabel: str | None = None


def surface_of(estimator, X, grid_resolution, eps, response_method, class_of_interest):
    """The `Surface` of a fitted model around rows X; eps is added to the least and the largest values."""
    rows = plane(X, grid_resolution, eps)
    sides = [np.linspace(column.min() - eps, column.max() + eps, grid_resolution) for column in rows.T]
    xx0, xx1 = np.meshgrid(*sides)
    classes, kind = getattr(estimator, "classes_", None), kind_of(estimator)
    methods = response_method
    if response_method == "auto":
        methods = ["predict"] if kind == "regressor" else _METHODS
    method = first_method(estimator, methods)
    if classes is not None and (isinstance(classes, list) or np.ndim(classes[0])):
        raise ValueError("Multi-label and multi-output multi-class classifiers are not supported")
    if class_of_interest is not None and classes is not None and class_of_interest not in np.asarray(classes).tolist():
        raise ValueError(
            f"class_of_interest={class_of_interest} is not a valid label: It should be one of {estimator.classes_}"
        )
    found = _asked(estimator, X, np.column_stack([xx0.ravel(), xx1.ravel()]), method, class_of_interest)
    if method == "predict" and classes is not None:
        found = np.searchsorted(classes, found)
    n_classes = 2
    if class_of_interest is None and kind == "classifier":
        n_classes = len(classes)
    elif class_of_interest is None and kind not in ("regressor", "outlier_detector"):
        n_classes = _number_of_labels(estimator, found)
    if found.ndim == 2 and kind == "regressor":
        raise ValueError("Multi-output regressors are not supported")
    if found.ndim == 2 and class_of_interest is not None:
        found = found[:, np.flatnonzero(classes == class_of_interest)[0]]
    return Surface(xx0, xx1, n_classes, found.reshape(*xx0.shape, *found.shape[1:]))


def require_resolution(grid_resolution):
    """The number of points of each side of a grid, which must fit into the memory."""
    n = require_integer("grid_resolution", grid_resolution, 2)
    require_memory(_PIXEL_BYTES * n**2, f"a picture with grid_resolution={n}")
    return n


def plane(X, grid_resolution, eps):
    """The rows X of two features as floats, after a check of them and of the arguments for the grid around them."""
    if isinstance(grid_resolution, Real) and not grid_resolution > 1:
        raise ValueError(f"grid_resolution must be greater than 1. Got {grid_resolution} instead.")
    require_resolution(grid_resolution)
    if isinstance(eps, Real) and not eps >= 0:
        raise ValueError(f"eps must be greater than or equal to 0. Got {eps} instead.")
    require_number("eps", eps, 0, finite=True)
    rows = as_float64(X, "X")
    if rows.ndim != 2 or rows.shape[1] != 2:
        came = f"n_features must be equal to 2. Got {rows.shape[1] if rows.ndim == 2 else rows.shape} instead"
        raise ValueError(f"{came}: X has shape {rows.shape}; two features are wanted for a picture with two axes")
    if len(rows) == 0:
        raise ValueError("X has no row; at least one is wanted")
    require_finite(rows, "X", "DecisionBoundaryDisplay")
    return rows


def require_plot(plot_method):
    if not isinstance(plot_method, str) or plot_method not in _PLOTS:
        came = plot_method if isinstance(plot_method, str) else described(plot_method)
        raise ValueError(f"plot_method must be one of {', '.join(_PLOTS)}. Got {came} instead.")


def _number_of_labels(estimator, found):
    """The number of different labels if `found` has more than two; otherwise, and for numbers, 2."""
    kind = target_kind(found)
    if kind not in ("binary", "continuous", "multiclass"):
        raise ValueError(
            f"Number of classes or labels cannot be inferred from {type(estimator).__name__}. Please make sure your"
            " estimator follows scikit-learn's estimator API"
        )
    return len(distinct(found)) if kind == "multiclass" else 2


def _asked(estimator, X, grid, method, positive):
    """The model's answers for the points of the grid; the points are given as a DataFrame if X is a DataFrame."""
    if hasattr(X, "iloc"):
        grid = type(X)(grid, columns=X.columns)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(responses(estimator, grid, method, positive))


def draw_surface(display, surface, ax, plot_method, labels, options):
    """Draw a Surface into `ax`, and keep what was drawn under scikit-learn's names."""
    plot_method = "contourf" if plot_method is None else plot_method
    if not isinstance(plot_method, str) or plot_method not in _PLOTS:
        raise ValueError(
            f"plot_method must be 'contourf', 'contour', or 'pcolormesh'. Got {described(plot_method)} instead."
        )
    ax = axes(ax, (6.4, 4.8))
    draw = getattr(ax, plot_method)
    if surface.n_classes == 2:
        display.surface_ = draw(surface.xx0, surface.xx1, surface.response, **options)
    else:
        display.multiclass_colors_ = _colours(surface.multiclass_colors, surface.n_classes)
        display.surface_ = _draw_classes(surface, draw, plot_method, display.multiclass_colors_, options)
    name_axes(ax, labels, (surface.xlabel, surface.ylabel))
    return finish(display, ax)


def name_axes(ax, given, default):
    """Set the labels of both axes: the given ones, or where there is no label yet, the default ones."""
    for side, label, own in zip("xy", given, default):
        if label is not None or (own is not None and not getattr(ax, f"get_{side}label")()):
            getattr(ax, f"set_{side}label")(own if label is None else label)


def _draw_classes(surface, draw, plot_method, palette, options):
    """Draw the regions of three or more classes; returns matplotlib's object, or a list of such objects."""
    from matplotlib import colors

    for name in ("cmap", "colors"):
        if name in options:
            warnings.warn(f"'{name}' is ignored in favor of 'multiclass_colors' in the multiclass case.", stacklevel=4)
    options = {"zorder": -1} | {name: value for name, value in options.items() if name not in ("cmap", "colors")}
    grid, classes = (surface.xx0, surface.xx1), np.arange(surface.n_classes)
    if surface.response.ndim == 2:
        levels = {"contour": {"levels": classes}, "contourf": {"levels": np.arange(surface.n_classes + 1) - 0.5}}
        options = levels.get(plot_method, {}) | options
        colour = {"colors": "black"} if plot_method == "contour" else {"cmap": colors.ListedColormap(palette)}
        return draw(*grid, surface.response, **colour, **options)
    best, drawn = surface.response.argmax(axis=2), []
    for k, colour in enumerate(palette):
        fading = colors.LinearSegmentedColormap.from_list(f"colormap_{k}", [(1.0, 1.0, 1.0, 1.0), (*colour[:3], 1.0)])
        drawn.append(draw(*grid, np.ma.array(surface.response[:, :, k], mask=best != k), cmap=fading, **options))
    if plot_method == "contour":
        drawn.append(draw(*grid, best, colors="black", zorder=-1, levels=classes))
    return drawn


def _colours(given, n_classes):
    """A colour (red, green, blue, alpha) for each class, from scikit-learn's argument `multiclass_colors`."""
    from matplotlib import colormaps, colors

    if given is None:
        given = list(_PETROFF[:n_classes]) if n_classes <= len(_PETROFF) else "gist_rainbow"
    if isinstance(given, str):
        if given not in colormaps:
            raise ValueError(
                f"When 'multiclass_colors' is a string, it must be a valid Matplotlib colormap. Got: {given}"
            )
        if n_classes > colormaps[given].N:
            raise ValueError(
                f"Colormap '{given}' only has {colormaps[given].N} colors, but {n_classes} classes are to be displayed."
                " Please specify a different colormap or provide a list of colors via 'multiclass_colors'."
            )
        return colormaps[given](np.linspace(0, 1, n_classes))
    if not isinstance(given, list):
        raise TypeError("'multiclass_colors' must be a list or a str.")
    if len(given) != n_classes:
        raise ValueError(
            "When 'multiclass_colors' is a list, it must be of the same length as the classes or labels to plot"
            f" ({n_classes}), got: {len(given)}."
        )
    if not all(map(colors.is_color_like, given)):
        raise ValueError(
            f"When 'multiclass_colors' is a list, it can only contain valid Matplotlib color names. Got: {given}"
        )
    return colors.to_rgba_array(given)
