"""
A classifier as one C file
==========================

``export_c`` writes a fitted model as C99: tables and a loop over them, which need neither fastclf nor Python. Here
a C compiler builds a shared library of it, which ctypes calls; a microcontroller would compile the same file.
Without a C compiler the example shows the file only.
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from fastclf import DecisionTreeClassifier, export_c

data = load_iris()
X = data.data[:, 2:]
model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=3).fit(X, data.target)
folder = Path(tempfile.mkdtemp())
export_c(model, folder / "iris.c", name="iris")
source = (folder / "iris.c").read_text()
print(source[:1500])

# %%
# The compiled model colours the plane, row by row.

x, y = np.meshgrid(np.linspace(0.5, 7.2, 150), np.linspace(0, 2.7, 150))
grid = np.column_stack([x.ravel(), y.ravel()])
codes = model.predict(grid)
compiler = shutil.which("cc")
if compiler:
    command = [compiler, "-std=c99", "-O2", "-fPIC", "-shared", "iris.c", "-o", "iris.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    predict = ctypes.CDLL(str(folder / "iris.so")).iris_predict
    out = (ctypes.c_double * 3)()
    compiled = np.array([predict(row.ctypes.data_as(ctypes.c_void_p), out) for row in grid])
    assert np.array_equal(compiled, codes)
    codes = compiled

figure, ax = plt.subplots()
ax.contourf(x, y, codes.reshape(x.shape), levels=[-0.5, 0.5, 1.5, 2.5], colors=["C0", "C1", "C2"], alpha=0.3)
ax.scatter(*X.T, c=[f"C{k}" for k in data.target], s=10)
ax.set(xlabel=data.feature_names[2], ylabel=data.feature_names[3], title=f"{len(source.splitlines())} lines of C")
