"""
ROC and precision-recall curves
===============================

Scores of three classifiers for rows that they have not seen, on a set where one row in ten is positive. The ROC
curve does not depend on that share; the precision-recall curve does, and shows what a hit list of a given length
contains.
"""

import matplotlib.pyplot as plt
import numpy as np

from fastclf import SVC, GaussianNB, LogisticRegression
from fastclf.display import PrecisionRecallDisplay, RocCurveDisplay

rng = np.random.default_rng(0)
y = (rng.uniform(size=4000) < 0.1).astype(int)
X = rng.normal(size=(4000, 6)) + np.array([1, 0.7, 0.5, 0, 0, 0]) * y[:, None]
X[:, 3] *= 1 + 2 * y
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
for model in (LogisticRegression(), GaussianNB(), SVC(class_weight="balanced")):
    model.fit(X[:2000], y[:2000])
    RocCurveDisplay.from_estimator(model, X[2000:], y[2000:], ax=left, name=type(model).__name__)
    PrecisionRecallDisplay.from_estimator(model, X[2000:], y[2000:], ax=right, name=type(model).__name__)
