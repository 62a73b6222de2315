"""
A prediction that must not fall
===============================

Where it is known that the answer rises with a feature, ``monotonic_cst`` forbids every split that contradicts this. The
constrained tree follows the trend and not the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import DecisionTreeRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, 200))[:, None]
y = np.log1p(X[:, 0]) + rng.normal(scale=0.4, size=200)
grid = np.linspace(0, 10, 1000)[:, None]

figure, ax = plt.subplots()
ax.plot(X[:, 0], y, ".", color="0.7")
for name, constraint in (("free", None), ("monotonic_cst=[1]", [1])):
    model = DecisionTreeRegressor(min_samples_leaf=6, monotonic_cst=constraint).fit(X, y)
    error = np.mean((model.predict(grid) - np.log1p(grid[:, 0])) ** 2)
    ax.plot(grid[:, 0], model.predict(grid), label=f"{name}: mean squared error {error:.3f}")
ax.legend()
