"""Products of features."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from numbers import Integral

import numpy as np

from .. import _simd
from .._csr import Csr, as_rows
from .._validation import described, require_choice, require_integer
from .base import FeatureMap

_products = _simd.load("preprocessing._products")

# The largest number of columns of an output: the largest int64, which is the widest type of an index.
_MOST = 2**63 - 1

# For k of at least this number, the binomial coefficient "2 k over k" exceeds 2^63 - 1.
_MANY = 70

# Column indices of the sparse matrices of this module may exceed 2^31 - 1, the limit that classifiers have for theirs.
_as_wide_rows = partial(as_rows, most=_MOST)


class PolynomialFeatures(FeatureMap):
    """All products of at most `degree` features.

    Parameters
    ----------
    degree : int >= 0 or (int, int), default=2
        The largest degree, or the smallest and the largest.
    interaction_only : bool, default=False
        Whether only products of different features are made.
    include_bias : bool, default=True
        Whether to include a column of ones, the empty product.
    order : {'C', 'F'}, default='C'
        Memory order of a dense output.

    Attributes
    ----------
    powers_ : ndarray of shape (n_output_features_, n_features), int64
        Exponent of each feature in each product; computed when it is read.
    n_output_features_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Each number of the output costs one multiplication. For a sparse X only the products of stored entries are computed,
    for every degree, with 64-bit indices where 32 bits are too few. Memory: the output and a block that fits a cache.

    Examples
    --------
    >>> from fastclf import PolynomialFeatures
    >>> PolynomialFeatures().fit_transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    >>> PolynomialFeatures(interaction_only=True).fit([[2.0, 3.0]]).get_feature_names_out()
    array(['1', 'x0', 'x1', 'x0 x1'], dtype=object)
    """

    _as_rows = staticmethod(_as_wide_rows)

    def __init__(self, degree=2, *, interaction_only=False, include_bias=True, order="C"):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _degrees(self):
        """A pair: the least degree of a product, at least 1 (the bias column is separate), and the greatest degree."""
        degree = self.degree
        pair = isinstance(degree, Sequence) and not isinstance(degree, str) and len(degree) == 2
        if not pair and not hasattr(degree, "__index__"):
            raise ValueError(
                f"degree must be a non-negative int or tuple (min_degree, max_degree), got {described(degree)}."
            )
        if pair:
            low, high = degree
            if not (isinstance(low, Integral) and isinstance(high, Integral) and 0 <= low <= high):
                raise ValueError(
                    "degree=(min_degree, max_degree) must be non-negative integers that fulfil min_degree <="
                    f" max_degree, got {degree}."
                )
        else:
            low, high = 0, require_integer("degree", degree, 0)
        if high == 0 and not self.include_bias:
            what = "both min_degree and max_degree" if pair else "degree"
            raise ValueError(f"Setting {what} to zero and include_bias to False would result in an empty output array.")
        return max(1, int(low)), int(high)

    def fit(self, X, y=None):
        """Count the products; only the shape of X matters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        low, high = self._degrees()
        columns = self._fitted_columns(X, self._as_rows(X, type(self).__name__))
        d, distinct, bias = columns["n_features_in_"], bool(self.interaction_only), bool(self.include_bias)
        n_out = _count(d, low, high, distinct, bias)
        if n_out > _MOST:
            number = n_out if high < _MANY else f"more than {_MOST}"
            raise ValueError(
                f"The output that would result from the current configuration would have {number} features which is too"
                f" large to be indexed by int64: X has {d} features and degree is {described(self.degree)}; fewer"
                " features or a smaller degree are wanted"
            )
        high = min(high, d) if distinct else high
        return self._become(**columns, _family=(low, high, distinct, bias), n_output_features_=n_out)

    def _require_parameters(self):
        super()._require_parameters()
        require_choice("order", self.order, ["C", "F"])

    def transform(self, X):
        """The products of the features of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite real numbers.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_output_features_), float32 or float64 as X
            A sparse X gives a sparse matrix: CSC for CSC, and CSR for every other format.
        """
        self._require_fitted()
        out = self._products(X)
        if not isinstance(out, Csr):
            return out
        from scipy.sparse import csr_matrix

        out = csr_matrix((out.data, out.indices, out.indptr), shape=out.shape)
        return out.tocsc() if X.format == "csc" else out

    def _mapped(self, X):
        self._require_fitted()
        if self.n_output_features_ >= 2**31:
            raise ValueError(
                f"degree is {self.degree}, which gives {self.n_output_features_} features; a model takes rows"
                " of at most 2147483647"
            )
        return self._products(X)

    def _products(self, X):
        X = self._new_samples(X)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._sparse(X) if isinstance(X, Csr) else self._dense(X)

    def _dense(self, X):
        low, high, distinct, bias = self._family
        n, d = X.shape
        if _count(d, 1, high, distinct, bias) * max(n, 8) > _MOST // 8:
            raise MemoryError(
                f"the {self.n_output_features_} products of each row of X need more memory than there is; fewer"
                " features or a smaller degree are wanted"
            )
        later = _counts(d, high, distinct)
        size = later[:, 0]
        made, left_out = size[1:].sum(), size[1:low].sum()
        out = np.empty((n, self.n_output_features_), X.dtype, order=self.order)
        if not high:
            out[:] = 1
            return out
        # The products of a degree that begin with feature j are feature j times the products of one degree less that
        # begin with feature j or a later one; only with a later one if no product may contain a feature twice.
        count = later[1:high, int(distinct) : d + distinct]
        first = np.cumsum(size[1:high])[:, None] - count
        count, first, row = count.ravel(), first.ravel(), np.empty(made, X.dtype)
        for start, stop, rows in self._blocks(X, made):
            block = out[start:stop] if self.order == "C" else np.empty((stop - start, out.shape[1]), X.dtype)
            if not _products.fill(np.ascontiguousarray(rows), first, count, left_out, bias, row, block):
                raise ValueError(f"X has products beyond {X.dtype}; smaller values or a smaller degree are wanted")
            if self.order != "C":
                out[start:stop] = block
        return out

    def _sparse(self, X):
        low, high, distinct, bias = self._family
        d = X.shape[1]
        if d <= X.size + 2 * high:
            later, place = _counts(d, high, distinct), X.indices
            rest, size = later[:, int(distinct) :], later[:, 0]
        else:  # if X is very wide, the products are counted for those columns alone that have entries
            column, place = np.unique(X.indices, return_inverse=True)
            left = d - column.astype(np.int64)
            later, rest, size = (_counts_from(n, high, distinct) for n in (left, left - distinct, d))
        held = np.diff(X.indptr)
        lengths = np.unique(held)
        n_made = {k: _count(int(k), low, high, distinct, bias) for k in lengths}
        if sum(n_made[k] for k in held.tolist()) > _MOST // 64:
            raise MemoryError(
                "the products of the entries of X need more memory than there is; a smaller degree is wanted"
            )
        indptr = np.concatenate([[0], np.cumsum([n_made[k] for k in held.tolist()])]).astype(np.int64)
        index = np.int32 if max(self.n_output_features_, indptr[-1]) < 2**31 else np.int64
        indices, data = np.empty(indptr[-1], index), np.empty(indptr[-1], X.dtype)
        for k in lengths.tolist():
            chosen = [_positions(k, degree, distinct) for degree in range(low, high + 1)]
            of_length = np.flatnonzero(held == k)
            for *_, rows in self._blocks(of_length, n_made[k]):
                entries = X.indptr[rows, None] + np.arange(k)
                columns, values, at = place[entries], X.data[entries], indptr[rows, None]
                if bias:
                    indices[at], data[at] = 0, 1
                at, first = at + bias, int(bias)
                for degree, position in enumerate(chosen, low):
                    slots = at + np.arange(len(position))
                    number, product = first, 1
                    for i in reversed(range(degree)):
                        factor = position[:, i]
                        product = values[:, factor] * product
                        # the number of a product among the products of its degree: the sum, over each position i of a
                        # factor, of the number of products with the same factors before i and a smaller factor at i
                        begin = rest[degree - i][columns[:, position[:, i - 1]]] if i else size[degree]
                        number = number + begin - later[degree - i][columns[:, factor]]
                    _require_finite(product)
                    indices[slots], data[slots] = number, product
                    at, first = at + len(position), first + size[degree]
        return Csr(indptr, indices, data, self.n_output_features_)

    def _factors(self):
        """For each product, a tuple of the numbers of the features that are multiplied."""
        return self._combinations(self.n_features_in_, *self._family)

    @staticmethod
    def _combinations(n_features, min_degree, max_degree, interaction_only, include_bias):
        """Iterate over the products, as tuples of features; scikit-learn's method of this name does the same."""
        degrees = [0] * bool(include_bias) + list(range(max(1, min_degree), max_degree + 1))
        return itertools.chain.from_iterable(_chosen(n_features, degree, interaction_only) for degree in degrees)

    @staticmethod
    def _num_combinations(n_features, min_degree, max_degree, interaction_only, include_bias):
        """The number of products that `_combinations` yields; scikit-learn has a method of this name, too."""
        return _count(n_features, max(1, min_degree), max_degree, interaction_only, include_bias)

    # The degrees, by scikit-learn's private names, which converters of models read.

    @property
    def _min_degree(self):
        return self._family[0]

    @property
    def _max_degree(self):
        return self._family[1]

    @property
    def powers_(self):
        self._require_fitted()
        powers = np.zeros((self.n_output_features_, self.n_features_in_), np.int64)
        for row, product in zip(powers, self._factors()):
            np.add.at(row, list(product), 1)
        return powers

    def get_feature_names_out(self, input_features=None):
        """Names of the products, such as 'x0^2 x1'.

        Names of the features in `input_features` replace those of `fit`.
        """
        names = self._names_in(input_features)
        products = []
        for product in self._factors():
            factors = [names[j] + (f"^{power}" if power > 1 else "") for j, power in Counter(product).items()]
            products.append(" ".join(factors) or "1")
        return np.array(products, dtype=object)

    def _check_rest(self, sizes, entries):
        if type(self._family) is not tuple or len(self._family) != 4:
            raise ValueError(
                f"_family is {described(self._family)}; a tuple (least degree, greatest degree, interaction_only, bias)"
                " is wanted"
            )
        low, high, distinct, bias = self._family
        require_integer("_family[1]", high, 0)
        require_integer("_family[0]", low, 1, high + 1)
        if type(distinct) is not bool or type(bias) is not bool:
            raise ValueError(f"_family is {self._family}; bools are wanted as its entries interaction_only and bias")
        n_out = _count(self.n_features_in_, low, high, distinct, bias)
        if require_integer("n_output_features_", self.n_output_features_, 0) != n_out:
            raise ValueError(f"n_output_features_ is {self.n_output_features_}; {n_out} is wanted")


def _require_finite(products):
    if not np.isfinite(products).all():
        raise ValueError(f"X has products beyond {products.dtype}; smaller values or a smaller degree are wanted")


def _chosen(d, degree, distinct):
    """All products of `degree` factors among d features, in order, as tuples of features."""
    choose = itertools.combinations if distinct else itertools.combinations_with_replacement
    return choose(range(d), degree)


def _positions(d, degree, distinct):
    """The products of `degree` features, in order, as an array with a row of feature numbers for each product."""
    flat = itertools.chain.from_iterable(_chosen(d, degree, distinct))
    return np.fromiter(flat, np.intp).reshape(-1, degree)


def _count(d, low, high, distinct, bias):
    """The number of columns of the output; any number above _MOST, the largest int64, if there are more than that."""
    if not distinct:
        if min(d, high) >= _MANY:
            return _MOST + 1
        return bool(bias) + math.comb(d + high, high) - math.comb(d + low - 1, low - 1)
    total = int(bool(bias))
    for degree in range(low, min(high, d) + 1):
        total += math.comb(d, degree) if min(degree, d - degree) < _MANY else _MOST
        if total > _MOST:
            break
    return total


def _counts(d, high, distinct):
    """counts[g, j]: the number of products of g features whose first feature is j or a later one, for j up to d + 1."""
    counts = np.zeros((high + 1, d + 2), np.int64)
    counts[0] = 1
    for degree in range(1, high + 1):
        shorter = counts[degree - 1, int(distinct) :][:d]
        counts[degree, :d] = np.cumsum(shorter[::-1])[::-1]
    return counts


def _counts_from(n, high, distinct):
    """For each degree up to `high` the number of products of n features; n is a number, or an array of numbers.

    The largest n must be at least twice `high`, so that no intermediate number is larger than the last.
    """
    counts = [np.ones_like(n)]
    for degree in range(1, high + 1):
        factor = n - (degree - 1) if distinct else n + (degree - 1)
        # counts[-1] * factor is a multiple of `degree`: both numbers are divided by a part of `degree` before they are
        # multiplied, so that the product cannot overflow
        shared = np.gcd(counts[-1], degree)
        counts.append(counts[-1] // shared * (np.maximum(factor, 0) // (degree // shared)))
    return counts
