"""
Exact leave-one-out of least squares
====================================

For least squares the residual of a row under the fit to all other rows is e / (1 - h), where e is its residual under
the fit to all rows and h its leverage. One factorisation therefore gives the leave-one-out error of a penalty, without
80 fits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from fastclf import LeastSquaresClassifier

data = load_breast_cancer()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
X, y = X[:80], data.target[:80]
alphas = np.logspace(-3, 4, 40)
left_out, resubstituted = [], []
for alpha in alphas:
    model = LeastSquaresClassifier(alpha).fit(X, y)
    left_out.append(1 - np.mean((model.leave_one_out(X, y) > 0) == y))
    resubstituted.append(1 - model.score(X, y))

figure, ax = plt.subplots()
ax.semilogx(alphas, left_out, label="leave-one-out")
ax.semilogx(alphas, resubstituted, "--", label="on the rows of the fit")
ax.set(xlabel="ridge penalty alpha", ylabel="error", title="80 rows, 30 features", ylim=0)
ax.legend()
