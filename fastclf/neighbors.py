"""Nearest neighbours: search, classification, regression and density, exact for every metric."""

from inspect import cleandoc
from math import lgamma, log

import numpy as np

from ._estimator import Classifier, Estimator, Regressor
from ._search import METRICS, Scan, resolve_metric
from ._threads import Progress, n_threads
from ._validation import (
    as_matrix,
    as_numbers,
    as_sample_weight,
    as_targets,
    encode_labels,
    require_choice,
    require_integer,
    require_number,
)

_SHARED = """algorithm : {'auto', 'brute', 'kd_tree', 'ball_tree'}, default='auto'
    Accepted as scikit-learn spells it. All give the same exact answer, by the same search.
leaf_size : int, default=30
    Accepted for the same reason; without effect.
p : float > 0, default=2
    Power of the Minkowski metric.
metric : str or callable, default='minkowski'
    'euclidean' ('l2'), 'sqeuclidean', 'manhattan' ('l1', 'cityblock'), 'chebyshev' ('infinity'), 'minkowski',
    'cosine' (squared norms from 1e-290 to 1e308, or 0: at distance 1 from all), 'hamming' (share of the coordinates
    that differ), or a function of two rows of X's dtype that
    returns a float. A function is called from Python for every pair: slow, thousands of times slower.
metric_params : dict, default=None
    For 'minkowski': `p`, and `w`, a weight per feature as in sum_j w_j |x_j - q_j|^p. For a function: its
    keyword arguments.
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


def _document(cls):
    """Put the parameters that all estimators share into the docstring of a class."""
    cls.__doc__ = cleandoc(cls.__doc__).replace("{shared}", _SHARED)
    return cls


class _Neighbors(Estimator):
    """What all estimators here share: parameters, fitted rows, and the search."""

    def _fit_rows(self, X, sample_weight=None):
        """(rows, sample weights, attributes) of a fit, all checked, with nothing changed in the estimator."""
        name = type(self).__name__
        require_choice("algorithm", self.algorithm, ("auto", "brute", "kd_tree", "ball_tree"))
        require_integer("leaf_size", self.leaf_size, 1)
        require_number("working_memory", self.working_memory, 0, open_low=True)
        if not callable(self.metric):
            require_choice("metric", self.metric, METRICS)
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise TypeError(f"metric_params is {self.metric_params!r}; a dict or None is wanted")
        n_threads(self.n_jobs)
        rows = as_matrix(X, name)
        metric = resolve_metric(self.metric, self.p, self.metric_params, rows.shape[1])
        weight = as_sample_weight(sample_weight, len(rows))
        allowed = None
        if weight is not None and (weight == 0).any():
            if not weight.any():
                raise ValueError("sample_weight is zero for every row; a weight above 0 is wanted")
            allowed = (weight > 0).astype(np.uint8)
        scan = Scan(rows, metric, allowed)
        params = {} if metric.w is None else {"w": metric.w}
        if metric.name == "minkowski":
            params["p"] = metric.p
        attributes = self._fitted_columns(X, rows) | {
            "n_samples_fit_": len(rows),
            "effective_metric_": metric.name if self.metric in ("minkowski", "p") else self.metric,
            "effective_metric_params_": metric.keywords if metric.function is not None else params,
            "_scan": scan,
            "_weight": weight,
        }
        return rows, weight, attributes

    def _queries(self, X):
        """(query rows, for each query the row that it is itself or None)."""
        self._require_fitted()
        if X is None:
            return self._scan.X, np.arange(self.n_samples_fit_)
        return self._new_samples(X), None

    def _n_findable(self, own):
        rows = self.n_samples_fit_ if self._scan.allowed is None else int(self._scan.allowed.sum())
        return rows - (own is not None)

    def _check_k(self, n_neighbors, own):
        k = require_integer("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors, 1)
        findable = self._n_findable(own)
        if k > findable:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {findable}"
                + (" without the row itself" if own is not None else "")
            )
        return k

    def _progress(self, queries, label):
        total = len(queries) * self.n_samples_fit_
        return Progress(total, f"{type(self).__name__}.{label}", self.verbose, self.callback)

    def _search(self, queries, own, k, consume, progress, extra=0):
        limits = {"n_jobs": self.n_jobs, "memory": self.working_memory, "extra": extra}
        self._scan.nearest(queries, k, consume, progress, own=own, **limits)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """The k nearest rows of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows, each without itself (by row, so that a duplicate of it is found).
        n_neighbors : int, default=None
            k, from 1 to the number of fitted rows; None: as the estimator was made.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n_queries, k), float64
            Ascending; only with `return_distance`. Equal to the last bit to the sum over the coordinates in order,
            in float64.
        indices : ndarray of shape (n_queries, k), intp
            Rows of the fitted X; at equal distance the smaller index first. Rows with `sample_weight` 0 are not found.

        Notes
        -----
        O(n d) a query, split over threads. Memory beyond input and output is bounded by `working_memory`.
        """
        queries, own = self._queries(X)
        k = self._check_k(n_neighbors, own)
        indices = np.empty((len(queries), k), dtype=np.intp)
        distances = np.empty((len(queries), k)) if return_distance else None

        def store(start, stop, distance, index):
            indices[start:stop] = index
            if return_distance:
                distances[start:stop] = distance

        with self._progress(queries, "kneighbors") as progress:
            self._search(queries, own, k, store, progress)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The k nearest rows of each query as a sparse matrix (needs SciPy).

        Parameters
        ----------
        X, n_neighbors
            As for `kneighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'
            Ones, or the distances, at the neighbours.

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
        """
        require_choice("mode", mode, ("connectivity", "distance"))
        distances, indices = self.kneighbors(X, n_neighbors)
        data = np.ones(indices.size) if mode == "connectivity" else distances.ravel()
        return self._graph(data, indices.ravel(), np.arange(len(indices) + 1) * indices.shape[1])

    def _graph(self, data, indices, indptr):
        from scipy.sparse import csr_matrix

        return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self.n_samples_fit_))

    def _check_radius(self, radius):
        return require_number("radius", self.radius if radius is None else radius, 0)


class _RadiusSearch:
    """Search by radius, for the estimators that have one."""

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
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

        Returns
        -------
        distances : ndarray of shape (n_queries,) of float64 arrays
            Only with `return_distance`.
        indices : ndarray of shape (n_queries,) of intp arrays
        """
        queries, own = self._queries(X)
        radius = self._check_radius(radius)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        distances, indices = np.empty(len(queries), dtype=object), np.empty(len(queries), dtype=object)

        def store(i, index, distance):
            if sort_results:
                order = np.lexsort((index, distance))
                index, distance = index[order], distance[order]
            indices[i] = index
            if return_distance:
                distances[i] = distance

        with self._progress(queries, "radius_neighbors") as progress:
            self._scan.within(queries, radius, store, progress, own=own, n_jobs=self.n_jobs, memory=self.working_memory)
        return (distances, indices) if return_distance else indices

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """Every row within a radius of each query as a sparse matrix (needs SciPy).

        Parameters
        ----------
        X, radius, sort_results
            As for `radius_neighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit), float64
        """
        require_choice("mode", mode, ("connectivity", "distance"))
        distances, indices = self.radius_neighbors(X, radius, sort_results=sort_results)
        indptr = np.concatenate([[0], np.cumsum([len(found) for found in indices])])
        found = np.concatenate(list(indices))
        data = np.ones(len(found)) if mode == "connectivity" else np.concatenate(list(distances))
        return self._graph(data, found, indptr)


@_document
class NearestNeighbors(_RadiusSearch, _Neighbors):
    """Exact nearest neighbours of queries among the rows of X.

    Parameters
    ----------
    n_neighbors : int >= 1 or None, default=5
        k, unless the call names another.
    radius : float >= 0 or None, default=1.0
        For `radius_neighbors`, unless the call names another.
    {shared}

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict

    Notes
    -----
    `fit` keeps a reference to X (float32 or float64, C-contiguous: no copy; memory maps stay on disk) and costs one
    read of it, to refuse NaN and infinity. Distances are those of the float64 sum over the coordinates in order,
    for float32 input too, and ties go to the smaller row index: the number of threads, the batch size and the SIMD
    level change no bit of an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import NearestNeighbors
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    >>> distances, indices = NearestNeighbors(n_neighbors=2).fit(X).kneighbors([[1.0, 0.2]])
    >>> distances.round(3), indices
    (array([[0.2, 0.8]]), array([[1, 2]]))
    """

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=1.0,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y=None):
        """Keep the rows to search, by reference: X must not be changed while it is searched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, or pandas, polars or pyarrow table.
        y : ignored

        Returns
        -------
        self
        """
        if self.n_neighbors is not None:
            require_integer("n_neighbors", self.n_neighbors, 1)
        if self.radius is not None:
            self._check_radius(None)
        return self._become(**self._fit_rows(X)[2])


class _Supervised(_Neighbors):
    """Neighbours that are counted with sample weights as multiplicities, and weighted by distance."""

    def _fit_supervised(self, X, y, sample_weight, labels=True):
        require_integer("n_neighbors", self.n_neighbors, 1)
        self._check_weights()
        rows, _, attributes = self._fit_rows(X, sample_weight)
        return as_targets(y, len(rows), type(self).__name__, labels), attributes

    def _check_weights(self):
        if self.weights is not None and not callable(self.weights):
            require_choice("weights", self.weights, ("uniform", "distance"))

    def _counted(self, queries, own, consume, label):
        """Call consume(rows, distance, index, taken) for blocks of queries, which are `rows` of the output.

        `taken` is how often each neighbour counts: neighbours are taken in order until their weights reach k, the last
        one in part. Without sample weights it is None: each of k once.
        """
        k = require_integer("n_neighbors", self.n_neighbors, 1)
        weight = self._weight
        with self._progress(queries, label) as progress:
            if weight is None:
                self._search(
                    queries,
                    own,
                    self._check_k(None, own),
                    lambda start, stop, distance, index: consume(slice(start, stop), distance, index, None),
                    progress,
                    self._vote_bytes(k),
                )
                return
            total = weight.sum() - (0 if own is None else weight.max())
            if k > total * (1 + 1e-12):
                raise ValueError(
                    f"n_neighbors is {k}, but the sample weights add up to {total:g}"
                    + (" without the heaviest row" if own is not None else "")
                    + "; weights of at least n_neighbors are wanted"
                )
            pending = np.arange(len(queries))
            findable = self._n_findable(own)
            wanted = min(k, findable)
            while len(pending):
                pending = self._count_pending(queries, own, pending, wanted, findable, k, consume, progress)
                progress.extend(len(pending) * self.n_samples_fit_)
                wanted = min(2 * wanted, findable)

    def _count_pending(self, queries, own, pending, wanted, findable, k, consume, progress):
        """Search `wanted` neighbours of the pending queries; return those whose weights do not reach k with them."""
        short = []
        everything = len(pending) == len(queries)

        def count(start, stop, distance, index):
            weight = self._weight[index]
            before = np.zeros_like(weight)
            np.cumsum(weight[:, :-1], axis=1, out=before[:, 1:])
            # what is left to take; after weights that add up to k but for rounding, nothing
            left = np.where(before < k * (1 - 1e-12), k - before, 0)
            taken = np.minimum(left, weight)
            rows = pending[start:stop]
            if wanted < findable:
                done = before[:, -1] + weight[:, -1] >= k * (1 - 1e-12)
                short.append(rows[~done])
                if not done.any():
                    return
                rows, distance, index, taken = rows[done], distance[done], index[done], taken[done]
            consume(rows, distance, index, taken)

        self._search(
            queries if everything else queries[pending],
            own if own is None or everything else own[pending],
            wanted,
            count,
            progress,
            self._vote_bytes(wanted),
        )
        return np.sort(np.concatenate(short)) if short else pending[:0]

    def _vote_bytes(self, k):
        """Bytes that counting the votes of one query takes."""
        return 96 * k

    def _votes(self, distance, taken):
        """The weight of each neighbour's vote, of shape (n_queries, k), not all 0 in any row."""
        if self.weights is None or self.weights == "uniform":
            return np.ones_like(distance) if taken is None else taken
        if callable(self.weights):
            votes = np.asarray(self.weights(distance), dtype=np.float64)
            if votes.shape != distance.shape:
                raise ValueError(
                    f"weights(distances) has shape {votes.shape}; that of the distances, {distance.shape}, is wanted"
                )
            if not (np.isfinite(votes) & (votes >= 0)).all():
                raise ValueError("weights(distances) has a negative, infinite or NaN entry; votes from 0 up are wanted")
        else:
            # 1 / distance, times the nearest distance so that it cannot overflow; rows at distance 0 outvote all others
            nearest = distance[:, :1]
            with np.errstate(invalid="ignore"):
                votes = np.where(distance == nearest, 1.0, nearest / distance)
        if taken is not None:
            votes = votes * taken
        if not (votes.sum(axis=1) != 0).all():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if"
                " you are using a user-defined function."
            )
        return votes


@_document
class KNeighborsClassifier(_Supervised, Classifier):
    """Classification by the vote of the k nearest rows.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k, how many of the nearest rows count.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        Votes count 1, or 1 / distance (where a neighbour is at distance 0, only those that are), or what the function
        makes of the array of distances, of shape (n_queries, k).
    {shared}
    ties : {'first', 'distance'}, default='first'
        Between classes with equal votes: the first in `classes_`, as in scikit-learn, or the class whose voters have
        the smaller total distance (then the first).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_samples_fit_ : int
    outputs_2d_ : bool
        Whether y had several columns.
    effective_metric_ : str or callable
    effective_metric_params_ : dict

    See Also
    --------
    NearestNeighbors : the search itself, and what is exact about it.

    References
    ----------
    Fix, Hodges (1951), Discriminatory analysis; Cover, Hart (1967), Nearest neighbor pattern classification.

    Examples
    --------
    >>> from fastclf import KNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = KNeighborsClassifier(n_neighbors=3).fit(X, y)
    >>> model.predict([[0.9]]), model.predict_proba([[0.9]]).round(3)
    (array(['low'], dtype='<U4'), array([[0.333, 0.667]]))
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        ties="first",
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Keep the rows, by reference, and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, or pandas, polars or pyarrow table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels that can be sorted: ints, strings, bools.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up: 0 is a missing row, 2 a duplicated one, and neighbours are taken until
            their weights reach `n_neighbors`, the last in part.

        Returns
        -------
        self
        """
        require_choice("ties", self.ties, ("first", "distance"))
        y, attributes = self._fit_supervised(X, y, sample_weight)
        outputs = [encode_labels(column) for column in y.reshape(len(y), -1).T]
        several = y.ndim == 2
        classes = [classes for classes, _ in outputs]
        return self._become(
            classes_=classes if several else classes[0],
            outputs_2d_=several,
            _codes=np.stack([codes for _, codes in outputs]),
            **attributes,
        )

    @property
    def _classes(self):
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _vote_bytes(self, k):
        return 128 * k + 40 * max(len(classes) for classes in self._classes)

    def _tally(self, queries, own, label, use):
        """Call use(rows, output, votes by class, distances by class or None) for each block and output."""

        def consume(rows, distance, index, taken):
            votes = self._votes(distance, taken)
            for output, (classes, codes) in enumerate(zip(self._classes, self._codes)):
                cell = codes[index] + len(classes) * np.arange(len(index))[:, None]
                shape = (len(index), len(classes))
                count = _sums(cell, votes, shape)
                far = None
                if self.ties == "distance":
                    far = _sums(cell, distance if taken is None else distance * (taken > 0) * taken, shape)
                use(rows, output, count, far)

        self._counted(queries, own, consume, label)

    def predict(self, X):
        """The label of each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself (leave-one-out).

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        queries, own = self._queries(X)
        best = np.empty((len(self._codes), len(queries)), dtype=np.intp)

        def use(rows, output, count, far):
            if far is not None:
                far = np.where(count == count.max(axis=1, keepdims=True), far, np.inf)
                best[output, rows] = far.argmin(axis=1)
            else:
                best[output, rows] = count.argmax(axis=1)

        self._tally(queries, own, "predict", use)
        labels = [classes[codes] for classes, codes in zip(self._classes, best)]
        return np.stack(labels, axis=1) if self.outputs_2d_ else labels[0]

    def predict_proba(self, X):
        """The share of the votes that each class has.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself.

        Returns
        -------
        shares : ndarray of shape (n_queries, n_classes), columns as in `classes_`; for several outputs a list of them
        """
        queries, own = self._queries(X)
        shares = [np.empty((len(queries), len(classes))) for classes in self._classes]

        def use(rows, output, count, far):
            shares[output][rows] = count / count.sum(axis=1, keepdims=True)

        self._tally(queries, own, "predict_proba", use)
        return shares if self.outputs_2d_ else shares[0]


def _sums(cell, amounts, shape):
    """Amounts summed by cell number, as an array of the given shape."""
    return np.bincount(cell.ravel(), weights=amounts.ravel(), minlength=shape[0] * shape[1]).reshape(shape)


@_document
class KNeighborsRegressor(_Supervised, Regressor):
    """Regression by the (weighted) mean of the k nearest rows' targets.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k, how many of the nearest rows count.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        Targets count 1, or 1 / distance (where a neighbour is at distance 0, only those that are), or what the function
        makes of the array of distances, of shape (n_queries, k).
    {shared}

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict

    See Also
    --------
    NearestNeighbors : the search itself, and what is exact about it.

    Examples
    --------
    >>> from fastclf import KNeighborsRegressor
    >>> KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]).predict([[0.6]])
    array([0.5])
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Keep the rows, by reference, and their targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, or pandas, polars or pyarrow table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up: 0 is a missing row, 2 a duplicated one, and neighbours are taken until
            their weights reach `n_neighbors`, the last in part.

        Returns
        -------
        self
        """
        y, attributes = self._fit_supervised(X, y, sample_weight, labels=False)
        return self._become(_y=as_numbers(y), **attributes)

    def _vote_bytes(self, k):
        return 96 * k + 24 * k * (self._y[:1].size + 1)

    def predict(self, X):
        """The mean target of each query's neighbours.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself (leave-one-out).

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs), float64
        """
        queries, own = self._queries(X)
        predicted = np.empty((len(queries), *self._y.shape[1:]))

        def consume(rows, distance, index, taken):
            votes = self._votes(distance, taken)
            sums = np.einsum("qk,qk...->q...", votes, self._y[index])
            predicted[rows] = (sums.T / votes.sum(axis=1)).T

        self._counted(queries, own, consume, "predict")
        return predicted


@_document
class KNeighborsDensity(_Supervised):
    """Density estimation by the distance to the k-th nearest row: p(x) = k / (n V_d r_k(x)^d).

    V_d r^d is the volume of the metric's ball of radius r in d dimensions, and everything is in logs.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k, how many of the nearest rows count.
    {shared}

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.
    n_samples_fit_ : int
    effective_metric_ : str or callable
    effective_metric_params_ : dict

    Notes
    -----
    The metric must have a ball with a volume: 'euclidean', 'manhattan', 'chebyshev' or 'minkowski'. Where k rows lie on
    the query itself (r_k = 0) the estimate is infinite. The estimate does not integrate to 1 over all space.

    References
    ----------
    Loftsgaarden, Quesenberry (1965), A nonparametric estimate of a multivariate density function.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import KNeighborsDensity
    >>> X = np.linspace(0, 1, 101)[:, None]  # uniform: the density is 1, its log 0
    >>> abs(KNeighborsDensity(n_neighbors=20).fit(X).score_samples([[0.5]])) < 0.03
    array([ True])
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        working_memory=256,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y=None, sample_weight=None):
        """Keep the rows, by reference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, or pandas, polars or pyarrow table.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up; n is their sum.

        Returns
        -------
        self
        """
        require_integer("n_neighbors", self.n_neighbors, 1)
        rows, weight, attributes = self._fit_rows(X, sample_weight)
        return self._become(
            _log_unit_ball=_log_unit_ball(attributes["_scan"].metric, rows.shape[1]),
            _n=float(len(rows)) if weight is None else weight.sum(),
            **attributes,
        )

    def score_samples(self, X):
        """The log density at each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, each without itself (and n without its weight), for leave-one-out likelihoods.

        Returns
        -------
        log_density : ndarray of shape (n_queries,), float64
        """
        queries, own = self._queries(X)
        radius = np.empty(len(queries))

        def consume(rows, distance, index, taken):
            last = -1 if taken is None else np.count_nonzero(taken, axis=1) - 1
            radius[rows] = distance[np.arange(len(distance)), last]

        self._counted(queries, own, consume, "score_samples")
        n = self._n - (0 if own is None else 1 if self._weight is None else self._weight)
        with np.errstate(divide="ignore"):
            return log(self.n_neighbors) - np.log(n) - self._log_unit_ball - self.n_features_in_ * np.log(radius)

    def score(self, X, y=None):
        """The sum of `score_samples(X)`: the log likelihood of the rows of X."""
        return float(self.score_samples(X).sum())


def _log_unit_ball(metric, d):
    """Log volume of {x : sum_j w_j |x_j|^p <= 1}: (2 Gamma(1 + 1/p))^d / Gamma(1 + d/p) / prod_j w_j^(1/p)."""
    p = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf, "minkowski": metric.p}.get(metric.name)
    if p is None:
        raise ValueError(
            f"metric is {metric.function or metric.name!r}, whose ball has no volume formula; 'euclidean', 'manhattan',"
            " 'chebyshev' or 'minkowski' is wanted"
        )
    volume = d * log(2.0) if np.isinf(p) else d * (log(2.0) + lgamma(1 + 1 / p)) - lgamma(1 + d / p)
    if metric.w is not None:
        if not metric.w.all():
            raise ValueError(
                "metric_params['w'] has a 0, with which a ball has no finite volume; weights above 0 are wanted"
            )
        volume -= float(np.log(metric.w).sum()) / p
    return volume
