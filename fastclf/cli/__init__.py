"""The command line: ``fastclf COMMAND ...``, or ``python -m fastclf COMMAND ...``.

Results go to stdout, progress and errors to stderr. Exit status: 0 for success; 1 if the work could not be finished
(Ctrl-C, not enough memory); 2 for a mistake in the request or in a file, described in one sentence.
"""

import argparse
import os
import re
import sys
import warnings

import fastclf

from . import compare, demo, evaluate, explain, info, search, train, tune
from .files import RequestError, blame
from .options import guess

# The modules of the commands, in the order of the help.
_COMMANDS = (compare, tune, evaluate, train, explain, search, demo, info)

_EPILOG = """\
a first hour, with any table that has a row of names and a column of labels:
  fastclf compare data.csv                                     which method suits the data?
  fastclf tune data.csv --model knn                            which parameter suits the method?
  fastclf evaluate data.csv --model knn --set n_neighbors=7    how often is it wrong on new rows?
  fastclf train data.csv --model knn --set n_neighbors=7 --out model
  fastclf predict model new.csv                                a label for every row
  fastclf explain model                                        what was learned

'fastclf COMMAND --help' explains a command. Results go to standard output, progress and errors to standard error.
The exit status is 0 when done, 1 when the work could not be finished, as after Ctrl-C, 2 when the request or a file is
wrong. The environment variables FASTCLF_NUM_THREADS and FASTCLF_SIMD choose the number of threads and the build of the
kernels.
"""


def main(argv=None):
    """Run one command and return its exit status. A command returns False if it did not finish."""
    parser = make_parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help()
        return 0
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code
    with warnings.catch_warnings():
        # the warning about names of columns is ignored, because commands check these names themselves
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        # a warning of the nearest centroid classifier is ignored: it is about an attribute that no command shows
        warnings.filterwarnings("ignore", "self.within_class_std_dev_")
        if args.run is not train.run_train:
            # the perceptron's warning that it may not separate the classes is ignored: averaged weights need not
            # separate them
            warnings.filterwarnings("ignore", "The perceptron is not known to separate")
        warnings.showwarning = lambda message, *_: _tell("warning", message)
        try:
            with blame("the kernels can't be loaded"):
                from .. import _simd

                args.level = _simd.level()
            with blame("threads"):
                from .._threads import n_threads

                args.threads = n_threads(getattr(args, "n_jobs", None))
            if sys.stdout is None:
                raise RequestError("standard output is closed")
            finished = args.run(args)
            sys.stdout.flush()
            return 1 if finished is False else 0
        except RequestError as error:
            _tell("error", error)
            return 2
        except BrokenPipeError:  # a program that reads standard output, such as head, has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except UnicodeEncodeError as error:
            letter = error.object[error.start : error.end]
            _tell("error", f"standard output in {error.encoding} cannot write {letter!a}; PYTHONIOENCODING=utf-8 can")
            return 1
        except OSError as error:
            _tell("error", error)
            return 1
        except MemoryError as error:
            _tell("error", f"not enough memory: {error}")
            return 1
        except KeyboardInterrupt:
            print("fastclf: interrupted", file=sys.stderr)
            return 1


def _tell(what, message):
    print(f"fastclf: {what}:", " ".join(str(message).split()), file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """A parser that names the choice or option that is most like an unknown one."""

    commands = None  # in the main parser: argparse's object that holds the parsers of all commands

    def error(self, message):
        word, known = "", []
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            word, known = choice[1], re.findall(r"[\w-]+", choice[2])
        elif option := re.match("unrecognized arguments: (.*)", message):
            word, known = option[1].split()[0], re.findall(r"--[\w-]+", self._usages())
        super().error(message + guess(word, known))

    def _usages(self):
        return " ".join(parser.format_usage() for parser in self.commands.choices.values()) if self.commands else ""


def make_parser():
    parser = _Parser(
        prog="fastclf",
        description="Classical classifiers with compiled kernels.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fastclf {fastclf.__version__}")
    commands = parser.commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.register(commands)
    return parser
