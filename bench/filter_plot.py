"""Plot of when the filter is faster than a scan: python bench/filter_plot.py [PLOT.svg]

The time of a query (200,000 rows of 128 coordinates) as a share of a plain scan's, against the intrinsic dimension of
the data, and against the distance of the farthest hundredth of the rows. Each share is the median of rounds in which a
filter, a plain scan and the choice of "auto" take turns.
"""

import argparse
from pathlib import Path
from statistics import median

import data
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from counted import rows_read
from limits import stopwatch
from matplotlib.ticker import LogLocator, StrMethodFormatter
from report import FRAME

from fastclf import NearestNeighbors, _simd
from fastclf._threads import n_threads

SWEEPS = {
    "intrinsic dimension": {inner: {"inner": inner} for inner in (2, 4, 8, 16, 32, 64, 128)},
    "1 % of the rows farther out by this factor (dimension 20)": {
        stretch: {"inner": 20, "stretch": stretch} for stretch in (1, 2, 4, 8, 16, 32, 64)
    },
}
ALGORITHMS = ("brute", "filter", "auto")
# A round searches BATCH queries in one call, and SINGLE queries in a call each.
BATCH, SINGLE = 256, 20
# These settings keep the file small and its content reproducible.
SVG = {"svg.hashsalt": "fastclf", "svg.fonttype": "none", "font.family": "sans-serif"}
COLORS = {1: "#1f5fa8", BATCH: "#c2571a"}


def measure(rounds, X, Q):
    """{queries at a time: (the filter's share of a scan's time, that of "auto", rows that a filter's query reads)}."""
    models = {name: NearestNeighbors(n_neighbors=10, algorithm=name).fit(X) for name in ALGORITHMS}
    found = {}
    for size, threads, blocks in (
        (1, 1, [Q[i : i + 1] for i in range(SINGLE)]),
        (BATCH, n_threads(), [Q]),
    ):
        for model in models.values():
            model.set_params(n_jobs=threads)
        with rows_read() as read:
            for block in blocks:
                models["filter"].kneighbors(block)
        shares = {"filter": [], "auto": []}
        for _ in range(rounds):
            seconds = {
                name: median(stopwatch(model.kneighbors, block)[0] for block in blocks)
                for name, model in models.items()
            }
            for name, of in shares.items():
                of.append(seconds[name] / seconds["brute"])
        found[size] = median(shares["filter"]), median(shares["auto"]), sum(read) / (size * len(blocks))
    return found


def draw(n_rows, sweeps):
    """A figure for {varied quantity: {its value: result of `measure`}}: shares above, rows read below."""
    figure, axes = plt.subplots(
        2,
        len(sweeps),
        sharex="col",
        sharey="row",
        figsize=(9.5, 5),
        height_ratios=(2.6, 1),
        layout="constrained",
    )
    for (name, points), above, below in zip(sweeps.items(), *axes):
        x = list(points)
        above.axhline(1, color="#8a8a8a", lw=1.4, ls="--")
        for size, color in COLORS.items():
            asked = "one query, 1 thread" if size == 1 else f"batch of {size}, {n_threads()} threads"
            forced, auto, read = zip(*(of[size] for of in points.values()))
            above.loglog(x, forced, "-", color=color, lw=1.8, label=f"filter, {asked}")
            above.loglog(x, auto, "o", color=color, ms=6, mfc="none", label=f"auto, {asked}")
            below.loglog(x, read, "-", color=color, lw=1.8)
        below.set(xlabel=name)
        below.set_xticks(x, list(map(str, x)))
        for ax in (above, below):
            ax.minorticks_off()
            ax.grid(axis="y", color="#ececec")
    top, bottom = axes[:, 0]
    top.set(ylabel="time / that of a plain scan")
    top.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    top.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    bottom.set(ylabel="rows read")
    axes[0, -1].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(0, 0.75))
    top.set_title(f"{n_rows:,} x 128, k = 10, {_simd.level()}", loc="left", fontsize=11)
    return figure


def main():
    parser = argparse.ArgumentParser(description="Draw the time of a filter relative to that of a plain scan.")
    parser.add_argument("plot", type=Path, nargs="?", default=Path(__file__).with_name("filter.svg"))
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sweeps = {}
    for name, cases in SWEEPS.items():
        points = sweeps[name] = {}
        for value, case in cases.items():
            points[value] = measure(options.rounds, *data.gaussian(options.rows, BATCH, **case))
            for size, (forced, auto, read) in points[value].items():
                print(
                    f"{name} {value}, {size} at a time: filter {forced:.2f}, auto {auto:.2f}, rows read {read:,.0f}",
                    flush=True,
                )
    with plt.rc_context(FRAME | SVG):
        draw(options.rows, sweeps).savefig(options.plot, metadata={"Date": None})


if __name__ == "__main__":
    main()
