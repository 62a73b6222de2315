"""The calls behind which a cluster stands: `places`, `put`, `with_copies`, `call`, `get`. Here the cluster is Dask's.

A round of a fit is one task for each place. A task is a pure function of its arguments, so that Dask can repeat it on
another worker if a worker dies, and no task keeps state on a worker.
"""

import asyncio
import contextlib
import time
import uuid
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from .. import __version__, _simd

# The number of seconds that a call waits for a worker to appear, if there is none.
_NO_WORKER_SECONDS = 20

# The number of seconds between two checks whether there are workers.
_CHECK_SECONDS = 2

# The number of seconds that a transfer of results may take before the client checks again whether there are workers.
_GATHER_SECONDS = 30

# The number of times that copies are sent to the workers before their loss is told.
_TRIALS = 4

# The number of threads that the present task may use on a cluster other than Dask's, such as Ray's; None on Dask.
OWN_THREADS = ContextVar("OWN_THREADS", default=None)


class Place(NamedTuple):
    """A worker."""

    address: str
    threads: int
    memory: int = 0  # the number of bytes that the worker may use; 0: there is no limit


def signature():
    """What must be the same in all processes, since it may change bits: {name: version or level}."""
    return {"fastclf": __version__, "NumPy": np.__version__, "the SIMD level": _simd.level()}


def require_same(wanted, worker):
    """Refuse to work in a process that may compute other bits than the client."""
    here = signature()
    for name, value in wanted.items():
        if here[name] != value:
            advice = (
                f"set FASTCLF_SIMD={min(value, here[name], key=list(_simd._SUFFIX).index)} for the client and all"
                " workers"
                if name == "the SIMD level"
                else f"install {name} {value} there"
            )
            raise RuntimeError(
                f"the {worker} has {name} {here[name]} and the client {value}, so that results might differ; {advice}"
            )


def _worker():
    """The worker that runs the present task; None outside of a task."""
    from distributed import get_worker

    with contextlib.suppress(ValueError):
        return get_worker()
    return None


def _address():
    worker = _worker()
    return "worker of this process" if worker is None else f"worker {worker.address}"


def own_threads():
    """The number of threads of the worker that runs the present task; 1 outside of a worker."""
    if OWN_THREADS.get() is not None:
        return OWN_THREADS.get()
    worker = _worker()
    return 1 if worker is None else worker.state.nthreads


def _run(wanted, f, *args):
    require_same(wanted, _address())
    return f(*args)


class _LostError(RuntimeError):
    """What a task needs is lost, so that the scheduler has forgotten the task."""


class DaskPlaces:
    """The workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    """

    on_ray = False

    # the client that a task is given in order to reach the same cluster; None: the task gets its worker's client
    client_in_tasks = None

    def __init__(self, client):
        self._client, self._signature = client, signature()

    def places(self, refs=None):
        """All workers as Places; with `refs`, for each of these references the address of a worker that has its value.

        An address is None if no worker has the value any more.
        """
        if refs is None:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            return [
                Place(address, workers[address]["nthreads"], workers[address].get("memory_limit") or 0)
                for address in sorted(workers)
            ]
        found = self._client.who_has(refs)
        return [min(found.get(ref.key) or (), default=None) for ref in refs]

    def put(self, values):
        """References to the values of a list of Dask's Delayed objects, which are computed and kept by the workers."""
        refs = self._client.compute(values)
        self._watched(refs, self._ended)
        return refs

    def with_copies(self, value, work):
        """work(reference to a copy of the value on all workers), done anew if all the copies are lost.

        No task can compute a lost copy again, and Dask drops copies that no task waits for, so that one worker may have
        the last one when it dies.
        """
        for _ in range(_TRIALS - 1):
            with contextlib.suppress(_LostError):
                return work(self._client.scatter(value, broadcast=True, hash=False))
        return work(self._client.scatter(value, broadcast=True, hash=False))

    def call(self, f, *args, near=None):
        """A reference to f(*args), computed by the worker at the address `near` or, if this is impossible, by another.

        Arguments, and entries of lists in arguments, may be references.
        """
        return self._client.submit(
            _run,
            self._signature,
            f,
            *args,
            key=f"fastclf.{f.__name__}-{uuid.uuid4().hex}",
            workers=None if near is None else [near],
            allow_other_workers=near is not None,
        )

    def get(self, refs):
        """The values of references. If a task fails, or there has been no worker for 20 s, an error is raised."""
        try:
            return self._watched(refs, self._values)
        except BaseException as error:
            self._client.cancel(refs, force=True)
            raise _told(error) from error if _told(error) is not error else None

    def _watched(self, refs, work):
        """The result of work(refs), a coroutine that is called again while its result is None and there are workers."""
        seen = time.monotonic()
        while True:
            found = self._client.sync(work, refs)
            if found is not None:
                return found
            if self.places():
                seen = time.monotonic()
            elif time.monotonic() - seen > _NO_WORKER_SECONDS:
                raise RuntimeError(
                    f"the cluster has had no worker for {_NO_WORKER_SECONDS} s; the call is given up, and may be"
                    " repeated when there are workers"
                )

    async def _ended(self, refs):
        """True if all tasks have ended or one of them has failed; None if neither has happened within 2 s."""
        # `_wait` is used because the public function `wait` needs a default client
        from distributed.client import _wait

        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            await _wait(refs, timeout=_CHECK_SECONDS)
            return True
        # a failed task also ends the wait: the caller then fetches the values, which raises the task's error
        return True if any(ref.status in ("error", "cancelled", "lost") for ref in refs) else None

    async def _values(self, refs):
        """The values of references, by one call of the event loop; None if they do not arrive in time."""
        if await self._ended(refs):
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                return await asyncio.wait_for(self._client.gather(refs, asynchronous=True), _GATHER_SECONDS)
        return None


def _told(error):
    """A RuntimeError in one sentence for an error of Dask itself; any other error unchanged."""
    kind = type(error).__name__
    if kind in ("KilledWorker", "NoValidWorkerError"):
        return RuntimeError(f"workers died again and again in the same task, for example for lack of memory ({error})")
    if kind in ("CancelledError", "FutureCancelledError", "FuturesCancelledError", "FutureLostError"):
        return _LostError(
            f"the cluster was restarted or lost data that it cannot compute again ({kind}); a new call is wanted"
        )
    return error


def default_client():
    """The client of the present task or, outside of tasks, Dask's default client."""
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "client is None and there is no Dask client; client=distributed.Client(...) is wanted, or a Client made"
            " before"
        ) from None


@contextlib.contextmanager
def places_of(client):
    """The DaskPlaces of a client; None means the default client. Within a task the worker's thread is given back."""
    if hasattr(client, "as_places"):
        yield client.as_places()
    elif client is None and _worker() is not None:
        from distributed import worker_client

        with worker_client() as inner:
            yield DaskPlaces(inner)
    else:
        yield DaskPlaces(default_client() if client is None else client)


def is_asynchronous(client):
    """Whether the caller runs in the event loop of the client, and so must not wait."""
    if client is None:
        with contextlib.suppress(ValueError):
            from distributed import get_client

            client = None if _worker() is not None else get_client()
    return client is not None and client.asynchronous
