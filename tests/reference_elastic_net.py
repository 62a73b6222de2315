"""Logistic regression with L1 and L2 penalties, slow and obvious: proximal gradient steps on plain columns."""

import numpy as np
import reference_logistic


def objective(X, codes, coef, intercept, weights, C, l1_ratio):
    """C times minus the log likelihood, plus the penalties."""
    likelihood = reference_logistic.log_likelihood(X, codes, coef, intercept, weights)
    return -C * likelihood + (1 - l1_ratio) * 0.5 * np.sum(np.square(coef)) + l1_ratio * np.sum(np.abs(coef))


def violation(X, codes, coef, intercept, weights, C, l1_ratio, fit_intercept=True):
    """The largest entry of the shortest subgradient of the objective, by coefficients and intercepts."""
    smooth = C * reference_logistic.gradient(X, codes, coef, intercept, weights, np.inf)
    slope = smooth[:, :-1] + (1 - l1_ratio) * coef
    at_0 = np.maximum(np.abs(slope) - l1_ratio, 0)
    found = np.where(coef == 0, at_0, np.abs(slope + l1_ratio * np.sign(coef))).max()
    return max(found, np.abs(smooth[:, -1]).max() if fit_intercept else 0)


def fit(X, codes, weights, C, l1_ratio, fit_intercept=True, n_steps=20000):
    """(coef, intercept) by accelerated proximal gradient steps, begun anew where the objective rises."""
    n_classes, d = codes.max() + 1, X.shape[1]
    K = 1 if n_classes == 2 else n_classes
    weights = np.asarray(weights, np.float64)
    Z = np.hstack([X.astype(np.float64), np.ones((len(X), 1))])
    length = 1 / (C * (0.25 if K == 1 else 0.5) * np.linalg.norm(Z * np.sqrt(weights)[:, None], 2) ** 2 + 1 - l1_ratio)
    theta = ahead = np.zeros((K, d + 1))
    t, last = 1.0, np.inf
    for _ in range(n_steps):
        slope = C * reference_logistic.gradient(X, codes, ahead[:, :-1], ahead[:, -1], weights, np.inf)
        slope[:, :-1] += (1 - l1_ratio) * ahead[:, :-1]
        found = ahead - length * slope
        found[:, :-1] = np.sign(found[:, :-1]) * np.maximum(np.abs(found[:, :-1]) - length * l1_ratio, 0)
        found[:, -1] *= fit_intercept
        change = np.abs(found - theta).max()
        value = objective(X, codes, found[:, :-1], found[:, -1], weights, C, l1_ratio)
        if value > last:
            t, ahead = 1.0, theta
            last = np.inf
            continue
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = found + (t - 1) / after * (found - theta)
        theta, t, last = found, after, value
        if change < 1e-12:
            break
    return theta[:, :-1], theta[:, -1]
