"""
Error against the time of a query
=================================

A classifier is worth its time only if no other one is both better and faster. The line joins these
classifiers; the times are those of the machine that built this page.
"""

from sklearn.datasets import load_digits

from fastclf import (
    SVC,
    DecisionTreeClassifier,
    GaussianNB,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearSVC,
    NearestCentroid,
    cross_validate,
)
from fastclf.display import QueryCostDisplay

digits = load_digits()
models = {
    "1-NN": KNeighborsClassifier(1),
    "centroid": NearestCentroid(),
    "least squares": LeastSquaresClassifier(),
    "linear SVM": LinearSVC(C=0.01),
    "SVM": SVC(C=10),
    "tree": DecisionTreeClassifier(),
    "naive Bayes": GaussianNB(var_smoothing=1e-2),
}
results = cross_validate(models, digits.data, digits.target, cv=5, n_jobs=1, shortcuts=False)
display = QueryCostDisplay.from_results(results)
