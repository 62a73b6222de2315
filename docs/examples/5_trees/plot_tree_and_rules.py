"""
A tree in a picture and in words
================================

``TreeDisplay`` draws the questions of a tree and the shares of the classes in its leaves. ``rules`` and
``export_rules`` say the same in words: one rule for each leaf, with the fewest conditions.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from fastclf import DecisionTreeClassifier
from fastclf.display import TreeDisplay
from fastclf.tree import export_rules

data = load_iris(as_frame=True)
model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=3).fit(data.data, data.target_names[data.target])
print(export_rules(model))

figure, ax = plt.subplots(figsize=(8, 4.6))
TreeDisplay.from_estimator(model, ax=ax)
