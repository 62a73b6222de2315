"""The programs in examples/ run, and their output is right."""

import runpy

import numpy as np
import pytest
from conftest import CHECKOUT

pytestmark = pytest.mark.once


def test_nearest_neighbours_keep_the_bounds_of_theory(capsys, tmp_path):
    example = runpy.run_path(str(CHECKOUT / "examples" / "nearest_neighbour_bounds.py"))
    rows = example["main"](tmp_path / "bounds.png")
    for _, least, errors, bounds in rows:
        assert 0 < least < 0.5
        for error, (low, high) in zip(errors, bounds):
            # four standard errors of an error rate on this number of predicted rows
            margin = 4 * np.sqrt(error / example["ROWS"])
            assert low - margin <= error <= high + margin
    assert (tmp_path / "bounds.png").stat().st_size > 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)
