"""
Are the probabilities true?
===========================

Of the rows that get the probability 0.8, about 80 % should be positive. Naive Bayes counts the same evidence several
times where columns repeat each other, and its probabilities are too close to 0 and 1; logistic regression's are right.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import GaussianNB, LogisticRegression, brier_score_loss, calibration_curve

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 20_000)
X = np.repeat(rng.normal(size=(20_000, 2)) + 0.8 * y[:, None], 3, axis=1)
X += rng.normal(scale=0.3, size=X.shape)

figure, ax = plt.subplots(figsize=(5, 4.6))
ax.plot([0, 1], [0, 1], ":", color="0.5")
for model in (GaussianNB(), LogisticRegression()):
    probability = model.fit(X[:2000], y[:2000]).predict_proba(X[2000:])[:, 1]
    share, mean = calibration_curve(y[2000:], probability, n_bins=12)
    score = brier_score_loss(y[2000:], probability)
    ax.plot(mean, share, "o-", label=f"{type(model).__name__}: Brier score {score:.3f}")
ax.set(xlabel="probability given", ylabel="share of positive rows")
ax.legend()
