"""LinearSVC here, and LIBLINEAR's in scikit-learn: the time of a fit with both objectives within 1e-3 of the least.

Each library has the loosest tolerance for which this holds.
"""

import warnings
from importlib import import_module

import data
import numpy as np
from comparison import Work, comparison


def objective(X, y, model):
    """The primal objective |w|^2 / 2 + b^2 / 2 + (sum of the hinge losses), in float64."""
    total = 0.5 * (np.vdot(model.coef_, model.coef_) + np.vdot(model.intercept_, model.intercept_))
    for start in range(0, len(y), 1 << 16):
        rows = slice(start, start + (1 << 16))
        sign = np.where(y[rows] == model.classes_[1], 1, -1)
        total += np.maximum(0, 1 - sign * (X[rows] @ model.coef_[0] + model.intercept_[0])).sum()
    return total


def fitting(X, y, module, **parameters):
    """A call that fits and returns the model."""

    def fit(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module).LinearSVC(loss="hinge", **parameters).fit(X, y)

    return lambda: fit


def fits(X, y, threads, tol, their_tol, caps=None):
    """The Work of a fit; our dual objective bounds the least objective from below."""

    def agree(ours, theirs):
        least = fitting(X, y, "fastclf")()(X).dual_objective_
        own, other = (objective(X, y, models[0]) / least - 1 for models in (ours, theirs))
        return bool(max(own, other) <= 1e-3), f"objective {own:.1e} above the least, theirs {other:.1e}"

    peers = {"sklearn": fitting(X, y, "sklearn.svm", tol=their_tol, random_state=0)}
    return Work([X], fitting(X, y, "fastclf", n_jobs=threads, tol=tol), peers, agree, items=1, caps=caps or {})


@comparison("LinearSVC, hinge, 1M x 64, float64", threads=(2,), sklearn=5)
def tall(scale, threads):
    X, y = data.hyperplane(int(1_000_000 * scale), 64)
    return fits(X, y, threads, 0.1, 0.1, {"sklearn": 60})


@comparison("LinearSVC, hinge, a9a, CSR", threads=(2,), sklearn=2)
def sparse(scale, threads):
    # Tolerances are tried in factors of 3: for each library the loosest with an objective within 1e-3 of the least.
    return fits(*data.a9a(), threads, 0.3, 0.3)
