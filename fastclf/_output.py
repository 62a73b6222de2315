"""Transformed rows as tables of pandas or polars, as `set_output` or scikit-learn's `transform_output` requests."""

import functools
import importlib
import sys

_CONTAINERS = ("default", "pandas", "polars")


class TableOutput:
    """The base of estimators whose `transform` returns an array or, on request, a table with names of columns."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "transform" in vars(cls):
            cls.transform = _with_tables(vars(cls)["transform"])

    def set_output(self, *, transform=None):
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {'default', 'pandas', 'polars'} or None, default=None
            An array, or a table of pandas or polars, which must be installed; None leaves the choice as it is.

        Returns
        -------
        self
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": _require_container(transform)}
        return self


def _require_container(name):
    if name not in _CONTAINERS:
        raise ValueError(f"output config must be in {sorted(_CONTAINERS)}, got {name}")
    return name


def _container(estimator):
    """The type of output of `transform` that the user chose, for this estimator or in scikit-learn's configuration."""
    chosen = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    if chosen is None:
        config = sys.modules.get("sklearn._config")
        chosen = config.get_config().get("transform_output", "default") if config else "default"
    return _require_container(chosen)


def _with_tables(method):
    @functools.wraps(method)
    def transform(self, X):
        name = _container(self)
        rows = method(self, X)
        if name == "default":
            return rows
        if hasattr(rows, "tocsr"):
            dense = "sparse_output" in self.get_params(deep=False)
            instead = f"Set sparse_output=False to output {name} dataframes" if dense else "Pass dense rows"
            raise ValueError(
                f"{name.capitalize()} output does not support sparse data. {instead} or disable"
                f' {name.capitalize()} output via `set_output(transform="default")`'
            )
        columns = self.get_feature_names_out().tolist()
        library = importlib.import_module(name)
        if name == "polars":
            return library.DataFrame(rows, schema=columns, orient="row")
        index = X.index if isinstance(X, library.DataFrame) else None
        return library.DataFrame(rows, index=index, columns=columns, copy=False)

    return transform
