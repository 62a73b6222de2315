"""SIMD levels: chosen for the machine, forced by FASTCLF_SIMD, and a clear error if that is impossible."""

import os
import subprocess
import sys

import pytest

from fastclf import _cpu, _simd
from fastclf.neighbors import search_costs

pytestmark = pytest.mark.levels


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("level", _simd.available())
def test_every_available_level_can_be_forced(level):
    code = "from fastclf import _simd; from fastclf.neighbors import scan; print(_simd.level(), scan.kernels.__name__)"
    suffix = {"baseline": "", "x86-64-v3": "_v3", "arm64-dotprod": ""}.get(level, "_v4")
    assert python(code, FASTCLF_SIMD=level).stdout.split() == [level, f"fastclf.neighbors._scan{suffix}"]


def test_the_best_available_level_is_the_default():
    assert (
        python("from fastclf import _simd; print(_simd.level())", FASTCLF_SIMD="").stdout.strip()
        == (_simd.available()[-1])
    )


def test_an_unknown_level_is_a_clear_error():
    result = python("from fastclf import NearestNeighbors", FASTCLF_SIMD="avx9")
    assert (
        "FASTCLF_SIMD=avx9 is not a SIMD level; the levels are baseline, x86-64-v3, x86-64-v4, x86-64-v4-vnni,"
        " arm64-dotprod" in result.stderr
    )


@pytest.mark.parametrize(
    ("built", "reason"), [(True, "is not supported by this processor"), (False, "is not in this build")]
)
def test_an_unavailable_level_is_a_clear_error(monkeypatch, built, reason):
    monkeypatch.setattr(_cpu, "supported", lambda: ["baseline"])
    monkeypatch.setitem(_simd.INFO, "levels", ["baseline", "x86-64-v3"] if built else ["baseline"])
    monkeypatch.setenv("FASTCLF_SIMD", "x86-64-v3")
    _simd.level.cache_clear()
    try:
        with pytest.raises(ImportError, match=f"FASTCLF_SIMD=x86-64-v3 {reason}; available here: baseline"):
            _simd.level()
    finally:
        _simd.level.cache_clear()


def test_the_levels_start_at_the_baseline_and_each_contains_the_one_before():
    levels = _cpu.supported()
    x86 = ["baseline", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni"]
    assert levels in (x86[: len(levels)], ["baseline", "arm64-dotprod"])


def test_every_level_has_costs_by_which_a_code_is_chosen():
    assert set(search_costs._LEVELS) == set(_simd._SUFFIX)
