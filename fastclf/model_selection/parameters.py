"""Settings of parameters: all combinations of a grid, and random draws."""

import sys
from collections.abc import Iterable, Mapping
from math import prod

import numpy as np

from .._exceptions import warn
from .._validation import as_random_state, described, require_integer, require_strings


def _mappings(given, name):
    """The user's dict, or list of dicts, as a list of dicts with strings as keys."""
    if isinstance(given, (str, bytes)) or not np.iterable(given):
        raise TypeError(
            f"Parameter {name} is not a dict or a list, got: {given!r} of type {type(given).__name__}; a dict of names"
            " to values is wanted"
        )
    grids = [given] if isinstance(given, Mapping) else list(given)
    for grid in grids:
        if not isinstance(grid, Mapping):
            raise TypeError(f"Parameter {name} is not a dict ({described(grid)}); a dict of names to values is wanted")
        require_strings(grid, name)
    return grids


class ParameterGrid:
    """All combinations of the values of a grid, as dicts; the last of the sorted names changes fastest.

    Parameters
    ----------
    param_grid : dict of str to list, or list of dicts
        Values for each parameter; the combinations of several dicts follow each other.

    Examples
    --------
    >>> from fastclf import ParameterGrid
    >>> list(ParameterGrid({"C": [1, 10], "kernel": ["rbf"]}))
    [{'C': 1, 'kernel': 'rbf'}, {'C': 10, 'kernel': 'rbf'}]
    """

    def __init__(self, param_grid):
        self.param_grid = _mappings(param_grid, "param_grid")
        for grid in self.param_grid:
            for name, values in grid.items():
                if getattr(values, "ndim", 1) != 1:
                    raise ValueError(f"Parameter array for {name!r} should be one-dimensional, got: {values!r}")
                if isinstance(values, (str, Mapping)) or not (hasattr(values, "__len__") and np.iterable(values)):
                    raise TypeError(
                        f"Parameter grid for parameter {name!r} needs to be a list or a numpy array, but got {values!r}"
                        f" (of type {type(values).__name__}) instead. Single values need to be wrapped in a list with"
                        " one element."
                    )
                if _length(values, name) == 0:
                    raise ValueError(
                        f"Parameter grid for parameter {name!r} need to be a non-empty sequence, got: {values!r}"
                    )

    def __iter__(self):
        for grid in self.param_grid:
            names = sorted(grid)
            for values in _combinations([grid[name] for name in names]):
                yield dict(zip(names, values))

    def __len__(self):
        n = self._count()
        if n > sys.maxsize:
            raise ValueError(f"param_grid has {n:.3g} combinations; at most {sys.maxsize} are wanted")
        return n

    def _count(self):
        return sum(prod(map(len, grid.values())) for grid in self.param_grid)

    def __getitem__(self, ind):
        for grid in self.param_grid:
            total = prod(map(len, grid.values()))
            if 0 <= ind < total:
                found = {}
                for name in sorted(grid, reverse=True):
                    ind, place = divmod(ind, len(grid[name]))
                    found[name] = grid[name][place]
                return found
            ind -= total
        raise IndexError("ParameterGrid index out of range")


def _length(values, name):
    """The number of values to try for a parameter."""
    try:
        return len(values)
    except OverflowError:
        raise ValueError(f"param_grid[{name!r}] has more than {sys.maxsize} values; a short list is wanted") from None


def _combinations(values):
    """All tuples with one value of each list, the last changing fastest; long lists, such as ranges, are not copied."""
    if not values:
        yield ()
        return
    for first in values[0]:
        for others in _combinations(values[1:]):
            yield first, *others


class ParameterSampler:
    """Random settings of parameters, as dicts: the same as scikit-learn's for the same seed.

    Parameters
    ----------
    param_distributions : dict of str to list, or list of dicts
        For each parameter a list of values, or an object with a method ``rvs(random_state=...)``, such as SciPy's
        distributions. Of several dicts one is drawn for each setting.
    n_iter : int >= 1
        The number of settings. If all parameters have lists, no setting is drawn twice.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> from fastclf import ParameterSampler
    >>> list(ParameterSampler({"C": [1, 10, 100]}, 2, random_state=0))
    [{'C': 100}, {'C': 10}]
    """

    def __init__(self, param_distributions, n_iter, *, random_state=None):
        self.param_distributions = _mappings(param_distributions, "param_distributions")
        for distributions in self.param_distributions:
            for name, values in distributions.items():
                if not isinstance(values, Iterable) and not hasattr(values, "rvs"):
                    raise TypeError(
                        f"Parameter grid for parameter {name!r} is not iterable or a distribution (value={values})"
                    )
        self.n_iter, self.random_state = require_integer("n_iter", n_iter, 1), random_state

    def _has_lists_only(self):
        return not any(hasattr(values, "rvs") for each in self.param_distributions for values in each.values())

    def __iter__(self):
        rng = as_random_state(self.random_state)
        if not self._has_lists_only():
            for _ in range(self.n_iter):
                drawn = sorted(rng.choice(self.param_distributions).items())
                yield {
                    name: values.rvs(random_state=rng) if hasattr(values, "rvs") else values[rng.randint(len(values))]
                    for name, values in drawn
                }
            return
        grid = ParameterGrid(self.param_distributions)
        if len(grid) < self.n_iter:
            warn(
                f"The total space of parameters {len(grid)} is smaller than n_iter={self.n_iter}. Running"
                f" {len(grid)} iterations. For exhaustive searches, use GridSearchCV."
            )
        for i in _different(len(grid), len(self), rng):
            yield grid[i]

    def __len__(self):
        return min(self.n_iter, len(ParameterGrid(self.param_distributions))) if self._has_lists_only() else self.n_iter


def _different(n, n_drawn, rng):
    """n_drawn different numbers below n, drawn by the steps of scikit-learn's `sample_without_replacement`."""
    share = n_drawn / n if n else 1.0
    if 0.01 < share < 0.99:
        return rng.permutation(n)[:n_drawn].tolist()
    if share < 0.2:  # if few numbers are wanted, draws are repeated until n_drawn different ones have come
        drawn = {}
        while len(drawn) < n_drawn:
            drawn[rng.randint(n)] = None
        return list(drawn)
    # reservoir sampling: each number i replaces one of those drawn so far with probability n_drawn / (i + 1)
    drawn = list(range(n_drawn))
    for i in range(n_drawn, n):
        place = rng.randint(0, i + 1)
        if place < n_drawn:
            drawn[place] = i
    return drawn
