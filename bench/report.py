"""Render a benchmark run as one HTML page: python bench/report.py RUN.json PAGE.html"""

import argparse
import base64
import html
import io
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from limits import time_text
from matplotlib.ticker import EngFormatter, FixedLocator, LogLocator, NullLocator

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 1120px; margin: 2.5em auto;
       padding: 0 1.5em }
h1 { font-weight: 600; margin-bottom: 0 } h2 { font-weight: 600; margin: 2em 0 .5em }
p { max-width: 46em; color: #555 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1.5em 0 }
th, td { padding: .3em 1.3em .3em 0; text-align: right; border-bottom: 1px solid #e6e6e6; white-space: nowrap }
th { font-weight: 600; color: #555 } th:first-child, td:first-child { text-align: left }
.plots { display: grid; grid-template-columns: 1fr 1fr; gap: 1.2em }
@media (max-width: 800px) { .plots { grid-template-columns: 1fr } }
img { width: 100% }
"""
ABOUT = """The limit is the longer of two times: one read of all data at the measured bandwidth, and all operations of
the plain method at the rate of the measured matrix product. The share is limit / time. It can exceed 100 % where a
method avoids reading or computing something, and where the data stay in a cache. Each row of the table is the base
point of a sweep; the exponent is that of the whole sweep, or of its dotted part (least squares on logarithms).
Rows read are those that a query reads in full: all, but where a filter's codes rule rows out."""
HEAD = ("sweep", "at", "time", "limit", "set by", "share", "exponent", "rows read")
OURS, LIMIT = "#1f5fa8", "#8a8a8a"
FRAME = {"font.family": "DejaVu Sans", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
LABEL = {"textcoords": "offset points", "ha": "center", "fontsize": 9, "color": OURS}


def read_sweeps(run):
    """{method: {(title, axis): points in order}}; the benchmarks of a method NAME are in bench_NAME.py."""
    sweeps = {}
    for benchmark in run["benchmarks"]:
        point = benchmark["extra_info"]
        if "share" in point:
            method = Path(benchmark["fullname"].split("::")[0]).stem.removeprefix("bench_")
            sweep = sweeps.setdefault(method, {}).setdefault((benchmark["group"], point["axis"]), [])
            sweep.append(point)
            sweep.sort(key=lambda p: p[p["axis"]])
    return sweeps


def fit(axis, points):
    """(b, a) of the least-squares fit  log seconds = a + b log x  to the points with x of at least the sweep's tail."""
    x, seconds = zip(*[(p[axis], p["seconds"]) for p in points if p[axis] >= p.get("tail", 0)])
    return np.polyfit(np.log(x), np.log(seconds), 1) if len(x) > 1 else np.full(2, np.nan)


def place(point, names):
    return ", ".join(f"{name} = {point[name]:,}" for name in names)


def headline(method, title, axis, points):
    """The table's row for one sweep, with the columns of HEAD."""
    base = next((p for p in points if p["base"]), points[-1])
    times = f"{time_text(base['seconds'])} / {base['item']}", time_text(base["limit_seconds"])
    share, power = f"{base['share']:.0%}", f"{axis}^{fit(axis, points)[0]:.2f}"
    read = "" if base.get("rows_read") is None else f"{base['rows_read']:,.0f}"
    return f"{method}, {title}", place(base, base["names"]), *times, base["bound"], share, power, read


def draw(title, axis, points):
    """A figure of one sweep: our time, the limit, and the share at each point; below, if counted, the rows read."""
    x, ours, limit = (np.array([p[key] for p in points]) for key in (axis, "seconds", "limit_seconds"))
    counted = points[0].get("rows_read") is not None
    slope, offset = fit(axis, points)
    with plt.rc_context(FRAME):
        size = {"figsize": (5.6, 4.9), "height_ratios": (3, 1)} if counted else {"figsize": (5.6, 3.7)}
        figure, axes = plt.subplots(1 + counted, layout="constrained", sharex=True, squeeze=False, **size)
        ax, last = axes[0, 0], axes[-1, 0]
        ax.loglog(x, ours, "o-", color=OURS, lw=1.8, ms=5, label="fastclf")
        ax.loglog(x, limit, "--", color=LIMIT, lw=1.4, label="machine's limit")
        ax.fill_between(x, ours, limit, color=OURS, alpha=0.06, lw=0)
        if counted:
            tail = x[x >= points[0]["tail"]]
            ax.loglog(tail, np.exp(offset) * tail**slope, ":", color=OURS, lw=3, alpha=0.4)
            last.loglog(x, [p["rows_read"] for p in points], "o-", color=OURS, lw=1.4, ms=4)
            last.set(ylabel="rows read")
            last.yaxis.set(major_locator=LogLocator(numticks=4), major_formatter=EngFormatter(sep=""))
            last.margins(y=0.2)
        for point, at, seconds in zip(points, x, ours):
            rise, va = (7, "bottom") if point["share"] <= 1 else (-7, "top")
            ax.annotate(f"{point['share']:.0%}", (at, seconds), (0, rise), va=va, **LABEL)
        ax.margins(0.08, 0.16)
        ax.xaxis.set(major_locator=FixedLocator(x), major_formatter=EngFormatter(sep=""))
        ax.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter=EngFormatter("s"))
        for side in (ax.xaxis, ax.yaxis, last.yaxis):
            side.set_minor_locator(NullLocator())
        for each in axes.flat:
            each.grid(axis="y", color="#ececec")
        fixed = place(points[0], [name for name in points[0]["names"] if name != axis])
        last.set(xlabel=f"{axis}   ({fixed})")
        ax.set(ylabel=f"time per {points[0]['item']}")
        ax.set_title(f"{title}: time ~ {axis}$^{{{slope:.2f}}}$", loc="left", fontsize=11)
        ax.legend(frameon=False, fontsize=9)
    return figure


def svg(figure):
    """An <img> that holds the figure itself."""
    picture = io.BytesIO()
    figure.savefig(picture, format="svg")
    plt.close(figure)
    return f'<div><img alt="" src="data:image/svg+xml;base64,{base64.b64encode(picture.getvalue()).decode()}"></div>'


def table(head, rows):
    cells = [[f"<td>{html.escape(cell)}</td>" for cell in row] for row in rows]
    return (
        "\n<tr>".join(["<table><tr>" + "".join(f"<th>{name}</th>" for name in head), *map("".join, cells)]) + "</table>"
    )


def page(run):
    """The HTML page of a run that pytest-benchmark has stored."""
    machine, limits = run["machine_info"], run["machine_info"]["limits"]
    threads, sweeps = limits["threads"], read_sweeps(run)
    rates = [("read memory", "GB/s", limits["read_one"], limits["read_all"])]
    for dtype in ("float32", "float64"):
        rates.append(
            (f"matrix product, {dtype}", "GFLOP/s", limits[f"gemm_{dtype}"], threads * limits[f"gemm_{dtype}"])
        )
    rates = [(name, *(f"{rate / 1e9:.3g} {unit}" for rate in both)) for name, unit, *both in rates]
    rows = [headline(method, *key, points) for method, of in sweeps.items() for key, points in of.items()]
    plots = "".join(
        f"<h2>{method}</h2><div class=plots>{''.join(svg(draw(*key, points)) for key, points in of.items())}</div>"
        for method, of in sweeps.items()
    )
    brand = machine.get("cpu", {}).get("brand_raw", machine["machine"])
    commit = ((run.get("commit_info") or {}).get("id") or "")[:12]
    facts = (
        brand,
        machine["simd"],
        f"NumPy {machine['numpy']}",
        run["datetime"][:16],
        commit,
        "quick" * machine["quick"],
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>fastclf benchmarks</title><style>{STYLE}</style>
<h1>fastclf benchmarks</h1><p>{html.escape(", ".join(filter(None, facts)))}</p><p>{ABOUT}</p>
{table(HEAD, rows)}{table(("limit, measured in this run", "1 thread", f"{threads} threads"), rates)}{plots}</html>"""


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Render a benchmark run as one HTML page.")
    parser.add_argument("run", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args(arguments)
    run = json.loads(options.run.read_text())
    options.page.write_text(page(run), encoding="utf-8")
    for method, of in read_sweeps(run).items():
        for key, points in of.items():
            print("{:48} {:40} {:>16} {:>9} {:>5} {:>6} {:>8} {:>10}".format(*headline(method, *key, points)))
    print(options.page.resolve().as_uri())


if __name__ == "__main__":
    main()
