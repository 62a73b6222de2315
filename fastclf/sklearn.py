"""Replacement of scikit-learn's estimators and functions by fastclf's, for code that imports scikit-learn's names.

`patch_sklearn()` replaces them; `python -m fastclf.sklearn script.py` replaces them and runs an unchanged script.
"""

import argparse
import importlib
import inspect
import runpy
import sys
from pathlib import Path

from ._validation import require_choice

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

# The replacements: (module, name, scikit-learn's object), in the order in which they were made.
_replaced = []


def patch_sklearn(names=None, verbose=False):
    """Replace scikit-learn's estimators and functions by fastclf's of the same names, until `unpatch_sklearn`.

    A name is replaced if fastclf's object takes every parameter that scikit-learn's takes; other names are not changed.
    The name is replaced in scikit-learn's public modules, in the module that defines it, and in all other modules that
    have imported it already. Uses inside scikit-learn's own code (the trees of its forests, for example) are not
    changed.

    Parameters
    ----------
    names : list of str, default=None
        The names to replace, such as ['SVC', 'KNeighborsClassifier']; None: all.
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
    for name in names or ():
        require_choice("names", name, sorted(shared))
    replaced = []
    for name in sorted(shared if names is None else set(names)):
        theirs, ours = shared[name]
        missing = _missing_parameters(theirs, ours)
        if missing and names is None:
            _tell(verbose, f"{theirs.__module__}.{name} stays: fastclf's has no {', '.join(missing)}")
            continue
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
                shared[name] = there, getattr(ours, name)
    return shared


def _missing_parameters(theirs, ours):
    """The parameters of scikit-learn's object that fastclf's object does not have."""
    known = inspect.signature(ours).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return []
    return [name for name in inspect.signature(theirs).parameters if name not in known]


def _modules_with(name, theirs):
    """The loaded modules, except scikit-learn's internal ones, in which `name` is scikit-learn's object."""
    public = {f"sklearn.{module}" for module in _MODULES} | {theirs.__module__}
    for module_name, module in list(sys.modules.items()):
        inner = module_name.startswith(("sklearn.", "fastclf.")) and module_name not in public
        if not inner and module is not None and vars(module).get(name) is theirs:
            yield module


def main(argv=None):
    """Run a script or a module in which scikit-learn's names mean fastclf's objects."""
    parser = argparse.ArgumentParser(prog="python -m fastclf.sklearn", description=main.__doc__)
    parser.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    parser.add_argument("--verbose", action="store_true", help="tell on stderr what was replaced")
    parser.add_argument("--names", help="replace these names alone, separated by commas")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    patch_sklearn(args.names.split(",") if args.names else None, args.verbose)
    sys.argv = [args.script, *args.arguments]
    if args.module:
        runpy.run_module(args.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(args.script).resolve().parent)
        runpy.run_path(args.script, run_name="__main__")


if __name__ == "__main__":
    main()
