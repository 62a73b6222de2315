"""Estimators in files. A file is opened in milliseconds, whatever its size, and nothing in it is ever executed.

A file consists of these parts, whose numbers are little-endian:

    bytes 0..8    magic
    8..12         version of the format
    12..16        length of the header
    16..20        CRC-32 of all bytes after the header
    20..24        CRC-32 of bytes 0..20 and of the header
    24..          the header, JSON in ASCII: {"library": version, "arrays": [[dtype, shape], ...], "estimator": tree}
    then          the bytes of each array in C order, each from the next multiple of 64; zeros between arrays

`state.py` describes the tree. The place of an array follows from the dtypes and shapes of the arrays before it, so that
no offset can point elsewhere, and no two arrays can overlap. The file must end with the last array.
"""

import contextlib
import json
import os
import struct
import zlib

import numpy as np

from .. import __version__
from .._estimator import Estimator
from .._snapshot import snapshot
from .._validation import as_path, described
from .state import decode, encode, layout, list_arrays, view

_MAGIC = b"\x89fclf\r\n\x1a"
_FORMAT = 1
_CHECKED = struct.Struct("<8sIII")
_CRC = struct.Struct("<I")
_PREFIX = _CHECKED.size + _CRC.size
_MAX_HEADER = 1 << 26

# The number of bytes that are read or written between two checks for Ctrl-C, in a few milliseconds.
_CHUNK = 1 << 22

# The number of written bytes after which the system's buffers are flushed to the disk. A flush cannot be interrupted,
# so it must be short.
_UNFLUSHED = 1 << 26


def save(estimator, path):
    """Write a fitted estimator to a file.

    The file holds the parameters and the whole fitted state, including X. It appears complete or not at all: it is
    written under another name in the same folder, flushed to the disk and then renamed. So an older file stays if
    anything fails, and estimators that were loaded from it do not change.

    Parameters
    ----------
    estimator : estimator of fastclf
        A fitted estimator. Numbers, strings and arrays can be stored, functions cannot: an estimator with a function as
        metric, weights or callback is refused.
    path : str or path-like
        The file to write; an existing file is replaced.

    Raises
    ------
    TypeError
        The object is no estimator of fastclf, or an attribute has a type that a file cannot hold.
    OSError
        The file cannot be written.

    Notes
    -----
    Takes one pass over the arrays and a few megabytes of memory, even if X is a memory map larger than memory. Windows
    does not replace a file from which an estimator is loaded.

    Examples
    --------
    >>> import tempfile
    >>> from fastclf import KNeighborsClassifier, load, save
    >>> model = KNeighborsClassifier(n_neighbors=1).fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.fclf")
    ...     print(load(f"{folder}/model.fclf").predict([[0.9]]))
    ['high']
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"estimator is {described(estimator)}; a fitted estimator of fastclf is wanted")
    estimator = snapshot(estimator)
    estimator._require_fitted()
    path = str(as_path(path))
    try:
        tree, arrays = encode(estimator, type(estimator).__name__)
        header = {"library": __version__, "arrays": list_arrays(arrays), "estimator": tree}
        header = json.dumps(header, separators=(",", ":")).encode("ascii")
    except RecursionError:
        raise ValueError("estimator has an attribute that holds itself; a file cannot hold that") from None
    if len(header) > _MAX_HEADER:
        raise ValueError(f"the parameters and labels of estimator take {len(header)} bytes; at most {_MAX_HEADER} fit")
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"path is {path}, but there is no folder {folder}")
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"path is {path}, which exists but is not a file")
    temporary = os.path.join(folder, f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            _write(file, header, arrays)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def load(path, verify=False):
    """The estimator in a file that `save` has written.

    Its arrays are read-only memory maps of the file, which are read when they are needed. Opening takes milliseconds,
    whatever the size of X, except that arrays of row numbers and classes are read and checked (class codes, a tree's
    order, the indices of a sparse X: 0.1 s per GB, if cached). Processes that open the same file share its memory. The
    file may be replaced (as by `save`), moved and deleted while the estimator is used, but not changed in place or
    truncated.

    Parameters
    ----------
    path : str or path-like
    verify : bool, default=False
        Whether to read the whole file and compare its checksum. Without this, the header's checksum is compared, and
        all data that the safety of a search depends on are checked (lengths, types, label codes), but a number that was
        changed by a failing disk is not noticed and can change answers.

    Returns
    -------
    estimator : estimator of fastclf
        It has the parameters, attributes and answers of the saved estimator.

    Raises
    ------
    ValueError
        The file is not a file of fastclf, is truncated or altered, or has a newer format.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from fastclf import KNeighborsRegressor, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KNeighborsRegressor(n_neighbors=1).fit([[0.0], [1.0]], [3.0, 4.0]), f"{folder}/model.fclf")
    ...     load(f"{folder}/model.fclf", verify=True)
    KNeighborsRegressor(n_neighbors=1)
    """
    path = str(as_path(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is not a file")
    with open(path, "rb") as file:
        header, stop = _read_header(file, path)
        if verify:
            _verify(file, path)
        library = "?"
        try:
            header = json.loads(header, parse_float=_refuse_number, parse_constant=_refuse_number)
            library = header["library"]
            places = list(layout(header["arrays"], stop))
            size, wanted = os.fstat(file.fileno()).st_size, places[-1][-1] if places else stop
            if size != wanted:
                raise ValueError(f"the file has {size} bytes; {wanted} are wanted")
            raw = np.memmap(file, mode="r")
            estimator = decode(header["estimator"], [view(raw, *place) for place in places])
            if not isinstance(estimator, Estimator):
                raise ValueError("the file holds no estimator; one of fastclf is wanted")
            estimator._require_fitted()
        except (OSError, MemoryError):
            raise
        except Exception as error:
            reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
            if library != __version__:
                reason += f" (written by fastclf {library}, read by {__version__})"
            raise ValueError(f"{path} is damaged: {' '.join(reason.split())}") from error
        return estimator


def _write(file, header, arrays):
    file.write(bytes(_PREFIX) + header)
    place = flushed = _PREFIX + len(header)
    crc = 0
    for array in arrays:
        for piece in _pieces(array, -place % 64):
            file.write(piece)
            crc = zlib.crc32(piece, crc)
            place += len(piece)
            if place - flushed > _UNFLUSHED:
                flushed = place
                _flush(file)
    prefix = _CHECKED.pack(_MAGIC, _FORMAT, len(header), crc)
    file.seek(0)
    file.write(prefix + _CRC.pack(zlib.crc32(header, zlib.crc32(prefix))))
    _flush(file)


def _pieces(array, n_zeros):
    """Yield, in pieces, the bytes to be written to a file: `n_zeros` zeros as padding, then those of an array."""
    yield bytes(n_zeros)
    chunks = np.nditer(
        array,
        ["external_loop", "buffered", "zerosize_ok"],
        ["readonly"],
        [array.dtype.newbyteorder("<")],
        order="C",
        casting="equiv",
        buffersize=max(1, _CHUNK // array.itemsize),
    )
    for chunk in chunks:
        yield chunk.tobytes()


def _flush(file):
    file.flush()
    os.fsync(file.fileno())


def _read_header(file, path):
    """Read the header and check its checksum; returns (header, the position of the first byte after the header)."""
    prefix = file.read(_PREFIX)
    if prefix[: len(_MAGIC)] != _MAGIC[: len(prefix)] or not prefix:
        raise ValueError(f"{path} was not saved by fastclf")
    if len(prefix) < _PREFIX:
        raise ValueError(f"{path} is cut short: it has {len(prefix)} bytes")
    _, version, length, _ = _CHECKED.unpack(prefix[: _CHECKED.size])
    if version > _FORMAT:
        raise ValueError(
            f"{path} has format {version}, but fastclf {__version__} reads formats up to {_FORMAT}; a newer fastclf is"
            " wanted"
        )
    header = file.read(length) if length <= _MAX_HEADER else b""
    if len(header) < length:
        raise ValueError(f"{path} is cut short or damaged: its header should have {length} bytes")
    if _CRC.pack(zlib.crc32(header, zlib.crc32(prefix[: _CHECKED.size]))) != prefix[_CHECKED.size :]:
        raise ValueError(f"{path} is damaged: the checksum of its header is wrong")
    return header, _PREFIX + length


def _verify(file, path):
    """Check that all bytes after the header have the checksum that the beginning of the file states."""
    crc = 0
    while chunk := file.read(_CHUNK):
        crc = zlib.crc32(chunk, crc)
    file.seek(0)
    if crc != _CHECKED.unpack(file.read(_CHECKED.size))[3]:
        raise ValueError(f"{path} is damaged: the checksum of its arrays is wrong")


def _refuse_number(text):
    raise ValueError(f"the header has the number {text}; floats are wanted as hexadecimal texts")
