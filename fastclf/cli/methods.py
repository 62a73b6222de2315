"""Classifiers by their names on the command line."""

import warnings

import numpy as np

import fastclf

from .._estimator import Classifier, clone
from .files import RequestError, blame
from .options import guess, parse_settings

# A dict of the methods: {name: (class, parameters that differ from the class's defaults, description)}.
METHODS = {
    "knn": ("KNeighborsClassifier", {}, "vote of the n_neighbors=5 nearest rows"),
    "centroid": ("NearestCentroid", {}, "the class with the nearest mean"),
    "least-squares": ("LeastSquaresClassifier", {}, "linear, least squares on class indicators; alpha is ridge"),
    "perceptron": ("Perceptron", {"average": "averaged"}, "linear, learns from mistakes; the average of its weights"),
    "logistic": ("LogisticRegression", {}, "linear, maximum likelihood; C=1 is the inverse of the penalty"),
    "linear-svm": ("LinearSVC", {}, "linear, largest margin; C=1"),
    "svm": ("SVC", {}, "largest margin with a kernel; C=1, kernel=rbf, gamma=scale"),
    "tree": ("DecisionTreeClassifier", {}, "rules; max_depth, ccp_alpha (pruning)"),
    "bayes": (
        "NaiveBayes",
        {"distributions": "gaussian"},
        "naive Bayes; distributions=gaussian of numbers, mdl cuts them, kernel smooths",
    ),
    "quadratic": ("GeneralisedLinearClassifier", {}, "least squares on products of columns"),
}


def offered():
    """The part of METHODS whose classes this build has."""
    return {name: method for name, method in METHODS.items() if method[0] in fastclf.__all__}


def listed():
    width = max(map(len, offered()))
    lines = [f"  {name.ljust(width)}  {what}" for name, (_, _, what) in offered().items()]
    return "methods, and the parameters that --set changes (the Python class has them all):\n" + "\n".join(lines)


def add_method(parser, default=None):
    """Add the options that choose a method."""
    choice = {"required": True} if default is None else {"default": default}
    parser.add_argument("--model", metavar="METHOD", help="one of those listed below", **choice)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method; may be given again"
    )
    parser.epilog = f"{listed()}\n\n{parser.epilog}"


def make(name, settings=(), n_jobs=None):
    """The unfitted classifier called `name`; `settings` are texts NAME=VALUE for its parameters."""
    if name in offered():
        cls, params, _ = offered()[name]
        model = getattr(fastclf, cls)(**params)
    else:
        cls = getattr(fastclf, name, None) if name in fastclf.__all__ else None
        if not (isinstance(cls, type) and issubclass(cls, Classifier)):
            wanted = f"one of {', '.join(offered())} is wanted{guess(name, offered())}"
            raise RequestError(f"there is no method {name!r}; {wanted}")
        model = cls()
    known = model.get_params()
    for key, value in {"n_jobs": n_jobs, "random_state": 0}.items():
        if key in known and value is not None:
            model.set_params(**{key: value})
    set_parameters(model, parse_settings(settings), name)
    require_values(model, parse_settings(settings), name)
    return model


# Parameters whose values cannot be checked without the data.
_OF_DATA = {
    "callback",
    "categorical_features",
    "class_prior",
    "class_weight",
    "cost_matrix",
    "distributions",
    "feature_map",
    "max_features",
    "metric_params",
    "outlier_label",
    "priors",
    "verbose",
}


def require_values(model, params, name):
    """Refuse values of parameters that no data would make right, by a fit to a few rows; `name` is the method's."""
    tried = {key: value for key, value in params.items() if key not in _OF_DATA or isinstance(value, str)}
    if not tried or "precomputed" in tried.values():
        return
    # The example has features of zeros and ones, which every metric and distribution of the methods takes, and two
    # separable classes of equal size, so that no fit fails because of its rows.
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]] * 6)
    probe = clone(model).set_params(
        **params | {key: type(model)().get_params()[key] for key in params if key not in tried}
    )
    with blame(name), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            probe.fit(X, X[:, 0].astype(int))
        except (OverflowError, RuntimeError, MemoryError):
            # ignored: an error of this type is due to the rows of the small example, not to the values of parameters
            return


def set_parameters(model, params, name):
    for key in params:
        if key not in model.get_params():
            known = [known for known in model.get_params() if known not in ("callback", "n_jobs", "verbose")]
            raise RequestError(f"{name} has no parameter {key!r}, only {', '.join(known)}{guess(key, known)}")
    with blame(name):
        model.set_params(**params)
