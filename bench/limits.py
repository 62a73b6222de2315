"""Measured limits of the machine: the speed of reading memory and of multiplying matrices."""

import contextlib
import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np

from fastclf._threads import n_threads

# the number of bytes that are read to measure the bandwidth: several times the size of common last-level caches
_READ_BYTES = 1 << 30
_ORDER = 2048  # the order n of the multiplied matrices: 2 n^3 operations on 3 n^2 numbers are not limited by memory


def limit_threads(count):
    """A context in which BLAS and OpenMP use `count` threads; without threadpoolctl it changes nothing."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    return threadpool_limits(count)


def stopwatch(call, *arguments):
    """(wall seconds, processor seconds of all threads, result) of one call."""
    processor, wall = time.process_time(), time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - wall, time.process_time() - processor, result


def _others_seconds():
    """Processor seconds that other processes have used since boot.

    NaN on systems other than Linux, which do not report this time.
    """
    try:
        with open("/proc/stat") as file:
            ticks = sum(map(int, file.readline().split()[1:4]))
    except OSError:
        return float("nan")
    return ticks / os.sysconf("SC_CLK_TCK") - time.process_time()


def watch_others():
    """A function that returns the mean number of CPUs that other processes have used since this call."""
    began, used = time.perf_counter(), _others_seconds()
    return lambda: (_others_seconds() - used) / (time.perf_counter() - began)


def time_text(seconds):
    """A time in s, ms, µs or ns, with three significant digits."""
    unit, scale = next((u for u in (("s", 1), ("ms", 1e3), ("µs", 1e6)) if seconds * u[1] >= 1), ("ns", 1e9))
    return f"{seconds * scale:.3g} {unit}"


@dataclass(frozen=True)
class Limits:
    """Rates that no program on this machine can exceed by much.

    Attributes
    ----------
    threads : int
        Number of threads that `n_jobs=None` means here.
    read_one, read_all : float
        Bytes per second read from memory, by one thread and by `threads` threads.
    gemm_float32, gemm_float64 : float
        Operations per second and thread of NumPy's matrix product.
    gemm_threads : int
        Number of threads of the product: 1, or the choice of BLAS if threadpoolctl is missing.
    """

    threads: int
    read_one: float
    read_all: float
    gemm_float32: float
    gemm_float64: float
    gemm_threads: int

    def seconds(self, bytes_moved, flops, dtype, threads):
        """The least time for work on `threads` threads (1 or all), and the limit that sets it: "read" or "GEMM"."""
        read = bytes_moved / (self.read_one if threads == 1 else self.read_all)
        gemm = flops / (threads * getattr(self, f"gemm_{np.dtype(dtype).name}"))
        return (read, "read") if read >= gemm else (gemm, "GEMM")


def read_bandwidth(threads, budget=2.0):
    """Bytes per second that `threads` threads read together, each its own part of an array.

    The reads are repeated for `budget` seconds, and the best one counts.
    """
    parts = np.array_split(np.ones(_READ_BYTES // 8, dtype=np.int64), threads)
    with ThreadPoolExecutor(threads) as pool:
        times = []
        while sum(times) < budget:
            times.append(stopwatch(lambda: list(pool.map(np.bitwise_or.reduce, parts)))[0])
    return _READ_BYTES / min(times)


def gemm_peak(dtype, repeats=6):
    """Operations per second and thread of a matrix product, the best of `repeats`, and the number of threads."""
    A = np.ones((_ORDER, _ORDER), dtype=dtype)
    B, C = A.copy(), np.empty_like(A)
    with limit_threads(1):
        np.matmul(A, B, out=C)
        wall, processor, _ = min(stopwatch(lambda: np.matmul(A, B, out=C)[0, 0]) for _ in range(repeats))
    threads = max(1, round(processor / wall))
    return 2 * _ORDER**3 / wall / threads, threads


@functools.cache
def measure():
    """All limits of this machine, measured once per process (about 8 s)."""
    single, gemm_threads = gemm_peak(np.float32)
    double, _ = gemm_peak(np.float64)
    return Limits(n_threads(), read_bandwidth(1), read_bandwidth(n_threads()), single, double, gemm_threads)


if __name__ == "__main__":
    for name, value in asdict(measure()).items():
        print(f"{name:13}", value if isinstance(value, int) else f"{value / 1e9:.1f} G/s")
