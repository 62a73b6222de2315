"""The calls behind which a cluster stands, `places`, `put`, `with_copies`, `call` and `get`, on Ray.

A place is a node. A task runs on its node with as many threads as the node has processors, or on another node if this
one is gone. Ray repeats the tasks of a node that dies, and the tasks that made lost values.
"""

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..dask.places import OWN_THREADS, Place, require_same, signature

# The largest number of seconds of one call of ray.wait: Ctrl-C takes effect between two calls.
_CHECK_SECONDS = 2

# The number of times that Ray repeats a task whose process dies.
_RETRIES = 3


class _Ref:
    """A stand-in for a reference in a list or tuple; Ray resolves only references that are themselves arguments."""

    def __init__(self, number):
        self.number = number


def _without_refs(value, refs):
    """The value, with each reference in its nested lists and tuples appended to `refs` and replaced by a _Ref."""
    if isinstance(value, ray.ObjectRef):
        refs.append(value)
        return _Ref(len(refs) - 1)
    return _rebuilt(value, lambda each: _without_refs(each, refs))


def _with_values(value, values):
    if isinstance(value, _Ref):
        return values[value.number]
    return _rebuilt(value, lambda each: _with_values(each, values))


def _rebuilt(value, work):
    if type(value) is list:
        return [work(each) for each in value]
    if isinstance(value, tuple):
        parts = [work(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _run(wanted, f, args, *values):
    node = ray.get_runtime_context().get_node_id()
    require_same(wanted, f"node {node}")
    threads = next((place.threads for place in RayPlaces().places() if place.address == node), 1)
    token = OWN_THREADS.set(threads)
    try:
        return f(*_with_values(args, values))
    finally:
        OWN_THREADS.reset(token)


class RayPlaces:
    """The nodes of the Ray to which this process is connected."""

    on_ray = True

    def __init__(self):
        if not ray.is_initialized():
            raise ValueError("there is no connection to Ray; ray.init() makes one")
        self._signature = signature()

    def places(self, refs=None):
        """All nodes as Places; with `refs`, for each of these references the address of a node that has its value.

        Ray does not tell where small values are; they count as spread evenly, in their order.
        """
        if refs is None:
            nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
            places = [
                Place(node["NodeID"], int(node["Resources"]["CPU"]), int(node["Resources"].get("memory", 0)))
                for node in nodes
            ]
            return sorted(places)
        refs, there = list(refs), [place.address for place in self.places()]
        found = ray.experimental.get_object_locations(refs)
        where = []
        for i, ref in enumerate(refs):
            known = [node for node in found.get(ref, {}).get("node_ids", ()) if node in there]
            where.append(min(known, default=there[i * len(there) // len(refs)] if there else None))
        return where

    def put(self, values):
        """The references in a list, after their values are there."""
        self._wait(values)
        return values

    def with_copies(self, value, work):
        """work(reference to a copy of the value), which this process keeps."""
        return work(ray.put(value))

    def call(self, f, *args, near=None):
        """A reference to f(*args), computed by the node `near` or, if this is impossible, by another.

        Arguments, and entries of lists and tuples in arguments, may be references.
        """
        refs = []
        args = _without_refs(args, refs)
        options = {"num_cpus": 1, "max_retries": _RETRIES, "name": f"fastclf.{f.__name__}"}
        if near is not None:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(near, soft=True)
        return ray.remote(_run).options(**options).remote(self._signature, f, args, *refs)

    def get(self, refs):
        """The values of references; the error of a task is raised as it is.

        After an error or Ctrl-C the other tasks run to their end: a task that ends while `ray.cancel` looks at it makes
        Ray abort this process ("Tried to complete task that was not pending", in Ray 2.60).
        """
        refs = list(refs)
        try:
            self._wait(refs)
            return ray.get(refs)
        except BaseException as error:
            cause = _told(error)
            if cause is error:
                raise
            raise cause from None

    def _wait(self, refs):
        """Wait until each reference has a value or the error of its task; Ctrl-C ends the wait within 2 s."""
        pending = list(dict.fromkeys(refs))
        while pending:
            _, pending = ray.wait(pending, num_returns=len(pending), timeout=_CHECK_SECONDS, fetch_local=False)


class Connection:
    """What stands for a client: the Ray to which the process that uses it is connected."""

    asynchronous = False

    def as_places(self):
        return RayPlaces()

    def __reduce__(self):
        return Connection, ()


RayPlaces.client_in_tasks = Connection()


def _told(error):
    """The error that a task raised; a RuntimeError in one sentence for an error of Ray; any other error unchanged."""
    cause = getattr(error, "cause", None)
    if isinstance(error, ray.exceptions.RayTaskError) and isinstance(cause, BaseException):
        return _told(cause)
    if isinstance(error, ray.exceptions.RayError):
        return RuntimeError(
            f"a task or its data were lost, and Ray could not make them again ({type(error).__name__}: {error})"
        )
    return error
