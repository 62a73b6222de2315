"""
Averaged, voted and pocket perceptrons
======================================

Where no hyperplane separates the classes, the last weights of a perceptron depend on the last mistakes. Averaged
weights, the votes of all weights, and the best weights met on the way (the pocket) do not jump with each mistake.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import Perceptron

rng = np.random.default_rng(0)
y = np.arange(3000) % 2
X = rng.normal(size=(3000, 10)) + 0.4 * y[:, None]
epochs = range(1, 21)
figure, ax = plt.subplots()
for average in ("none", "pocket", "voted", "averaged"):
    models = [Perceptron(order="cyclic", average=average, max_iter=n).fit(X[:1000], y[:1000]) for n in epochs]
    ax.plot(epochs, [1 - model.score(X[1000:], y[1000:]) for model in models], "o-", label=average)
ax.set(xlabel="epochs", ylabel="error on 2000 new rows", xticks=range(2, 21, 2))
ax.legend(title="average")
