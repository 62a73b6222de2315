"""
A support vector machine along C
================================

``svm_path`` fits one machine for each C, and starts each at the alphas of the one before. Training errors fall with
C; the error on new rows falls and rises again, while fewer rows remain support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fastclf import svm_path

X, y = make_moons(2400, noise=0.4, random_state=0)
Cs = np.logspace(-1, 4, 25)
path = svm_path(X[:400], y[:400], Cs, gamma=10.0)

figure, (top, bottom) = plt.subplots(2, 1, sharex=True)
top.semilogx(Cs, [1 - model.score(X[:400], y[:400]) for model in path], "--", label="on the rows of the fit")
top.semilogx(Cs, [1 - model.score(X[400:], y[400:]) for model in path], label="on 2000 new rows")
top.set(ylabel="error", ylim=0)
top.legend()
bottom.semilogx(Cs, [len(model.support_) for model in path], color="C2")
bottom.set(xlabel="C", ylabel="support vectors", ylim=0)
