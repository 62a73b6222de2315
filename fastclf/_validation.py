"""Validation of all input: arrays, tables, labels and weights are checked here once and become NumPy arrays.

Every error message is one sentence that names the argument, the given value and the wanted one.
"""

import itertools
import operator
import os
from numbers import Real
from pathlib import Path

import numpy as np

from ._described import described
from ._exceptions import of_column, warn
from ._threads import all_finite, aside_for_many, aside_if_many, copy_rows, distinct, n_numbers, ranges

# The dtypes whose values float32 holds exactly are converted to float32; every other real dtype becomes float64.
_SMALL = frozenset(["bool", "int8", "uint8", "int16", "uint16", "float16"])

# The number of values that are checked for NaN between two checks for Ctrl-C, in a few milliseconds.
_CHECK_NUMBERS = 1 << 20

# The number of entries of a list that are converted, in a few milliseconds, before the first check for Ctrl-C.
_BLOCK = 1 << 14

# The dtypes of arrays of Python's bools, ints and floats. A list that mixes them becomes an array of the largest dtype,
# whatever their order.
_PLAIN = (np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64))

# The approximate number of bytes that a number in a Python list takes.
_ENTRY_BYTES = 40

# The largest integer that compiled code takes: kernels have 64-bit integers.
_LARGEST = 2**63 - 1

# The number of labels that are sorted before the duration of a sort is first measured.
_LABELS = 1 << 14


def feature_names(X):
    """The column names of a table as an array of str; None if there are no names or none of them is a string."""
    if hasattr(X, "column_names"):  # tables of pyarrow have `column_names`; their `columns` are arrays
        names = list(X.column_names)
    elif hasattr(X, "columns"):  # tables of pandas and polars have their columns' names in `columns`
        names = list(X.columns)
    else:
        return None
    if not all(isinstance(name, str) for name in names):
        if any(isinstance(name, str) for name in names):
            kinds = sorted({type(name).__name__ for name in names})
            raise TypeError(
                "Feature names are only supported if all input features have string names, but your input has"
                f" {kinds} as feature name / column name types; rename them, or pass X.to_numpy()"
            )
        return None
    return np.asarray(names, dtype=object)


def refuse_collection(X, name):
    """Refuse a collection of Dask, whose data may be beyond the memory of this computer."""
    if hasattr(type(X), "__dask_graph__"):
        raise TypeError(
            f"{name} is a dask {type(X).__name__}; fastclf.dask has estimators that take collections, and"
            f" {name}.compute() is an array of this machine"
        )


def as_array(X, name):
    """An array-like or a table of any kind as an ndarray."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{name} is an array with masked entries; a value is wanted for each (pass {name}.filled(...))"
        )
    if isinstance(X, np.ndarray):
        # kernels trust the length, shape and dtype of an array, which a user's subclass may override
        if type(X) is not np.ndarray and type(X) is not np.memmap:
            X = np.asarray(X)
        if X.dtype.kind == "V":
            raise TypeError(f"{name} is a structured array, of dtype {X.dtype}; an array of one type is wanted")
        # numbers may begin at any byte, in arrays made from bytes; kernels read them only at multiples of their size
        return X if X.flags.aligned else aside_if_many(X.size, X.copy)
    refuse_collection(X, name)
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(f"{name} is a sparse matrix; a dense array is wanted (pass {name}.toarray())")
    if hasattr(X, "column_names") and hasattr(X, "column"):  # X is a table of pyarrow
        columns = [np.asarray(X.column(i)) for i in range(X.num_columns)]
        if any(column.dtype.kind not in "biuf" for column in columns):
            columns = [column.astype(object) for column in columns]
        return aside_if_many(sum(map(len, columns)), np.column_stack, columns) if columns else np.empty((X.num_rows, 0))
    # pyarrow's arrays, which are recognised by to_pylist, are left to np.asarray: their to_numpy refuses data that must
    # be copied
    if hasattr(X, "to_numpy") and not hasattr(X, "to_pylist"):
        array = aside_if_many(n_numbers(X), X.to_numpy)
        if array.dtype == object and hasattr(X, "iloc"):
            kinds = {dtype.kind for dtype in (X.dtypes if X.ndim == 2 else [X.dtype])}
            # pandas makes an array of objects from nullable numbers, whose missing values become NaN
            if kinds <= set("biuf"):
                array = aside_if_many(n_numbers(X), X.to_numpy, dtype=np.float64, na_value=np.nan)
        return array
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        return np.from_dlpack(X)
    if isinstance(X, range):
        require_memory(8 * (X[-1] - X[0] if X else 0) // X.step, name)
    try:
        array = _array_of_blocks(X) if isinstance(X, (list, tuple, range)) else None
        return np.asarray(X) if array is None else array
    except ValueError as error:
        raise ValueError(f"{name} does not form an array ({error}); rows of equal length are wanted") from None


def _array_of_blocks(rows):
    """The array of a long list, converted in blocks, so that Ctrl-C is obeyed; None if blocks might change it."""
    width = len(rows[0]) if rows and isinstance(rows[0], (list, tuple, np.ndarray)) and np.ndim(rows[0]) else 1
    if len(rows) * width <= 4 * _BLOCK:
        return None
    blocks = []
    for start, stop in ranges(0, len(rows), max(1, _BLOCK // max(width, 1))):
        try:
            blocks.append(np.asarray(rows[start:stop]))
        except ValueError:
            return None  # the caller passes the whole list to np.asarray, whose error names the shape of all rows
        if blocks[-1].shape[1:] != blocks[0].shape[1:]:
            return None
    kinds = {block.dtype for block in blocks}
    if len(kinds) > 1 and not kinds.issubset(_PLAIN) and {kind.kind for kind in kinds} != {"U"}:
        return None
    array, at = np.empty((len(rows), *blocks[0].shape[1:]), np.result_type(*kinds)), 0
    for i, block in enumerate(blocks):
        array[at : at + len(block)] = block
        at, blocks[i] = at + len(block), None
    return array


def require_matrix(array, name, owner):
    """Refuse an array that is not a matrix of real numbers with at least one row and one column."""
    if array.ndim == 0 and array.dtype == object:
        raise TypeError(f"{name} is of type {type(array[()]).__name__}; an array or a table of real numbers is wanted")
    if array.ndim != 2:
        expected = f"Expected 2D array, got {array.ndim}D array instead: " if array.ndim < 2 else ""
        raise ValueError(
            f"{expected}{name} has shape {array.shape}; (n_samples, n_features) is wanted. Reshape your data:"
            f" {name}.reshape(-1, 1) is one feature, {name}.reshape(1, -1) one sample"
        )
    if array.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required by {owner}.")
    if array.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is required by {owner}."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}; real numbers are wanted")


def as_matrix(X, owner, name="X", allow_nan=False):
    """X as a C-contiguous array of shape (n_samples, n_features), float32 or float64, finite or, if `allow_nan`, NaN.

    An array that already has this form, such as a memory map, is returned itself, and nothing is copied without need.
    """
    array = as_unchecked_matrix(X, owner, name)
    require_finite(array, name, owner, allow_nan)
    return array


def as_unchecked_matrix(X, owner, name="X"):
    """X as a matrix of real numbers, as by `as_matrix`, but NaN and infinity are allowed: the caller looks for them."""
    array = as_array(X, name)
    require_matrix(array, name, owner)
    if array.dtype != np.float32 and array.dtype != np.float64:
        array = as_float(array, name)
    elif not array.flags.c_contiguous:
        array = copy_rows(array, np.empty(array.shape, array.dtype))
    return np.ascontiguousarray(array)


def as_float(array, name):
    if array.dtype.kind not in "biufOUST":
        raise TypeError(f"{name} has dtype {array.dtype}; real numbers are wanted")
    try:
        return copy_rows(array, np.empty(array.shape, np.float32 if array.dtype.name in _SMALL else np.float64))
    except (TypeError, ValueError):
        for place, value in np.ndenumerate(array):
            try:
                float(value)
            except (TypeError, ValueError) as error:
                text = f"{name} holds something that is not a number (row {place[0]}, column {place[1]}: {error})"
                raise of_column(type(error)(f"{text}; real numbers are wanted"), place[1]) from None
        raise


def require_finite(array, name, owner, allow_nan=False):
    # on a small array, one test of all entries takes 4 us less than the loop over blocks of rows
    if array.size <= 4096 and np.isfinite(array).all():
        return
    step = max(1, _CHECK_NUMBERS // array.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(array), step):
            rows = array[start : start + step]
            # a sum is finite only if all terms are finite; an infinite sum may also be an overflow
            if np.isfinite(rows.sum()):
                continue
            bad = np.isinf(rows) if allow_nan else ~np.isfinite(rows)
            if not bad.any():
                continue
            row, column = np.argwhere(bad)[0]
            what = "NaN" if np.isnan(rows[row, column]) else "infinity"
            text = f"Input {name} contains {what} (row {start + row}, column {column}); {owner} wants finite numbers"
            raise of_column(ValueError(text + (" or NaN" if allow_nan else "")), column)


def as_targets(y, n_samples, owner, labels, warns=True):
    """y as an array of shape (n_samples,) or (n_samples, n_outputs); a single column of labels becomes a vector.

    With `warns` a single column of labels is warned of.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    if hasattr(y, "toarray") and hasattr(y, "nnz"):
        raise TypeError("y is a sparse matrix; a dense array is wanted (pass y.toarray())")
    y = as_array(y, "y")
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] == 0):
        raise ValueError(f"y has shape {y.shape}; (n_samples,) or (n_samples, n_outputs) is wanted")
    if len(y) != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: y has {len(y)} entries and X {n_samples}"
            " rows; one entry per row is wanted"
        )
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {y.dtype}; real numbers or labels are wanted")
    if labels:
        require_label_dtype(y, "y")
    elif y.dtype.kind in "mM":
        raise TypeError(f"y has dtype {y.dtype}; numbers are wanted")
    if y.dtype.kind in "mM" and np.isnat(y).any():
        raise ValueError(f"Input y contains NaT; {owner} wants a value for every row")
    if y.dtype.kind == "f" and not all_finite(y):
        what = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(f"Input y contains {what}; {owner} wants a value for every row")
    if labels and y.ndim == 2 and y.shape[1] == 1:
        if warns:
            message = "A column-vector y was passed when a 1d array was expected; it is read as y.ravel()"
            warn(message, "DataConversionWarning")
        y = y.ravel()
    return y


def require_label_dtype(array, name):
    """Refuse labels that no file can hold: numbers of more than 64 bits, whose format depends on the machine."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise TypeError(
            f"{name} has dtype {array.dtype}; labels of at most 64 bits are wanted (pass {name}.astype(float))"
        )


def require_labels(y, name="y"):
    """Refuse an array of objects in which a label is missing."""
    if y.dtype.kind == "O" and any(map(_is_missing, y.tolist())):
        raise ValueError(f"Input {name} contains NaN or None; a label is wanted for every row")


def _is_missing(label):
    """Whether an entry of an array of objects is None, NaN, NaT or pandas.NA."""
    try:
        # NaN and NaT differ from themselves, and the comparison of pandas.NA with itself is NA
        return label is None or (label != label) is not False
    except ArithmeticError:  # the signaling NaN of Decimal refuses comparisons
        return True


def as_label_list(labels, name="labels"):
    """A list of labels as an array of shape (n_labels,), whose entries can be keys of a dict."""
    labels = as_array(labels, name)
    if labels.ndim != 1:
        raise ValueError(f"{name} is {described(labels)}; a list of labels is wanted")
    for label in labels.tolist() if labels.dtype.kind == "O" else []:
        as_label(label, name)
    return labels


def as_label(value, name):
    """The value, after a check that it is a single label, such as a number or a string, not an array or a list."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind != "O":
        value = value[()]
    if not isinstance(value, (str, bytes)) and (hasattr(value, "__iter__") or type(value).__hash__ is None):
        raise TypeError(f"{name} is {described(value)}; a single label is wanted")
    return value


@aside_for_many
def encode_labels(y, name="y"):
    """The pair (classes, codes) of n labels: the sorted distinct labels, and each label's index in `classes`."""
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        raise ValueError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete classes"
            " on a regression target with continuous values."
        )
    if len(y) == 0:
        raise ValueError(f"{name} has 0 entries; at least one row with a label is wanted")
    require_labels(y, name)
    if y.dtype.kind in "bi":
        low, high = int(y.min()), int(y.max())
        if high - low < min(len(y), 1 << 16):
            return _encode_small_range(y, low, high)
    try:
        found = [distinct(y[start:stop]) for start, stop in ranges(0, len(y), _LABELS)]
        classes = distinct(np.concatenate(found))
        codes = np.empty(len(y), np.intp)
        for start, stop in ranges(0, len(y), _LABELS):
            codes[start:stop] = np.searchsorted(classes, y[start:stop])
        return classes, codes
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        raise TypeError(
            f"{name} holds labels of types {', '.join(kinds)}, which cannot be sorted; one type is wanted"
        ) from None


def encode_groups(groups, name="groups"):
    """(the sorted distinct groups, the index of each row's group in them); groups may be floats that are not whole."""
    if groups.dtype.kind == "f":
        return aside_if_many(len(groups), np.unique, groups, return_inverse=True)
    return encode_labels(groups, name)


def _encode_small_range(y, low, high):
    """np.unique, with the inverse, of integers from low to high, without a sort.

    1M labels take 1 ms, or 5 ms if some integers are absent; np.unique takes 80 ms.
    """
    place = np.subtract(y, low, dtype=np.intp)
    present = np.zeros(high - low + 1, bool)
    start, stop = 0, _LABELS
    while start < len(y) and not present.all():
        present[place[start:stop]] = True
        start, stop = stop, 4 * stop
    classes = (np.flatnonzero(present) + low).astype(y.dtype)
    return classes, place if present.all() else (np.cumsum(present) - 1)[place]


def as_vector(y, name):
    """Labels or numbers as a nonempty array of shape (n_samples,); a matrix with one column becomes a vector."""
    y = as_array(y, name)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"{name} has shape {y.shape}; (n_samples,), one label per row, is wanted")
    return y


def as_numbers(y):
    """The targets y as an array of finite numbers in float64."""
    try:
        y = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y holds something that is not a number ({error}); numbers are wanted") from None
    if not all_finite(y):
        raise ValueError("Input y contains NaN or infinity; finite numbers are wanted")
    return y


def as_list(value, name):
    """The entries of a list, tuple, array or other iterable as a list; strings and dicts are refused."""
    if isinstance(value, (str, bytes, dict)) or not np.iterable(value):
        raise TypeError(f"{name} is {described(value)}; a list is wanted")
    if isinstance(value, range):
        require_memory(_ENTRY_BYTES * (value[-1] - value[0] if value else 0) // value.step, name)
    # an iterator may have no end, so that its entries are taken in blocks, between which Ctrl-C is obeyed
    entries, found = iter(value), []
    while block := list(itertools.islice(entries, _BLOCK)):
        found += block
        require_memory(_ENTRY_BYTES * len(found), name)
    return found


def as_path(path, name="path"):
    """The path of a file, given as str, bytes or path-like, as a Path; a directory is refused."""
    try:
        path = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name} is {described(path)}; a str or path-like is wanted") from None
    if path == "" or "\0" in path:
        raise ValueError(f"{name} is {described(path)}; the path of a file is wanted")
    if os.path.isdir(path):
        raise ValueError(f"{name} is {described(path)}, which is a directory; the path of a file is wanted")
    return Path(path)


def as_names(names, name, n, wrong=ValueError):
    """The user's `names` as a list of n strings; another number of names raises an error of the class `wrong`."""
    names = as_list(names, name)
    if len(names) != n:
        raise wrong(f"{name} must contain {n} elements, got {len(names)}")
    return [str(each) for each in names]


def as_float64(value, name):
    """An array-like of numbers as an array of float64."""
    try:
        return np.ascontiguousarray(as_array(value, name), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} is no array of numbers ({error}); numbers are wanted") from None


@aside_for_many
def as_sample_weight(sample_weight, n_samples, all_zero=False):
    """sample_weight as an array of shape (n_samples,) in float64, from 0 up and of finite sum; None stays None.

    Without `all_zero`, weights that are all 0 are refused.
    """
    if sample_weight is None:
        return None
    weight = as_array(sample_weight, "sample_weight")
    if weight.ndim == 0 and isinstance(sample_weight, np.ndarray):
        weight = weight.astype(float) if weight.dtype.kind in "biuf" else weight
        raise TypeError(
            f"Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got scalar `{weight!r}` instead."
        )
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        what = (
            "Sample weights must be 1D array or scalar"
            if weight.ndim != 1
            else "Found input variables with inconsistent numbers of samples"
        )
        raise ValueError(f"{what}: sample_weight has shape {weight.shape}; {(n_samples,)}, a weight per row, is wanted")
    try:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"sample_weight holds something that is not a number ({error}); numbers are wanted") from None
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("sample_weight has an entry that is negative, NaN or infinite; weights from 0 up are wanted")
    with np.errstate(over="ignore"):
        if weight.sum() == np.inf:
            raise ValueError("sample_weight has a sum beyond 1e308; smaller weights are wanted")
    if not all_zero:
        require_weight(weight)
    return weight


def require_weight(weight):
    """Refuse sample weights that are all 0."""
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; a weight above 0 is wanted")


def require_integer(name, value, low, high=None):
    """The value as an int in [low, high]; `high` None means the largest integer that a kernel takes, 2^63 - 1."""
    try:
        value = operator.index(None if isinstance(value, (bool, np.bool_)) else value)
    except TypeError:
        raise TypeError(f"{name} is {described(value)}; a whole number is wanted") from None
    if value < low or value > (_LARGEST if high is None else high):
        open_end = high == np.inf or (high is None and value < low)
        wanted = f"at least {low}" if open_end else f"{low} to {_LARGEST if high is None else high}"
        raise ValueError(f"{name} is {value}; {wanted} is wanted")
    return value


def require_number(name, value, low, open_low=False, finite=False):
    """The value as a float of at least `low`, or above `low` if `open_low`; with `finite`, infinity is refused."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is {described(value)}; a number is wanted")
    if not (value > low if open_low else value >= low):
        raise ValueError(f"{name} is {value}; a number {'above' if open_low else 'of at least'} {low} is wanted")
    if finite and abs(value) == np.inf:
        raise ValueError(f"{name} is {value}; a finite number is wanted")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is beyond 1e308, the range of float; a smaller number is wanted") from None


def require_numbers(name, value, kinds):
    """Refuse a value that is no number or array with a dtype of `kinds`; integers must be at most 2^62 in size."""
    array = np.asarray(value)
    # lists and tuples are refused, because + and * join and repeat them instead of computing with their entries
    listed = isinstance(value, (list, tuple))
    if listed or array.dtype.kind not in kinds or array.size == 0 or (kinds == "iu" and (abs(array) > 1 << 62).any()):
        raise ValueError(f"{name} is {described(value)}; numbers are wanted")


def require_memory(n_bytes, what):
    """Refuse work that needs more bytes than the computer has, or than the process may use, before it begins.

    The system may grant such an array, or a list may grow, until the process is killed.
    """
    memory = _memory()
    if n_bytes > memory:
        # n_bytes may be an integer beyond the range of float; the message then shows a smaller number
        raise MemoryError(f"{what} needs {min(n_bytes, 1 << 99) / 1e9:.3g} GB of memory; there are {memory / 1e9:.3g}")


def _memory():
    """The bytes of memory that the computer has, or that the process may use if fewer; inf if they are unknown."""
    try:
        import resource
    except ImportError:  # Windows lacks the module `resource`, and grants no more memory than the computer has
        return np.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return present if limit == resource.RLIM_INFINITY else min(present, limit)


def require_strings(names, name):
    """The names, after a check that all of them are strings."""
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"{name} has {described(each)}; strings are wanted")
    return names


def require_truth(name, value):
    """The value as a bool; arrays of several entries, which are neither true nor false in Python, are refused."""
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {described(value)}; True or False is wanted") from None


def require_choice(name, value, choices):
    """The value, after a check that it is one of the strings in `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {described(value)}; one of {', '.join(map(repr, choices))} is wanted")
    return value


def as_random_state(random_state):
    """A random generator as in scikit-learn: NumPy's global one for None, a new RandomState for an integer seed."""
    if random_state is None or random_state is np.random:
        return np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.RandomState(require_integer("random_state", random_state, 0, 2**32 - 1))


def as_generator(random_state):
    """NumPy's Generator for a seed, which may be anything that `numpy.random.default_rng` takes."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_state is {described(random_state)}; an integer from 0 up, a Generator or None is wanted"
        ) from None


def as_seed(random_state, default=None):
    """A seed, an integer of 64 bits. For random_state None it is `default`, or a random one if there is no default."""
    if random_state is None:
        # not by np.random.default_rng, which takes 20 us to start
        return int.from_bytes(os.urandom(8), "little") & _LARGEST if default is None else default
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 63))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(1 << 31))
    return require_integer("random_state", random_state, 0, np.inf) & _LARGEST
