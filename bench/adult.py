"""The published errors on Adult (from its `adult.names`: rows with unknowns removed, original split) beside ours.

python bench/adult.py [folder]      the folder with adult_train.csv.gz and adult_test.csv.gz
"""

import json
import subprocess
import sys
from pathlib import Path

from data import FOLDER

# The methods with a published error, and the options of `fastclf evaluate` that come closest to each.
ROWS = [
    ("naive Bayes", 16.12, ["bayes", "distributions=mdl"]),
    ("C4.5", 15.54, ["tree", "criterion=entropy", "ccp_alpha=0.0005"]),
    ("1-NN", 21.42, ["knn", "n_neighbors=1"]),
    ("3-NN", 20.35, ["knn", "n_neighbors=3"]),
    ("naive Bayes, normal densities", None, ["bayes"]),
    ("naive Bayes, kernel densities", None, ["bayes", "distributions=kernel"]),
    ("15-NN", None, ["knn", "n_neighbors=15"]),
    ("logistic regression", None, ["logistic"]),
    ("averaged perceptron", None, ["perceptron"]),
    ("nearest centroid", None, ["centroid"]),
]


def error(folder, method, *settings):
    """Our error in percent on the test part."""
    command = [sys.executable, "-P", "-m", "fastclf", "evaluate", folder / "adult_train.csv.gz"]
    command += ["--test", folder / "adult_test.csv.gz", "--missing", "drop", "--model", method, "--json", "--quiet"]
    command += [word for setting in settings for word in ("--set", setting)]
    return 100 * json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["error"]


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    print(f"{'method':30} {'published':>9} {'ours':>7}   error in %, 15,060 test rows")
    for name, published, options in ROWS:
        shown = "" if published is None else f"{published:.2f}"
        print(f"{name:30} {shown:>9} {error(folder, *options):7.2f}   {' '.join(options)}", flush=True)


if __name__ == "__main__":
    main()
