"""Memory that one fit takes over from another (`fastclf/svm/reused.py`)."""

import sys
import threading

import numpy as np
import pytest

from fastclf import SVC
from fastclf.svm import reused as module
from fastclf.svm.reused import reused


def clear():
    for blocks in module._kept.values():
        blocks.clear()


def kept_bytes():
    return sum(memory.nbytes for blocks in module._kept.values() for memory, _ in blocks)


@pytest.fixture(autouse=True)
def nothing_kept():
    clear()
    yield
    clear()


def test_memory_is_taken_over_once_no_array_uses_it():
    first = reused(100_000, np.float64)
    part = first[1000:].reshape(-1, 10)
    address = first.ctypes.data
    del first
    other = reused(190_000, np.float32)
    assert other.ctypes.data != address
    assert not np.shares_memory(other, part)
    del part
    assert reused(90_000, np.float64).ctypes.data == address


@pytest.mark.parametrize("n", [0, 1, 1000, (1 << 20) + 1])
def test_small_and_large_arrays_are_not_kept(n):
    array = reused(n, np.float32)
    assert array.shape == (n,)
    assert array.dtype == np.float32
    del array
    assert kept_bytes() == 0


def test_at_most_16_megabytes_are_kept():
    arrays = [reused(1 << size, np.float32) for size in range(10, 22) for _ in range(5)]
    del arrays
    assert 1 << 23 < kept_bytes() < 1 << 24


def test_no_python_runs_when_an_array_dies_as_ctrl_c_would_be_lost_there():
    called = []
    arrays = [reused(20_000, np.float64) for _ in range(3)]
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    arrays.clear()
    reused(20_000, np.float64)
    sys.setprofile(None)
    assert set(called) == {"reused", "_idle", "__init__"}


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
        arrays = [reused(1 << size, np.float64) for size in range(13, 20) for _ in range(2)]
        for array in arrays:
            array[:] = left
        del array, arrays
        assert kept_bytes() == (1 << 24) - (1 << 17)
        found.append(SVC().fit(X, y))
    assert found[0].dual_coef_.tobytes() == found[1].dual_coef_.tobytes()
