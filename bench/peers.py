"""The same work on fastclf and on other libraries, in one process: python bench/peers.py [--only NAME] [--scale 0.1]

Threads and dtypes are equal. Answers are compared first; then rounds of fastclf and of a peer alternate, with fewer
rounds (but at least 3) if a peer is slow. If a cap is stated there is one round, with the peer in a child process; a
cap that is reached stands for the peer's time. A ratio is the peer's time divided by ours in the same round; the median
must meet the target. "cores" is processor time over wall time, ours and the peer's: it shows whether the threads were
really equal. BUSY marks an unreliable ratio, because other processes used more than a tenth of a CPU: a library that
waits at a barrier for a thread without a core loses most. A peer that is missing, or whose answers differ, counts as a
missed target. The exit status is 0 if all targets are met.
"""

import argparse
import contextlib
import functools
import gc
import json
import multiprocessing
import sys
import time
from importlib import import_module, metadata
from pathlib import Path
from statistics import median

import data
import numpy as np
from comparison import COMPARISONS
from limits import limit_threads, read_bandwidth, stopwatch, time_text, watch_others

import fastclf
from fastclf import _simd

_BUDGET = 20.0  # the number of seconds for all rounds against one peer


def in_child(call, block, cap):
    """(result of `stopwatch` for a call in a child process, CPUs used by others); None after `cap` seconds."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(False)

    def work():
        others = watch_others()  # the child watches other processes, so that its own time is not counted as theirs
        sender.send((stopwatch(call, block), others()))

    child = context.Process(target=work)
    child.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(cap) else None
    finally:
        child.kill()
        child.join()


def duel_capped(work, ours, theirs, cap, threads):
    """Time one call of ours and one of the peer's, which is ended after `cap` seconds."""
    block, items = work.blocks[0], work.items or len(work.blocks[0])
    with limit_threads(threads):
        others = watch_others()
        wall, processor, answer = stopwatch(ours, block)
        others = others()
        timed = in_child(theirs, block, cap)
    (their_wall, their_processor, theirs), their_others = timed or ((cap, cap, answer), 0.0)
    agree, remark = work.agree([answer], [theirs])
    return {
        "agree": bool(agree),
        "remark": remark if timed else f"{remark.split(',')[0]}, the peer ended after {cap:g} s",
        "seconds": [wall / items, their_wall / items],
        "cores": [processor / wall, their_processor / their_wall],
        "others": max(others, their_others),
        "ratios": [their_wall / wall],
    }


def duel(work, ours, make, rounds, threads, cap=None):
    """Compare the answers, then time rounds of both calls in turn.

    The number of rounds is `rounds`, or fewer to fit _BUDGET seconds, but at least 3.
    """
    try:
        theirs = make()
    except ImportError as error:
        return {"missing": str(error)}
    if cap is not None:
        return duel_capped(work, ours, theirs, cap, threads)
    blocks, calls = work.blocks, work.calls

    def time_round(call, number):
        taken = [blocks[i % len(blocks)] for i in range(number * calls, (number + 1) * calls)]
        time.sleep(0.05)  # the peer's OpenMP threads spin for about 5 ms after their last call, on our cores
        wall, processor, _ = zip(*(stopwatch(call, block) for block in taken))
        return median(wall) / (work.items or len(taken[0])), sum(processor) / sum(wall)

    with limit_threads(threads):
        began = time.perf_counter()
        agree, remark = work.agree(*([call(block) for block in blocks[:calls]] for call in (ours, theirs)))
        agree = bool(agree)  # JSON has no bools of NumPy
        rounds = min(rounds, max(3, int(_BUDGET / (time.perf_counter() - began))))
        others = watch_others()
        timed = np.array([[time_round(call, number) for call in (ours, theirs)] for number in range(rounds)])
        others = others()
    seconds, cores = np.median(timed, axis=0).T.tolist()
    ratios = (timed[:, 1, 0] / timed[:, 0, 0]).tolist()
    return {"agree": agree, "remark": remark, "seconds": seconds, "cores": cores, "others": others, "ratios": ratios}


def versions():
    """{library: version} of the installed libraries, with the SIMD level in use."""
    found = {"fastclf": fastclf.__version__, "simd": _simd.level()}
    peers = "scikit-learn scikit-learn-intelex faiss-cpu usearch scipy snapml ydf lightgbm glum"
    for name in ["numpy", *peers.split()]:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def verdict(result):
    """Words for the target of a result, and whether the target is met."""
    target = result["target"]
    words = {None: "", True: "met", False: "NOT MET"}[result["met"]]
    return words if target is None else f"target {target}: {words}"


def is_busy(result):
    """Whether other processes used so much of the processor that the result's ratios are unreliable."""
    return result.get("others", 0) > 0.1


def describe(result):
    """The line of the table for one result."""
    if "missing" in result:
        return f"  {result['peer']:16} missing ({result['missing']})  {verdict(result)}"
    ratios, (own, peer), cores = result["ratios"], map(time_text, result["seconds"]), result["cores"]
    busy = f"BUSY (others: {result['others']:.1f} CPUs)  " if is_busy(result) else ""
    return (
        f"  {result['peer']:16} {median(ratios):6.2f} [{min(ratios):.2f}, {max(ratios):.2f}]  {own:>8} : {peer:<8}"
        f"  cores {cores[0]:.2f} : {cores[1]:.2f}  {'' if result['agree'] else 'ANSWERS DIFFER: '}{result['remark']}"
        f"  {busy}{verdict(result)}"
    )


bandwidth = functools.cache(read_bandwidth)


def compare(registered, scale, rounds):
    """Run and print a comparison: a list with a result for each peer.

    Further results are for the share of the bandwidth and for the seconds of a query, if the comparison has them.
    """
    work = registered.build(scale, registered.threads)
    ours = work.ours()
    print(registered.name)
    results = []
    for peer, make in work.peers.items():
        about = {"comparison": registered.name, "peer": peer, "threads": registered.threads}
        fought = duel(work, ours, make, rounds, registered.threads, work.caps.get(peer))
        result = about | {"target": registered.targets.get(peer)} | fought
        if not result.get("agree"):
            result["met"] = False
        else:
            result["met"] = None if result["target"] is None else median(result["ratios"]) >= result["target"]
        print(describe(result), flush=True)
        results.append(result)
        gc.collect()
    own = [result["seconds"][0] for result in results if "seconds" in result]
    if work.bytes_read is not None and own:
        share = work.bytes_read / median(own) / bandwidth(registered.threads)
        met = None if registered.share is None else share >= registered.share
        target = None if registered.share is None else f"{registered.share:.0%}"
        result = {"comparison": registered.name, "peer": "read", "threads": registered.threads, "share": share}
        results.append(result | {"target": target, "met": met})
        print(f"  {'read':16} {share:.0%} of the bandwidth measured  {verdict(results[-1])}", flush=True)
    if registered.most is not None and own:
        about = {"comparison": registered.name, "peer": "fastclf", "threads": registered.threads}
        result = about | {"target": f"at most {time_text(registered.most)}", "met": median(own) <= registered.most}
        print(f"  {'fastclf':16} {time_text(median(own))} a query  {verdict(result)}", flush=True)
        results.append(result | {"seconds": [median(own)]})
    return results


def kept_results(options):
    """{name of a comparison: its results} from the file of an earlier run."""
    path = Path(options.json)
    if not path.exists():
        return {}
    found = json.loads(path.read_text("utf-8"))
    if any(found[name] != now for name, now in about_run(options).items()):
        raise SystemExit(f"{path} is of other versions or options; a run without --resume is wanted")
    kept = {}
    for result in found["results"]:
        kept.setdefault(result["comparison"], []).append(result)
    return kept


def about_run(options):
    return {"scale": options.scale, "rounds": options.rounds, "versions": versions()}


def save(options, kept):
    """Write the results so far, so that a run that is interrupted leaves those of the comparisons that it has ended."""
    found = about_run(options) | {"results": [result for each in kept.values() for result in each]}
    path = Path(options.json)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(found, indent=1), "utf-8")
    partial.replace(path)


def main():
    parser = argparse.ArgumentParser(description="Compare fastclf with other libraries on the same work.")
    parser.add_argument("--only", default="", help="only the comparisons with this in their name")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of rows of generated data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="file to save the results to, after each comparison")
    parser.add_argument(
        "--resume", action="store_true", help="run only what the file of --json lacks, or has from a busy machine"
    )
    options = parser.parse_args()
    if options.resume and not options.json:
        parser.error("--resume wants --json")
    for path in sorted(Path(__file__).parent.glob("*/peers_*.py")):
        import_module(f"{path.parent.name}.{path.stem}")
    results = []
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print("digits:", data.FOLDER if data.FOLDER.exists() else f"sets of their shape, as there is no {data.FOLDER}")
    print("median ratio peer / ours [least, greatest], time per query (or fit) ours : peer")
    kept = kept_results(options) if options.resume else {}
    for each in COMPARISONS:
        if options.only in each.name:
            if each.name not in kept or any(map(is_busy, kept[each.name])):
                kept[each.name] = compare(each, options.scale, options.rounds)
                if options.json:
                    save(options, kept)
            results += kept[each.name]
    if not results:
        parser.error(f"no comparison has {options.only!r} in its name")
    counted = [result["met"] for result in results if result["met"] is not None]
    print(f"targets met: {sum(counted)} of {len(counted)}")
    return int(not all(counted))


if __name__ == "__main__":
    sys.exit(main())
