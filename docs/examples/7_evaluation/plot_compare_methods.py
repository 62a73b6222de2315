"""
Methods compared on the same folds
==================================

``cross_validate`` fits several estimators on the same folds, each by its own shortcut where that gives the loop's
answers. ``compare`` says whether two differ by more than chance, with the variance corrected for training rows that
folds share.
"""

from sklearn.datasets import load_breast_cancer

from fastclf import (
    SVC,
    DecisionTreeClassifier,
    GaussianNB,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LogisticRegression,
    NearestCentroid,
    cross_validate,
    majority_error,
)
from fastclf.display import ComparisonDisplay

data = load_breast_cancer()
X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
models = {
    "7-NN": KNeighborsClassifier(7),
    "nearest centroid": NearestCentroid(),
    "logistic regression": LogisticRegression(C=0.1),
    "least squares": LeastSquaresClassifier(),
    "SVM": SVC(gamma=1 / 30),
    "tree, pruned": DecisionTreeClassifier(ccp_alpha="cv"),
    "naive Bayes": GaussianNB(),
}
results = cross_validate(models, X, data.target, cv=10)
print("least error:", results.winner)
for name in ("least squares", "tree, pruned"):
    print(f"{name} against {results.winner}: {results.compare(name, results.winner)}")
display = ComparisonDisplay.from_results(results, baseline=majority_error(data.target), title="breast cancer")
