"""Support vector machines compared with those of other libraries; `python bench/peers.py` runs the comparison."""

from functools import partial
from importlib import import_module

import data
import numpy as np
from comparison import Work, comparison, refused_fallback, same_labels

# The number of seconds after which LIBSVM is ended in comparisons where it takes minutes or longer.
_CAP = 300


class Fitted:
    """A fitted model, whose figures for the comparison are computed after the clock has stopped."""

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, X, y

    def objective(self):
        """The dual objective, summed over all pairs, computed in float64 from the coefficients."""
        from fastclf.kernels.values import Kernel, as_kernel_rows

        model = self.model
        gamma = getattr(model, "_gamma_", None) or getattr(model, "_gamma", 1.0)
        support = as_kernel_rows(self.X[model.support_])
        K = Kernel(model.kernel, gamma)(support, support)
        coef = np.asarray(getattr(model.dual_coef_, "toarray", lambda: model.dual_coef_)())
        ends = np.concatenate([[0], np.cumsum(model.n_support_)])
        total, n_classes = 0.0, len(model.n_support_)
        for a in range(n_classes):
            for b in range(a + 1, n_classes):
                own = np.r_[ends[a] : ends[a + 1], ends[b] : ends[b + 1]]
                c = np.r_[coef[b - 1, ends[a] : ends[a + 1]], coef[a, ends[b] : ends[b + 1]]]
                total += np.abs(c).sum() - 0.5 * c @ K[np.ix_(own, own)] @ c
        return total


def as_good(least, ours, theirs):
    """Whether our violation is at most 1e-3, and our dual objective at most a share `least` below theirs."""
    model, best, other = ours[0].model, ours[0].objective(), theirs[0].objective()
    good = model.violation_ <= 1e-3 and best >= other - least * abs(other)
    return bool(good), f"violation {model.violation_:.1e}, objectives {best:.8g} and {other:.8g}"


def fits(X, y, threads, capped=False, **parameters):
    """The Work of one fit to all rows."""

    def make(module, **own):
        with refused_fallback():
            kind = import_module(module).SVC
        return lambda block: Fitted(kind(**parameters, **own).fit(X, y), X, y)

    peers = {"sklearn": partial(make, "sklearn.svm", cache_size=200), "sklearnex": partial(make, "sklearnex.svm")}
    caps = {"sklearn": _CAP} if capped else {}
    return Work([X], partial(make, "fastclf", n_jobs=threads), peers, partial(as_good, 1e-4), items=1, caps=caps)


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


@comparison("SVC a9a rbf", threads=(2,), sklearn=30, sklearnex=2.5)
def svc_a9a(scale, threads):
    X, y = data.a9a()
    n = int(len(y) * scale)
    return fits(dense(X[:n]), y[:n], threads, capped=True, C=1.0, gamma=1 / 123)


@comparison("SVC a9a rbf C=1000", threads=(2,), sklearn=10, sklearnex=1.5)
def svc_a9a_hard(scale, threads):
    X, y = data.a9a()
    n = int(len(y) * scale)
    return fits(dense(X[:n]), y[:n], threads, capped=True, C=1000.0, gamma=0.01)


@comparison("SVC usps rbf", threads=(2,), sklearn=3, sklearnex=3)
def svc_usps(scale, threads):
    X, y, _, _ = data.usps()
    n = int(len(y) * scale)
    return fits(X[:n], y[:n], threads, C=10.0, gamma=1 / 128)


@comparison("SVC mnist8000 rbf", threads=(2,), sklearn=5, sklearnex=2)
def svc_mnist(scale, threads):
    X, y = data.mnist10k()
    n = int(8000 * scale)
    return fits(X[:n] / np.float32(255), y[:n], threads, C=10.0, gamma=0.02)


@comparison("SVC spambase unscaled linear", threads=(2,), sklearn=10, sklearnex=1.5)
def svc_spambase(scale, threads):
    X, y = data.spambase()
    n = int(len(y) * scale)
    return fits(X[:: len(y) // n], y[:: len(y) // n], threads, capped=True, C=100.0, kernel="linear")


@comparison("SVC a9a predict", threads=(2,), sklearn=30, sklearnex=1.5)
def svc_predict(scale, threads):
    X, y = data.a9a()
    n = int(len(y) * scale)
    X, Q = dense(X[:n]), dense(data.a9a_test())
    parameters = {"C": 1.0, "gamma": 1 / 123}

    def predicts(module, **own):
        with refused_fallback():
            model = import_module(module).SVC(**parameters, **own).fit(X, y[:n])
        return model.predict

    def agree(ours, theirs):
        _, remark = same_labels(ours, theirs)
        differing = np.mean(np.concatenate(ours) != np.concatenate(theirs))
        return bool(differing <= 1e-3), remark  # two models, each to a tolerance of 1e-3, differ in scores near 0

    peers = {"sklearn": partial(predicts, "sklearn.svm"), "sklearnex": partial(predicts, "sklearnex.svm")}
    return Work([Q], partial(predicts, "fastclf", n_jobs=threads), peers, agree)
