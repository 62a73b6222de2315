"""Replacement of scikit-learn's estimators and functions by fastclf's, for code that imports scikit-learn's names.

`patch_sklearn()` replaces them; `python -m fastclf.sklearn script.py` replaces them and runs an unchanged script.
"""

import argparse
import functools
import importlib
import inspect
import runpy
import sys
import types
from abc import ABCMeta
from pathlib import Path

from ._sklearn_bases import join
from ._validation import as_list, require_choice

# The public modules of scikit-learn in which names are replaced.
_MODULES = (
    "calibration",
    "inspection",
    "kernel_approximation",
    "linear_model",
    "metrics",
    "model_selection",
    "naive_bayes",
    "neighbors",
    "preprocessing",
    "svm",
    "tree",
)

# A dict of names of scikit-learn that are replaced only on request, because fastclf's answers may differ; the values
# say how they differ.
_OTHER_ANSWERS = {
    "DecisionBoundaryDisplay": "draws regions and rows where no argument of scikit-learn's is given",
    "DecisionTreeClassifier": "takes the first of equally good splits, not one at random",
    "DecisionTreeRegressor": "takes the first of equally good splits, not one at random",
    "Perceptron": "shuffles the rows in other orders",
}

# Names that are replaced by a class of this module, a subclass of fastclf's class. Its `fit` takes no sample weights,
# as in scikit-learn, so that ensembles and other code that looks at the arguments of `fit` treat both classes alike.
_UNWEIGHTED = (
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NearestCentroid",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
)

# The replacements: (module, name, scikit-learn's object), in the order in which they were made.
_replaced = []


def patch_sklearn(names=None, verbose=False):
    """Replace scikit-learn's estimators and functions by fastclf's of the same names, until `unpatch_sklearn`.

    A name is replaced if fastclf's object takes every parameter that scikit-learn's takes and gives its answers: not
    the perceptron, which shuffles in other orders, decision trees, where scikit-learn draws one of equally good splits
    at random, and three displays, which draw other pictures. These are replaced if they are named.
    The name is replaced in scikit-learn's public modules, and in all other modules that have imported it already.
    scikit-learn's private modules are not changed: the trees of its forests stay scikit-learn's, and pickles of its
    estimators are loaded and saved as they are.

    Parameters
    ----------
    names : list of str or 'all', default=None
        The names to replace, such as ['SVC', 'DecisionTreeClassifier']; None: all that give the same answers; 'all':
        the others too.
    verbose : bool, default=False
        Whether to report on stderr the replaced names, and for each other name the parameters that fastclf lacks.

    Returns
    -------
    replaced : list of str
        The names that were replaced, sorted.

    Raises
    ------
    ImportError
        scikit-learn is not installed.
    ValueError
        One of the names is not a name that fastclf and scikit-learn share.

    Examples
    --------
    >>> import fastclf
    >>> fastclf.patch_sklearn(["SVC"])
    ['SVC']
    >>> from sklearn.svm import SVC
    >>> SVC.__module__
    'fastclf.svm.svc'
    >>> fastclf.unpatch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC.__module__
    'sklearn.svm._classes'
    """
    shared = _shared()
    join()
    chosen = list(shared) if names is None or _is_all(names) else as_list(names, "names")
    for name in chosen:
        require_choice("names", name, sorted(shared))
    chosen = sorted(set(chosen))
    replaced = []
    for name in chosen:
        theirs, ours = shared[name]
        reason = None if names is not None and not _is_all(names) else _reason_to_stay(name, theirs, ours, names)
        if reason:
            _tell(verbose, f"{theirs.__module__}.{name} stays: fastclf's {reason}")
            continue
        if type(theirs) is ABCMeta and isinstance(ours, type):
            # scikit-learn's private modules, which keep their class, then accept objects of fastclf's class as
            # instances of it
            theirs.register(ours)
        for module in _modules_with(name, theirs):
            _replaced.append((module, name, theirs))
            setattr(module, name, ours)
        replaced.append(name)
        _tell(verbose, f"{theirs.__module__}.{name} -> {ours.__module__}.{name}")
    return replaced


def unpatch_sklearn():
    """Restore scikit-learn's own objects, everywhere `patch_sklearn` has replaced them.

    Examples
    --------
    >>> import fastclf
    >>> replaced = fastclf.patch_sklearn()
    >>> fastclf.unpatch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC.__module__
    'sklearn.svm._classes'
    """
    while _replaced:
        module, name, theirs = _replaced.pop()
        setattr(module, name, theirs)


def _is_all(names):
    return isinstance(names, str) and names == "all"


def _reason_to_stay(name, theirs, ours, names):
    """Why scikit-learn's object is kept, or None; with `names` it is replaced even if fastclf's answers differ."""
    missing = _missing_parameters(theirs, ours)
    if missing:
        return f"has no {', '.join(missing)}"
    return None if names is not None else _OTHER_ANSWERS.get(name)


def __getattr__(name):
    if name in _UNWEIGHTED:
        return _unweighted(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _unweighted(name):
    """A subclass of fastclf's class with the given name, one of `_UNWEIGHTED`, whose `fit` takes no sample weights."""
    ours = getattr(importlib.import_module("fastclf.neighbors"), name)

    def fit(self, X, y):
        return ours.fit(self, X, y)

    fit.__doc__ = ours.fit.__doc__
    body = {"fit": fit, "__module__": __name__, "__doc__": ours.__doc__, "__qualname__": name}
    return types.new_class(name, (ours,), {"shortcuts": ours._has_shortcuts}, lambda space: space.update(body))


def _tell(verbose, line):
    if verbose:
        print(f"fastclf: {line}", file=sys.stderr)


def _shared():
    """A dict {name: (scikit-learn's object, fastclf's)} of the names that both define in modules of the same name."""
    shared, before = {}, {name: theirs for _, name, theirs in _replaced}
    for module in _MODULES:
        theirs = importlib.import_module(f"sklearn.{module}")
        ours = importlib.import_module(f"fastclf.{module}")
        for name in ours.__all__:
            there = before.get(name, getattr(theirs, name, None))
            if there is not None and str(getattr(there, "__module__", "")).startswith("sklearn."):
                shared[name] = there, _unweighted(name) if name in _UNWEIGHTED else getattr(ours, name)
    return shared


def _missing_parameters(theirs, ours):
    """The names of the parameters of scikit-learn's object that fastclf's object does not have."""
    known = inspect.signature(ours).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return []
    return [name for name in inspect.signature(theirs).parameters if name not in known]


def _modules_with(name, theirs):
    """The loaded modules, except scikit-learn's internal ones, in which `name` is scikit-learn's object."""
    public = {f"sklearn.{module}" for module in _MODULES}
    for module_name, module in list(sys.modules.items()):
        inner = module_name.startswith(("sklearn.", "fastclf.")) and module_name not in public
        if not inner and module is not None and vars(module).get(name) is theirs:
            yield module


def main(argv=None):
    """Run a script or a module in which scikit-learn's names mean fastclf's objects."""
    parser = argparse.ArgumentParser(prog="python -m fastclf.sklearn", description=main.__doc__)
    parser.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    parser.add_argument("--verbose", action="store_true", help="tell on stderr what was replaced")
    parser.add_argument("--names", help="replace these names alone, separated by commas; all: trees too")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    patch_sklearn(args.names.split(",") if args.names and args.names != "all" else args.names, args.verbose)
    sys.argv = [args.script, *args.arguments]
    if args.module:
        runpy.run_module(args.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(args.script).resolve().parent)
        runpy.run_path(args.script, run_name="__main__")


if __name__ == "__main__":
    # main of the imported module is called, so that pickle finds its classes in fastclf.sklearn, not in __main__
    importlib.import_module("fastclf.sklearn").main()
