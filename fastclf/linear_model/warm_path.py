"""A path of fits along C: each fit starts at the optimum of the fit with the next smaller C."""

from .._estimator import variants
from .._validation import require_number


def ascending(models):
    """The indices of models in the order of their C."""
    return sorted(range(len(models)), key=lambda i: require_number("C", models[i].C, 0, open_low=True))


class WarmPath:
    """A shortcut for fits along C, for a classifier with a method `_fit_each(models, X, y)`.

    `_fit_each` fits models that differ only in C; each fit starts from the result of the one before.
    """

    _path_parameters = ("C",)

    # Whether a fit that starts from the result of another fit takes less time and has the same result.
    _starts_warm = True

    def _fit_path(self, name, values, X, y, shared=None):
        if not self._starts_warm:
            return None
        models = variants(self, name, values)
        self._fit_each([models[i] for i in ascending(models)], X, y)
        return models
