"""
Methods compared on the same folds
==================================

``cross_validate`` fits several estimators on the same folds; an estimator with a shortcut, such as one fit for all
folds, uses it where it gives the answers of a loop over the folds. ``compare`` says whether two estimators differ by
more than chance, with the variance corrected for the training rows that folds share.
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
