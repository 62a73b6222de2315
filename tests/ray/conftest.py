import sys
from pathlib import Path

import pytest

# for the tests of estimators on any cluster
sys.path.append(str(Path(__file__).resolve().parents[1] / "dask"))


@pytest.fixture(scope="session")
def cluster():
    pytest.importorskip("ray.cluster_utils", reason="Ray has no wheels for every Python version and platform")
    from nodes import two_nodes

    with two_nodes() as cluster:
        yield cluster
