"""Rows in blocks: each row occurs once, in an order independent of threads, and Ctrl-C works between ranges."""

import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastclf.sums import blocks


@given(st.integers(0, 500), st.integers(1, 70))
def test_even_bounds_cut_all_rows_into_parts_that_differ_by_one_row_at_most(n, parts):
    lengths = np.diff(blocks.even_bounds(n, parts))
    assert len(lengths) == parts
    assert lengths.sum() == n
    assert lengths.max() - lengths.min() <= 1


@given(st.integers(1, 1 << 40), st.integers(1, 1 << 30))
def test_blocks_are_64_at_most_and_their_sums_fit_the_memory(worth, numbers):
    n = blocks.n_blocks(worth, numbers)
    assert 1 <= n <= min(64, worth)
    assert n == 1 or n * numbers <= 1 << 23


@pytest.mark.parametrize("cut", [blocks.by_length, blocks.ranges])
@pytest.mark.parametrize("threads", [1, 3])
def test_each_block_gets_its_rows_once_and_in_order(cut, threads):
    bounds = [0, 5, 5, 6, 40, 100]
    states = blocks.over_blocks(bounds, 3, list, lambda i, j, own: own.extend(range(i, j)), threads, cut)
    assert states == [list(range(i, j)) for i, j in pairwise(bounds)]


def test_ranges_by_length_are_of_one_length():
    assert list(blocks.by_length(2, 11, 4)) == [(2, 6), (6, 10), (10, 11)]


def test_threads_change_no_bit_of_a_sum(rng):
    x = rng.standard_normal(10_000) * 10.0 ** rng.integers(-9, 9, 10_000)

    def add(start, stop, out):
        for value in x[start:stop]:
            out += value

    bounds = blocks.even_bounds(len(x), 13)
    found = [blocks.added(blocks.over_blocks(bounds, 7, lambda: np.zeros(1), add, n)) for n in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    np.testing.assert_allclose(found[0], x.sum(), rtol=1e-9)


@pytest.mark.parametrize("work", [1, 1 << 12])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_all_rows_are_called_for_once(rng, work, n_jobs):
    X, seen, lock = np.zeros((3001, 7)), np.zeros(3001, int), threading.Lock()

    def call(start, stop):
        with lock:
            seen[start:stop] += 1
        return stop - start

    assert sum(blocks.over_rows(call, X, work, n_jobs)) == 3001
    assert (seen == 1).all()


@pytest.mark.parametrize("quick", [False, True])
def test_threads_are_woken_for_rows_that_take_long(monkeypatch, quick):
    monkeypatch.setattr(blocks, "_THREAD_SECONDS", 100 if quick else 1e-9)
    seen = set()

    def call(start, stop, _=None):
        seen.add(threading.get_ident())
        time.sleep(1e-3)

    blocks.over_rows(call, np.zeros((1000, 1)), 1 << 14, 3)
    blocks.over_blocks(blocks.even_bounds(1000, 20), 10, list, call, 3)
    assert (len(seen) == 1) == quick


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_ends_all_blocks(threads):
    calls = []

    def add(start, stop, state):
        calls.append(start)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        blocks.over_blocks(blocks.even_bounds(1000, 50), 1, list, add, threads)
    assert len(calls) <= threads
