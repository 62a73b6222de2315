"""Logistic regression, slow and obvious: plain sums over rows, and Newton's method without scaling of the columns."""

import numpy as np


def probabilities(X, coef, intercept):
    """Softmax of one score for each class; a single row of coefficients belongs to the second of two classes."""
    scores = X.astype(np.float64) @ np.asarray(coef, np.float64).T + intercept
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def log_likelihood(X, codes, coef, intercept, weights):
    P = probabilities(X, coef, intercept)
    return sum(weight * np.log(P[i, code]) for i, (code, weight) in enumerate(zip(codes, weights)))


def objective(X, codes, coef, intercept, weights, C):
    """C times minus the log likelihood, plus half of the squared coefficients (C = inf: without these)."""
    likelihood = log_likelihood(X, codes, coef, intercept, weights)
    return -likelihood if np.isinf(C) else -C * likelihood + 0.5 * np.sum(np.square(coef))


def gradient(X, codes, coef, intercept, weights, C):
    """d objective / (d coef, d intercept), of shape (rows of coef, d + 1)."""
    X = np.hstack([X.astype(np.float64), np.ones((len(X), 1))])
    P = probabilities(X[:, :-1], coef, intercept)
    residual = (P - np.eye(P.shape[1])[codes]) * np.asarray(weights)[:, None]
    if len(coef) == 1:
        residual = residual[:, 1:]
    found = residual.T @ X
    if np.isinf(C):
        return found
    return C * found + np.hstack([coef, np.zeros((len(coef), 1))])


def gradient_norm(X, codes, coef, intercept, weights, C, fit_intercept=True):
    """The gradient norm of the objective over C sum(weights), for columns centred and divided by t, as documented."""
    weights = np.asarray(weights, np.float64)
    total = weights.sum()
    mean = weights @ X / total if fit_intercept else np.zeros(X.shape[1])
    penalty = 1 / (C * total)
    t = np.sqrt(weights @ (X - mean) ** 2 / total + penalty)
    t[t == 0] = 1
    plain = gradient(X, codes, coef, intercept, weights, C) * (penalty if np.isfinite(C) else 1 / total)
    standardised = (plain[:, :-1] - plain[:, -1:] * mean) / t
    return np.linalg.norm(np.hstack([standardised, plain[:, -1:] * fit_intercept]))


def fit(X, codes, weights, C, fit_intercept=True):
    """(coef, intercept) at the maximum, by Newton steps with second derivatives from differences of the gradient."""
    n_classes, d = codes.max() + 1, X.shape[1]
    K = 1 if n_classes == 2 else n_classes
    theta = np.zeros(K * (d + 1))
    free = np.tile(np.append(np.ones(d, bool), fit_intercept), K)

    def split(theta):
        theta = theta.reshape(K, d + 1)
        return theta[:, :-1], theta[:, -1]

    def slope(theta):
        return gradient(X, codes, *split(theta), weights, C).ravel() * free

    def value(theta):
        return objective(X, codes, *split(theta), weights, C)

    for _ in range(100):
        g = slope(theta)
        H = np.array([(slope(theta + 1e-6 * e) - slope(theta - 1e-6 * e)) / 2e-6 for e in np.eye(len(theta))])
        step = -np.linalg.lstsq(H, g, rcond=1e-9)[0]
        while value(theta + step) > value(theta) + 1e-12 * abs(value(theta)):
            step /= 2
            if np.linalg.norm(step) < 1e-14:
                return split(theta)
        theta = theta + step
        if np.linalg.norm(step) < 1e-11:
            break
    return split(theta)
