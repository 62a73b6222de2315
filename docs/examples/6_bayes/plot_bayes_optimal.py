"""
The Bayes optimal classifier
============================

Three models of the same rows, and their average weighted by the posterior probability of each, from
cross-validation. With few rows the average hedges between the models; with many, one of them has all the weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fastclf import BayesOptimalClassifier, GaussianNB, KNeighborsClassifier, LogisticRegression, log_loss

X, y = make_moons(3000, noise=0.3, random_state=1)
models = {"naive Bayes": GaussianNB(), "logistic": LogisticRegression(), "25-NN": KNeighborsClassifier(25)}
sizes = [40, 60, 100, 160, 250, 400, 1000]
posteriors, losses = [], []
for n in sizes:
    average = BayesOptimalClassifier(list(models.values())).fit(X[:n], y[:n])
    posteriors.append(average.posterior_)
    losses.append([log_loss(y[1000:], m.predict_proba(X[1000:])) for m in [*average.models_, average]])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.stackplot(range(len(sizes)), np.transpose(posteriors), labels=models, alpha=0.7)
left.set(ylabel="posterior probability of the model", xticks=range(len(sizes)), xticklabels=sizes, xlabel="rows")
left.legend(loc="lower right", fontsize=8, facecolor="white", frameon=True)
for name, values in zip([*models, "average"], np.transpose(losses)):
    right.plot(range(len(sizes)), values, "k--" if name == "average" else "-", label=name)
right.set(ylabel="log loss on 2000 new rows", xticks=range(len(sizes)), xticklabels=sizes, xlabel="rows")
right.legend(fontsize=8)
