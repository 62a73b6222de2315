"""The perceptron as in textbooks: slow and obvious."""

import numpy as np


def perceptron(X, y, samples, eta=1.0, w=None, b=0.0, intercept=True, cost=None):
    """(w, b) after each sample, starting with the first weights, and the numbers of the samples with mistakes.

    The labels y are -1 or +1; `intercept` is the share of a step that b takes.
    """
    w = np.zeros(X.shape[1]) if w is None else np.array(w, float)
    steps, mistakes = [(w.copy(), b)], []
    for sample, i in enumerate(samples):
        f = sum(w_j * x_j for w_j, x_j in zip(w.tolist(), X[i].tolist())) + b
        if y[i] * f <= 0:
            mistakes.append(sample)
            step = eta * y[i] * (1.0 if cost is None else cost[i])
            w = w + step * X[i].astype(float)
            b = b + intercept * step
        steps.append((w.copy(), b))
    return steps, mistakes


def joint(X, codes, samples, n_classes, eta=1.0):
    """(W, b) after all samples, and the number of mistakes, for all classes at once."""
    W, b, mistakes = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes), 0
    for i in samples:
        f = W @ X[i].astype(float) + b
        others = [k for k in range(n_classes) if k != codes[i]]
        rival = max(others, key=lambda k: f[k])
        if f[codes[i]] <= f[rival]:
            mistakes += 1
            W[codes[i]] += eta * X[i].astype(float)
            W[rival] -= eta * X[i].astype(float)
            b[codes[i]] += eta
            b[rival] -= eta
    return W, b, mistakes


def batch(X, y, sweeps, eta=1.0):
    """(w, b) after epochs in which the steps of all mistakes are added up."""
    w, b = np.zeros(X.shape[1]), 0.0
    for _ in range(sweeps):
        wrong = y * (X.astype(float) @ w + b) <= 0
        w = w + eta * (y[wrong, None] * X[wrong].astype(float)).sum(axis=0)
        b = b + eta * y[wrong].sum()
    return w, b


def averaged(steps):
    """The mean of the weights after each sample."""
    return np.mean([w for w, _ in steps[1:]], axis=0), np.mean([b for _, b in steps[1:]])


def voted(steps, Q):
    """The share of the votes for +1 minus that for -1, for the weights after each sample."""
    return np.mean([np.where(Q.astype(float) @ w + b > 0, 1.0, -1.0) for w, b in steps[1:]], axis=0)


def pocket(X, y, n_sweeps, cost=None):
    """The weights with the fewest errors, among those at the ends of epochs and of longest runs of correct rows."""
    cost = np.ones(len(y)) if cost is None else cost
    w, b, run, record, best, kept = np.zeros(X.shape[1]), 0.0, 0, 0, np.inf, None

    def consider():
        nonlocal best, kept
        wrong = cost[(X.astype(float) @ w + b > 0) != (y > 0)].sum()
        if wrong < best:
            best, kept = wrong, (w.copy(), b)

    for _ in range(n_sweeps):
        for i in range(len(y)):
            if y[i] * (X[i].astype(float) @ w + b) > 0:
                run += 1
                continue
            if run > record:
                record = run
                consider()
            w, b, run = w + cost[i] * y[i] * X[i].astype(float), b + cost[i] * y[i], 0
        consider()
    return kept


def loss(X, y, w, b, cost=None):
    """The mean of max(0, -y f) over the rows, each of which counts by its cost."""
    cost = np.ones(len(y)) if cost is None else cost
    terms = [c * max(0.0, -sign * (x @ w + b)) for x, sign, c in zip(X.astype(float), y, cost)]
    return sum(terms) / cost.sum()


def separable(rng, margin=0.02):
    """(rows, labels -1 or +1) that a hyperplane separates, as no row is closer to it than the margin."""
    d = int(rng.integers(2, 6))
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    offset = 0.3 * rng.standard_normal()
    X = rng.standard_normal((4000, d))
    f = X @ u + offset
    X, f = X[np.abs(f) > margin], f[np.abs(f) > margin]
    n = int(rng.integers(20, 200))
    # one row of each side is included, so that there are two classes
    rows = np.unique(np.concatenate([[np.argmax(f), np.argmin(f)], np.arange(n)]))
    return X[rows], np.sign(f[rows])
