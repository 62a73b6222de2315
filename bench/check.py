"""Compare two benchmark runs by their share of the machine's limit: python bench/check.py EARLIER LATER

Exit status: 0 if no share fell by more than the tolerance; 1 if one did; 2 if there is nothing to compare.
"""

import argparse
import json
import sys


def read_shares(path):
    """({benchmark: share of the limit}, the largest number of CPUs that other processes used)."""
    with open(path) as file:
        benchmarks = json.load(file)["benchmarks"]
    points = {b["fullname"]: b["extra_info"] for b in benchmarks if "share" in b["extra_info"]}
    return {name: point["share"] for name, point in points.items()}, max(
        (p["others"] for p in points.values()), default=0
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Compare the shares of two benchmark runs.")
    parser.add_argument("earlier")
    parser.add_argument("later")
    parser.add_argument("--tolerance", type=float, default=0.2, help="relative fall that is still accepted")
    options = parser.parse_args(arguments)
    try:
        (earlier, others_then), (later, others_now) = map(read_shares, (options.earlier, options.later))
    except FileNotFoundError as error:
        print(f"{error.filename} does not exist; `make bench` stores a run", file=sys.stderr)
        return 2
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        print(f"not a stored benchmark run: {error!r}", file=sys.stderr)
        return 2
    common = [name for name in later if name in earlier]
    if not common:
        print(f"{options.earlier} and {options.later} have no benchmark in common", file=sys.stderr)
        return 2

    width = max(map(len, common))
    fallen = 0
    print(f"{'benchmark':{width}}  earlier   later  change")
    for name in common:
        change = later[name] / earlier[name] - 1
        worse = change < -options.tolerance
        fallen += worse
        print(f"{name:{width}}  {earlier[name]:7.1%} {later[name]:7.1%} {change:+7.1%}{'  WORSE' * worse}")
    for label, names in (("only earlier", earlier.keys() - later), ("only later", later.keys() - earlier)):
        for name in sorted(names):
            print(f"{name:{width}}  {label}")
    if max(others_then, others_now) > 0.1:
        print(f"other processes used up to {others_then:.1f} CPUs in the earlier run, {others_now:.1f} in the later")
    print(f"{fallen} of {len(common)} shares fell by more than {options.tolerance:.0%}")
    return int(fallen > 0)


if __name__ == "__main__":
    sys.exit(main())
