"""The base of feature maps."""

from .._estimator import Estimator
from .._output import TableOutput
from .._sklearn_bases import joins
from .._validation import as_list

# The number of output values that are computed at a time: 2^16 numbers fit a cache.
_BLOCK_NUMBERS = 1 << 16


@joins("TransformerMixin")
class FeatureMap(TableOutput, Estimator):
    """The base of transformers, which map each row to a row of other features."""

    def __sklearn_tags__(self):
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags

    def fit_transform(self, X, y=None, **fit_params):
        """`fit`, with these other arguments, then `transform` of the same rows."""
        return self.fit(X, y, **fit_params).transform(X)

    def _mapped(self, X):
        """`transform` for models of this package: a sparse result is a Csr, which needs no SciPy."""
        return self.transform(X)

    def _blocks(self, X, n_out):
        """Yield (start, stop, X[start:stop]) for blocks of rows whose outputs fit a cache."""
        size = max(1, _BLOCK_NUMBERS // max(1, n_out))
        for start in range(0, len(X), size):
            stop = min(start + size, len(X))
            yield start, stop, X[start:stop]

    def _names_in(self, input_features):
        """Names of the input columns: the given ones, those of the table in `fit`, or x0, x1, ..."""
        self._require_fitted()
        fitted = getattr(self, "feature_names_in_", None)
        if input_features is None:
            return [f"x{j}" for j in range(self.n_features_in_)] if fitted is None else list(fitted)
        names = [str(name) for name in as_list(input_features, "input_features")]
        if fitted is not None and names != list(fitted):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), got"
                f" {len(names)}"
            )
        return names
