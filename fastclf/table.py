"""Tables of numbers and categories, and a classifier that turns a table into features of its model."""

import datetime
from inspect import signature
from itertools import count
from numbers import Real

import numpy as np

from ._categories import float_codes, sorted_categories
from ._columns import as_columns
from ._csr import Csr
from ._dates import as_dates
from ._estimator import Classifier, clone, fit_each, only_if, path_parameters, variants
from ._exceptions import warn
from ._state_table import Array, Instance, List, Part, declare, has, or_none, require_same, where
from ._validation import as_array, as_list, described, feature_names

# The names of the classifiers whose answers do not depend on the units of the columns.
_UNITLESS = (
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "DecisionTreeClassifier",
    "GaussianNB",
    "LeastSquaresClassifier",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
)

# The names of the classifiers to which a TableClassifier gives sparse features if categories become more than
# _MANY_LEVELS columns of zeros and ones.
_TAKE_SPARSE = (
    "KNeighborsClassifier",
    "LeastSquaresClassifier",
    "LinearSVC",
    "LogisticRegression",
    "NearestCentroid",
    "Perceptron",
    "RidgeClassifier",
    "SVC",
)
_MANY_LEVELS = 256
_SPARSE_METRICS = ("euclidean", "minkowski")

# The prefix by which parameters of a TableClassifier's model are named.
_MODEL = "model__"

# With scale='auto', columns are standardised if the range of one column is more than this multiple of the median range.
_UNEVEN = 10.0


class Table:
    """Columns, with or without names, of numbers (NaN if missing) or of strings (objects, None if missing).

    Parameters
    ----------
    columns : list of ndarray of shape (n,), ndarray of shape (n, d) or Csr
        An array or Csr is not copied.
    names : list of str, default=None
    """

    def __init__(self, columns, names=None):
        if isinstance(columns, np.ndarray) and columns.ndim != 2:
            raise ValueError(f"columns has shape {columns.shape}; (n_samples, n_columns), or a list, is wanted")
        self.matrix = columns if isinstance(columns, np.ndarray | Csr) else None
        if isinstance(columns, Csr):
            # a Csr is not cut into columns, so that the list of columns has only their numbers
            columns = range(columns.shape[1])
        self.columns = list(columns.T) if isinstance(columns, np.ndarray) else columns
        self.names = names
        # `marks`: for each column its decimal mark, if it is known; `reading`: how the file was read. Both are None
        # unless the table comes from a text file.
        self.marks = self.reading = None
        self.dates = frozenset()  # the names of the columns whose dates have become days
        self.open_ended = False  # whether columns that are missing at the end of a row are zeros, as in a LIBSVM text

    @classmethod
    def of(cls, X, wanted=None, lazily=False):
        """A Table from a table of pandas, polars or pyarrow, or from an array.

        `wanted` names the columns to be taken, where the table has them all. Of columns with the same name all but the
        first are numbered, with a warning. With `lazily`, a column of values that are no numbers, texts or dates is
        refused only where it is used.
        """
        if isinstance(X, cls):
            return X
        if isinstance(X, Csr):
            return cls(X)
        names = feature_names(X)
        if names is None:
            array = as_array(X, "X")
            return cls(array if array.ndim == 2 and array.dtype.kind in "biuf" else as_columns(X, "a table")[0])
        if len(set(names)) < len(names):
            names = numbered(names)
            X = _Renamed(X, names)
        if wanted is not None and set(wanted) <= set(names):
            names = [name for name in names if name in wanted]
        if hasattr(X, "column_names"):
            X = _without_dictionaries(X)
        if lazily and len(X) > 0:
            table = cls([_column_or_error(X, name) for name in names], list(names))
        else:
            table = cls(as_columns(X, "a table", names)[0], list(names))
        table.dates = frozenset(name for name in names if _holds_dates(X, name))
        return table

    @property
    def is_sparse(self):
        return isinstance(self.matrix, Csr)

    def __len__(self):
        if self.matrix is not None:
            return len(self.matrix)
        return len(self.columns[0]) if self.columns else 0

    @property
    def shape(self):
        return len(self), len(self.columns)

    def without(self, places):
        """The table without the columns at the given positions."""
        if self.is_sparse and places:
            raise ValueError("columns of a sparse matrix cannot be left out; all of them are wanted")
        if self.is_sparse:
            return self
        kept = [j for j in range(len(self.columns)) if j not in places]
        names = None if self.names is None else [self.names[j] for j in kept]
        if self.matrix is not None:
            return type(self)(np.ascontiguousarray(self.matrix[:, kept]), names)
        table = type(self)([self.columns[j] for j in kept], names)
        table.reading, table.marks = self.reading, None if self.marks is None else [self.marks[j] for j in kept]
        return table

    def rows(self, chosen):
        """The table with only the chosen rows."""
        if self.matrix is not None:
            return type(self)(self.matrix[chosen], self.names)
        table = type(self)([column[chosen] for column in self.columns], self.names)
        table.reading, table.marks = self.reading, self.marks
        return table

    def complete(self):
        """A mask of the rows without a missing value."""
        if self.is_sparse:
            return np.ones(len(self), bool)
        return ~np.logical_or.reduce([_is_missing(column) for column in self.columns])

    def has_values(self, j):
        """Whether a value of a column is not missing."""
        return not _is_missing(self.columns[j]).all()

    def title(self, j):
        return f"column {j + 1}" if self.names is None else f"column {self.names[j]!r}"

    def categories(self, also=()):
        """For each column its sorted categories if it has strings, or its index is in `also`; otherwise None."""
        if self.is_sparse and also:
            raise ValueError("columns of a sparse matrix hold categories; numbers are wanted")
        if self.matrix is not None and not also:
            return [None] * len(self.columns)
        return [
            sorted_categories(texts(column)).tolist() if column.dtype.kind == "O" or j in also else None
            for j, column in enumerate(self.columns)
        ]

    def widened(self, n_columns):
        """The table; if it comes from a LIBSVM text, with columns of zeros added at the end up to n_columns."""
        if not self.open_ended or self.matrix.shape[1] >= n_columns:
            return self
        if self.is_sparse:
            return type(self)(Csr(self.matrix.indptr, self.matrix.indices, self.matrix.data, n_columns), self.names)
        return type(self)(np.pad(self.matrix, ((0, 0), (0, n_columns - self.matrix.shape[1]))), self.names)

    def encode(self, categories, names=None, dates=None):
        """The matrix of numbers and of category indices, with NaN for a value that is missing or no category.

        Columns are matched by `names` if the table has names. `dates` has for each column what comes first in texts
        that are dates, or None.
        """
        places = self._places(len(categories), names)
        if self.matrix is not None and places == list(range(len(self.columns))) and not any(categories):
            return self.matrix
        X = np.empty((len(self), len(places)))
        for j, (place, known) in enumerate(zip(places, categories)):
            column = self.columns[place]
            if column.dtype.kind == "O" and dates is not None and dates[j] is not None:
                found = as_dates(column, self.title(place), dates[j])
                column = column if found is None else found.column
            if known is not None:
                X[:, j] = float_codes(texts(column), np.array(known, dtype=object))
            elif column.dtype.kind == "O":
                for row, text in enumerate(column):
                    if text is not None and not is_number(text):
                        came = f"{self.title(place)} holds {text!r} (row {row})"
                        wanted = "number" if dates is None or dates[j] is None else "date"
                        raise ValueError(f"{came}; a {wanted} is wanted, as in training")
                X[:, j] = [np.nan if text is None else float(text) for text in column]
            else:
                X[:, j] = column
        return X

    def _places(self, n_columns, names):
        if names is None or self.names is None:
            if len(self.columns) != n_columns:
                raise ValueError(f"there are {len(self.columns)} columns; {n_columns} are wanted, as in training")
            return list(range(n_columns))
        for name in names:
            if self.names.count(name) > 1:
                raise ValueError(f"there are {self.names.count(name)} columns {name!r}; each name is wanted once")
            if name not in self.names:
                raise ValueError(f"there is no column {name!r}; one is wanted, as in training")
        return [self.names.index(name) for name in names]


class _Renamed:
    """A wrapper of a table with repeated column names that gives columns unique names, and finds them by position."""

    def __init__(self, X, names):
        self.X, self.columns = X, names

    def __len__(self):
        return len(self.X)

    def __getitem__(self, name):
        place = list(self.columns).index(name)
        return self.X.column(place) if hasattr(self.X, "column_names") else self.X.iloc[:, place]


class _Unused:
    """A stand-in for a column of a table that cannot be used; the given error is raised once the column is read."""

    def __init__(self, n, error):
        self._n, self._error = n, error

    def __len__(self):
        return self._n

    def __getitem__(self, rows):
        return self

    @property
    def dtype(self):
        raise self._error


def _holds_dates(X, name):
    """Whether a column of a table holds dates or times as such, not as texts."""
    column = X.column(name) if hasattr(X, "column_names") else X[name]
    array = np.asarray(column)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array.dtype.kind == "M"
    return isinstance(next((value for value in array if value is not None), None), datetime.date)


def _column_or_error(X, name):
    """A column of a table or, if its type is not supported, an object that raises the error when it is used."""
    try:
        return as_columns(X, "a table", [name])[0][0]
    except TypeError as error:
        return _Unused(len(X), error)


def numbered(names):
    """Names of which none occurs twice: a repeated name gets a number, with a warning."""
    taken, unique = set(names), []
    for name in names:
        if name in unique:
            name = next(other for i in count(1) if (other := f"{name}.{i}") not in taken)
            taken.add(name)
            warn(f"column {len(unique) + 1} has the name of an earlier column; it is called {name!r}")
        unique.append(name)
    return unique


def _without_dictionaries(table):
    """A pyarrow table with decoded columns: NumPy would misread missing values of dictionary-encoded columns."""
    for j, field in enumerate(table.schema):
        if hasattr(field.type, "value_type") and hasattr(field.type, "index_type"):
            table = table.set_column(j, field.name, table.column(j).cast(field.type.value_type))
    return table


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def texts(column):
    """The entries of a column as strings, with None for a missing entry; equal numbers give equal strings."""
    if column.dtype.kind == "O":
        words = [text if text is None or not is_number(text) else _digits(float(text)) for text in column.tolist()]
    else:
        words = [None if value != value else _digits(float(value)) for value in column.tolist()]
    return np.array(words, dtype=object)


def _digits(value):
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


class TableClassifier(Classifier, shortcuts=True):
    """A classifier on a table with names, categories and missing values, saved with the rules for reading the table.

    Parameters
    ----------
    model : classifier, default=None
        None is DecisionTreeClassifier().
    names : list of str, default=None
        Names of the columns; None: those of the table in `fit`, if it has any.
    categories : list, default=None
        For each column None (numbers) or the list of its categories; None: the categories of a column of strings are
        those that occur in `fit`.
    scale : bool or 'auto', default='auto'
        Whether columns of numbers are standardised to mean 0 and standard deviation 1. 'auto' does so if the method
        depends on units and the range of one column is more than 10 times the median range.
    target : str, default=None
        A name for the labels, for display.
    date_orders : dict, default=None
        By the name or the position of columns of dates: 'day', 'month' or 'year', whichever comes first. Only dates
        such as 3/4/2024 need an entry.
    reading : dict, default=None
        For `fastclf predict`: how the file of the training was read. `train` writes it.

    Attributes
    ----------
    model_ : the fitted model
    classes_ : ndarray of shape (n_classes,)
    categories_ : list of None or list of str
    mean_, spread_ : ndarray of shape (n_features_in_,)
        The means and the divisors with which numbers are standardised; mean_ also replaces missing numbers.
    shifted_ : bool
        Whether columns of numbers are standardised.
    dates_ : list of None or str
        Only where columns hold dates: for each column None or what comes first in its dates, 'day', 'month' or 'year'.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where there are names.

    Notes
    -----
    Dates become days since 1970-01-01, also where they are texts such as 2024-12-31 or, if a number above 12 or
    `date_orders` tells the order, 31/12/2024.

    `NaiveBayes`, and trees with the parameter `categorical_features`, handle categories and missing values themselves.
    For any other method each category becomes a column of zeros and ones, after the numbers; a category that is missing
    or new is a zero in all of them. More than 256 such columns are made sparse for methods that take sparse rows, so
    that memory is O(n_samples * n_features_in_) whatever the number of categories.

    An array instead of a table has indices into `categories` in the columns that have categories, and NaN where a value
    is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsClassifier, TableClassifier
    >>> from fastclf.table import Table
    >>> colour, size = np.array(["red", "blue", "red", None], dtype=object), np.array([1.0, 2.0, np.nan, 3.0])
    >>> table = Table([colour, size], ["colour", "size"])
    >>> model = TableClassifier(KNeighborsClassifier(1)).fit(table, ["a", "b", "a", "b"])
    >>> model.predict(Table([np.array([1.0]), np.array(["red"], dtype=object)], ["size", "colour"]))
    array(['a'], dtype='<U1')
    >>> model.get_feature_names_out()
    ['size', 'colour = blue', 'colour = red']
    """

    _state_table = declare(
        categories_=List("n_features", or_none(Instance(list))),
        mean_=Array("float64", "n_features"),
        spread_=Array("float64", "n_features"),
        shifted_=Instance(bool),
        model_=Part(Classifier, "predict"),
        **where(has("dates_"), dates_=List("n_features", or_none(Instance(str)))),
    )

    def __init__(
        self, model=None, *, names=None, categories=None, scale="auto", target=None, date_orders=None, reading=None
    ):
        self._take(locals())

    def _model(self):
        if self.model is None:
            from .tree.classifier import DecisionTreeClassifier

            return DecisionTreeClassifier()
        if isinstance(self.model, type) or not hasattr(self.model, "predict"):
            raise TypeError(f"model is {described(self.model)}; a classifier is wanted")
        return self.model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y, sample_weight=None, *, ids=None):
        """Fit the model to the rows of a table.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows, which the model's `fit` must take; None: the model's `fit` gets none.
        ids : array-like of shape (n_samples,), default=None
            Names of the rows, for a model of nearest neighbours, whose `partial_fit` and `remove` take them, too:
            `model_.kneighbors(features(X), return_ids=True)` answers with them.

        Returns
        -------
        self
        """
        fitted, features = self._prepared(X)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if ids is not None:
            if "ids" not in signature(fitted["model_"].fit).parameters:
                name = type(fitted["model_"]).__name__
                raise TypeError(f"ids is given, which {name} does not take; a model of nearest neighbours is wanted")
            given["ids"] = ids
        fitted["model_"].fit(features, y, **given)
        return self._become(**fitted, classes_=fitted["model_"].classes_)

    # A shortcut for a search over several values of a parameter: the features are made once for all models.

    @property
    def _path_parameters(self):
        return tuple(_MODEL + name for name in path_parameters(self._model()))

    def _fit_path(self, name, values, X, y, shared=None):
        fitted, features = self._prepared(X)
        models = fit_each(fitted["model_"], name.removeprefix(_MODEL), values, features, y)
        return [
            variant._become(**fitted | {"model_": model, "classes_": model.classes_})
            for variant, model in zip(variants(self, name, values), models)
        ]

    def _predict_path(self, models, X):
        if len(models) == 1:
            return super()._predict_path(models, X)
        features = models[0].features(X)
        return models[0].model_._predict_path([model.model_ for model in models], features)

    def _prepared(self, X):
        """A pair: the fitted attributes, with a `model_` that is yet to be fitted; the features on which to fit it."""
        if self.scale not in (True, False, "auto"):
            raise ValueError(f"scale is {described(self.scale)}; True, False or 'auto' is wanted")
        orders = {} if self.date_orders is None else self.date_orders
        if not isinstance(orders, dict) or not all(
            isinstance(order, str) and order in ("day", "month", "year") for order in orders.values()
        ):
            raise ValueError(
                f"date_orders is {described(orders)}; a dict of columns to 'day', 'month' or 'year' is wanted"
            )
        if not isinstance(self.reading, dict | None):
            raise TypeError(f"reading is {described(self.reading)}; a dict, or None, is wanted")
        table = Table.of(X)
        given = self._given_categories(table.shape[1])
        dates = [None] * table.shape[1]
        if table is not X and table.matrix is None:
            table, dates = self._with_dates(table, orders, given)
        names, categories = table.names, table.categories() if given is None else given
        if self.names is not None:
            names = as_list(self.names, "names")
            if len(names) != table.shape[1]:
                raise ValueError(f"names has {len(names)} entries; {table.shape[1]}, one per column, are wanted")
            if not all(isinstance(name, str) for name in names):
                raise TypeError(f"names is {described(self.names)}; a list of strings is wanted")
        X = self._matrix(table if any(dates) else X, categories, names)
        d = X.shape[1]
        for j, known in enumerate(categories):
            codes = None if known is None else X[:, j]
            if known is not None and not ((codes >= 0) & (codes < len(known)) | np.isnan(codes)).all():
                raise ValueError(f"column {j} of X has a value that is no index of its {len(known)} categories")
        model = clone(self._model())
        native = is_native(model)
        mean, spread = np.zeros(d), np.ones(d)
        shifted = False
        if native:
            _tell_categories(model, categories)
        elif not isinstance(X, Csr):
            numbers = [j for j in range(d) if categories[j] is None]
            mean[numbers] = _mean(X[:, numbers])
            shifted = self._shifts(model, X[:, numbers], d - len(numbers))
            if shifted:
                with np.errstate(invalid="ignore"):  # NumPy reports a signaling NaN as invalid
                    squares = (X[:, numbers].astype(np.float64) - mean[numbers]) ** 2
                deviation = np.sqrt(_mean(squares))
                spread[numbers] = np.where(deviation > 0, deviation, 1)
        fitted = {"n_features_in_": d, "categories_": categories, "mean_": mean, "spread_": spread}
        fitted |= {"shifted_": shifted, "model_": model} | ({"dates_": dates} if any(dates) else {})
        if names is not None:
            fitted["feature_names_in_"] = np.array(names, dtype=object)
        return fitted, type(self)()._become(**fitted)._features(X)

    @staticmethod
    def _with_dates(table, orders, categories):
        """A pair: the table with days in place of dates, and for each column what comes first in its dates, or None.

        orders: the parameter `date_orders`; categories: for each column its given categories or None, or None for all.
        """
        columns, dates = [], []
        for j, column in enumerate(table.columns):
            key, found = j if table.names is None else table.names[j], None
            order = "year" if key in table.dates else None
            if column.dtype.kind == "O" and (categories is None or categories[j] is None):
                found = as_dates(column, table.title(j), orders.get(key))
            if found is not None and found.order is None:
                warn(
                    f"{table.title(j)} holds dates whose order of day and month is not certain, and which are taken as"
                    f" categories; date_orders={{{key!r}: 'day'}}, or 'month', makes them days"
                )
            elif found is not None:
                column, order = found.column, found.order
            columns.append(column)
            dates.append(order)
        return Table(columns, table.names), dates

    def _given_categories(self, n_columns):
        """The parameter `categories`, checked: a list with the categories of each column or None; None if not given."""
        if self.categories is None:
            return None
        given = as_list(self.categories, "categories")
        if len(given) != n_columns:
            raise ValueError(f"categories has {len(given)} entries; {n_columns}, one per column, are wanted")
        known = [None if each is None else as_list(each, f"categories[{j}]") for j, each in enumerate(given)]
        for j, each in enumerate(known):
            if not all(isinstance(label, (str, Real, np.generic)) for label in each or ()):
                raise TypeError(f"categories[{j}] is {described(given[j])}; a list of strings or numbers is wanted")
        return known

    @staticmethod
    def _matrix(X, categories, names, dates=None):
        """X as a matrix of numbers, with indices in place of categories; an array of numbers is returned unchanged."""
        table = Table.of(X, names)
        if table is X or table.names is not None or table.matrix is None:
            return table.encode(categories, names, dates)
        if table.shape[1] != len(categories):
            came = f"X has {table.shape[1]} features"
            raise ValueError(f"{came}, but TableClassifier is expecting {len(categories)} features as input")
        return table.matrix

    def _shifts(self, model, numbers, n_categorical):
        """Whether to standardise columns of numbers, as `scale` says; 'auto' decides by the model and the ranges."""
        if isinstance(numbers, Csr) or (
            self.scale is not True and (self.scale is False or type(model).__name__ in _UNITLESS)
        ):
            return False
        return numbers.size > 0 and (self.scale is True or _uneven(numbers, n_categorical))

    def takes_as_is(self, X):
        """Whether the features of the model are the matrix X itself if X has no missing values."""
        model = self._model()
        if not isinstance(X, Csr) and (not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf"):
            return False
        return not any(self.categories or []) and (is_native(model) or not self._shifts(model, X, 0))

    def _features(self, X):
        """The model's features, made from a matrix of numbers and category indices."""
        if is_native(self.model_) or isinstance(X, Csr):
            return X
        numbers = [j for j, known in enumerate(self.categories_) if known is None]
        given = X if len(numbers) == X.shape[1] else X[:, numbers]
        missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(1, bool)
        if missing.any():
            given = np.where(missing, self.mean_[numbers].astype(given.dtype), given)
        if self.shifted_:
            given = (given - self.mean_[numbers]) / self.spread_[numbers]
        if sum(map(len, filter(None, self.categories_))) > _MANY_LEVELS and _takes_sparse(self.model_):
            return _sparse_features(given, X, self.categories_)
        parts = [given]
        for j, known in enumerate(self.categories_):
            if known is not None:
                parts.append((X[:, j, None] == np.arange(len(known))).astype(np.float64))
        return given if len(parts) == 1 else np.concatenate(parts, axis=1)

    def features(self, X):
        """The model's features of X: an array of shape (n_samples, number of features), or sparse rows (see Notes)."""
        self._require_fitted()
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        return self._features(self._matrix(X, self.categories_, names, getattr(self, "dates_", None)))

    def predict(self, X):
        """The predicted labels, of shape (n_samples,)."""
        features = self.features(X)
        return self.model_.predict(features)

    def _models_have(self, method):
        """Whether both the parameter `model` and the fitted model have a certain method."""
        return hasattr(self._model(), method) and hasattr(getattr(self, "model_", self._model()), method)

    @only_if(lambda model: model._models_have("decision_function"))
    def decision_function(self, X):
        """The model's scores."""
        features = self.features(X)
        return self.model_.decision_function(features)

    @only_if(lambda model: model._models_have("predict_proba"))
    def predict_proba(self, X):
        """The model's probabilities of shape (n_samples, n_classes)."""
        features = self.features(X)
        return self.model_.predict_proba(features)

    @only_if(lambda model: model._models_have("predict_log_proba"))
    def predict_log_proba(self, X):
        """The logarithms of the model's probabilities."""
        features = self.features(X)
        return self.model_.predict_log_proba(features)

    def get_feature_names_out(self):
        """The names of the model's features: "column = category" for a column of zeros and ones."""
        self._require_fitted()
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        if is_native(self.model_):
            return names
        pairs = list(zip(names, self.categories_))
        return [name for name, known in pairs if known is None] + [
            f"{name} = {text}" for name, known in pairs if known is not None for text in known
        ]

    def _reading_of_tree(self):
        """For functions that show trees: (model, names of its features, each feature's categories, "dates" or None)."""
        self._require_fitted()
        names = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        dates = getattr(self, "dates_", [None] * len(names))
        orders = [known or (self.date_orders or {}).get(name) for name, known in zip(names, dates)]
        known = [each or ("dates" if order else None) for each, order in zip(self.categories_, orders)]
        if not is_native(self.model_):
            known = [each for each, given in zip(known, self.categories_) if given is None]
            known += [None] * (len(self.get_feature_names_out()) - len(known))
        return self.model_, self.get_feature_names_out(), known

    def _check_rest(self, sizes, entries):
        if entries and not all(type(text) is str for known in self.categories_ for text in known or ()):
            raise ValueError("categories_ has an entry that is no list of strings; a list or None is wanted")
        n_features = len(self.get_feature_names_out())
        if self.model_.n_features_in_ != n_features:
            raise ValueError(f"model_ takes {self.model_.n_features_in_} columns; {n_features} are wanted")
        require_same("classes_", self, "model_")


def _is_missing(column):
    if column.dtype.kind == "O":
        return np.equal(column, None).astype(bool)
    return column != column


def is_native(model):
    """Whether a model takes categories and missing values without conversion."""
    params = model.get_params(deep=False)
    return "distributions" in params or "categorical_features" in params


def _takes_sparse(model):
    """Whether a model, with its parameters, takes sparse rows."""
    if type(model).__name__ == "GeneralisedLinearClassifier":
        products = model.feature_map is None or type(model.feature_map).__name__ == "PolynomialFeatures"
        return products and (model.model is None or _takes_sparse(model.model))
    metric = model.get_params(deep=False).get("metric", "euclidean")
    return type(model).__name__ in _TAKE_SPARSE and isinstance(model, Classifier) and metric in _SPARSE_METRICS


def _sparse_features(numbers, X, categories):
    """Sparse rows: the columns `numbers`, then columns of zeros and ones for the categories of X's other columns."""
    n, d = numbers.shape
    places = [j for j, known in enumerate(categories) if known is not None]
    codes = X[:, places]
    sizes = [len(categories[j]) for j in places]
    columns = np.concatenate([np.broadcast_to(np.arange(d), (n, d)), d + np.cumsum([0, *sizes[:-1]]) + codes], axis=1)
    values = np.concatenate([numbers, np.ones(codes.shape)], axis=1, dtype=np.float64)
    there = ~np.isnan(columns)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return Csr(indptr, columns[there].astype(np.int32), values[there], d + sum(sizes))


def _tell_categories(model, categories):
    """Tell a model that handles categories itself which columns have categories, by setting its parameters."""
    if "categorical_features" in model.get_params(deep=False):
        places = [j for j, known in enumerate(categories) if known is not None]
        model.set_params(categorical_features=places or None)
        return
    wanted = model.distributions
    wanted = list(wanted) if isinstance(wanted, list | tuple) else [wanted] * len(categories)
    chosen = [kind if known is None else "categorical" for kind, known in zip(wanted, categories)]
    model.set_params(distributions=chosen, missing="ignore")


def _mean(X):
    """The mean of each column over its values that are not missing; 0 if all values are missing."""
    there = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, bool)
    count = there.sum(axis=0)
    return np.where(there, X, 0).sum(axis=0, dtype=np.float64) / np.maximum(count, 1)


def _uneven(numbers, n_categorical):
    """Whether the widest range of a column is far above the median range; columns of zeros and ones have range 1."""
    there = ~np.isnan(numbers) if numbers.dtype.kind == "f" else np.ones(numbers.shape, bool)
    reach = np.where(there, numbers, -np.inf).max(axis=0) - np.where(there, numbers, np.inf).min(axis=0)
    reach = np.concatenate([reach[reach > 0], np.ones(n_categorical)])
    return len(reach) > 0 and bool(reach.max() > _UNEVEN * np.median(reach))
