"""One-hot encoding: a column for each category."""

import numpy as np

from .._categories import codes_of, sorted_categories
from .._csr import Csr, as_rows, is_sparse
from .._exceptions import of_column, warn
from .._state_table import Array, List, declare
from .._threads import map_rows
from .._validation import (
    as_array,
    as_label,
    as_list,
    described,
    feature_names,
    require_choice,
    require_integer,
    require_matrix,
    require_number,
)
from .base import FeatureMap

# The name of the group of infrequent categories, as in scikit-learn.
_INFREQUENT = "infrequent_sklearn"


class OneHotEncoder(FeatureMap):
    """One column of zeros and ones for each category of each feature.

    Parameters
    ----------
    categories : 'auto' or list of array-like, default='auto'
        The ordered categories of each feature; 'auto': the sorted categories of X.
    drop : {'first', 'if_binary'}, array-like of shape (n_features,) or None, default=None
        The category of each feature that gets no column: its first category; the first of features with two categories;
        or the given one.
    sparse_output : bool, default=True
        Whether to return a SciPy CSR matrix, which needs SciPy; otherwise an array.
    dtype : dtype or str, default='float64'
        The numeric dtype of the output.
    handle_unknown : {'error', 'ignore', 'infrequent_if_exist', 'warn'}, default='error'
        The treatment of categories that were not in `fit`: raise ValueError; give zeros; treat as infrequent, or give
        zeros if the feature has no infrequent category; the same with a warning.
    min_frequency : int >= 1, float in (0, 1) or None, default=None
        Categories in fewer rows, or in a smaller share of them, are infrequent; together they have one column, the
        last.
    max_categories : int >= 1 or None, default=None
        The largest number of columns of a feature before `drop`: if it has at least this number of frequent categories,
        the least frequent ones are treated as infrequent.
    feature_name_combiner : 'concat' or callable, default='concat'
        The names of columns: 'concat' is feature + "_" + str(category); a function is called with both.

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each feature.
    drop_idx_ : ndarray of shape (n_features,), object, or None
        The index in `categories_` of each feature's dropped category, or None.
    infrequent_categories_ : list of ndarray or None
        The infrequent categories of each feature.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Each entry costs a search among the categories. Memory beyond the output: 16 bytes per entry. Missing values are
    categories of their own, which come last: first None, then NaN, NaT and pandas.NA as a single category.

    Examples
    --------
    >>> from fastclf import OneHotEncoder
    >>> encoder = OneHotEncoder(sparse_output=False)
    >>> encoder.fit_transform([["red", 1], ["blue", 2]])
    array([[0., 1., 1., 0.],
           [1., 0., 0., 1.]])
    >>> encoder.get_feature_names_out(["colour", "size"])
    array(['colour_blue', 'colour_red', 'size_1', 'size_2'], dtype=object)
    >>> encoder.inverse_transform([[1, 0, 1, 0]])
    array([['blue', 1]], dtype=object)
    """

    _state_table = declare(
        categories_=List("n_features", Array("any", None)),
        # For each feature the group of each category; a group has one column, unless it is dropped.
        _groups=List("n_features", Array("int64", None)),
        _infrequent_group=Array("int64", "n_features"),
        _dropped_group=Array("int64", "n_features"),
    )

    def __init__(
        self,
        *,
        categories="auto",
        drop=None,
        sparse_output=True,
        dtype="float64",
        handle_unknown="error",
        min_frequency=None,
        max_categories=None,
        feature_name_combiner="concat",
    ):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None):
        """Find the categories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, strings or bools, of one kind in each column, and missing values.
        y : ignored

        Returns
        -------
        self
        """
        columns = _categorical(X, type(self).__name__)
        if isinstance(self.categories, str):
            require_choice("categories", self.categories, ["auto"])
            categories = [
                sorted_categories(column, f"column {j} of X", missing=True) for j, column in enumerate(columns)
            ]
        else:
            given = as_list(self.categories, "categories")
            if len(given) != len(columns):
                raise ValueError(
                    "Shape mismatch: if categories is an array, it has to be of shape (n_features,). categories has"
                    f" {len(given)} lists and X {len(columns)} features; one each is wanted"
                )
            categories = [_given_categories(given[j], j, column) for j, column in enumerate(columns)]
        groups, infrequent = [], np.full(len(columns), -1)
        counts = self.min_frequency is not None or self.max_categories is not None
        for j, column in enumerate(columns):
            rare = np.zeros(len(categories[j]), bool)
            if counts or not isinstance(self.categories, str):
                place = _positions(column, categories[j], j, "fit" if self.handle_unknown == "error" else "ignore")
                rare = self._infrequent(np.bincount(place[place >= 0], minlength=len(rare)), len(column))
            if rare.any():
                infrequent[j] = len(rare) - rare.sum()
            groups.append(np.where(rare, infrequent[j], np.cumsum(~rare) - 1))
        names = feature_names(X)
        return self._become(
            n_features_in_=len(columns),
            categories_=categories,
            _groups=groups,
            _infrequent_group=infrequent,
            _dropped_group=self._dropped(categories, groups, infrequent),
            **({} if names is None else {"feature_names_in_": names}),
        )

    def _require_parameters(self):
        super()._require_parameters()
        require_choice("handle_unknown", self.handle_unknown, ["error", "ignore", "infrequent_if_exist", "warn"])
        try:
            kind = np.dtype(self.dtype).kind
        except (TypeError, ValueError):
            kind = None
        if kind is None or kind not in "biuf" or not isinstance(self.dtype, (str, type, np.dtype)):
            raise ValueError(f"dtype is {described(self.dtype)}; a dtype of numbers is wanted")
        if isinstance(self.drop, str):
            require_choice("drop", self.drop, ["first", "if_binary"])
        if self.max_categories is not None:
            require_integer("max_categories", self.max_categories, 1)
        if hasattr(self.min_frequency, "__index__"):
            require_integer("min_frequency", self.min_frequency, 1)
        elif self.min_frequency is not None and not 0 < require_number("min_frequency", self.min_frequency, 0) < 1:
            raise ValueError(f"min_frequency is {self.min_frequency}; a whole number or a share below 1 is wanted")
        if not callable(self.feature_name_combiner):
            require_choice("feature_name_combiner", self.feature_name_combiner, ["concat"])

    def _infrequent(self, count, n_rows):
        """Mask of the infrequent categories, from the number of rows of each category."""
        least = self.min_frequency
        rare = count < (0 if least is None else least if hasattr(least, "__index__") else least * n_rows)
        if self.max_categories is not None and self.max_categories <= len(rare) - rare.sum():
            # As in scikit-learn, the group of infrequent categories counts as one of max_categories, and of equally
            # frequent categories the last stay frequent.
            rare[np.argsort(count, kind="stable")[: len(rare) - self.max_categories + 1]] = True
        return rare

    def _dropped(self, categories, groups, infrequent):
        """For each feature the number of the group whose column `drop` omits; -1 if it omits none of the columns."""
        size = np.array([group.max(initial=-1) + 1 for group in groups])
        if self.drop is None:
            return np.full(len(groups), -1)
        if isinstance(self.drop, str):
            return np.where((self.drop == "first") | (size == 2), 0, -1)
        named = [as_label(label, "drop") for label in as_list(self.drop, "drop")]
        if len(named) != len(groups):
            raise ValueError(
                f"`drop` should have length equal to the number of features ({len(groups)}), got {len(named)}"
            )
        dropped = np.empty(len(groups), np.int64)
        for j, label in enumerate(named):
            [found] = _positions(np.array([label], dtype=object), categories[j].astype(object), j, "ignore")
            if found < 0:
                raise ValueError(
                    "The following categories were supposed to be dropped, but were not found in the training data. "
                    f"Category: {j}, Feature: {label}"
                )
            dropped[j] = groups[j][found]
            if dropped[j] == infrequent[j]:
                raise ValueError(f"Unable to drop category {label!r} from feature {j} because it is infrequent")
        return dropped

    @property
    def drop_idx_(self):
        self._require_fitted()
        if (self._dropped_group < 0).all() and self.drop is None:
            return None
        first = [np.flatnonzero(group == k)[:1].tolist() for group, k in zip(self._groups, self._dropped_group)]
        return np.array([found[0] if found else None for found in first], dtype=object)

    @property
    def infrequent_categories_(self):
        self._require_fitted()
        rare = [group == k for group, k in zip(self._groups, self._infrequent_group)]
        return [labels[which] if which.any() else None for labels, which in zip(self.categories_, rare)]

    def _labels(self, j, dropped=False):
        """The labels of the columns of feature j; with `dropped`, also the label without a column."""
        labels, group, last = self.categories_[j], self._groups[j], self._infrequent_group[j]
        if last >= 0:
            labels = np.append(labels[group != last].astype(object), _INFREQUENT)
        drop = self._dropped_group[j]
        return labels if dropped or drop < 0 else np.delete(labels, drop)

    # The next two are private names of scikit-learn's, which converters of models read.

    @property
    def _infrequent_enabled(self):
        return self.max_categories is not None or self.min_frequency is not None

    def _compute_transformed_categories(self, i, remove_dropped=True):
        """The labels of the columns of feature i; without `remove_dropped`, also the label without a column."""
        return self._labels(i, dropped=not remove_dropped)

    def transform(self, X):
        """The zeros and ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        SciPy CSR matrix or ndarray of shape (n_samples, number of columns)
        """
        rows = self._mapped(X)
        if not self.sparse_output:
            return rows
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise ImportError("sparse_output=True needs SciPy; install it or pass sparse_output=False") from None
        data = rows.data.astype(self.dtype, copy=False)
        return csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape)

    def _mapped(self, X):
        self._require_fitted()
        columns = _categorical(X, type(self).__name__)
        if len(columns) != self.n_features_in_:
            wanted = f"OneHotEncoder is expecting {self.n_features_in_} features as input."
            raise ValueError(f"X has {len(columns)} features, but {wanted}")
        place = np.empty((len(columns[0]), len(columns)), np.int64)
        unknown = []
        for j, column in enumerate(columns):
            known = _positions(column, self.categories_[j], j, self.handle_unknown)
            strange = known < 0
            group = self._groups[j][known] if len(self._groups[j]) else known
            group[strange] = self._infrequent_group[j] if self.handle_unknown != "ignore" else -1
            drop = self._dropped_group[j]
            place[:, j] = np.where(group == drop, -1, group - (group > drop) * (drop >= 0))
            if strange.any():
                unknown.append(j)
        if unknown and (self.handle_unknown == "warn" or self.drop is not None):
            code = "all zeros" if self.handle_unknown == "ignore" else "the infrequent category."
            warn(
                f"Found unknown categories in columns {unknown} during transform. These unknown categories will be"
                f" encoded as {code}"
            )
        size = [len(self._labels(j)) for j in range(len(columns))]
        first = np.concatenate([[0], np.cumsum(size)])
        indptr = np.concatenate([[0], np.cumsum(map_rows(lambda rows: (rows >= 0).sum(axis=1), place))])
        indices = np.empty(indptr[-1], np.int32)
        for start, stop, rows in self._blocks(place, place.shape[1]):
            indices[indptr[start] : indptr[stop]] = (rows + first[:-1])[rows >= 0]
        dtype = np.float32 if np.dtype(self.dtype) == np.float32 else np.float64
        rows = Csr(indptr, indices, np.ones(len(indices), dtype), int(first[-1]))
        return rows if self.sparse_output else rows.__array__(self.dtype)

    def inverse_transform(self, X):
        """The labels of rows of zeros and ones.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, number of columns)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The category of each feature; 'infrequent_sklearn' for infrequent ones. A feature with zeros only is the
            dropped category; without one it is None if unknown categories are encoded as zeros, and otherwise a
            ValueError.
        """
        self._require_fitted()
        rows = as_rows(X, type(self).__name__)
        size = [len(self._labels(j)) for j in range(self.n_features_in_)]
        if rows.shape[1] != sum(size):
            raise ValueError(
                f"Shape of the passed X data is not correct. Expected {sum(size)} columns, got {rows.shape[1]}."
            )
        labels = [self._labels(j, dropped=True) for j in range(self.n_features_in_)]
        found = np.empty((len(rows), len(labels)), np.result_type(*(each.dtype for each in labels)))
        missing = np.zeros(found.shape, bool)
        for start, stop, block in self._blocks(rows, rows.shape[1]):
            parts = np.split(np.asarray(block), np.cumsum(size)[:-1], axis=1)
            for j, part in enumerate(parts):
                drop = self._dropped_group[j]
                group = part.argmax(axis=1) if size[j] else np.zeros(stop - start, np.intp)
                group += (group >= drop) & (drop >= 0)
                none = ~part.any(axis=1)
                group[none] = max(drop, 0)
                found[start:stop, j] = labels[j][group]
                missing[start:stop, j] = none & (drop < 0)
        if missing.any():
            refused = missing[:, self._infrequent_group >= 0] if self.handle_unknown != "error" else missing
            if self.handle_unknown != "ignore" and refused.any():
                raise ValueError(
                    f"Samples {np.flatnonzero(refused.any(axis=1))} can not be inverted when drop={self.drop} and"
                    f" handle_unknown={self.handle_unknown!r} because they contain all zeros"
                )
            found = found.astype(object)
            found[missing] = None
        return found

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: feature, "_" and category, or the result of `feature_name_combiner`."""
        names = self._names_in(input_features)
        combine = self.feature_name_combiner
        if not callable(combine):
            combine = "{}_{}".format
        made = [combine(name, label) for j, name in enumerate(names) for label in self._labels(j)]
        if not all(isinstance(name, str) for name in made):
            raise TypeError(
                "When `feature_name_combiner` is a callable, it should return a Python string. Got"
                f" {next(type(name) for name in made if not isinstance(name, str))} instead."
            )
        return np.array(made, dtype=object)

    def _check_rest(self, sizes, entries):
        for j, (categories, group) in enumerate(zip(self.categories_, self._groups) if entries else ()):
            n_groups = group.max(initial=-1) + 1
            if len(group) != len(categories) or len(np.unique(group)) != n_groups or group.min(initial=0) < 0:
                raise ValueError(
                    f"_groups[{j}] is wrong; a group number, from 0 up, of all {len(categories)} categories is wanted"
                )
            if self._dropped_group[j] >= n_groups or self._infrequent_group[j] not in (-1, n_groups - 1):
                raise ValueError(f"_dropped_group[{j}] is no group, or _infrequent_group[{j}] is not the last")


def _categorical(X, owner):
    """The columns of X as arrays of labels, after a check that X is a table or a matrix."""
    if hasattr(X, "iloc"):
        if X.ndim != 2:
            raise ValueError(
                f"Expected a 2-dimensional container but got {type(X)} instead. Pass X.to_frame(), whose only column"
                " is X"
            )
        columns = [X.iloc[:, j].to_numpy() for j in range(X.shape[1])]
    elif hasattr(X, "get_columns"):
        columns = [column.to_numpy() for column in X.get_columns()]
    elif hasattr(X, "column_names"):
        columns = [np.asarray(X.column(j)) for j in range(X.num_columns)]
    else:
        if is_sparse(X):
            raise TypeError("X is a sparse matrix; a dense array is wanted (pass X.toarray())")
        array = as_array(X, "X")
        # NumPy turns a list of strings and numbers into strings; as objects the entries keep their types
        if array is not X and array.dtype.kind in "US":
            array = np.array(X, dtype=object)
        require_matrix(array, "X", owner)
        columns = list(array.T)
    require_matrix(np.broadcast_to(0, (len(columns[0]) if columns else len(X), len(columns))), "X", owner)
    for j, column in enumerate(columns):
        if column.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X has dtype {column.dtype}; labels are wanted")
        if column.dtype.kind == "f" and column.dtype.itemsize > 8:
            # longer floats are converted, because saved files hold floats of at most 64 bits
            columns[j] = column = column.astype(np.float64)
        if column.dtype.kind == "f" and np.isinf(column).any():
            text = f"Input X contains infinity in column {j}; {owner} wants finite numbers or NaN"
            raise of_column(ValueError(text), j)
    return columns


def _given_categories(labels, j, column):
    """The checked categories[j] of the user, with the type of the column; strings become objects."""
    array = as_array(as_list(labels, f"categories[{j}]"), f"categories[{j}]")
    if array.dtype.kind in "US" and not all(isinstance(label, (str, bytes)) for label in labels):
        array = np.array(labels, dtype=object)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"categories[{j}] is {described(labels)}; a list of labels is wanted")
    if len(sorted_categories(array, f"categories[{j}]", missing=True)) != array.size:
        raise ValueError(f"In column {j}, the predefined categories contain duplicate elements.")
    if isinstance(array[0], bytes) and column.dtype.kind != "S":
        raise ValueError(
            f"In column {j}, the predefined categories have type 'bytes' which is incompatible with values of type"
            f" '{type(column[0]).__name__}'."
        )
    if column.dtype.kind == "S":
        return array.astype("S")
    return array.astype(object) if column.dtype.kind in "OU" else array


def _positions(column, categories, j, unknown):
    """The index of each label among the categories; -1 for an unknown label, unless `unknown` says to refuse it."""
    place = codes_of(column, categories)
    known = place >= 0
    if unknown in ("error", "fit") and not known.all():
        label = column[np.flatnonzero(~known)[0]]
        step = "fit" if unknown == "fit" else "transform"
        raise of_column(ValueError(f"Found unknown categories [{label!r}] in column {j} during {step}"), j)
    return place
