"""Parts shared by commands: options, tables of data, and the two forms of a result."""

import argparse
import ast
import codecs
import difflib
import json
import math
import sys
import textwrap
from pathlib import Path

import numpy as np

import fastclf

from ..table import Table, TableClassifier, is_number
from .columns import Memory, ids, parts_wanted, refined
from .files import FORMATS, Reading, RequestError, blame, find_column, read_table

DATA_HELP = f"{FORMATS}, packed with gzip (.gz) or not; - is standard input"

# If the labels are decimal fractions, at most this number of them, or a twentieth of the rows if that is more, may be
# different; with more, the column is taken for numbers, not for labels.
_MOST_DECIMALS = 50

_TABLES = """\
A table has a row for each example. In a .csv the first line holds the names of the columns, unless there is a number in
it; commas, semicolons, tabs or | separate; a column of numbers alone is one of numbers, also with decimal commas, with
spaces or commas between thousands, in brackets if negative, or with one unit, % or a currency; dates such as
2024-12-31, 31.12.2024, 31/12/2024 and 12/31/2024 become days, where a number above 12 tells the day from the month, or
--dates does; any other column is one of categories. An empty cell, ?, NA, N/A, nan and null are missing, and so are a
few cells that are no numbers in a column of numbers, or no dates in one of dates, and up to three words that stand for
missing numbers. An .npz holds X and y, a LIBSVM text begins each line with its label. A named column that numbers the
rows one by one, or whose texts differ in nine of ten rows, is an id: it is left out, which a line tells, unless --keep
names it.

Categories become numbers as the method wants them: naive Bayes and trees take them, and missing values, as they are;
for any other method each category is a column of zeros and ones, zero in all of them if it is missing or was not there
in training, and a missing number is the mean of its column. If the range of one column is more than 10 times the median
range, columns are standardised to mean 0 and standard deviation 1 (--scale), except for trees, naive Bayes and least
squares, which do not depend on units."""


def guess(word, known):
    """The known word that is most like an unknown one, as the end of an error message."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def command(commands, name, run, *, help, description, examples, tables=True):
    """A parser for one command, with its examples."""
    paragraphs = [description, *(_TABLES.split("\n\n") if tables else ())]
    parser = commands.add_parser(
        name,
        help=help,
        description="\n\n".join(textwrap.fill(text, 100) for text in paragraphs),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_data(parser):
    parser.add_argument("data", type=Path, metavar="DATA", help=f"the examples: {DATA_HELP}")
    parser.add_argument(
        "--target", metavar="COLUMN",
        help="the column of labels: its name, or its number counted from 0 (-1 is the last); in an .npz the name of "
        "its array (default: the column target, label, class or y, else the last)",
    )  # fmt: skip
    add_reading(parser)
    parser.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="leave this column out; may be given again"
    )
    parser.add_argument(
        "--keep", action="append", default=[], metavar="COLUMN",
        help="use this column even if it is an id; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--categorical", action="append", default=[], metavar="COLUMN",
        help="treat the numbers in this column as categories, such as postcodes; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--date-parts", action="append", default=[], metavar="COLUMN",
        help="add year, month, day of the month, weekday and hour of the dates in this column; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--dates", choices=["day-first", "month-first"],
        help="the order in dates such as 3/4/2024 of a column without a number above 12 (default: they stay texts)",
    )  # fmt: skip
    parser.add_argument(
        "--missing", choices=["keep", "drop"], default="keep",
        help="drop: leave out rows with a missing value (default: keep)",
    )  # fmt: skip
    parser.add_argument(
        "--scale", choices=["auto", "yes", "no"], default="auto", help="standardise columns (default: auto)"
    )


def add_reading(parser):
    parser.add_argument(
        "--header", choices=["yes", "no"], help="whether the first line of a .csv holds names (default: see above)"
    )
    parser.add_argument("--sep", metavar="MARK", help="the mark between cells of a .csv, or tab (default: guessed)")
    parser.add_argument("--decimal", choices=[".", ","], help="the decimal mark of a .csv (default: guessed)")
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="the encoding of a .csv, such as latin-1 (default: UTF-8, or UTF-16 if marked)",
    )


def reading(args):
    """The options of `add_reading`."""
    try:
        codecs.lookup(args.encoding or "utf-8")
    except LookupError:
        message = f"--encoding is {args.encoding!r}, which Python does not know; a name such as latin-1 is wanted"
        raise RequestError(message) from None
    mark = {"tab": "\t", "\\t": "\t"}.get(args.sep, args.sep)
    if mark is not None and len(mark) != 1:
        raise RequestError(f"--sep is {args.sep!r}; one letter, or tab, is wanted")
    return Reading({"yes": True, "no": False, None: None}[args.header], mark, args.decimal, args.encoding)


def add_running(parser, progress=True):
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--n-jobs", type=int, metavar="N", help="threads (default: every CPU of the process)")
    if progress:
        parser.add_argument("--quiet", action="store_true", help="show no progress")


def add_folds(parser):
    parser.add_argument(
        "--cv", default="10", metavar="N", help="number of folds, or loo to leave out each row in turn (default: 10)"
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="repeat N times with new folds (default: 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random folds (default: 0)")


def folds(args, data):
    """The keyword arguments of cross_validate for the folds."""
    how = {"error_score": "raise"}
    if args.cv == "loo":
        if args.repeat != 1:
            raise RequestError("--repeat is given with --cv loo, which makes no random choice; leave it out")
        return how | {"cv": "loo"}
    try:
        cv = int(args.cv)
    except ValueError:
        raise RequestError(f"--cv is {args.cv!r}; a number of folds, or loo, is wanted") from None
    if not 2 <= cv <= len(data.y):
        raise RequestError(f"--cv is {cv}; 2 to {len(data.y)}, the number of rows, is wanted")
    if args.repeat < 1:
        raise RequestError(f"--repeat is {args.repeat}; at least 1 is wanted")
    if args.seed < 0:
        raise RequestError(f"--seed is {args.seed}; a number from 0 up is wanted")
    return how | {"cv": cv, "repeats": args.repeat, "random_state": args.seed}


class Data:
    """Labelled rows: the matrix X of numbers and category indices, the labels y, and the name of the labels.

    `like` is other Data with the columns and categories to be used.
    """

    def __init__(self, args, path=None, like=None):
        path = path or args.data
        told = reading(args) if like is None else like.told(args)
        table, y, target = read_table(path, args.target, told, complete=args.missing == "drop")
        self._take(args, "standard input" if str(path) == "-" else path.name, table, y, target, like)

    @classmethod
    def of(cls, args, name, X, y):
        """Data from arrays."""
        data = cls.__new__(cls)
        data._take(args, name, Table(X), y, "y")
        return data

    def _take(self, args, name, table, y, target, like=None):
        self.name, self.y, self.target = name, y, target
        with blame(name):
            table = table.without([find_column(column, table.names, table.shape[1]) for column in args.drop])
            if not table.columns:
                raise ValueError("--drop leaves no column; at least one is wanted")
            if args.missing == "drop":
                complete = table.complete()
                if not complete.any():
                    raise ValueError("every row has a missing value; --missing keep uses such rows")
                table, self.y = table.rows(complete), self.y[complete]
            if like is None:
                self.reading, (table, self.memory) = table.reading, _refined(args, table)
                table = self._without_ids(args, table)
                numbers = [find_column(column, table.names, table.shape[1]) for column in args.categorical]
                self.names, self.categories = table.names, table.categories(numbers)
            else:
                self.names, self.categories, self.memory = like.names, like.categories, like.memory
                self.reading = like.reading
                table = as_trained(table, self.names, self.categories, self.memory)
                table = table.widened(len(self.categories))
            self.X = table.encode(self.categories, self.names)
            _require_finite(self.X, table)
        self.scale = {"yes": True, "no": False, "auto": "auto"}[args.scale]
        if like is None:
            self._tell(args)

    @staticmethod
    def _without_ids(args, table):
        """The table without the columns that are ids, each told in a line.

        Columns without names are all kept: new rows without names could not be matched with the columns that are left.
        """
        if table.names is None:
            return table
        found = ids(
            table, [find_column(column, table.names, table.shape[1]) for column in args.keep + args.categorical]
        )
        for j, reason in found.items():
            name = table.names[j]
            print(f"fastclf: column {name!r} is left out: {reason} (--keep {name} uses it)", file=sys.stderr)
        return table.without(list(found))

    def _missing(self):
        """Mask of the rows with a missing value."""
        dense = isinstance(self.X, np.ndarray) and self.X.dtype.kind == "f"
        return np.isnan(self.X).any(axis=1) if dense else np.zeros(len(self.X), bool)

    def _tell(self, args):
        n, d = self.X.shape
        n_categorical = sum(known is not None for known in self.categories)
        if not getattr(args, "quiet", False):
            kinds = f" ({d - n_categorical} of numbers, {n_categorical} of categories)" if n_categorical else ""
            classes = f"{len(np.unique(self.y))} classes in {self.target!r}"
            print(f"{self.name}: {n} rows x {d} columns{kinds}, {classes}", file=sys.stderr)
        for j, known in enumerate(self.categories):
            if known is not None and len(known) > max(50, n // 2):
                name = self.names[j] if self.names else j
                text = f"column {name!r} has {len(known)} different texts in {n} rows; --drop {name} leaves it out"
                print(f"fastclf: warning: {text}", file=sys.stderr)

    def keep(self, n_rows):
        """Keep this number of rows, drawn at random, if there are more."""
        if len(self.y) > n_rows:
            rows = np.random.default_rng(0).permutation(len(self.y))[:n_rows]
            self.X, self.y = self.X[np.sort(rows)], self.y[np.sort(rows)]
            self.name += f", {n_rows} rows"

    def require_classes(self):
        n_classes = len(np.unique(self.y))
        most = len(self.y) // 2
        if _are_decimals(self.y):
            most = min(most, max(_MOST_DECIMALS, len(self.y) // 20))
        if not 2 <= n_classes <= max(2, most):
            raise RequestError(
                f"{self.name}: {self.target!r} has {n_classes} different values in {len(self.y)} rows; a few classes"
                " are wanted (--target names another column)"
            )

    def classifier(self, model):
        """The model itself, which keeps its shortcuts, if it takes X as it is; otherwise a TableClassifier of it."""
        wrapped = self.table_classifier(model)
        return wrapped if self._missing().any() or not wrapped.takes_as_is(self.X) else model

    def table_classifier(self, model):
        return TableClassifier(
            model,
            names=self.names,
            categories=self.categories,
            scale=self.scale,
            target=self.target,
            date_orders=self.memory.orders or None,
            reading=written(self.reading, self.memory),
        )

    def told(self, args):
        """The Reading of another file with the same columns."""
        saved = written(self.reading, self.memory)
        return reading_of(args, saved, self.memory.orders, self.names, self.categories)[0]


def _are_decimals(labels):
    """Whether all labels are numbers as texts; whole numbers that int64 holds are no texts here."""
    words = np.unique(labels).tolist()
    return labels.dtype.kind == "U" and all(map(is_number, words))


def _refined(args, table):
    """(the table with numbers in place of texts that stand for numbers or dates, the Memory of how they were read).

    A printed line tells of each column that is changed.
    """
    as_texts, parts = (
        [find_column(column, table.names, table.shape[1]) for column in columns]
        for columns in (args.categorical, args.date_parts)
    )
    if parts and table.names is None:
        raise ValueError("--date-parts is given for columns without names; a first line with names is wanted")
    assumed = None if args.dates is None else args.dates.removesuffix("-first")
    table, notes, memory = refined(table, as_texts, parts, assumed=assumed)
    if not getattr(args, "quiet", False):
        for note in notes:
            print(f"fastclf: {note}", file=sys.stderr)
    return table, memory


def as_trained(table, names, categories, memory, assumed=None):
    """A table of new rows, of columns of the training, refined as the table of the training; `names` may be None."""
    if table.names is None or names is None:
        as_texts = [j for j, known in enumerate(categories) if known is not None]
        return refined(table, as_texts, memory=memory, assumed=assumed).table
    parts = parts_wanted(table, names)
    unused = [j for j, name in enumerate(table.names) if name not in names and j not in parts]
    # columns that the model does not use are dropped, as their values may be of any kind
    if 0 < len(unused) < len(table.names):
        table = table.without(unused)
        parts = parts_wanted(table, names)
    as_texts = [name for name, known in zip(names, categories) if known is not None]
    return refined(table, [j for j, name in enumerate(table.names) if name in as_texts], parts, memory, assumed).table


def _require_finite(X, table):
    """Refuse infinity in the matrix of a table, with a message that names the column."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
        row, j = np.argwhere(np.isinf(X))[0]
        raise ValueError(f"{table.title(j)} holds {X[row, j]} (row {row}); finite numbers are wanted")


def written(reading, memory):
    """The argument `reading` of a TableClassifier: a dict with how a text was read, without what is not known."""
    found = {} if reading is None else reading._asdict()
    found = {name: found[name] for name in ("header", "separator", "encoding") if found.get(name) is not None}
    found |= {"decimals": memory.decimals} if memory.decimals else {}
    found |= {"faulty": list(memory.faulty)} if memory.faulty else {}
    return found or None


def reading_of(args, saved, orders, names, categories):
    """(Reading, Memory) for new rows: options of the command line come first, then how the training's text was read.

    saved: the argument `reading` of a TableClassifier, or None; orders: its `date_orders`, or None.
    """
    saved, given = saved or {}, reading(args)
    keys = range(len(categories)) if names is None else names
    texts = tuple(key for key, known in zip(keys, categories) if known is not None)
    decimals = {} if given.decimal else saved.get("decimals", {})
    likely = {name: saved[name] for name in ("separator", "encoding") if name in saved}
    header = saved.get("header") if given.header is None else given.header
    memory = Memory(orders or {}, decimals, tuple(saved.get("faulty", ())))
    return given._replace(header=header, decimals=decimals, texts=texts, likely=likely), memory


def parse_settings(settings, option="--set"):
    """A dict from texts NAME=VALUE; a value is a Python literal, inf, or otherwise a string."""
    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            raise RequestError(f"{option} is {setting!r}; NAME=VALUE is wanted, such as C=10")
        found[name.strip()] = parse_value(value.strip())
    return found


def parse_value(text):
    if text.lower() in ("inf", "+inf", "-inf"):
        return float(text)
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def check_out(path, endings=None, option="--out"):
    if endings is not None and path.suffix not in endings:
        raise RequestError(f"{option} is {path}; a name that ends in {' or '.join(endings)} is wanted")
    if not path.parent.is_dir():
        raise RequestError(f"{option} is {path}, but there is no folder {path.parent}")
    if path.is_dir():
        raise RequestError(f"{option} is {path}, which is a folder; the name of a file is wanted")


def open_saved(path, method, what):
    """Load an object, which must have the method called `method`; errors name the file."""
    if not path.exists():
        raise RequestError(f"{path}: there is no such file")
    try:
        found = fastclf.load(path)
    except ValueError as error:  # the message of a ValueError of `load` names the file already
        raise RequestError(str(error)) from error
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from error
    if not hasattr(found, method):
        raise RequestError(f"{path} holds a {type(found).__name__}; {what} is wanted")
    return found


def rendered(args, record, text):
    """A result as JSON, if requested, otherwise as text."""
    return json.dumps(plain(record), indent=2, ensure_ascii=False, allow_nan=False) if args.json else text


def show(args, record, text):
    print(rendered(args, record, text))


def plain(value):
    """A value for JSON; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def table_text(head, lines, left=(0,)):
    """Columns side by side; the columns numbered in `left` are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rows = []
    for line in (head, ["-" * width for width in widths], *lines):
        pairs = zip(line, widths, strict=True)
        cells = [cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(pairs)]
        rows.append("  ".join(cells).rstrip())
    return "\n".join(rows)
