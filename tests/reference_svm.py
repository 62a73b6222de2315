"""The support vector machine, slow and obvious."""

import numpy as np


def kernel_matrix(name, A, B, gamma=1.0, degree=3, coef0=0.0):
    """The kernel values k(a, b), one by one, in float64."""
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    formula = {
        "linear": lambda a, b: a @ b,
        "poly": lambda a, b: (gamma * (a @ b) + coef0) ** degree,
        "rbf": lambda a, b: np.exp(-gamma * ((a - b) @ (a - b))),
        "sigmoid": lambda a, b: np.tanh(gamma * (a @ b) + coef0),
    }[name]
    return np.array([[formula(a, b) for b in B] for a in A])


def gradient(K, y, alpha):
    """The gradient of 1/2 a'Qa - 1'a with Q_ij = y_i y_j K_ij."""
    return y * (K @ (y * alpha)) - 1


def violation(K, y, alpha, C):
    """The violation m(alpha) - M(alpha) of the KKT conditions, or 0 if the difference is negative."""
    score = -y * gradient(K, y, alpha)
    up = np.where(y > 0, alpha < C, alpha > 0)
    low = np.where(y > 0, alpha > 0, alpha < C)
    return max(0.0, score[up].max() - score[low].min()) if up.any() and low.any() else 0.0


def dual_objective(K, y, alpha):
    """The dual objective 1'a - 1/2 a'Qa, which is maximised."""
    return alpha.sum() - 0.5 * (y * alpha) @ K @ (y * alpha)


def primal_objective(K, y, alpha, b, C):
    """The primal objective 1/2 |w|^2 + sum C_i max(0, 1 - y_i f_i), which is minimised."""
    f = K @ (y * alpha) + b
    return 0.5 * (y * alpha) @ K @ (y * alpha) + (C * np.maximum(0, 1 - y * f)).sum()


def smo(K, y, C, tol=1e-9, max_iter=100_000):
    """The optimal alpha, by steps on the pair with the largest violation (Keerthi et al. 2001)."""
    n = len(y)
    C = np.broadcast_to(np.asarray(C, float), n)
    alpha = np.zeros(n)
    score = y.astype(float)  # score[i] is -y_i times the gradient of the dual objective
    for _ in range(max_iter):
        up = np.where(y > 0, alpha < C, alpha > 0)
        low = np.where(y > 0, alpha > 0, alpha < C)
        if not up.any() or not low.any():
            break
        i = np.argmax(np.where(up, score, -np.inf))
        j = np.argmin(np.where(low, score, np.inf))
        if score[i] - score[j] <= tol:
            break
        step = (score[i] - score[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        step = min(step, C[i] - alpha[i] if y[i] > 0 else alpha[i], alpha[j] if y[j] > 0 else C[j] - alpha[j])
        score -= step * (K[i] - K[j])
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
    return alpha


def through_origin(K, y, C, sweeps=200_000, tol=1e-11):
    """The optimal alpha without an intercept: the dual has no equality, so that each alpha is optimised by itself."""
    # slope[i] is 1 - y_i f(x_i), the derivative of the dual objective by alpha_i
    alpha, slope = np.zeros(len(y)), np.ones(len(y))
    C = np.broadcast_to(np.asarray(C, float), len(y))
    for _ in range(sweeps):
        largest = 0.0
        for i in range(len(y)):
            new = min(max(alpha[i] + slope[i] / K[i, i], 0.0), C[i])
            slope -= (new - alpha[i]) * y[i] * y * K[i]
            largest, alpha[i] = max(largest, abs(new - alpha[i])), new
        if largest <= tol:
            break
    return alpha


def widest_margin(Z, y):
    """The largest least y w.z over unit vectors w, by the non-negative least squares of Lawson and Hanson (1974)."""
    from scipy.optimize import nnls

    A = np.vstack([(y[:, None] * Z).T, np.ones(len(Z))])
    goal = np.append(np.zeros(Z.shape[1]), 1.0)
    residual = A @ nnls(A, goal)[0] - goal
    w = -residual[:-1] / residual[-1]
    return (y * (Z @ w)).min() / np.linalg.norm(w)
