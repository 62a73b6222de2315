"""The commands `fastclf knn` and `fastclf index`: exact search for nearest rows."""

import contextlib
from pathlib import Path
from time import perf_counter

import numpy as np

import fastclf

from .files import FORMATS, RequestError, blame, listing, read
from .options import add_reading, add_running, check_out, command, open_saved, reading, show


def register(commands):
    knn = command(
        commands,
        "knn",
        run_knn,
        help="find the nearest rows of one file for every row of another",
        description="Find the K nearest rows of TRAIN, nearest first, for every row of QUERIES. Both are matrices of"
        f" numbers, one row per point: {FORMATS}. A .npy is memory-mapped; a .csv may have a header row; an"
        f" .npz holds X or one array.",
        examples=["fastclf knn --train A.npy --queries B.npy -k 10 --out R.npz"],
        tables=False,
    )
    rows = knn.add_mutually_exclusive_group(required=True)
    rows.add_argument("--train", type=Path, help="the rows to search")
    rows.add_argument("--index", type=Path, help="the same, stored by 'fastclf index' or fastclf.save, with its metric")
    knn.add_argument("--queries", type=Path, required=True, help="the rows to find neighbours for")
    knn.add_argument("-k", type=int, default=5, help="neighbours per query (default: 5)")
    knn.add_argument(
        "--out", type=Path, required=True, metavar="RESULT",
        help=".npz with the arrays indices (row numbers in TRAIN, from 0) and distances, or .csv with the columns "
        "index_1 ... index_K, distance_1 ... distance_K; row i answers query i",
    )  # fmt: skip

    index = command(
        commands,
        "index",
        run_index,
        help="store the rows of a file so that they are searched without delay",
        description="Store TRAIN, checked and ready, in one file, which 'knn --index' and fastclf.load open at once and"
        " search as a memory map.",
        examples=[
            "fastclf index --train A.npy --out A.fclf",
            "fastclf knn --index A.fclf --queries B.npy -k 10 --out R.npz",
        ],
        tables=False,
    )
    index.add_argument("--train", type=Path, required=True, help=f"the rows to search: {FORMATS}")
    index.add_argument("--out", type=Path, required=True, metavar="INDEX", help="the file, best called *.fclf")
    for parser in (knn, index):
        parser.add_argument("--metric", help="distance (default: euclidean, or minkowski with --p)")
        parser.add_argument("--p", type=float, help="exponent of the minkowski distance")
        add_reading(parser)
        add_running(parser, progress=parser is knn)


def make_search(args):
    """The unfitted NearestNeighbors that --metric and --p describe."""
    from ..neighbors.metrics import NAMED

    metric = args.metric or ("euclidean" if args.p is None else "minkowski")
    if metric not in NAMED:
        raise RequestError(f"--metric is {metric!r}; one of {', '.join(sorted(NAMED))} is wanted")
    if args.p is not None and metric not in ("minkowski", "p"):
        raise RequestError(f"--p is given with --metric {metric}; leave it out, or use minkowski")
    if args.p is not None and not args.p > 0:
        raise RequestError(f"--p is {args.p}; a number above 0 is wanted")
    return fastclf.NearestNeighbors(metric=metric, p=args.p or 2)


def run_index(args):
    search = make_search(args)
    if args.out.resolve() == args.train.resolve():
        raise RequestError(f"--out {args.out} would overwrite an input")
    A, _ = read(args.train, reading(args))
    with blame(args.train):
        search.fit(A)
    with blame(args.out):
        fastclf.save(search, args.out)
    record = {"rows": len(A), "columns": A.shape[1], "metric": search.metric, "file": str(args.out)}
    show(args, record, f"{len(A)} rows x {A.shape[1]} columns, {search.metric}; written to {args.out}")


def open_index(args):
    if args.metric is not None or args.p is not None:
        raise RequestError("--metric and --p are those of the index; leave them out")
    return open_saved(args.index, "kneighbors", "one with rows to search")


def run_knn(args):
    search = make_search(args) if args.index is None else open_index(args)
    source = args.train or args.index
    check_out(args.out, (".npz", ".csv"))
    if args.out.resolve() in (source.resolve(), args.queries.resolve()):
        raise RequestError(f"--out {args.out} would overwrite an input")
    names = None
    if args.index is None:
        A, names = read(args.train, reading(args))
        n_rows, n_columns = A.shape
    else:
        n_rows, n_columns = search.n_samples_fit_, search.n_features_in_
    B, query_names = read(args.queries, reading(args))
    if n_columns != B.shape[1]:
        raise RequestError(f"{args.queries} has {B.shape[1]} columns, but {source} has {n_columns}")
    if names and query_names and names != query_names:
        raise RequestError(f"{args.queries} has the columns {listing(query_names)}, but {source} {listing(names)}")
    if not 1 <= args.k <= n_rows:
        raise RequestError(f"-k is {args.k}; 1 to {n_rows}, the number of rows of {source}, is wanted")

    search.set_params(n_neighbors=args.k, n_jobs=args.n_jobs, verbose=int(not args.quiet))
    if args.index is None:
        with blame(args.train):
            search.fit(A)
    with contextlib.suppress(ImportError):
        import tqdm  # noqa: F401  imported here, so that the measured time is that of the search alone
    start = perf_counter()
    with blame(args.queries):
        distances, indices = search.kneighbors(B)
    seconds = perf_counter() - start

    with blame(args.out):
        if args.out.suffix == ".npz":
            np.savez(args.out, indices=indices, distances=distances)
        else:
            head = ",".join(f"{what}_{i}" for what in ("index", "distance") for i in range(1, args.k + 1))
            fmt = ["%d"] * args.k + ["%.17g"] * args.k
            table = np.column_stack([indices, distances])
            np.savetxt(args.out, table, fmt=fmt, delimiter=",", header=head, comments="")
    record = {
        "queries": len(B),
        "rows": n_rows,
        "columns": n_columns,
        "k": args.k,
        "metric": search.metric,
        "seconds": seconds,
        "microseconds_per_query": 1e6 * seconds / len(B),
        "threads": args.threads,
        "simd_level": args.level,
        "file": str(args.out),
    }
    show(
        args,
        record,
        f"{len(B)} queries, {n_rows} rows x {n_columns} columns, k = {args.k}, {search.metric}: {seconds:.3f} s, "
        f"{1e6 * seconds / len(B):.2f} microseconds per query, {args.threads} thread{'s' * (args.threads > 1)}, "
        f"SIMD level {args.level}; written to {args.out}",
    )
