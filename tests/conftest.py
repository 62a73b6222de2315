import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import fastclf
from fastclf import _simd

settings.register_profile(
    "fastclf", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fastclf")

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("FASTCLF_DATA", CHECKOUT.parent / "shared" / "data"))


def pytest_configure():
    assert Path(fastclf.__file__).parent != CHECKOUT / "fastclf", "the tests are for the installed package"


def pytest_report_header():
    debug = ", debug build" if _simd.build_info()["debug"] else ""
    return f"fastclf {fastclf.__version__} in {Path(fastclf.__file__).parent}, SIMD level {_simd.level()}{debug}"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_file():
    """Path of a file of the data folder; a test is skipped only where there is no such folder at all."""

    def find(name):
        if not DATA.is_dir():
            pytest.skip("the data folder (FASTCLF_DATA) is not there")
        assert (DATA / name).is_file(), f"{name} is missing from the data folder"
        return DATA / name

    return find
