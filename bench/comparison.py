"""Declaration of a comparison with other libraries: the work, the libraries, and the targets."""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np


@dataclass(frozen=True)
class Work:
    """The queries and competitors of one comparison."""

    # the arguments of the timed calls: a round takes the median time of the calls on the next `calls` blocks
    blocks: list
    ours: Callable  # ours() prepares fastclf and returns the call to time
    # a dict {name: function like `ours`}; a function raises ImportError if its peer is not available
    peers: dict[str, Callable]
    agree: Callable  # agree(our answers, theirs), with one answer for each block, returns (bool, remark)
    calls: int = 1
    items: int | None = None  # the number of items in a block, by which times are divided; None: the block's length
    # the number of bytes that are read for an item; None: no share of the bandwidth is reported
    bytes_read: int | None = None
    # a dict {name of a slow peer: the number of seconds after which its call is ended}
    caps: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """A comparison and its targets: the least ratio for each peer, the most seconds that a query of ours may take."""

    name: str
    threads: int
    build: Callable  # a function build(scale, threads) that returns the Work
    targets: dict[str, float]
    most: float | None
    share: float | None  # the least share of the memory bandwidth that is aimed at; None: no target


COMPARISONS = []


def comparison(name, threads=(1, 2), most=None, share=None, **targets):
    """Register a comparison, once for each number of threads.

    `targets` has the least ratio for each peer, whose name has "_" for spaces.
    """
    targets = {peer.replace("_", " "): ratio for peer, ratio in targets.items()}

    def register(build):
        for n in threads:
            COMPARISONS.append(Comparison(f"{name}, {n} thread{'s' * (n > 1)}", n, build, targets, most, share))
        return build

    return register


def estimator(module, kind, method, *fit, **parameters):
    """The call `kind(**parameters).fit(*fit).method` of fastclf, scikit-learn or sklearnex."""
    with refused_fallback():
        model = getattr(import_module(module), kind)(**parameters).fit(*fit)
        getattr(model, method)(fit[0][:1])
    return getattr(model, method)


@contextlib.contextmanager
def refused_fallback():
    """Refuse sklearnex where it falls back to scikit-learn's code, which it reports only in its log."""

    def refuse(record):
        if "fallback" in record.getMessage():
            raise ImportError("sklearnex has only scikit-learn's code for this")
        return False

    logger = logging.getLogger("sklearnex")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addFilter(refuse)
    try:
        yield
    finally:
        logger.removeFilter(refuse)
        logger.setLevel(level)


def same_labels(ours, theirs):
    differing = int((np.concatenate(ours) != np.concatenate(theirs)).sum())
    return differing == 0, f"other labels in {differing} rows"


def in_blocks(Q, size=1):
    return [Q[i : i + size] for i in range(0, len(Q), size)]
