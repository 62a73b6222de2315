"""Functions shared by all pictures."""

from .._validation import described

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink", "tab:olive")


def need_matplotlib():
    try:
        import matplotlib  # noqa: F401  imported to find out whether it is installed
    except ImportError as error:
        raise ImportError("a picture needs matplotlib, which is not installed (pip install matplotlib)") from error


def axes(ax=None, size=(5.5, 4.5)):
    """`ax`, or the axes of a new figure."""
    need_matplotlib()
    if ax is not None:
        if not hasattr(ax, "get_figure"):
            raise TypeError(f"ax is {described(ax)}; axes of matplotlib are wanted")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def finish(display, ax):
    display.ax_, display.figure_ = ax, ax.figure
    return display


def colours(n):
    """A colour for each of n classes."""
    import matplotlib

    if n <= len(COLOURS):
        return [matplotlib.colors.to_rgb(name) for name in COLOURS[:n]]
    return [matplotlib.colormaps["turbo"](i / (n - 1))[:3] for i in range(n)]


def require_method(estimator, method):
    """Refuse an object without this method or attribute, and a class, whose methods have no object."""
    if isinstance(estimator, type) or not hasattr(estimator, method):
        raise TypeError(
            f"estimator is {described(estimator)}, which has no {method}; a fitted estimator with {method} is wanted"
        )
