"""The classes on Ray: those on Dask, with Ray's workers in the place of a client."""

from importlib import import_module

from ..dask.base import constructor
from ..dask.neighbors import loaded
from .places import Connection


def on_ray(cls, module):
    """The class on Ray of a class on Dask. Its constructor has the parameters of the plain class, and no others."""
    plain = cls._plain
    return type(
        cls.__name__,
        (cls,),
        {
            "__init__": constructor(plain, client=False),
            "__module__": module,
            "__doc__": f"`fastclf.{plain.__name__}` on Ray, with its parameters, attributes and answers, bit for bit."
            "\n\nX, y and sample_weight of `fit` are :class:`Rows`, and answers for Rows are Rows.",
            "client": Connection(),
        },
    )


def load(folder):
    """The estimator on Ray that the method `save` of an estimator on Ray or Dask has written to a folder.

    Parameters
    ----------
    folder : path-like
        All nodes read it.

    Returns
    -------
    estimator
        Each task maps the files of its shard, so that rows are read when a search needs them.
    """
    return loaded(folder, lambda name, parameters: getattr(import_module(__package__), name)(**parameters))
