"""The classes on Ray: those on Dask, with Ray's workers in the place of a client."""

from ..dask.base import constructor
from .places import RayPlaces


class _Ray:
    """An object in place of a Dask client; it gives the workers of the Ray to which this process is connected."""

    asynchronous = False

    def as_places(self):
        return RayPlaces()

    def __reduce__(self):
        return _Ray, ()


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
            "client": _Ray(),
            "_on_ray": True,
        },
    )
