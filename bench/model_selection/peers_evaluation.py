"""Cross-validation and tuning compared with scikit-learn's loops; `python bench/peers.py` runs the comparison."""

from importlib import import_module

import data
import numpy as np
from comparison import Work, comparison

FOLDS = 10


@comparison("5-NN leave-one-out, against 1 of 50 folds", threads=(1, 2), sklearn=2)
def leave_one_out(scale, threads):
    """We leave out each row, and scikit-learn every fiftieth: a ratio of 2 means 100 times as fast for all rows."""
    X, y = data.mnist10k()
    n = int(10_000 * scale)
    X, y = X[:n], y[:n]
    rows = np.arange(0, n, 50)

    def ours():
        from fastclf import KNeighborsClassifier, cross_validate

        model = KNeighborsClassifier(n_jobs=threads)
        return lambda block: cross_validate(model, X, y, cv="loo")["test_score"][rows]

    def theirs():
        from sklearn.model_selection import cross_val_score
        from sklearn.neighbors import KNeighborsClassifier

        folds = [(np.delete(np.arange(n), i), [i]) for i in rows]
        return lambda block: cross_val_score(KNeighborsClassifier(n_jobs=threads), X, y, cv=folds)

    def agree(ours, theirs):
        wrong = int((ours[0] != theirs[0]).sum())
        return wrong == 0, f"{wrong} of {len(rows)} folds differ"

    return Work([X], ours, {"sklearn": theirs}, agree, items=1)


def tuned(X, y, threads, estimator, grid, within=0.0):
    """The Work of tuning our estimator: by `tune`, and by GridSearchCV."""
    from sklearn.model_selection import KFold

    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    model = getattr(import_module("fastclf"), estimator)(n_jobs=threads)

    def ours():
        from fastclf import tune

        return lambda block: tune(model, grid, X, y, cv=folds, n_jobs=threads, refit=False).mean_score

    def theirs():
        from sklearn.model_selection import GridSearchCV

        return lambda block: GridSearchCV(model, grid, cv=folds, refit=False).fit(X, y).cv_results_["mean_test_score"]

    def agree(ours, theirs):
        gap = np.abs(ours[0] - theirs[0]).max()
        return bool(gap <= within + 1e-12), f"mean scores differ by {gap:.1g}"

    return Work([X], ours, {"GridSearchCV": theirs}, agree, items=1)


@comparison("Tune 50 k by 10 folds", threads=(2,), GridSearchCV=10)
def tune_neighbors(scale, threads):
    X, y, *_ = data.usps()
    n = int(4_000 * scale)
    return tuned(X[:n], y[:n], threads, "KNeighborsClassifier", {"n_neighbors": list(range(1, 51))})


@comparison("Tune 30 alphas by 10 folds", threads=(2,), GridSearchCV=8)
def tune_alphas(scale, threads):
    X, y, _ = data.noisy(int(10_000 * scale))
    grid = {"ccp_alpha": np.geomspace(1e-5, 1e-2, 30).tolist()}
    return tuned(X, y, threads, "DecisionTreeClassifier", grid)


@comparison("Tune 15 C of logistic regression by 10 folds", threads=(2,), GridSearchCV=3)
def tune_penalties(scale, threads):
    X, y, _ = data.noisy(int(20_000 * scale))
    # solutions within `tol` of the same optimum may predict different labels for one row in a thousand
    return tuned(X, y, threads, "LogisticRegression", {"C": np.geomspace(1e-4, 1e3, 15).tolist()}, within=2e-4)


@comparison("Tune 15 C of linear machines by 10 folds", threads=(2,), GridSearchCV=3)
def tune_planes(scale, threads):
    X, y, _ = data.noisy(int(20_000 * scale))
    return tuned(X, y, threads, "LinearSVC", {"C": np.geomspace(1e-4, 1e2, 15).tolist()}, within=2e-4)


@comparison("Tune 15 C of machines by 10 folds", threads=(2,), GridSearchCV=3)
def tune_machines(scale, threads):
    X, y, _ = data.noisy(int(4_000 * scale))
    return tuned(X, y, threads, "SVC", {"C": np.geomspace(1e-2, 1e3, 15).tolist()}, within=2e-3)


@comparison("Tune 15 penalties of least squares by 10 folds", threads=(2,), GridSearchCV=3)
def tune_ridge(scale, threads):
    X, y, *_ = data.usps()
    n = int(4_000 * scale)
    return tuned(X[:n], y[:n], threads, "LeastSquaresClassifier", {"alpha": np.geomspace(1e-2, 1e4, 15).tolist()})
