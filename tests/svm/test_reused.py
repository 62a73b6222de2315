"""Memory that one fit takes over from another (`fastclf/svm/reused.py`)."""

import threading

import numpy as np
import pytest

from fastclf import SVC
from fastclf.svm import reused as module
from fastclf.svm.reused import reused


@pytest.fixture(autouse=True)
def nothing_kept():
    module._kept.clear()
    yield
    module._kept.clear()


def test_memory_is_taken_over_once_no_array_uses_it():
    first = reused(100_000, np.float64)
    part = first[1000:].reshape(-1, 10)
    address = first.ctypes.data
    del first
    other = reused(90_000, np.float32)
    assert other.ctypes.data != address
    assert not np.shares_memory(other, part)
    del part
    assert reused(90_000, np.float64).ctypes.data == address


@pytest.mark.parametrize("n", [0, (1 << 20) + 1])
def test_empty_and_large_arrays_are_not_kept(n):
    array = reused(n, np.float32)
    assert array.shape == (n,)
    assert array.dtype == np.float32
    del array
    assert len(module._kept) == 0


def test_at_most_16_megabytes_are_kept():
    arrays = [reused(1 << 20, np.float32) for _ in range(10)]
    del arrays
    assert sum(memory.nbytes for memory in module._kept) <= 16 << 20


def test_threads_never_share_memory():
    arrays, lock = [], threading.Lock()

    def take():
        for i in range(200):
            array = reused(20_000 + i, np.float64)
            array[:] = threading.get_ident()
            assert (array == threading.get_ident()).all()
            if i % 50 == 0:
                with lock:
                    arrays.append(array)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(arrays) == 16
    assert all((array == array[0]).all() for array in arrays)


def test_what_is_left_in_memory_changes_no_bit(rng):
    X, y = rng.standard_normal((900, 5)), rng.integers(3, size=900)
    found = []
    for left in (0.0, np.nan):
        arrays = [reused(n, np.float64) for n in (1 << 19, 1 << 18, 1 << 17, 1 << 16)]
        for array in arrays:
            array[:] = left
        del array, arrays
        assert len(module._kept) == 4
        found.append(SVC().fit(X, y))
    assert found[0].dual_coef_.tobytes() == found[1].dual_coef_.tobytes()
