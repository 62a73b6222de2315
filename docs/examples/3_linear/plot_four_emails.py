"""
Spam with four e-mails
======================

The first table of Flach's Machine Learning (2012): the outcomes of two tests of SpamAssassin on four e-mails, of
which the first is spam. The weights (4, 4) and the threshold 5 of the text separate them, and a perceptron that
starts there makes no mistake. Started at 0, the perceptron finds a separating line of its own; least squares and
the maximum margin find two more.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import SVC, LeastSquaresClassifier, Perceptron

X = np.array([[1.0, 1], [0, 0], [1, 0], [0, 1]])
y = np.array(["spam", "ham", "ham", "ham"])
texts = Perceptron(order="cyclic").fit(X, y, coef_init=[[4.0, 4]], intercept_init=[-5.0])
assert texts.n_mistakes_ == 0
models = {
    "text: 4, 4, threshold 5": texts,
    "perceptron from 0": Perceptron(order="cyclic").fit(X, y),
    "least squares": LeastSquaresClassifier().fit(X, y),
    "maximum margin": SVC(kernel="linear", C=np.inf).fit(X, y),
}
line = np.linspace(-0.5, 2, 2)
figure, ax = plt.subplots(figsize=(5, 4.6))
for (name, model), style in zip(models.items(), ("-", "--", "-.", ":")):
    assert np.array_equal(model.predict(X), y)
    (a, b), c = model.coef_[0], model.intercept_[0]
    ax.plot(line, -(a * line + c) / b, style, label=name)
    print(f"{name:24} w = ({a:.3g}, {b:.3g}), threshold {-c:.3g}")
for label, marker in (("spam", "^"), ("ham", "o")):
    ax.plot(*X[y == label].T, marker, color="k", markersize=9, label=label)
ax.set(xlim=(-0.3, 1.9), ylim=(-0.3, 1.9), xlabel="test 1", ylabel="test 2")
ax.legend(fontsize=8, loc="upper right")
