"""One-hot encoding: a column for each category."""

import numpy as np

from ._csr import Csr, is_sparse
from ._feature_map import FeatureMap
from ._validation import as_array, feature_names, require_array, require_choice


class OneHotEncoder(FeatureMap):
    """A column of zeros and ones for each category of each feature.

    Parameters
    ----------
    categories : 'auto' or list of array-like, default='auto'
        The categories of each feature, those of X by default.
    sparse_output : bool, default=True
        Return a SciPy CSR matrix, which needs SciPy; else an array.
    dtype : dtype or str, default='float64'
        Of the output: float32 or float64.
    handle_unknown : {'error', 'ignore'}, default='error'
        What a category that was not fitted does: raise ValueError, or give zeros.

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each feature, sorted.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    A search among the categories for each entry. Memory beyond the output: 16 bytes an entry.

    Examples
    --------
    >>> from fastclf import OneHotEncoder
    >>> encoder = OneHotEncoder(sparse_output=False)
    >>> encoder.fit_transform([["red", 1], ["blue", 2]])
    array([[0., 1., 1., 0.],
           [1., 0., 0., 1.]])
    >>> encoder.get_feature_names_out(["colour", "size"])
    array(['colour_blue', 'colour_red', 'size_1', 'size_2'], dtype=object)
    """

    def __init__(self, *, categories="auto", sparse_output=True, dtype="float64", handle_unknown="error"):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X, y=None):
        """Find the categories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, strings or bools, of one sort in a column.
        y : ignored

        Returns
        -------
        self
        """
        require_choice("handle_unknown", self.handle_unknown, ["error", "ignore"])
        if self.dtype not in ("float32", "float64", np.float32, np.float64):
            raise ValueError(f"dtype is {self.dtype!r}; float32 or float64 is wanted")
        columns = _categorical(X, type(self).__name__)
        if isinstance(self.categories, str):
            require_choice("categories", self.categories, ["auto"])
            categories = [_sorted_categories(column, j) for j, column in enumerate(columns)]
        else:
            categories = [_sorted_categories(np.asarray(given), j) for j, given in enumerate(self.categories)]
            if len(categories) != len(columns):
                raise ValueError(
                    f"categories has {len(categories)} lists and X {len(columns)} features; one each is wanted"
                )
            if self.handle_unknown == "error":
                for j, column in enumerate(columns):
                    _positions(column, categories[j], j, "fit")
        names = feature_names(X)
        fitted = {"n_features_in_": len(columns), "categories_": categories}
        return self._become(**fitted, **({} if names is None else {"feature_names_in_": names}))

    def transform(self, X):
        """The zeros and ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        SciPy CSR matrix or ndarray of shape (n_samples, number of categories)
        """
        rows = self._encoded(X)
        if not self.sparse_output:
            return np.asarray(rows)
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise ImportError("sparse_output=True needs SciPy; install it or pass sparse_output=False") from None
        return csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)

    def _encoded(self, X):
        """The zeros and ones as Csr."""
        self._require_fitted()
        columns = _categorical(X, type(self).__name__)
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but OneHotEncoder is expecting {self.n_features_in_} features as input"
            )
        size = [len(categories) for categories in self.categories_]
        first = np.concatenate([[0], np.cumsum(size)])
        place = np.empty((len(columns[0]), len(columns)), np.int64)
        for j, column in enumerate(columns):
            place[:, j] = _positions(column, self.categories_[j], j, self.handle_unknown)
        known = place >= 0
        indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        indices = (place + first[:-1])[known].astype(np.int32)
        return Csr(indptr, indices, np.ones(len(indices), self.dtype), int(first[-1]))

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: the feature's, "_", and the category."""
        names = self._names_in(input_features)
        return np.array(
            [f"{name}_{label}" for name, labels in zip(names, self.categories_) for label in labels], dtype=object
        )

    def _check_state(self):
        super()._check_state()
        if type(self.categories_) is not list or len(self.categories_) != self.n_features_in_:
            raise ValueError(f"categories_ is no list of {self.n_features_in_} arrays")
        for j, categories in enumerate(self.categories_):
            require_array(f"categories_[{j}]", categories, None, (None,))


def _categorical(X, owner):
    """The columns of X as arrays of labels."""
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, j].to_numpy() for j in range(X.shape[1])]
    elif hasattr(X, "get_columns"):
        columns = [column.to_numpy() for column in X.get_columns()]
    elif hasattr(X, "column_names"):
        columns = [np.asarray(X.column(j)) for j in range(X.num_columns)]
    else:
        if is_sparse(X):
            raise TypeError("X is a sparse matrix; a dense array is wanted (pass X.toarray())")
        array = X if isinstance(X, np.ndarray) else None
        if array is None:
            array = as_array(X, "X")
            if array.dtype.kind in "US":  # a list of strings and numbers keeps what they are
                array = np.array(X, dtype=object)
        if array.ndim != 2:
            raise ValueError(
                f"X has shape {array.shape}; (n_samples, n_features) is wanted. Reshape your data: X.reshape(-1, 1) is"
                " one feature, X.reshape(1, -1) one sample"
            )
        columns = list(array.T)
    if not columns or len(columns[0]) == 0:
        what = "feature(s)" if not columns else "sample(s)"
        shape = (len(columns[0]) if columns else len(X), len(columns))
        raise ValueError(f"0 {what} (shape={shape}) while a minimum of 1 is required by {owner}.")
    for j, column in enumerate(columns):
        if column.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X has dtype {column.dtype}; labels are wanted")
        if column.dtype.kind == "O":
            if any(label is None or (label != label) is not False for label in column.tolist()):
                raise ValueError(f"Input X contains NaN or None in column {j}; {owner} wants a label for every entry")
        elif column.dtype.kind == "f" and not np.isfinite(column).all():
            raise ValueError(f"Input X contains NaN or infinity in column {j}; {owner} wants a label for every entry")
    return columns


def _sorted_categories(labels, j):
    try:
        return np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise TypeError(
            f"column {j} of X holds labels of types {', '.join(kinds)}, which cannot be sorted; one type is wanted"
        ) from None


def _positions(column, categories, j, unknown):
    """The place of each label among the sorted categories, -1 for one that is not there and may be missing."""
    try:
        place = np.searchsorted(categories, column)
        place[place == len(categories)] = 0
        known = np.asarray(categories[place] == column)
    except TypeError:  # labels that do not compare are unknown
        number = {label: i for i, label in enumerate(categories.tolist())}
        place = np.array([number.get(label, -1) for label in column.tolist()])
        known = place >= 0
    if unknown != "ignore" and not known.all():
        label = column[np.flatnonzero(~known)[0]]
        raise ValueError(
            f"Found unknown categories [{label!r}] in column {j} during {'fit' if unknown == 'fit' else 'transform'}"
        )
    return np.where(known, place, -1)
