"""Calls that a type checker must report, if the line says "wrong"."""

import numpy as np

import fastclf
from fastclf import SVC, DecisionTreeClassifier, GaussianNB, KNeighborsClassifier, LogisticRegression, Perceptron
from fastclf.display import ConfusionMatrixDisplay

X, y = np.zeros((4, 2)), [0, 1, 0, 1]
model = KNeighborsClassifier().fit(X, y)

KNeighborsClassifier(n_neighbors="five")  # wrong: a word for a number
KNeighborsClassifier(n_neighbors=2.5)  # wrong: no whole number
KNeighborsClassifier(weights="distanse")  # wrong: misspelt
KNeighborsClassifier(neighbours=3)  # wrong: no such parameter
KNeighborsClassifier(5, "distance")  # wrong: only the first parameter may be passed by position
KNeighborsClassifier().fit(X)  # wrong: no labels
KNeighborsClassifier(metric=2)  # wrong: neither a name nor a function
model.predikt(X)  # wrong: misspelt
model.score(X, y).mean()  # wrong: the score is a float and not an array, so that it has no mean
model.kneighbors(X, return_distances=False)  # wrong: no such argument
SVC(kernel="rfb")  # wrong: misspelt
SVC(C="one")  # wrong: a word for a number
SVC(gamma=None)  # wrong: gamma has no value None
LogisticRegression().fit()  # wrong: no rows
LogisticRegression(class_weight=[1, 2])  # wrong: neither a dict nor 'balanced'
DecisionTreeClassifier(criterion="ginni")  # wrong: misspelt
DecisionTreeClassifier(max_depth="deep")  # wrong: a word for a number
Perceptron(penalty="l3")  # wrong: no such penalty
GaussianNB(var_smoothing="a lot")  # wrong: a word for a number
GaussianNB().fit(X, y).predict()  # wrong: no rows
fastclf.KNeighborClassifier()  # wrong: no such name
fastclf.save(model)  # wrong: no path
fastclf.metrics.roc_auc_score(y)  # wrong: no scores
fastclf.model_selection.KFold("ten")  # wrong: a word for a number
fastclf.GridSearchCV(model)  # wrong: no grid
fastclf.GridSearchCV(model, {"n_neighbors": [1, 3]}, scorring="f1")  # wrong: misspelt
print(fastclf.GridSearchCV(model, {"n_neighbors": [1, 3]}).fit(X, y).best_prams_)  # wrong: misspelt
fastclf.RandomizedSearchCV(model, {"n_neighbors": [1, 3]}, n_iter="ten")  # wrong: a word for a number
fastclf.TunedThresholdClassifierCV(model, response_method="predict")  # wrong: no score
fastclf.FixedThresholdClassifier(model, threshold=[0.5])  # wrong: a list for a number
fastclf.make_scorer("f1")  # wrong: no function
fastclf.make_scorer(fastclf.f1_score, greater_is_better="no")  # wrong: a word for a truth value
fastclf.get_scorer()  # wrong: no name
fastclf.mean_squared_error(y)  # wrong: no predictions
fastclf.ndcg_score([y], [y], k="two")  # wrong: a word for a number
ConfusionMatrixDisplay()  # wrong: no matrix
