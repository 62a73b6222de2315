"""Calls that no type checker may complain about."""

import numpy as np

import fastclf
from fastclf import (
    SVC,
    DecisionTreeClassifier,
    GaussianNB,
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    NearestNeighbors,
    OneHotEncoder,
    Perceptron,
    cross_validate,
    load,
    save,
    tune,
)
from fastclf.metrics import confusion_matrix, roc_auc_score
from fastclf.model_selection import KFold
from fastclf.neighbors import KNeighborsRegressor

X = np.zeros((4, 2), np.float32)
y = np.array(["a", "b", "a", "b"])

knn = KNeighborsClassifier(n_neighbors=np.int64(1), weights="distance", metric="manhattan", n_jobs=-1).fit(X, y)
print(knn.predict(X).shape, knn.predict_proba(X.tolist())[0], knn.score(X, y) + 1.0)
knn.partial_fit(X, y).remove([0, 1]).set_params(n_neighbors=2)
distances, indices = NearestNeighbors(radius=np.float32(0.5)).fit(X).kneighbors(X, 2)
print(distances.sum(), indices.max())
print(KNeighborsRegressor(3, weights=lambda distance: 1 / distance).fit(X, [1, 2, 3, 4]).predict(X).mean())
print(
    SVC(C=2, gamma="auto", class_weight={"a": 1.0, "b": 2}).fit(X, y).support_.shape, SVC(kernel=lambda a, b: a @ b.T)
)
print(LogisticRegression(C=1.0, class_weight="balanced", max_iter=10**6).fit(X, y).coef_.T, LinearSVC(tol=1e-6))
print(DecisionTreeClassifier(max_depth=None, min_samples_leaf=0.1, random_state=0).fit(X, y).get_n_leaves() + 1)
print(GaussianNB(priors=[0.5, 0.5]).fit(X, y).theta_[0], Perceptron(average="averaged").fit(X, y).coef_)
print(
    OneHotEncoder(handle_unknown="ignore").fit_transform(X), confusion_matrix(y, y), roc_auc_score([0, 1], [0.1, 0.9])
)
print(cross_validate(knn, X, y, cv=KFold(3)), tune(SVC(), {"C": [1, 10]}, X, y))
save(knn, "model.fclf")
print(load("model.fclf"), fastclf.__version__, fastclf.NearestCentroid(metric="manhattan").get_params()["metric"])
search = fastclf.GridSearchCV(fastclf.SVC(), {"C": [0.1, 1.0]}, scoring=fastclf.make_scorer(fastclf.f1_score), cv=3)
search.fit(X, y, sample_weight=np.ones(4)).predict(X)
fastclf.RandomizedSearchCV(fastclf.SVC(), [{"C": [0.1, 1.0]}], n_iter=2, refit="f1", scoring=["f1", "accuracy"])
print(fastclf.TunedThresholdClassifierCV(fastclf.GaussianNB(), cv=0.5).fit(X, y).best_threshold_ + 0.5)
fastclf.r2_score([[1.0, 2.0]], [[1.0, 2.5]], multioutput=[0.3, 0.7])
fastclf.get_scorer("accuracy")(search, X, y)
