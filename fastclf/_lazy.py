"""Packages whose names are loaded when they are first asked for: importing one estimator loads none of the others."""

import sys
from importlib import import_module


def attach(package, modules, packages=()):
    """`__getattr__`, `__dir__` and `__all__` for the `__init__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    modules : dict of str to str
        Each public name, and the module that it is loaded from, relative to the package: "svc", or "..display.curves".
    packages : collection of str
        Packages in it that are attributes of it before anybody has imported them.
    """

    def __getattr__(name):
        if name in packages:
            return import_module(f".{name}", package)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        value = getattr(import_module(module if module.startswith(".") else f".{module}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(modules)
    return __getattr__, lambda: names, names
