"""
A search inside Cython code
===========================

``fastclf.capi`` is a .pxd file: Cython code imports the functions by name, with nothing to link. The module below
finds, for each query, how far the k-th neighbour is, without the GIL. It is compiled when the example runs, where a
C compiler exists.
"""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import fastclf

SOURCE = """# cython: language_level=3
import numpy as np

from fastclf.capi cimport fastclf_model, nearest_d, release, require_abi, scratch_size, take

require_abi()


def reach(embedded, const double[:, ::1] queries, Py_ssize_t k):
    \"\"\"The distance of the k-th nearest row of each query.\"\"\"
    cdef Py_ssize_t n = queries.shape[0]
    cdef double[:, ::1] distance = np.empty((n, k))
    cdef Py_ssize_t[:, ::1] index = np.empty((n, k), np.intp)
    cdef fastclf_model* model = take(embedded)
    cdef unsigned char[::1] scratch = np.empty(scratch_size(model, n, k), np.uint8)
    cdef int status
    with nogil:
        status = nearest_d(model, &queries[0, 0], n, k, &distance[0, 0], &index[0, 0], &scratch[0])
    release(model)
    if status:
        raise ValueError(f"status {status}")
    return np.asarray(distance)[:, k - 1]
"""

X, _ = make_moons(500, noise=0.08, random_state=0)
model = fastclf.NearestNeighbors().fit(X)
x, y = np.meshgrid(np.linspace(-1.5, 2.5, 200), np.linspace(-1, 1.5, 150))
grid = np.column_stack([x.ravel(), y.ravel()])
expected = model.kneighbors(grid, 5)[0][:, 4]
if shutil.which("cc"):
    folder = Path(tempfile.mkdtemp())
    (folder / "reach.pyx").write_text(SOURCE)
    subprocess.run(
        [sys.executable, "-P", "-m", "Cython.Build.Cythonize", "-i", "-q", "reach.pyx"], cwd=folder, check=True
    )
    built = next(path for path in folder.glob("reach.*") if path.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("reach", built)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.reach(fastclf.embed(model), grid, 5)
    assert np.array_equal(found, expected)

figure, ax = plt.subplots()
contours = ax.contourf(x, y, expected.reshape(x.shape), levels=12, cmap="viridis_r")
ax.plot(*X.T, "k.", markersize=2)
figure.colorbar(contours, label="distance of the 5th nearest row")
