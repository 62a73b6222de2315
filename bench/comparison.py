"""How a comparison with other libraries is stated: the work, who does it, and what must come of it."""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np


@dataclass(frozen=True)
class Work:
    """One comparison's queries and competitors."""

    blocks: list  # a call answers one block of queries; a round takes the next `calls` blocks, and their median time
    ours: Callable  # ours() prepares fastclf and returns the call to time
    peers: dict[str, Callable]  # the same for each peer; raises ImportError where it cannot be had
    agree: Callable  # agree(our answers, theirs), one answer per block, gives (bool, remark)
    calls: int = 1
    items: int | None = None  # of a block, for the time of one; None: its length
    bytes_read: int | None = None  # by one item; then the share of the measured bandwidth is told
    caps: dict[str, float] = field(default_factory=dict)  # seconds after which a slow peer's one call is ended


@dataclass(frozen=True)
class Comparison:
    """Work to compare; `targets` are least ratios by peer, `most` the seconds that a query may take us."""

    name: str
    threads: int
    build: Callable  # build(scale, threads) returns the Work
    targets: dict[str, float]
    most: float | None
    share: float | None  # of the bandwidth, at least


COMPARISONS = []


def comparison(name, threads=(1, 2), most=None, share=None, **targets):
    """Register a comparison, once for each number of threads; targets go by the peer's name, its spaces as "_"."""
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
    """sklearnex runs scikit-learn's code where it has none of its own, and tells only its log."""

    def refuse(record):
        if "fallback" in record.getMessage():
            raise ImportError("has only scikit-learn's code for this")
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
