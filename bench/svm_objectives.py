"""Comparison of the optima of SVC and LIBSVM: python bench/svm_objectives.py [--only NAME]

The dual objectives are computed in float64 from the dual coefficients and summed over the pairs of classes, for `SVC`
here at tol 1e-6 and for scikit-learn's at 1e-8. Where LIBSVM would take minutes or longer, our duality gap is reported
instead. The exit status is 1 if a relative difference is above 1e-7. a9a takes LIBSVM five minutes; all others together
one.
"""

import argparse
import sys

import data
from limits import stopwatch
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.datasets import load_svmlight_file as load_rows
from svm.peers_svm import Fitted, dense

from fastclf import SVC

LARGEST = 1e-7


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def heart():
    X, y = load_rows(str(data.FOLDER / "heart_scale.libsvm"))
    return X.toarray(), y, {"gamma": 1 / 13}


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return standardised(X), y, {}


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y, {"C": 10}


def usps():
    X, y, _, _ = data.usps()
    return X.astype(float), y, {"C": 10, "gamma": 1 / 128}


def a9a():
    X, y = data.a9a()
    return dense(X), y, {"gamma": 1 / 123}


def spambase(**parameters):
    X, y = data.spambase()
    return standardised(X), y, parameters


def raw_spambase(**parameters):
    return *data.spambase(), parameters


# A dict {name: (a function that gives rows, labels and parameters; whether LIBSVM ends within minutes)}.
WORKS = {
    "heart_scale": (heart, True),
    "breast_cancer": (breast_cancer, True),
    "digits": (digits, True),
    "usps": (usps, True),
    "spambase scaled rbf": (spambase, True),
    "spambase scaled linear": (lambda: spambase(kernel="linear"), True),
    "spambase raw linear": (lambda: raw_spambase(kernel="linear", C=100), False),
    "spambase raw rbf": (raw_spambase, True),
    "a9a": (a9a, True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", default="", help="works whose name contains this")
    only = parser.parse_args().only
    works = {name: work for name, work in WORKS.items() if only in name}
    if not works:
        parser.error(f"no work's name contains {only!r}; there are {', '.join(WORKS)}")
    worst = 0.0
    for name, (make, ends) in works.items():
        X, y, parameters = make()
        # X is dense float64, so that both libraries use the same numbers
        seconds, _, ours = stopwatch(SVC(tol=1e-6, kernel_dtype="float64", **parameters).fit, X, y)
        objective = Fitted(ours, X, y).objective()
        line = f"{name}: {objective:.10g} in {seconds:.1f} s, violation {ours.violation_:.1e}, "
        if ends:
            seconds, _, theirs = stopwatch(svm.SVC(tol=1e-8, cache_size=1000, **parameters).fit, X, y)
            reference = Fitted(theirs, X, y).objective()
            difference = abs(objective - reference) / abs(reference)
            line += f"LIBSVM's {reference:.10g} in {seconds:.1f} s, difference {difference:.1e}"
        else:
            difference = ours.duality_gap_ / abs(objective)
            line += f"duality gap {difference:.1e} of the objective"
        print(line, "" if difference <= LARGEST else f"ABOVE {LARGEST:g}", flush=True)
        worst = max(worst, difference)
    sys.exit(int(worst > LARGEST))


if __name__ == "__main__":
    main()
