"""The dual perceptron as a textbook has it."""

import numpy as np


def learn(K, signs, orders, bias=1.0, steps=None, budget=None):
    """(last coefficients, mean coefficients, number of mistakes); `orders` has an order of the rows for each epoch."""
    n = len(signs)
    a, total, mistakes, samples = np.zeros(n), np.zeros(n), 0, 0
    steps = np.ones(n) if steps is None else steps
    found = []  # the row numbers of the support vectors, the oldest first
    for order in orders:
        for i in order:
            if signs[i] * np.sum(a * (K[:, i] + bias)) <= 0:
                a[i] += signs[i] * steps[i]
                mistakes += 1
                found = [j for j in [*found, i] if a[j] != 0]
                found = list(dict.fromkeys(found))
                if budget is not None and len(found) > budget:
                    others = [j for j in found if j != i]
                    weakest = others[int(np.argmin(np.abs(a[others])))]
                    a[weakest] = 0
                    found.remove(weakest)
            total += a
            samples += 1
    return a, total / max(samples, 1), mistakes
