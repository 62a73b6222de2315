"""Arrays whose data begin at any byte, such as those that came through a network, have the answers of aligned ones."""

import numpy as np
import pytest

from fastclf import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NearestCentroid


def moved(array, offset):
    """A read-only copy whose data begin `offset` bytes after a multiple of 64."""
    room = np.zeros(array.nbytes + 128, np.uint8)
    start = (offset - room.ctypes.data) % 64
    copied = np.frombuffer(room.data, array.dtype, array.size, start).reshape(array.shape)
    copied[...] = array
    copied.flags.writeable = False
    return copied


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u4", "i2", "u2", "i1", "u1", "?"])
def test_rows_at_any_byte_have_the_answers_of_aligned_rows(rng, dtype):
    X, y = rng.integers(0, 2 if dtype == "?" else 9, (300, 5)).astype(dtype), rng.integers(0, 3, 300)
    for cls in (GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB, NearestCentroid):
        wanted = cls().fit(X, y)
        for offset in (1, 4, 15, 42):
            found = cls().fit(moved(X, offset), y)
            for name in ("theta_", "var_", "feature_count_", "n_categories_", "centroids_"):
                np.testing.assert_array_equal(getattr(found, name, 0), getattr(wanted, name, 0))
            assert found.predict_proba(moved(X, offset)).tobytes() == wanted.predict_proba(X).tobytes()
