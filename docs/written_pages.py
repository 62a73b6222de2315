"""Pages that the build of the documentation writes: the benchmarks and the help of the command line.

The benchmarks' pages show what `make bench`, `make compare` and `make sweep` have written below build/. Where nothing
has been measured they show the figures below docs/benchmarks/measured, which `make figures` takes from build/.
"""

import json
import math
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

BUILD = Path(__file__).resolve().parent.parent / "build"


_LIMITS = """# Speed beside the machine's limits

`make bench` measures the two limits of the machine, the rate at which it reads memory and the rate of its matrix
product, and then the time of each method for growing numbers of rows, features and neighbours. The limit of a piece of
work is the longer of two times: one read of its data at the first rate, and its operations at the second. The share is
that limit divided by the time. A share can exceed 100 % where a method avoids reading or computing something, as an
index does.
"""

_PEERS = """# Beside other libraries

`make compare` gives fastclf and other libraries the same work in one process, in turn, with equal numbers of threads,
after it has compared the answers. A ratio is the other library's time divided by ours in the same round: numbers above
1 mean that fastclf is faster. Ratios below 1 stay in the table.

Of the rows that are searched, A is clustered data of intrinsic dimension 20 with 128 features, iid has 128 features
without structure, C has few features without structure, M is MNIST's test digits moved by up to 2 pixels, and usps and
mnist10k are digits as they are; A, iid and C have a million rows, and M 247,500, unless stated otherwise. Searches are
for 10 neighbours, and their times are those of one query. The time of other work is that of a fit, of a prediction or
of a choice of a parameter; "one row" and "a row" say that it is for a single row. A spread is the least and the
greatest ratio of the rounds.

Exact search is compared with exact search. Approximate indexes, such as HNSW graphs and inverted files, answer faster
where an answer may miss neighbours; a comparison with them states the recall that they reach.
"""

_SWEEP = """# Every estimator on drawn shapes

A comparison with a chosen target can be tuned for; a seed cannot. `make sweep SEED=7` draws shapes of data (rows,
columns, classes, noise, type, balance, zeros) and runs each estimator at its defaults beside scikit-learn's: a fit, the
answers for a fifth of the rows that was held out, and the answer for one row. A ratio is scikit-learn's time divided by
ours. Losses are shown like wins.
"""

_SPACE = "\N{NO-BREAK SPACE}"  # keeps a number and its unit on one line

_NONE = "No figures of this page are kept; [the developers' machines](figures.md) have earlier ones.\n"

MEASURED = Path(__file__).resolve().parent / "benchmarks" / "measured"


def write(docs):
    """Write all pages into the documentation; a file whose text has not changed is not touched."""
    pages = {f"benchmarks/{name}.md": benchmark(name) for name in BENCHMARKS}
    for name, text in (pages | {"reference/command_line.md": command_line()}).items():
        target = docs / name
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, "utf-8")


def benchmark(name):
    """The text of a page, followed by the figures of this checkout or, if there are none, by those that are kept."""
    text, told, path = BENCHMARKS[name]
    kept = MEASURED / f"{name}.md"
    if path.exists():
        return text + "\n" + told(path)
    return text + "\n" + (kept.read_text("utf-8") if kept.exists() else _NONE)


def keep():
    """Keep the figures of this checkout for all copies of the site."""
    for name, (_, told, path) in BENCHMARKS.items():
        if path.exists():
            (MEASURED / f"{name}.md").write_text(told(path), "utf-8")


def command_line():
    """The help of every command."""

    def told(*command):
        call = [sys.executable, "-P", "-m", "fastclf", *command, "--help"]
        environment = os.environ | {"COLUMNS": "80"}
        return subprocess.run(call, capture_output=True, text=True, check=True, env=environment).stdout

    whole = told()
    text = f"""# The command line

`fastclf`, or `python -m fastclf`, trains, compares, tunes, explains and searches from a shell. It reads .csv (text,
categories, missing values), .npy, .npz, .parquet and LIBSVM files. `--json` makes the output of a command readable for
programs. The gallery has [the Adult data from end to end](../gallery/8_use/plot_adult_from_a_shell.rst).

```text
{whole}```
"""
    for name in re.findall(r"^    ([a-z]+) ", whole, re.MULTILINE):
        text += f"\n## fastclf {name}\n\n```text\n{told(name)}```\n"
    return text


def measured(path):
    """(contents of the file, a sentence with its date and the machine)."""
    day = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d")
    return json.loads(path.read_text("utf-8")), f"Measured on {day} on {os.cpu_count()} CPUs of {processor()}."


def processor():
    """The name of this machine's processor, as Linux tells it, or its architecture."""
    known = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", known.read_text("utf-8")) if known.exists() else None
    return found[1] if found else platform.machine()


def table(head, rows):
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)])


def limits(path):
    run, _ = measured(path)
    machine = run["machine_info"]
    brand = machine.get("cpu", {}).get("brand_raw", machine["machine"])
    rows = []
    for each in run["benchmarks"]:
        point = each["extra_info"]
        if "share" in point and point.get("base"):
            at = ", ".join(f"{name} = {point[name]:,}" for name in point["names"])
            times = seconds(point["seconds"]), seconds(point["limit_seconds"])
            rows.append([cell(each["group"]), at, *times, f"{point['share']:.0%}"])
    head = ["work", "at", "time", "limit", "share of the limit"]
    facts = f"Machine: {brand}, kernels for {machine['simd']}, NumPy {machine['numpy']}, {run['datetime'][:10]}.\n\n"
    return facts + table(head, rows) + "\n"


def remark_on(result):
    """What the table says of a comparison whose ratio alone would mislead."""
    if not result["agree"]:
        return f"answers differ: {result['remark']}"
    _, ended, after = result["remark"].partition("the peer ended after ")
    return f"ended after {after}" if ended else "busy machine" if result["others"] > 0.1 else ""


def peers(path):
    found, dated = measured(path)
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    rows = []
    for result in found["results"]:
        if "ratios" in result:
            ratios, (ours, theirs) = result["ratios"], result["seconds"]
            spread = f"{ratio(min(ratios))} to {ratio(max(ratios))}"
            figures = [ratio(median(ratios)), spread, seconds(ours), seconds(theirs), cell(remark_on(result))]
        elif "missing" in result:
            figures = ["", "", "", "", "not installed"]
        else:
            continue
        work = re.sub(r", \d+ threads?$", "", result["comparison"])  # the number has a column of its own
        rows.append([cell(work), result["peer"], figures[0], str(result["threads"]), *figures[1:]])
    head = ["work", "library", "ratio", "threads", "spread", "fastclf", "library's time", "remark"]
    size = (
        ""
        if found["scale"] == 1
        else f" Generated data have {found['scale']:g} of the rows that the first column names."
    )
    return f"{dated}{size} Rounds: {found['rounds']}. Versions: {versions}.\n\n" + table(head, rows) + "\n"


def sweep(path):
    found, dated = measured(path)
    cells = found["cells"]
    steps, rows = ("fit", "ask", "row"), []
    for method in dict.fromkeys(each["method"] for each in cells):
        of = [each["result"] for each in cells if each["method"] == method and each["result"]]
        line = [method, str(len(of))]
        for step in steps:
            ratios = [result[step][1] / result[step][0] for result in of]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
            line += [f"{mean:.2g}", f"{min(ratios, default=math.nan):.2g}", str(sum(ratio < 1 for ratio in ratios))]
        rows.append(line)
    head = ["method", "cells"] + [f"{step}: {what}" for step in steps for what in ("mean", "least", "below 1")]
    lost = sum(each["result"] is None for each in cells)
    n_shapes = len({json.dumps(each["shape"]) for each in cells})
    return (
        f"{dated} Seed {found['seed']}, {n_shapes} shapes. Cells without an answer: {lost}.\n\n"
        + table(head, rows)
        + "\n"
    )


def ratio(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g}{_SPACE}{unit}"
    return f"{value * 1e9:.3g}{_SPACE}ns"


def cell(value):
    return str(value).replace("|", "\\|")


BENCHMARKS = {
    "limits": (_LIMITS, limits, BUILD / "bench" / "latest.json"),
    "peers": (_PEERS, peers, BUILD / "compare.json"),
    "sweep": (_SWEEP, sweep, BUILD / "sweep.json"),
}

if __name__ == "__main__":
    keep()
