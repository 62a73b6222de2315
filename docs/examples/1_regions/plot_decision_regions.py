"""
Decision regions of every classifier
====================================

Three sets of two features: two bent bands (moons), a ring around a disc (circles), and two clouds of points that a
line separates but for noise. Each row of panels is a classifier; rows of data that a classifier labels wrongly are
crossed out. The last line of the program prints the share of new rows that each classifier gets right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

from fastclf import (
    SVC,
    BernoulliNB,
    DecisionTreeClassifier,
    GaussianNB,
    GeneralisedLinearClassifier,
    KernelPerceptron,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    NearestCentroid,
    Nystroem,
    Perceptron,
    PolynomialFeatures,
    RBFSampler,
)
from fastclf.display import DecisionBoundaryDisplay

DATA = {
    "moons": make_moons(400, noise=0.25, random_state=0),
    "circles": make_circles(400, noise=0.15, factor=0.4, random_state=0),
    "clouds": make_blobs(400, centers=[(-1, -1), (1, 1)], random_state=0),
}
MODELS = {
    "1 nearest neighbour": KNeighborsClassifier(1),
    "15 nearest neighbours": KNeighborsClassifier(15),
    "nearest centroid": NearestCentroid(),
    "averaged perceptron": Perceptron(order="shuffled", average="averaged", max_iter=20),
    "logistic regression": LogisticRegression(),
    "least squares": LeastSquaresClassifier(),
    "linear SVM": LinearSVC(),
    "SVM, RBF kernel": SVC(C=1.0),
    "kernel perceptron": KernelPerceptron(average="averaged", max_iter=10),
    "decision tree, pruned": DecisionTreeClassifier(ccp_alpha="cv"),
    "Gaussian naive Bayes": GaussianNB(),
    "Bernoulli naive Bayes": BernoulliNB(),
    "naive Bayes, kernel densities": NaiveBayes("kernel"),
    "logistic, cubic features": GeneralisedLinearClassifier(PolynomialFeatures(3), LogisticRegression()),
    "logistic, Fourier features": GeneralisedLinearClassifier(RBFSampler(random_state=0), LogisticRegression()),
    "logistic, Nystroem": GeneralisedLinearClassifier(Nystroem(gamma=1.0, random_state=0), LogisticRegression()),
}

figure, axes = plt.subplots(len(MODELS), 3, figsize=(8, 2.3 * len(MODELS)))
for row, (name, model) in zip(axes, MODELS.items()):
    right = []
    for ax, (title, (X, y)) in zip(row, DATA.items()):
        X = X.astype(np.float32)
        model.fit(X[:200], y[:200])
        right.append(model.score(X[200:], y[200:]))
        DecisionBoundaryDisplay.from_estimator(model, X[:200], y[:200], ax=ax, grid_resolution=120)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        ax.set_title(f"{title}: {right[-1]:.0%} right", fontsize=9)
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    row[0].set_ylabel(name, fontsize=9)
    print(f"{name:30}", *(f"{share:6.1%}" for share in right))
