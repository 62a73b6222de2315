"""
Categories and missing values
=============================

A tree splits a column of strings by a subset of its categories, and sends missing values with the side that they
resemble. No encoding is needed. Here the chance of a good year depends on the region, and is low where the region
is not known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fastclf import DecisionTreeClassifier
from fastclf.display import TreeDisplay
from fastclf.tree import export_text

rng = np.random.default_rng(0)
chance = {"north": 0.8, "south": 0.3, "east": 0.75, "west": 0.25, "coast": 0.85, None: 0.15}
region = rng.choice(np.array(list(chance), dtype=object), 2000)
rain = rng.gamma(4, 20, 2000)
good = rng.uniform(size=2000) < np.array([chance[name] for name in region]) * np.where(rain > 50, 1, 0.4)
table = pd.DataFrame({"region": region, "rain": np.where(rng.uniform(size=2000) < 0.1, np.nan, rain)})

model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=50).fit(table, np.where(good, "good", "poor"))
print(export_text(model))
figure, ax = plt.subplots(figsize=(8, 4))
TreeDisplay.from_estimator(model, ax=ax)
