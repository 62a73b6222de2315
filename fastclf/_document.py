"""Shared descriptions of parameters are inserted into docstrings, so that `help` shows the whole text."""

from inspect import cleandoc


def document(**texts):
    """A decorator of functions and classes, which replaces a docstring's line `{name}` by the text `texts[name]`.
    Python -OO drops docstrings: then nothing is replaced, here as in the other decorators for docstrings.

    A text begins with the name of the parameter, for example "y : array-like of shape (n_samples,)".
    """

    def decorate(documented):
        lines = cleandoc(documented.__doc__ or "").split("\n")
        documented.__doc__ = "\n".join(
            texts[line[1:-1]] if line[:1] == "{" and line[-1:] == "}" else line for line in lines
        )
        return documented

    return decorate
