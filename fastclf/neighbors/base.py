"""What the estimators by nearest neighbours share: parameters, fitted rows, and searches by number and by radius."""

from inspect import cleandoc
from typing import NamedTuple

import numpy as np

from .._estimator import Estimator
from .._state_table import Array, Instance, Size, declare, or_none
from .._threads import Progress, n_threads
from .._validation import (
    as_sample_weight,
    require_choice,
    require_integer,
    require_number,
    require_weight,
)
from .admit import admit, admit_queries, takes_sparse
from .choose_index import ALGORITHMS, Maker
from .custom_metric import as_compiled
from .living_rows import Segments, SpareRows
from .metrics import NAMED, names_with

_SHARED = """algorithm : {'auto', 'brute', 'filter', 'tree', 'kd_tree', 'ball_tree'}, default='auto'
    How rows are searched; all give the same exact answer. 'brute' scans them all. 'filter' scans codes of a byte a
    coordinate, made by `fit`, and measures the few rows that these cannot rule out. 'tree' (or 'kd_tree', 'ball_tree')
    is for low dimension. 'auto' takes what a sample of the rows says costs least.
leaf_size : int, default=30
    Accepted as scikit-learn has it; without effect.
p : float > 0, default=2
    Power of the Minkowski metric.
metric : str or callable, default='minkowski'
    'euclidean' ('l2'), 'sqeuclidean', 'manhattan' ('l1', 'cityblock'), 'chebyshev' ('infinity'), 'minkowski',
    'cosine' (squared norms from 1e-290 to 1e308, or 0: at distance 1 from all), 'dot' (minus the inner product, so that
    the largest product comes first; not for weights='distance'), 'hamming' (share of the coordinates that differ),
    'jaccard' (of the coordinates that are not 0 in both, the share that is 0 in one; 0 where there is none; any number
    but 0 counts as True), 'nan_euclidean' (with NaN for what is missing, in X and in queries:
    sqrt(d / n sum (x_j - q_j)^2) over the n coordinates of d that both have; infinity, and so last, where they have
    none), or a function of two rows, query and row, of X's dtype that returns a float. A Python function is called for
    every pair: slow, thousands of times slower; a compiled one is called from all threads without the GIL:
    `double (const double *query, const double *row, ptrdiff_t d, void *user_data)`, with or without the last, as a
    Numba `cfunc`, a ctypes function with its types, a PyCapsule named by the signature (user_data is its context), or
    SciPy's LowLevelCallable of one. Bools under 'hamming' and all under 'jaccard' are packed, once, into an eighth of a
    byte each. X and queries may be SciPy's sparse matrices, in any format, for 'euclidean', 'sqeuclidean', 'manhattan',
    'cosine' and 'dot'; nothing is made dense, and `fit` keeps X by columns too. Where X is an array, queries may be
    sparse for every named metric but 'jaccard', 'nan_euclidean', and 'hamming' with bools. Packed and sparse rows can
    be removed, but no rows added to them, and 'filter' and 'tree' are not for them, nor for 'nan_euclidean' and
    functions.
metric_params : dict, default=None
    For 'minkowski': `p`, and `w`, a weight per feature as in sum_j w_j |x_j - q_j|^p. For 'hamming' and 'jaccard':
    `n_bits`, which says that X and queries are uint8, rows of that many bits packed as by np.packbits(X, axis=1).
    For a Python function: its keyword arguments. For any function: `triangle`, True where d(x, z) <= d(x, y) + d(y, z),
    d(x, y) = d(y, x) >= 0, and each is right to 10 digits: `fit` then measures all rows from up to 16 of them (128
    bytes a row), and a search measures the rows only whose distance these do not show to be too large; not so with
    algorithm='brute'.
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
    """Put the parameters and attributes that all estimators share into the docstring of a class."""
    cls.__doc__ = cleandoc(cls.__doc__).replace("{shared}", _SHARED).replace("{fitted}", _FITTED)
    return cls


class Asked(NamedTuple):
    """The queries of a search, and what they may find."""

    queries: np.ndarray
    own: np.ndarray | None  # for each query the row that it is itself
    allowed: np.ndarray | None  # (n_rows,) uint8
    findable: int  # rows that every query may find


class Neighbors(Estimator):
    """What all estimators here share: parameters, fitted rows, how they change, and the search."""

    # Attributes beside the index that have one entry a row.
    _columns = ("_weight", "_allowed")

    _state_table = declare(
        n_samples_fit_=Size("n_rows"),
        _scan=Instance(Segments, "n_rows", "n_features"),
        _allowed=or_none(Array("uint8", "n_rows")),
        _weight=or_none(Array("float64", "n_rows")),
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.metric, self.p)
        tags.input_tags.allow_nan = self.metric in names_with("missing")
        return tags

    def _require_parameters(self):
        super()._require_parameters()
        if not callable(self.metric) and as_compiled(self.metric) is None:
            require_choice("metric", self.metric, sorted(NAMED))

    def _as_rows(self, X, owner):
        return admit_queries(X, self._scan.some_rows, self._scan.metric, owner)

    def _fit_rows(self, X, sample_weight=None):
        """(rows, sample weights, attributes) of a fit, all checked, with nothing changed in the estimator."""
        name = type(self).__name__
        require_choice("algorithm", self.algorithm, ALGORITHMS)
        require_integer("leaf_size", self.leaf_size, 1)
        self._check_memory()
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise TypeError(f"metric_params is {self.metric_params!r}; a dict or None is wanted")
        n_threads(self.n_jobs)
        rows, metric = admit(X, self.metric, self.p, self.metric_params, name)
        weight = as_sample_weight(sample_weight, len(rows))
        allowed = _allowed(weight)
        maker = Maker(self.algorithm, int(self.n_neighbors or 5), self.n_jobs, float(self.working_memory))
        scan = Segments(rows, metric, maker, maker._replace(algorithm="brute"))
        params = {} if metric.w is None else {"w": metric.w}
        if metric.name == "minkowski":
            params["p"] = metric.p
        attributes = self._fitted_columns(X, rows) | {
            "n_samples_fit_": len(rows),
            "effective_metric_": metric.name if self.metric in ("minkowski", "p") else self.metric,
            "effective_metric_params_": metric.keywords if metric.function is not None else params,
            "_scan": scan,
            "_allowed": allowed,
            "_weight": weight,
            "_rooms": {},
        }
        return rows, weight, attributes

    def _is_fitted(self):
        return hasattr(self, "n_features_in_")

    def _add_rows(self, X, sample_weight=None):
        """(number of rows that are added, attributes), all checked, with nothing changed in the estimator."""
        rows = self._new_samples(X)
        weight = as_sample_weight(sample_weight, len(rows), all_zero=True)
        if weight is None and self._weight is not None:
            weight = np.ones(len(rows))
        attributes = {"n_samples_fit_": self.n_samples_fit_ + len(rows), "_rooms": dict(self._rooms)}
        if weight is not None:
            old = np.ones(self.n_samples_fit_) if self._weight is None else self._weight
            self._extend(attributes, "_weight", old, weight)
            if self._allowed is not None:
                self._extend(attributes, "_allowed", self._allowed, (weight > 0).astype(np.uint8))
            else:
                attributes["_allowed"] = _allowed(weight, old)
        attributes["_scan"] = self._scan.add(rows)
        return len(rows), attributes

    def _extend(self, attributes, name, array, more):
        """Put an array with more entries at its end into the attributes."""
        attributes[name], attributes["_rooms"][name] = self._rooms.get(name, SpareRows()).extend(array, more)

    def _without(self, rows):
        """The attributes once rows are removed, all checked, with nothing changed in the estimator."""
        self._require_fitted()
        n = self.n_samples_fit_
        rows = _row_numbers(rows, n)
        if len(rows) == n:
            raise ValueError(f"rows names all {n} rows; at least one must stay")
        if len(rows) == 0:
            return {}
        columns = {name: getattr(self, name) for name in self._columns}
        attributes = {
            name: None if column is None else np.delete(column, rows, axis=0) for name, column in columns.items()
        }
        attributes["_allowed"] = _allowed(attributes["_weight"])
        return attributes | {"_scan": self._scan.remove(rows), "n_samples_fit_": n - len(rows)}

    def remove(self, rows):
        """Take rows out. The others keep their order and are numbered anew, as `numpy.delete` does.

        Parameters
        ----------
        rows : int, array-like of int, or array-like of bool of shape (n_samples_fit,)
            Row numbers, negative ones from the end, or a mask of the rows to remove. At least one row must stay.

        Returns
        -------
        self

        Notes
        -----
        O(n) a call, however many rows go, and as if the others alone had been fitted: a class that no row has any more
        leaves `classes_`. The X of `fit` is neither changed nor copied; a search passes over its removed rows.
        """
        vars(self).update(self._without(rows))
        return self

    def _ask(self, X, mask=None):
        """Queries and a mask, checked."""
        self._require_fitted()
        n, allowed = self.n_samples_fit_, self._allowed
        if mask is not None:
            mask = np.asarray(mask)
            if mask.shape != (n,) or mask.dtype != bool:
                raise ValueError(
                    f"mask has dtype {mask.dtype} and shape {mask.shape}; bools of shape ({n},), one a fitted row, are"
                    " wanted"
                )
            mask = np.ascontiguousarray(mask).view(np.uint8)
            allowed = mask if allowed is None else mask & allowed
        findable = n if allowed is None else int(np.count_nonzero(allowed))
        if X is None:
            return Asked(self._scan.X, np.arange(n), allowed, findable - 1)
        return Asked(self._new_samples(X), None, allowed, findable)

    def _check_k(self, name, k, asked):
        k = require_integer(name, k, 1)
        if k > asked.findable:
            raise ValueError(
                f"Expected {name} <= n_samples_fit, but {name} = {k}, n_samples_fit = {asked.findable}"
                + (" without the row itself" if asked.own is not None else "")
                + (", among the rows that mask and sample_weight leave" if asked.allowed is not None else "")
            )
        return k

    def _progress(self, asked, label):
        total = len(asked.queries) * self._scan.n_places
        return Progress(total, f"{type(self).__name__}.{label}", self.verbose, self.callback)

    def _check_memory(self):
        require_number("working_memory", self.working_memory, 0, open_low=True)

    def _limits(self, asked):
        self._check_memory()
        return {"own": asked.own, "allowed": asked.allowed, "n_jobs": self.n_jobs, "memory": self.working_memory}

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, *, mask=None):
        """The k nearest rows of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows, each without itself (by row, so that a duplicate of it is found).
        n_neighbors : int, default=None
            k, from 1 to the number of fitted rows; None: as the estimator was made.
        return_distance : bool, default=True
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may be found; None: all.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), float64
            Ascending; only with `return_distance`. Equal to the last bit to the sum over the coordinates in order,
            in float64.
        indices : ndarray of shape (n_queries, k), intp
            Numbers of the rows; at equal distance the smaller first. Rows with `sample_weight` 0 are not found.

        Notes
        -----
        O(n d) a query, split over threads. Memory beyond input and output is bounded by `working_memory`.
        """
        asked = self._ask(X, mask)
        k = self._check_k("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors, asked)
        indices = np.empty((len(asked.queries), k), dtype=np.intp)
        distances = np.empty((len(asked.queries), k)) if return_distance else None

        def store(start, stop, distance, index):
            indices[start:stop] = index
            if return_distance:
                distances[start:stop] = distance

        with self._progress(asked, "kneighbors") as progress:
            self._scan.nearest(asked.queries, k, store, progress, **self._limits(asked))
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity", *, mask=None):
        """The k nearest rows of each query as a sparse matrix (needs SciPy).

        Parameters
        ----------
        X, n_neighbors, mask
            As for `kneighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'
            Ones, or the distances, at the neighbours.

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
        """
        require_choice("mode", mode, ("connectivity", "distance"))
        distances, indices = self.kneighbors(X, n_neighbors, mask=mask)
        data = np.ones(indices.size) if mode == "connectivity" else distances.ravel()
        return self._graph(data, indices.ravel(), np.arange(len(indices) + 1) * indices.shape[1])

    def _graph(self, data, indices, indptr):
        from scipy.sparse import csr_matrix

        return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self.n_samples_fit_))

    def _check_radius(self, radius):
        least = -np.inf if self.metric == "dot" else 0
        return require_number("radius", self.radius if radius is None else radius, least)


class RadiusSearch(Neighbors):
    """Search by radius, for the estimators that have one."""

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False, *, mask=None):
        """Every row within a radius of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows, each without itself.
        radius : float >= 0, default=None
            Rows at exactly this distance are found; None: as the estimator was made.
        return_distance : bool, default=True
        sort_results : bool, default=False
            By ascending distance, then index; otherwise by index.
        mask : array-like of bool of shape (n_samples_fit,), default=None
            The rows that may be found; None: all.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of float64 arrays
            Only with `return_distance`.
        indices : ndarray of shape (n_queries,) of intp arrays
        """
        asked = self._ask(X, mask)
        radius = self._check_radius(radius)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        distances, indices = (np.empty(len(asked.queries), dtype=object) for _ in range(2))

        def store(i, index, distance):
            if sort_results:
                order = np.lexsort((index, distance))
                index, distance = index[order], distance[order]
            indices[i] = index
            if return_distance:
                distances[i] = distance

        with self._progress(asked, "radius_neighbors") as progress:
            self._scan.within(asked.queries, radius, store, progress, **self._limits(asked))
        return (distances, indices) if return_distance else indices

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False, *, mask=None):
        """Every row within a radius of each query as a sparse matrix (needs SciPy).

        Parameters
        ----------
        X, radius, sort_results, mask
            As for `radius_neighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
        """
        require_choice("mode", mode, ("connectivity", "distance"))
        distances, indices = self.radius_neighbors(X, radius, True, sort_results, mask=mask)
        indptr = np.concatenate([[0], np.cumsum([len(found) for found in indices])])
        found = np.concatenate(list(indices))
        data = np.ones(len(found)) if mode == "connectivity" else np.concatenate(list(distances))
        return self._graph(data, found, indptr)


def _allowed(weight, others=None):
    """Which rows may be found, those of a weight above 0, or None for all; `others` come before."""
    if weight is None or weight.all():
        return None
    weight = weight if others is None else np.concatenate([others, weight])
    require_weight(weight)
    return (weight > 0).astype(np.uint8)


def _row_numbers(rows, n):
    """The rows that an argument of `remove` names, ascending and each once."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (n,):
            raise ValueError(f"rows is a mask of shape {rows.shape}; ({n},), one bool a fitted row, is wanted")
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
