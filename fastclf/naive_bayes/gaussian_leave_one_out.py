"""Leave-one-out of Gaussian naive Bayes: each row is subtracted from one fit to all rows."""

import numpy as np

from ..sums.blocks import over_rows
from .joints import in_lanes, kernels, row_work


class Gaussians:
    """Gaussian classes fitted to all rows, for the compiled function that leaves out one row after another.

    Compiled code reads the fields as `gaussians_t`, which describes them. If a class has one row, some fields are not
    finite; then the class of that row is found without the shortcut.
    """

    __slots__ = (
        *("A", "B", "base", "count", "epsilon", "inverse"),
        *("log_prior", "mean", "off", "smoothing", "squares", "sums", "top"),
    )

    def __init__(self, learned, log_prior, smoothing):
        whole_count, *whole = learned["_whole"]
        self.smoothing, self.epsilon, self.log_prior = smoothing, learned["epsilon_"], log_prior
        self.count = np.append(learned["class_count_"], whole_count[0])
        self.mean, self.squares = (np.vstack([learned[name], row]) for name, row in zip(("theta_", "_squares"), whole))
        self.inverse = inverse = 1 / np.maximum(learned["var_"], 1e-300)
        logs, step = np.log(inverse), learned["theta_"] - whole[0]
        self.sums = np.stack([-logs.sum(axis=1), inverse.sum(axis=1), inverse.max(axis=1)], axis=1)
        self.top = log_prior[0] + 0.5 * (logs - np.log(2 * np.pi)).sum(axis=1)
        far = (inverse * step**2).sum(axis=1)
        self.A, self.B, self.base = in_lanes(inverse), in_lanes(-2 * inverse * step), in_lanes(self.top - 0.5 * far)
        # `off` is an upper bound of the rounding error of a log joint, which adds up 2 d products; it follows from
        # `far`, an upper bound of the sum of their absolute values
        self.off = 1e-9 + (inverse.shape[1] + 8) * 1e-15 * float(np.abs(self.top).max() + far.max())


def left_out_codes(X, codes, learned, priors, smoothing, n_jobs):
    """(codes, lost): the predicted class of each row by a fit to all other rows.

    `lost` marks rows without a prediction, because subtraction loses too many digits. `learned`: the attributes of a
    GaussianNB fitted to X. `priors`: those with all rows, and those without one row of the class.
    """
    found, lost = np.empty(len(X), np.int32), np.empty(len(X), np.uint8)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        gaussians = Gaussians(learned, np.log(priors), smoothing)
    work = 4 * row_work(len(learned["class_count_"]))
    over_rows(lambda i, j: kernels.leave_out(X, codes, gaussians, i, j, found, lost), X, work, n_jobs)
    return found, lost
