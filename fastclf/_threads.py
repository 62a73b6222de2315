"""Work in short ranges, by threads, with progress, and stopped by Ctrl-C.

A task is a generator that calls a nogil kernel on one short range after another. It can be stopped between two ranges,
so that every thread obeys Ctrl-C within the time of a range (30 ms).
"""

import atexit
import contextlib
import contextvars
import functools
import operator
import os
import sys
import threading
import time
from concurrent.futures import Future, wait
from math import ceil, prod, sqrt
from numbers import Real
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from ._described import described

# The largest number of threads that a user can ask for. Work is cut into pieces for each thread; for 10^30 threads the
# cutting would never end.
_MOST_THREADS = 1024

# The wanted duration of a kernel call on a range, in seconds: short for Ctrl-C, and long compared with the 20 us that a
# call costs.
_RANGE_SECONDS = 0.03


def n_cpus():
    """The number of CPUs that this process may use, by its affinity and the quota of its cgroup."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows lack os.sched_getaffinity
        count = os.cpu_count() or 1
    return max(1, min(count, _quota()))


@functools.cache
def _quota():
    return _cgroup_cpus(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


def _cgroup_cpus(membership, mount):
    """The number of CPUs that the quota of the cgroup allows, rounded up; infinity without a quota."""
    with contextlib.suppress(OSError, ValueError):
        quota = int((mount / "cpu" / "cpu.cfs_quota_us").read_text("ascii"))
        if quota > 0:
            return ceil(quota / int((mount / "cpu" / "cpu.cfs_period_us").read_text("ascii")))
    allowed = float("inf")
    with contextlib.suppress(OSError):
        for line in membership.read_text("utf-8", "surrogateescape").splitlines():
            if not line.startswith("0::"):
                continue
            group = mount / line[3:].strip("/")
            for folder in (group, *group.parents):
                with contextlib.suppress(OSError, ValueError):
                    quota, period = (folder / "cpu.max").read_text("ascii").split()
                    allowed = min(allowed, ceil(int(quota) / int(period)))
                if folder == mount:
                    break
    return allowed


def _environment_threads(name):
    value = os.environ.get(name, "").split(",")[0].strip()
    if not value:
        return None
    if not value.isdigit() or int(value) < 1:
        raise ValueError(f"{name}={value} in the environment; a whole number of threads, at least 1, is wanted")
    return int(value)


def n_threads(n_jobs=None):
    """The number of threads for an argument `n_jobs`.

    None: FASTCLF_NUM_THREADS if set, else every CPU that the process may use, at most OMP_NUM_THREADS. A positive
    number is the number of threads, at most 1024; -1 means every CPU, -2 all but one, and so on.
    """
    if n_jobs is None:
        wanted = _environment_threads("FASTCLF_NUM_THREADS")
        if wanted is not None:
            return min(wanted, _MOST_THREADS)
        limit = _environment_threads("OMP_NUM_THREADS")
        return n_cpus() if limit is None else min(limit, n_cpus())
    try:
        n_jobs = operator.index(None if isinstance(n_jobs, bool) else n_jobs)
    except TypeError:
        raise TypeError(f"n_jobs is {described(n_jobs)}; a whole number or None is wanted") from None
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; None or -1 (every CPU) or a positive number of threads is wanted")
    return min(n_jobs, _MOST_THREADS) if n_jobs > 0 else max(1, n_cpus() + 1 + n_jobs)


_pool = None
_pool_lock = threading.Lock()
_product_lock = threading.Lock()


# The largest number of threads in the pool that runs fastclf's tasks.
_POOL_THREADS = max(32, os.cpu_count() or 1)


class _Pool:
    """Daemon threads that call functions; a thread is started only when all others are busy.

    Python does not wait for daemon threads at its end. It would wait for ever for a thread of a ThreadPoolExecutor that
    Ctrl-C has interrupted between its start and its entry in the executor's list of threads to be ended.
    """

    def __init__(self):
        self._calls, self._idle, self._n_threads = SimpleQueue(), threading.Semaphore(0), 0

    def submit(self, function, call=None):
        """Let a thread of the pool call the function; returns the Future of its result, which is `call` if given."""
        if not self._idle.acquire(blocking=False) and self._n_threads < _POOL_THREADS:
            threading.Thread(target=self._work, name="fastclf", daemon=True).start()
            self._n_threads += 1
        call = Future() if call is None else call
        self._calls.put((call, function))
        return call

    def _work(self):
        while True:
            call, function = self._calls.get()
            if call.set_running_or_notify_cancel():
                try:
                    call.set_result(function())
                except BaseException as error:
                    call.set_exception(error)
            del call, function
            self._idle.release()


def _get_pool():
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = _Pool()
        return _pool


def _forget_pool():
    """Drop the pool in a forked child, which has none of its parent's threads."""
    global _pool, _pool_lock, _product_lock
    _pool = None
    _pool_lock, _product_lock = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


class _Ended(BaseException):
    """The exception that is raised in a nested call of `run` once its outer call has ended, by an error or Ctrl-C."""


# The local data of each thread. `ends` has the events that end the thread's tasks, one for each nested call of `run`;
# `caller` is the stack frame of the call of `aside` for which the thread works.
_local = threading.local()


def _go_on():
    if any(end.is_set() for end in getattr(_local, "ends", ())):
        raise _Ended


def run(work, items, threads):
    """Exhaust the generator work(item) for every item, on at most `threads` threads, including the calling one.

    The first exception (or Ctrl-C) stops all threads, those of nested calls too, at the end of their present ranges,
    and is raised by this function. The calling thread takes every item that no thread of the pool has taken, so that
    nested calls cannot wait for each other.
    """
    items = list(items)
    if threads == 1 or len(items) == 1:
        for item in items:
            for _ in work(item):
                _go_on()
        return
    queue = iter(items)
    lock = threading.Lock()
    stop = threading.Event()
    around = getattr(_local, "ends", ())

    def drain():
        before, _local.ends = getattr(_local, "ends", ()), (*around, stop)
        try:
            while not stop.is_set():
                with lock:
                    item = next(queue, stop)
                if item is stop:
                    return
                for _ in work(item):
                    _go_on()
        except _Ended:
            if not stop.is_set():
                stop.set()
                raise
        except BaseException:
            stop.set()
            raise
        finally:
            _local.ends = before

    workers = []
    try:
        # If no thread can be started, because the interpreter ends or the system has no more, this thread does all the
        # work.
        with contextlib.suppress(RuntimeError):
            for _ in range(min(threads, len(items)) - 1):
                workers.append(_get_pool().submit(drain))
        drain()
        running = [worker for worker in workers if not worker.cancel()]
        while wait(running, timeout=0.1).not_done:
            pass
    finally:
        stop.set()
        running = [worker for worker in workers if not worker.cancel()]
        wait(running)
    for worker in running:
        worker.result()


# With more numbers than this, a call of NumPy that sorts them may take longer than a tenth of a second, so that another
# thread makes the call.
_MANY_NUMBERS = 1 << 19

# An array with at most this number of values is small: LAPACK factorises a matrix of 256 rows within 30 ms.
_FEW_NUMBERS = 1 << 16

# LAPACK and BLAS make this number of multiplications within about 30 ms.
SLOW_WORK = 1 << 28

# The number of values in a block of rows that `map_rows` processes at a time, small enough for a cache.
_BLOCK_NUMBERS = 1 << 18

# BLAS computes the inner product of vectors of at most this length by the calling thread, in a fifth of einsum's time.
_FOR_BLAS = 1 << 12


def inner(x, y):
    """The inner product of two arrays of equal shape, in float64, by the calling thread.

    BLAS gives vectors of more than 10,000 numbers to threads of its own, for which it waits some milliseconds where
    other programs have the processors.
    """
    x, y = x.ravel(), y.ravel()
    if x.size <= _FOR_BLAS and x.dtype == y.dtype == np.float64:
        return float(x.dot(y))
    return float(np.einsum("i,i->", x, y, dtype=np.float64, casting="same_kind"))


def norm_of(x):
    """The Euclidean norm of an array, read as a vector; computed by the calling thread, not by BLAS's threads."""
    return sqrt(inner(x, x))


def aside(function, *arguments, **options):
    """function(*arguments) for a function, such as LAPACK's, that may be slow and cannot be cut into ranges.

    The main thread waits while another thread runs the function, so that Ctrl-C is obeyed. After Ctrl-C, the call runs
    on unnoticed, and Python exits without waiting for its end. A call with small arrays is made directly, because a
    thread starts late where other programs have the processors.

    The function must release Python's lock. np.matmul keeps it if the product has at most 500 entries, however long its
    factors are, and np.repeat always does: :func:`numpy.dot` and :func:`repeated` are wanted.
    """
    arrays = any(isinstance(each, np.ndarray) for each in arguments)
    small = arrays and max(map(n_numbers, arguments)) <= _FEW_NUMBERS
    if small or threading.current_thread() is not threading.main_thread():
        return function(*arguments, **options)
    # a thread of the pool makes the call, because OpenBLAS takes up to 20 ms longer for the first call of a new thread
    outcome = Future()
    given = contextvars.copy_context(), sys._getframe(), function, arguments, options
    try:
        try:
            _get_pool().submit(functools.partial(_do_aside, *given), outcome)
        except RuntimeError:  # the system can start no further thread, so that this thread makes the call
            return function(*arguments, **options)
        while wait([outcome], timeout=0.1).not_done:
            pass
    except BaseException:
        _abandon(outcome)
        raise
    finally:
        # this breaks a cycle of references: a stack frame with a local variable that refers to the frame is freed late
        del given
    return outcome.result()


# The Futures of the calls of `aside` that Ctrl-C has interrupted, and that may still run.
_abandoned = []


def _abandon(outcome):
    if not _abandoned:
        atexit.register(_leave)
    _abandoned.append(outcome)


def _leave():
    """Let the process end while an abandoned call is running.

    At the end of a process OpenBLAS asks its threads to end, and waits for them: for ever, if a call that is still
    running replaces the request by new work. Therefore the process ends before that request. Where the C library cannot
    do so, Python waits for the call.
    """
    if sys.platform == "win32" or not wait(_abandoned, timeout=0).not_done:
        return
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        # `on_exit` lets the process end by `_exit`, before OpenBLAS and other libraries wait for their threads
        libc.on_exit(libc._exit, None)
    except (ImportError, OSError, AttributeError):
        wait(_abandoned)


def _do_aside(context, caller, function, arguments, options):
    _local.caller = caller
    try:
        return context.run(function, *arguments, **options)
    finally:
        _local.caller = None


def frame_of_caller():
    """The stack frame of the call of `aside` that this thread works for; None in all other threads."""
    return getattr(_local, "caller", None)


def n_numbers(container):
    """The number of entries of an array, a list or a table; of a sparse matrix, the number of stored entries."""
    if isinstance(container, np.ndarray):
        return container.size
    size, shape = getattr(container, "size", None), getattr(container, "shape", None)
    if isinstance(size, (int, np.integer)):
        return int(size)
    if isinstance(shape, tuple):
        return prod(shape)
    return len(container) if isinstance(container, (list, tuple)) else 0


def aside_if_many(n_numbers, function, *arguments, **options):
    """Call function(*arguments); with many numbers to process, another thread makes the call, so that Ctrl-C works."""
    return (aside if n_numbers > _MANY_NUMBERS else _called)(function, *arguments, **options)


def aside_if_slow(work, function, *arguments, **options):
    """Call function(*arguments), which makes `work` multiplications; another thread makes a slow call."""
    return (aside if work > SLOW_WORK else _called)(function, *arguments, **options)


def large_product(A, B):
    """The matrix product AB, one at a time: each takes all processors, and two would slow each other down."""
    return aside_if_slow(len(A) * B.size, _product_alone, A, B)


def _product_alone(A, B):
    with _product_lock:
        return np.dot(A, B)


def each_aside_if_many(n_numbers, items, *arguments):
    """The items of the iterable items(*arguments), each made in another thread if there are many numbers to process."""
    return items(*arguments) if n_numbers <= _MANY_NUMBERS else _each_aside(aside(items, *arguments))


def _each_aside(items):
    iterator, end = iter(items), object()
    while (item := aside(next, iterator, end)) is not end:
        yield item


def _called(function, *arguments, **options):
    return function(*arguments, **options)


def aside_for_many(function):
    """A decorator for a function of arrays: another thread runs each call with a large array, as by `aside`.

    After Ctrl-C the function runs on unnoticed. It must therefore change nothing that others see.
    """

    @functools.wraps(function)
    def call(*arguments, **options):
        for each in arguments:
            if n_numbers(each) > _MANY_NUMBERS:
                return aside(function, *arguments, **options)
        return function(*arguments, **options)

    return call


def numbered_blocks(array):
    """Yield pairs (slice of rows, these rows of the array) of blocks that are small enough for a cache.

    Ctrl-C is obeyed between two blocks.
    """
    size = max(1, _BLOCK_NUMBERS // max(1, array[:1].size))
    for start in range(0, len(array), size):
        rows = slice(start, start + size)
        yield rows, array[rows]


def blocks(array):
    """The rows of an array in the blocks of :func:`numbered_blocks`; a small array is one block, even if empty."""
    return (array,) if array.size <= _BLOCK_NUMBERS else (block for _, block in numbered_blocks(array))


def all_finite(array):
    """Whether all numbers of an array are finite."""
    return all(np.isfinite(block).all() for block in blocks(array))


def rows_at(array, numbers):
    """array[numbers] for a vector of row numbers, copied in blocks, so that Ctrl-C is obeyed between blocks.

    Rows in another container than an array, such as a Csr, are taken by the container itself.
    """
    if not isinstance(array, np.ndarray):
        return array[numbers]
    row = array[:1].size
    if len(numbers) * row <= _BLOCK_NUMBERS:
        return array[numbers]
    out, size = np.empty((len(numbers), *array.shape[1:]), array.dtype), max(1, _BLOCK_NUMBERS // row)
    for start in range(0, len(numbers), size):
        out[start : start + size] = array[numbers[start : start + size]]
    return out


@aside_for_many
def columns_at(array, numbers):
    """The columns with these ascending numbers, in C order; the array itself if they are all."""
    return array if len(numbers) == array.shape[1] else np.take(array, numbers, axis=1)


def repeated(values, counts):
    """np.repeat(values, counts) for two vectors, made in blocks, because np.repeat lets no other thread run."""
    ends = np.cumsum(counts)
    if len(ends) == 0 or ends[-1] <= _BLOCK_NUMBERS:
        return np.repeat(values, counts)
    out, first, start = np.empty(ends[-1], values.dtype), 0, 0
    while start < len(out):
        # a block has at least one value, and all others for which its entries are few enough
        last = max(first + 1, int(np.searchsorted(ends, start + _BLOCK_NUMBERS, "right")))
        out[start : ends[last - 1]] = np.repeat(values[first:last], counts[first:last])
        first, start = last, ends[last - 1]
    return out


def distinct(array):
    """np.unique(array), made in another thread if there are many numbers, so that Ctrl-C is obeyed.

    Whole numbers are sorted. np.unique hashes them, which lets no other thread run, and takes ten times as long as a
    sort where most of them are distinct.
    """
    if array.dtype.kind not in "iu":
        return aside_if_many(array.size, np.unique, array)
    ordered = aside_if_many(array.size, np.sort, array, axis=None)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def map_rows(function, *arrays):
    """function(*arrays), computed for one block of rows after another, so that Ctrl-C is obeyed between blocks.

    All arrays have the same number of rows; the result has a row or a number for each row. The bounds of the blocks
    depend only on the shape of the first array.
    """
    if arrays[0].size <= _BLOCK_NUMBERS:
        return function(*arrays)
    n = len(arrays[0])
    size = max(1, _BLOCK_NUMBERS // max(1, arrays[0][:1].size))
    first = function(*(array[:size] for array in arrays))
    if n <= size:
        return first
    out = np.empty((n, *first.shape[1:]), first.dtype)
    out[:size] = first
    for start in range(size, n, size):
        out[start : start + size] = function(*(array[start : start + size] for array in arrays))
    return out


# The least size of a page of memory, in bytes.
_PAGE = 4096


def ranges(start, stop, size, limit=None):
    """Cut [start, stop) into ranges, each of which takes the caller's loop about 30 ms.

    The first range has `size` items, and no range has more than `limit`. The bounds of later ranges depend on time, so
    that a sum of ranges would have other bits in each run.
    """
    while start + size < stop:
        end = start + size
        began = time.perf_counter()
        yield start, end
        elapsed = time.perf_counter() - began
        size = min(max(int(size * _RANGE_SECONDS / max(elapsed, 1e-6)), size // 4, 1), 4 * size, limit or stop)
        start = end
    if start < stop:
        yield start, stop


def budgets(size, most):
    """Yield, without end, the size of the next piece of work, adapted to take 30 ms: first `size`, at most `most`."""
    for start, stop in ranges(0, 1 << 62, size, most):
        yield stop - start


def copy_rows(rows, out):
    """Copy rows to the array `out`, in short ranges, between which Ctrl-C is obeyed; returns `out`."""
    for start, stop in ranges(0, len(rows), 1 + (1 << 20) // rows[:1].size if len(rows) else 1):
        out[start:stop] = rows[start:stop]
    return out


def with_pages(array):
    """A new array, after a write to each of its pages of memory, in short ranges, between which Ctrl-C is obeyed.

    Scattered writes would take all pages at once, which takes longer than Ctrl-C may wait. A page that was in use
    before takes far less time than a new one, so that the ranges do not grow.
    """
    for start, stop in ranges(0, len(array), 1 << 20, limit=1 << 20):
        array[start : stop : _PAGE // array.itemsize] = 0
    return array


# The lock that all progress bars of fastclf share.
_bar_lock = threading.RLock()


@functools.cache
def _bar_class(tqdm):
    """A subclass of tqdm with the lock of fastclf's bars, and without tqdm's thread that redraws slow bars."""

    class Bar(tqdm):
        monitor_interval = 0

    Bar.set_lock(_bar_lock)
    return Bar


@contextlib.contextmanager
def _drawing():
    """A context in which tqdm draws a progress bar; a lock that tqdm keeps after a Ctrl-C is released at its end."""
    try:
        yield
    except BaseException:
        # the lock is released as often as this thread holds it, until `release` raises RuntimeError
        with contextlib.suppress(RuntimeError):
            while True:
                _bar_lock.release()
        raise


def require_verbose(verbose):
    """The value of a parameter `verbose`, after a check that it is a number or None."""
    if not isinstance(verbose, (Real, np.bool_, type(None))):
        raise TypeError(f"verbose is {described(verbose)}; a number is wanted")
    return verbose


class Progress:
    """The progress of long work, shown by tqdm if installed, otherwise as lines on stderr, and reported to a callback.

    `callback(step, total, value)` is called after each range, by one thread at a time. Once the callback has returned
    True, it is not called again, and `advance` returns True. `total` may be None. The value is shown if it has a name.
    Users see whole numbers of a unit, such as rows, each of which takes `each` steps.
    """

    def __init__(self, total, label, verbose=0, callback=None, value_name=None, *, unit="rows", each=1):
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {described(callback)}; a function of (step, total, value) or None is wanted")
        self.total, self.label, self.verbose, self.callback = total, label, require_verbose(verbose), callback
        self.unit, self.each = "steps" if total is None else unit, max(each, 1)
        self.watched = bool(verbose) or callback is not None
        self.value_name, self._value = value_name, ""
        self.step = 0
        self.stopped = False
        self._lock = threading.Lock()

    def __enter__(self):
        self._bar = None
        self._told = self._began = time.monotonic()
        if self.verbose:
            with contextlib.suppress(ImportError), _drawing():
                from tqdm import tqdm

                shown = "{n_fmt}" if self.total is None else "{percentage:3.0f}% |{bar}| {n_fmt} of {total_fmt}"
                times = "{elapsed}" if self.total is None else "{elapsed}, {remaining} left"
                form = f"{{desc}}: {shown} {self.unit} [{times}{{postfix}}]"
                total = None if self.total is None else self._units(self.total)
                self._bar = _bar_class(tqdm)(total=total, desc=self.label, bar_format=form, file=sys.stderr)
        return self

    def __exit__(self, *exception):
        if self._bar is not None:
            with _drawing():
                self._bar.close()
        elif self.verbose:
            self._tell()

    def _units(self, steps):
        return steps // self.each

    def _tell(self):
        done = f"{self._units(self.step)}" + (f" of {self._units(self.total)}" if self.total else "")
        value = self._value and f", {self._value}"
        print(f"{self.label}: {done} {self.unit}, {time.monotonic() - self._began:.1f} s{value}", file=sys.stderr)

    def write(self, line):
        """Print a line on stderr, above the progress bar if there is one."""
        if self._bar is None:
            print(line, file=sys.stderr)
        else:
            with _drawing():
                self._bar.write(line, file=sys.stderr)

    def extend(self, amount):
        """Add `amount` to the total amount of work, of which progress is reported as a share."""
        self.total += amount
        if self._bar is not None:
            self._bar.total = self._units(self.total)

    def advance(self, amount=1, value=None):
        if not self.watched:
            return False
        with self._lock:
            self.step += amount
            if self.value_name is not None:
                self._value = f"{self.value_name} {value:.2g}"
            if self._bar is not None:
                with _drawing():
                    if self._value:
                        self._bar.set_postfix_str(self._value, refresh=False)
                    self._bar.update(self._units(self.step) - self._bar.n)
            elif self.verbose and time.monotonic() - self._told > 2:
                self._told = time.monotonic()
                self._tell()
            if self.callback is not None and not self.stopped and self.callback(self.step, self.total, value):
                self.stopped = True
            return self.stopped


class Counted:
    """The Progress of work that has been counted already: no step is added, but a callback may stop the work."""

    def __init__(self, progress):
        self.progress, self.label, self.total = progress, progress.label, progress.total

    @property
    def step(self):
        return self.progress.step

    def advance(self, amount=1, value=None):
        return self.progress.advance(0, value)


def advance(progress, amount):
    """Report an amount of finished work; raise RuntimeError if the user's callback stops the work."""
    if progress.advance(amount):
        raise RuntimeError(
            f"{progress.label}: stopped by callback at {100 * progress.step / progress.total:.0f} % of the work;"
            " no result is available"
        )
