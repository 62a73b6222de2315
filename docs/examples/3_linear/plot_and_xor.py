"""
AND and XOR
===========

A perceptron learns AND in a few epochs, and its hyperplane separates the four points. No line separates XOR: the
plain perceptron never ends, and two ways out are a feature map (the product of both inputs) and a kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import GeneralisedLinearClassifier, KernelPerceptron, Perceptron, PolynomialFeatures
from fastclf.display import DecisionBoundaryDisplay

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
AND, XOR = [0, 0, 0, 1], [0, 1, 1, 0]
plain = Perceptron(order="cyclic", max_iter=100)
product = GeneralisedLinearClassifier(PolynomialFeatures(include_bias=False), Perceptron(order="cyclic"))
panels = {
    "AND, perceptron": (plain, AND),
    "XOR, perceptron": (plain, XOR),
    "XOR, squares and product": (product, XOR),
    "XOR, RBF kernel": (KernelPerceptron(gamma=1.0), XOR),
}
figure, axes = plt.subplots(2, 2, figsize=(6.4, 6))
for ax, (name, (model, y)) in zip(axes.flat, panels.items()):
    model.fit(X, y)
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, eps=0.3)
    ax.set_title(f"{name}\n{np.sum(model.predict(X) != y)} of 4 wrong", fontsize=9)
    ax.set(xticks=[0, 1], yticks=[0, 1], xlabel="", ylabel="")
