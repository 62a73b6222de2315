"""The slow, obvious linear support vector machine: one or two dual variables at a time, until none violates."""

import numpy as np


def solve(X, y, cost, squared=False, scaling=1.0, tol=1e-7, most_steps=100_000):
    """(w, b, objective) of |w|^2 / 2 + sum cost max(0, 1 - y (wx + b))^p, y of +1 and -1.

    `scaling` is None for an intercept that is not penalised, 0 for no intercept, else LIBLINEAR's scaling.
    """
    X, n = np.asarray(X, float), len(y)
    K = X @ X.T + (scaling or 0) ** 2
    most = np.full(n, np.inf) if squared else cost
    Q = y[:, None] * K * y + np.diag(0.5 / cost if squared else np.zeros(n))
    alpha, gradient = np.zeros(n), -np.ones(n)
    for _ in range(most_steps):
        if scaling is None:
            up = np.where(y > 0, alpha < most, alpha > 0)
            low = np.where(y > 0, alpha > 0, alpha < most)
            i = np.argmax(np.where(up, -y * gradient, -np.inf))
            j = np.argmin(np.where(low, -y * gradient, np.inf))
            if y[j] * gradient[j] - y[i] * gradient[i] <= tol:
                break
            bend = Q[i, i] + Q[j, j] - 2 * y[i] * y[j] * Q[i, j]
            step = (y[j] * gradient[j] - y[i] * gradient[i]) / max(bend, 1e-12)
            step = min(step, most[i] - alpha[i] if y[i] > 0 else alpha[i])
            step = min(step, alpha[j] if y[j] > 0 else most[j] - alpha[j])
            moves = [(i, y[i] * step), (j, -y[j] * step)]
        else:
            projected = np.where(alpha <= 0, np.minimum(gradient, 0), gradient)
            projected = np.where(alpha >= most, np.maximum(projected, 0), projected)
            i = np.argmax(np.abs(projected))
            if abs(projected[i]) <= tol:
                break
            moves = [(i, np.clip(alpha[i] - gradient[i] / max(Q[i, i], 1e-12), 0, most[i]) - alpha[i])]
        for k, change in moves:
            alpha[k] = min(max(alpha[k] + change, 0), most[k])
            gradient += Q[:, k] * change
    v = X.T @ (alpha * y)
    if scaling is None:
        middle = -y * gradient
        b = (middle[up].max() + middle[low].min()) / 2
        penalty = 0.0
    else:
        b, penalty = scaling**2 * (alpha @ y), (scaling * (alpha @ y)) ** 2
    return v, b, 0.5 * (v @ v + penalty) + losses(X, y, cost, v, b, squared).sum()


def losses(X, y, cost, w, b, squared):
    z = np.maximum(0, 1 - y * (X @ w + b))
    return cost * (z * z if squared else z)
