"""How near nearest neighbours come to the least risk: python examples/nearest_neighbour_bounds.py [PICTURE.png]

Two classes with normal densities at -t and t, so that the least risk R* is known. With ever more rows the error of one
neighbour lies between R* and 2 R* (1 - R*) (Cover, Hart 1967), that of k neighbours, k odd, below R* + 1 / sqrt(k e)
(Devroye, Gyorfi, Lugosi 1996, theorem 5.6).
"""

import sys

import numpy as np
from scipy import stats

from fastclf import BayesClassifier, KNeighborsClassifier

ROWS = 10_000
K = [1, 3, 5, 9, 15, 25, 51]
DISTANCES = [0.25, 0.5, 1.0, 1.5, 2.0]


def least_risk(t):
    rule = BayesClassifier([0.5, 0.5], [stats.norm(-t), stats.norm(t)])
    return rule, rule.risk().value


def bounds(risk, k):
    """The least and the largest error that k neighbours, of which one does worst, can have with rows without end."""
    return risk, min(2 * risk * (1 - risk), risk + 1 / np.sqrt(k * np.e))


def errors(rule, n=ROWS):
    """For each k the error among n rows by k neighbours out of n others."""
    (X, y), (Q, labels) = rule.sample(n, random_state=1), rule.sample(n, random_state=2)
    return [1 - KNeighborsClassifier(k).fit(X, y).score(Q, labels) for k in K]


def draw(rows, path):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    t, risk, found, _ = rows[len(rows) // 2]
    grey = {"color": "#8a8a8a", "linewidth": 1.2}
    ax.semilogx(K, [risk + 1 / np.sqrt(k * np.e) for k in K], ":", label=r"$R^* + 1/\sqrt{ke}$", **grey)
    ax.axhline(2 * risk * (1 - risk), linestyle="--", label=r"$2R^*(1 - R^*)$", **grey)
    ax.semilogx(K, found, "o-", color="#1f5fa8", label=f"k neighbours of {ROWS:,}")
    ax.axhline(risk, label="$R^*$", **grey)
    ax.set(xlabel="k", ylabel="error", title=f"normal classes at -{t} and {t}", xticks=K, xticklabels=K)
    ax.set_ylim(0, 2.6 * risk)
    ax.minorticks_off()
    ax.legend(frameon=False, loc="lower left")
    figure.savefig(path)


def main(picture=None):
    rows = []
    print("    t     R*   " + "".join(f"{f'{k}-NN':>8}" for k in K) + "   2 R* (1 - R*)")
    for t in DISTANCES:
        rule, risk = least_risk(t)
        found = errors(rule)
        rows.append((t, risk, found, [bounds(risk, k) for k in K]))
        print(f"{t:5} {risk:.4f}   " + "".join(f"{error:8.4f}" for error in found) + f"   {2 * risk * (1 - risk):.4f}")
    if picture:
        draw(rows, picture)
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:])
