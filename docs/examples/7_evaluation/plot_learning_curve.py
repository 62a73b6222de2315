"""
Would more rows help?
=====================

The error by the number of rows that are fitted on. Where the curve of new rows still falls, more rows help; where
it has met the curve of the fitted rows, only another model does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fastclf import GaussianNB, KNeighborsClassifier
from fastclf.display import LearningCurveDisplay

digits = load_digits()
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, model in zip(axes, (GaussianNB(var_smoothing=1e-2), KNeighborsClassifier(3))):
    options = {"train_sizes": np.linspace(0.1, 1, 8), "cv": 5, "shuffle": True}
    LearningCurveDisplay.from_estimator(model, digits.data, digits.target, ax=ax, score_type="error", **options)
    ax.set_title(type(model).__name__)
