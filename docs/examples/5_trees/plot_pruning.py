"""
Cost-complexity pruning
=======================

A tree that is grown to the end fits noise. Pruning cuts it back to the subtree of least risk plus ``ccp_alpha``
times the number of leaves. One tree for each fold gives the cross-validated error of every alpha; the
one-standard-error rule takes the smallest tree whose error cannot be told from the least.
"""

from sklearn.datasets import load_breast_cancer

from fastclf import DecisionTreeClassifier
from fastclf.display import PruningDisplay

data = load_breast_cancer()
display = PruningDisplay.from_estimator(DecisionTreeClassifier(), data.data, data.target)
display.figure_.set_size_inches(7, 4.6)
