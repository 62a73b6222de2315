"""What linear classifiers share: dense or sparse rows come in, scores and labels go out."""

import numpy as np

from ._csr import Csr, as_csr, is_sparse
from ._estimator import Classifier
from ._validation import as_matrix, require_array


def as_rows(X, owner):
    """X as an array (`as_matrix`) or, if it is one of SciPy's sparse matrices, as Csr."""
    return as_csr(X, owner) if is_sparse(X) else as_matrix(X, owner)


def linear_scores(X, coef, intercept):
    """X @ coef.T + intercept of shape (n_samples, len(coef)), float64; X dense or Csr."""
    if isinstance(X, Csr):
        scores = np.zeros((len(X), len(coef)))
        for k, w in enumerate(coef):
            scores[:, k] = np.bincount(X.row_numbers(), X.data[: X.size] * w[X.indices[: X.size]], minlength=len(X))
        return scores + intercept
    return X @ coef.T + intercept


class LinearClassifier(Classifier):
    """A classifier by `coef_` of shape (1 or n_classes, n_features) and `intercept_` of shape (1 or n_classes,).

    With two classes there is one row, whose positive side is `classes_[1]`; else the largest score wins, the first of
    equal ones.
    """

    _as_rows = staticmethod(as_rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _scores(self, X):
        self._require_fitted()
        return linear_scores(self._new_samples(X), self.coef_, self.intercept_)

    def decision_function(self, X):
        """Signed scores: shape (n_samples,) with two classes, else (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Labels of shape (n_samples,); a score of 0 between two classes gives `classes_[0]`."""
        scores = self._scores(X)
        codes = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _check_state(self):
        super()._check_state()
        floats = [np.float32, np.float64]
        require_array("coef_", self.coef_, floats, (None, self.n_features_in_))
        require_array("intercept_", self.intercept_, floats, (len(self.coef_),))
        if len(self.coef_) != (1 if len(self.classes_) == 2 else len(self.classes_)):
            raise ValueError(f"coef_ has {len(self.coef_)} rows for {len(self.classes_)} classes")
