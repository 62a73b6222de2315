"""The base of estimators by nearest neighbours: parameters, fitted rows, and searches by number and by radius."""

from inspect import cleandoc
from typing import NamedTuple

import numpy as np

from .._csr import as_scipy
from .._estimator import Estimator
from .._exceptions import warn
from .._state_table import Array, Instance, Size, Value, declare, or_none
from .._threads import Progress, aside_if_many, n_threads
from .._validation import (
    as_array,
    as_sample_weight,
    described,
    require_choice,
    require_integer,
    require_number,
    require_weight,
)
from .admit import admit, admit_queries, is_distance_metric, takes_sparse
from .choose_index import ALGORITHMS, Maker
from .custom_metric import as_compiled
from .kdtree import Tree
from .living_rows import Segments, SpareRows
from .metrics import NAMED, Metric, names_with
from .packed_bits import PackedRows
from .row_ids import RowIds
from .scan import Scan
from .search import Search

_SHARED = """algorithm : {'auto', 'brute', 'filter', 'cells', 'tree', 'kd_tree', 'ball_tree'}, default='auto'
    How rows are searched; all give the same exact answer. 'brute' scans all rows. 'filter' scans codes of a byte a
    coordinate, made by `fit`, and measures the few rows that the codes cannot rule out. 'cells', for 'euclidean',
    'sqeuclidean' and 'cosine', sorts the codes into about 2 sqrt(n) clusters, and reads those of a few ranges of rows:
    for clustered rows and single queries. Its fit takes O(n sqrt(n)) products of codes (3 seconds for a million rows of
    128 features) and twice the codes plus 16 bytes per row; rows added since are scanned. 'tree' is for low dimension,
    or some dozens of features of rows that lie in clusters or near a surface of low dimension, and for metrics of the
    Minkowski family; it has a copy of the rows. 'kd_tree' and 'ball_tree' mean 'tree', but raise an error where
    scikit-learn's trees raise one; for a metric that 'tree' does not take and scikit-learn's ball tree takes,
    'ball_tree' means 'auto'. 'auto' chooses the one of 'brute', 'filter' and 'tree' with the lowest expected cost,
    estimated from a sample of the rows. Where codes or the tree would take longer than a scan, for single queries or
    for many, these queries are scanned.
leaf_size : int, default=30
    Accepted for compatibility with scikit-learn; without effect.
p : float > 0, default=2
    Power of the Minkowski metric.
metric : str or callable, default='minkowski'
    'euclidean' ('l2'), 'sqeuclidean', 'manhattan' ('l1', 'cityblock'), 'chebyshev' ('infinity'), 'minkowski', 'cosine'
    (rows have squared norms from 1e-290 to 1e308; a row of zeros is at distance 1 from all others), 'dot' (minus the
    inner product, so that the largest product comes first; not for weights='distance'), 'hamming' (share of the
    coordinates that differ), 'jaccard' (of the coordinates that are not 0 in both rows, the share that is 0 in one; 0
    where there is none; any number but 0 counts as True), 'nan_euclidean' (X and queries have NaN for missing values:
    sqrt(d / n sum (x_j - q_j)^2) over the n coordinates of d that both rows have; infinity, and so last, where n is 0),
    'canberra', 'braycurtis', 'seuclidean', 'mahalanobis', 'haversine' (of latitude and longitude in radians),
    'correlation' (1 less the correlation; 1 where a row is constant), the metrics of bits 'dice', 'rogerstanimoto',
    'russellrao', 'sokalmichener', 'sokalsneath' and 'yule' (any number but 0 counts as True; 0 for 0 / 0),
    'precomputed' (X is the matrix of distances among the rows, and a query is the vector of its distances from the
    rows; in a sparse matrix only stored entries, zeros too, are neighbours; rows can neither be added nor removed), a
    DistanceMetric of scikit-learn, or a function of two rows, query and row, of X's dtype that returns a float. A
    Python function is called for every pair, which is thousands of times slower than a named metric. A compiled
    function is called from all threads without the GIL. Its signature is
    `double (const double *query, const double *row, ptrdiff_t d, void *user_data)`, with or without `user_data`, and
    it is given as a Numba `cfunc`, a ctypes function with its types, a PyCapsule named by the signature (user_data is
    its context), or SciPy's LowLevelCallable of one. A Python function is given rows of sparse X as SciPy's matrices.
    Bools under 'hamming' and all rows under 'jaccard' and the metrics of bits are packed, once, into an eighth of a
    byte per feature. X and queries may be SciPy's sparse matrices, in any format, for 'euclidean', 'sqeuclidean',
    'manhattan', 'cosine' and 'dot'; nothing is made dense, and `fit` keeps X by columns too. Where X is an array,
    queries may be sparse for every named metric but 'jaccard', 'nan_euclidean', and 'hamming' with bools. Packed and
    sparse rows can be removed, but no rows can be added to them. 'filter', 'cells' and 'tree' are not for packed or
    sparse rows, 'nan_euclidean' and functions.
metric_params : dict, default=None
    For 'minkowski': `p`, and `w`, a weight per feature as in sum_j w_j |x_j - q_j|^p. For 'seuclidean': `V`, the
    variance of each feature. For 'mahalanobis': `VI`, the inverse of the covariance matrix, or `V`, the covariance
    matrix. For 'hamming', 'jaccard' and the metrics of bits: `n_bits`, the number of bits of a row: X and queries are
    then uint8, rows packed as by np.packbits(X, axis=1). For a Python function: its keyword arguments. For any
    function: `triangle`, True if d(x, z) <= d(x, y) + d(y, z) and d(x, y) = d(y, x) >= 0 hold, and all values are right
    to 10 digits. Then `fit` stores the distances of all rows from up to 16 rows (128 bytes per row), and a search
    measures only the rows that these distances do not rule out. `triangle` has no effect with algorithm='brute'.
n_jobs : int, default=None
    Threads. None: FASTCLF_NUM_THREADS, else every CPU that the process may use, at most OMP_NUM_THREADS;
    -1: every CPU, -2: all but one; 1: the calling thread alone. The answer does not depend on it.
working_memory : float, default=256
    Megabytes that a search may use beyond its input and output, over all threads.
verbose : int, default=0
    1 shows the progress of a search on stderr.
callback : callable, default=None
    Called as `callback(step, total, value)` after each piece of a search, in (query, row) pairs; value is None.
    Returning True stops the search, which then raises RuntimeError."""

_FITTED = """n_features_in_ : int
feature_names_in_ : ndarray of str
    Only when X was a table with string column names.
n_samples_fit_ : int
effective_metric_ : str or callable
effective_metric_params_ : dict"""


def document(cls):
    """A decorator that inserts the shared parameters and attributes into the docstring of a class."""
    cls.__doc__ = cleandoc(cls.__doc__ or "").replace("{shared}", _SHARED).replace("{fitted}", _FITTED)
    return cls


def _require_spare_rows(name, value):
    if type(value) is not dict or not all(isinstance(rows, SpareRows) for rows in value.values()):
        raise ValueError(f"{name} is {described(value)}; a dict of SpareRows objects is wanted")


class GivenRows(NamedTuple):
    """The rows of a fit and what belongs to them, checked."""

    X: object  # the argument X itself
    rows: object  # X as an array, PackedRows or Csr, of which an index is to be made; or a fitted estimator's Segments
    metric: Metric
    weight: np.ndarray | None  # (n_rows,) float64: the weight of each row; None: all are 1
    ids: RowIds | None  # the ids of the rows; None: the rows have no ids


class Neighbors(Estimator):
    """The base of all estimators by nearest neighbours: parameters, fitted rows, change of the rows, and the search."""

    # The names of the attributes that have an entry for each fitted row; these attributes are arrays or None.
    _columns = ("_weight", "_allowed")

    # scikit-learn's private attribute for a tree, which PyOD reads; None makes PyOD call `kneighbors` instead
    _tree = None

    _ids = None  # the RowIds of the fitted rows; None: the rows have no ids

    # whether the parameter n_neighbors may be None; a search must then be given the number of neighbours
    _optional_k = False

    _state_table = declare(
        n_samples_fit_=Size("n_rows"),
        _scan=Instance(Segments, "n_rows", "n_features"),
        _allowed=or_none(Array("uint8", "n_rows")),
        _weight=or_none(Array("float64", "n_rows")),
        _ids=or_none(Instance(RowIds, "n_rows")),
        _spare_rows=Value(_require_spare_rows),
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.metric, self.p)
        tags.input_tags.allow_nan = isinstance(self.metric, str) and self.metric in names_with("missing")
        tags.input_tags.pairwise = tags.input_tags.positive_only = isinstance(
            self.metric, str
        ) and self.metric in names_with("precomputed")
        return tags

    def _require_parameters(self):
        super()._require_parameters()
        metric = self.metric
        if not (
            metric in NAMED
            if isinstance(metric, str)
            else callable(metric) or is_distance_metric(metric) or as_compiled(metric)
        ):
            require_choice("metric", metric, sorted(NAMED))

    def _adapt(self, attributes):
        # a subclass, as of time series, may count something else as features
        if not self._is_ours and "_scan" in attributes:
            attributes["n_features_in_"] = attributes["_scan"].shape[1]

    def _check_voting(self):
        """A hook for subclasses in which neighbours vote: check the parameters that determine the votes."""

    def _given_rows(self, X, sample_weight=None, ids=None):
        """Check the parameters and the arguments of a fit, but for its targets, and return them as GivenRows."""
        self._check_voting()
        require_choice("algorithm", self.algorithm, ALGORITHMS)
        require_integer("leaf_size", self.leaf_size, 1)
        require_number("working_memory", self.working_memory, 0, open_low=True)
        if self.n_neighbors is not None or not self._optional_k:
            require_integer("n_neighbors", self.n_neighbors, 1)
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise TypeError(f"metric_params is {described(self.metric_params)}; a dict or None is wanted")
        if self.n_jobs is not None:
            n_threads(self.n_jobs)
        if isinstance(X, Neighbors):
            X._require_fitted()
            rows, metric, row_ids = X._scan, X._scan.metric, X._ids
        else:
            rows, metric = admit(X, self.metric, self.p, self.metric_params, type(self).__name__)
            row_ids = None
        weight = as_sample_weight(sample_weight, len(rows))
        return GivenRows(X, rows, metric, weight, row_ids if ids is None else RowIds.of(ids, len(rows)))

    def _fitted_rows(self, given):
        """The new attributes of a fit to GivenRows, among them the index, which may take long to make."""
        X, rows, metric, weight, row_ids = given
        scan = rows
        if not isinstance(scan, Segments):
            maker = Maker(self.algorithm, int(self.n_neighbors or 5), self.n_jobs, float(self.working_memory))
            scan = Segments(rows, metric, maker, maker._replace(algorithm="brute"))
            if metric.name == "minkowski" and metric.p < 1 and type(scan.whole()) is Scan:
                warn(
                    "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution with"
                    " `algorithm='brute'`."
                )
        params = {} if metric.w is None else {"w": metric.w}
        if metric.name == "minkowski":
            params["p"] = metric.p
        if metric.V is not None or metric.named.precomputed:
            params = dict(self.metric_params or {})
        return self._fitted_columns(X, rows) | {
            "n_samples_fit_": len(rows),
            "effective_metric_": metric.name if self.metric in ("minkowski", "p") else self.metric,
            "effective_metric_params_": metric.keywords if metric.function is not None else params,
            "_scan": scan,
            "_allowed": None if weight is None else _allowed(weight),
            "_weight": weight,
            "_ids": row_ids,
            "_spare_rows": {},
        }

    # The next two properties are private attributes of scikit-learn's estimators by nearest neighbours. Estimators of
    # scikit-learn read them from a fitted estimator that they are given.

    @property
    def _fit_X(self):
        """The fitted rows as an array or, if they are sparse, as SciPy's matrix."""
        rows = self._scan.X
        rows = rows[:] if isinstance(rows, Segments) else rows
        return rows.bits() if isinstance(rows, PackedRows) else as_scipy(rows)

    @property
    def _fit_method(self):
        return "kd_tree" if type(self._scan.whole()) is Tree else "brute"

    def _is_fitted(self):
        return hasattr(self, "n_features_in_")

    def _add_rows(self, X, sample_weight=None):
        """Check rows X to be added; return (the number of rows, a dict of the fitted attributes that change)."""
        self._require_rows("added")
        rows = self._new_samples(X)
        weight = as_sample_weight(sample_weight, len(rows), all_zero=True)
        if weight is None and self._weight is not None:
            weight = np.ones(len(rows))
        attributes = {"n_samples_fit_": self.n_samples_fit_ + len(rows), "_spare_rows": dict(self._spare_rows)}
        if weight is not None:
            old = np.ones(self.n_samples_fit_) if self._weight is None else self._weight
            self._extend(attributes, "_weight", old, weight)
            if self._allowed is not None:
                self._extend(attributes, "_allowed", self._allowed, (weight > 0).astype(np.uint8))
            else:
                attributes["_allowed"] = _allowed(weight, old)
        attributes["_scan"] = self._scan.add(rows)
        return len(rows), attributes

    def _more_ids(self, ids, n):
        """The attribute `_ids` after n rows with these ids are added, in a dict; an empty dict if rows have no ids."""
        if (ids is None) != (self._ids is None):
            came = "None, but the fitted rows have ids" if ids is None else "given, but the fitted rows have no ids"
            raise ValueError(f"ids is {came}; ids for all rows, from the first fit on, or for none are wanted")
        return {} if ids is None else {"_ids": self._ids.add(ids, n)}

    def _require_ids(self):
        """The ids of the fitted rows, as RowIds; ValueError if the rows have no ids."""
        self._require_fitted()
        if self._ids is None:
            raise ValueError("the fitted rows have no ids; fit(..., ids=...) gives them")
        return self._ids

    @property
    def ids_(self):
        self._require_fitted()
        if self._ids is None:
            raise AttributeError("the fitted rows have no ids; fit(..., ids=...) gives them")
        return self._ids.values.copy()

    def rows_of(self, ids):
        """The row numbers of ids, as for `mask`; O(log n) for each id.

        Parameters
        ----------
        ids : int, str, or array-like of int or str
            Ids of fitted rows.

        Returns
        -------
        rows : ndarray of shape (n_ids,), intp

        Examples
        --------
        >>> from fastclf import NearestNeighbors
        >>> model = NearestNeighbors().fit([[0.0], [1.0], [2.0]], ids=["a", "b", "c"])
        >>> model.remove(ids="a").rows_of(["c", "b"])
        array([1, 0])
        """
        return self._require_ids().rows(ids)

    def _require_rows(self, done):
        """Refuse to change the rows if X is a matrix of precomputed distances."""
        if self._scan.metric.named.precomputed:
            raise ValueError(f"with metric='precomputed' no rows can be {done}; a new fit is wanted")

    def _extend(self, attributes, name, array, more):
        """Store in the dict `attributes` the fitted array `name` with the rows `more` added, and its new SpareRows."""
        attributes[name], attributes["_spare_rows"][name] = self._spare_rows.get(name, SpareRows()).extend(array, more)

    def _without(self, rows):
        """Check row numbers to remove; return a dict of the fitted attributes without these rows, empty for no rows."""
        self._require_fitted()
        n = self.n_samples_fit_
        rows = _row_numbers(rows, n)
        if len(rows) == n:
            raise ValueError(f"rows names all {n} rows; at least one must stay")
        if len(rows) == 0:
            return {}
        self._require_rows("removed")
        columns = {name: getattr(self, name) for name in self._columns}
        attributes = {
            name: None if column is None else aside_if_many(column.size, np.delete, column, rows, axis=0)
            for name, column in columns.items()
        }
        weight = attributes["_weight"]
        attributes["_allowed"] = None if weight is None else _allowed(weight)
        attributes["_ids"] = None if self._ids is None else aside_if_many(n, self._ids.without, rows)
        return attributes | {"_scan": self._scan.remove(rows), "n_samples_fit_": n - len(rows)}

    def remove(self, rows=None, *, ids=None):
        """Remove rows. The other rows keep their order and are renumbered, as by `numpy.delete`; they keep their ids.

        Parameters
        ----------
        rows : int, array-like of int, or array-like of bool of shape (n_samples_fit,), default=None
            Row numbers, negative ones from the end, or a mask of the rows to remove. At least one row must stay.
        ids : int, str, or array-like of int or str, default=None
            In place of `rows`: the ids of the rows to remove, if the rows were fitted with ids.

        Returns
        -------
        self

        Notes
        -----
        O(n) per call, whatever the number of removed rows. The estimator is then the same as if only the other rows had
        been fitted: a class without a row leaves `classes_`. The X of `fit` is neither changed nor copied; a search
        skips its removed rows.
        """
        if (rows is None) == (ids is None):
            raise TypeError(f"rows and ids are {'not given' if ids is None else 'both given'}; one of them is wanted")
        vars(self).update(self._without(self._require_ids().rows(ids) if rows is None else rows))
        return self

    def _ask(self, X, call, mask=None, share=1):
        """Check the queries X and the mask and return a Search; `call` is the name of the public method.

        The search may use this `share` of `working_memory`.
        """
        self._require_fitted()
        rows, n, allowed = self._scan, self.n_samples_fit_, self._allowed
        if mask is not None:
            mask = as_array(mask, "mask")
            if mask.shape != (n,) or mask.dtype != bool:
                raise ValueError(
                    f"mask has dtype {mask.dtype} and shape {mask.shape}; bools of shape ({n},), one for each fitted"
                    " row, are wanted"
                )
            mask = np.ascontiguousarray(mask).view(np.uint8)
            allowed = mask if allowed is None else mask & allowed
        queries, self_row = rows.X if X is None else self._new_samples(X), np.arange(n) if X is None else None
        memory = share * require_number("working_memory", self.working_memory, 0, open_low=True)
        each, label = rows.n_places, f"{type(self).__name__}.{call}"
        progress = Progress(len(queries) * each, label, self.verbose, self.callback, unit="queries", each=each)
        return Search(queries, self_row, allowed, progress, self.n_jobs, memory)

    def _as_rows(self, X, owner):
        return admit_queries(self._scan, X, owner)

    def _n_findable(self, search):
        """The largest k for which every query of the search has k neighbours."""
        n = self.n_samples_fit_ if search.allowed is None else int(np.count_nonzero(search.allowed))
        return n if search.self_row is None else n - 1

    def _check_k(self, name, k, search):
        k, most = require_integer(name, k, 1), self._n_findable(search)
        if k > most:
            raise ValueError(
                f"Expected {name} <= n_samples_fit, but {name} = {k}, n_samples_fit = {most}"
                + (" without the row itself" if search.self_row is not None else "")
                + (", among the rows that mask and sample_weight leave" if search.allowed is not None else "")
            )
        return k


def _allowed(weight, others=None):
    """A mask of the rows with weight above 0, or None if these are all rows.

    `others` are the weights of earlier rows.
    """
    if weight.all():
        return None
    weight = weight if others is None else np.concatenate([others, weight])
    require_weight(weight)
    return (weight > 0).astype(np.uint8)


def _row_numbers(rows, n):
    """The row numbers that the argument `rows` of `remove` names, ascending and without repetition."""
    rows = as_array(rows, "rows")
    if rows.dtype == bool:
        if rows.shape != (n,):
            raise ValueError(f"rows is a mask of shape {rows.shape}; ({n},), one bool for each fitted row, is wanted")
        return np.flatnonzero(rows)
    if rows.ndim > 1 or (rows.dtype.kind not in "iu" and rows.size):
        raise TypeError(f"rows has dtype {rows.dtype} and shape {rows.shape}; row numbers or a mask are wanted")
    rows = rows.ravel()
    outside = (rows >= n) | (rows < -n)
    if outside.any():
        raise ValueError(f"rows holds {rows[outside][0]}; numbers from {-n} to {n - 1} are wanted")
    named = np.zeros(n, bool)
    named[rows.astype(np.intp)] = True
    return np.flatnonzero(named)
