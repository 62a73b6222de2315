"""One thread fits an estimator again and again while another calls its methods: `make two-threads`.

    python tests/two_threads.py --seconds 60        every estimator for a minute
    python tests/two_threads.py --seconds 5 SVC     the estimators whose names begin with SVC

Every answer has to be that of one of the models that are fitted, with the same bits.
"""

import argparse
import sys
import threading
import time
import warnings

from every_estimator import ESTIMATORS, METHODS, answer, other_rows, same


def outcome(model, method):
    """The result of a method, or the sentence with which it refuses."""
    try:
        return answer(model, method)
    except ValueError as error:
        return str(error)


def equal(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and all(map(same, one, other))


def played(name, seconds, check=True):
    """(number of answers, list of what was wrong) for an estimator that is fitted while another thread calls it."""
    make, *data = ESTIMATORS[name]
    fits = [data, other_rows(data)]
    known = [make().fit(*fit) for fit in fits]
    methods = [method for method in METHODS if hasattr(known[0], method)]
    expected = {method: [outcome(model, method) for model in known] for method in methods}
    model, wrong, ended, n = make().fit(*data), [], threading.Event(), 0

    def refit():
        try:
            while not ended.is_set():
                for fit in fits:
                    model.fit(*fit)
        except BaseException as error:
            wrong.append(f"fit: {type(error).__name__}: {error}")

    thread = threading.Thread(target=refit)
    thread.start()
    try:
        stop = time.monotonic() + seconds
        while time.monotonic() < stop and not wrong:
            for method in methods:
                came = outcome(model, method)
                n += 1
                if check and not any(equal(came, each) for each in expected[method]):
                    wrong.append(f"{method}: {came}"[:300])
    except Exception as error:
        wrong.append(f"{type(error).__name__}: {error}")
    finally:
        ended.set()
        thread.join()
    return n, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--no-check", action="store_true", help="for sanitizers, whose rounding may be another")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-5)
    failed = 0
    for name in ESTIMATORS:
        if args.names and not name.startswith(tuple(args.names)):
            continue
        n, wrong = played(name, args.seconds, not args.no_check)
        failed += bool(wrong)
        print(f"{name:30} {n:>8} answers  {wrong[0] if wrong else ''}", flush=True)
    print(f"{failed} estimators gave an answer of neither model")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
