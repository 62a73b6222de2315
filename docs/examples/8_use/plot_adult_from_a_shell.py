"""
A table from end to end, from a shell
=====================================

Five commands take a .csv file with numbers, categories and missing values to a model that explains itself. The file
is the Adult census data where ``FASTCLF_DATA`` names a folder with it; elsewhere the example draws a table of the
same kind with fewer columns. Each command below is what one types after ``$``.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

folder = Path(tempfile.mkdtemp())
source = Path(os.environ.get("FASTCLF_DATA", "none")) / "adult_train.csv.gz"
if source.exists():
    table = pd.read_csv(source).sample(4000, random_state=0)
else:
    rng = np.random.default_rng(0)
    n = 4000
    age, hours = rng.integers(17, 80, n), rng.integers(10, 60, n)
    education = rng.choice(["school", "college", "doctorate"], n, p=[0.6, 0.33, 0.07])
    gain = np.where(rng.uniform(size=n) < 0.08, rng.gamma(2, 4000, n).round(), 0)
    score = 0.05 * (np.minimum(age, 50) - 45) + 0.05 * (hours - 40) + gain / 3000 + 1.5 * (education != "school")
    income = np.where(score + rng.logistic(size=n) > 0.7, ">50K", "<=50K")
    work = np.where(rng.uniform(size=n) < 0.06, "?", rng.choice(["private", "state", "own"], n))
    table = pd.DataFrame(
        {"age": age, "workclass": work, "education": education, "hours": hours, "gain": gain, "income": income}
    )
table[:3000].to_csv(folder / "train.csv", index=False)
table[3000:].drop(columns="income").to_csv(folder / "new.csv", index=False)


def shell(line, shown=14):
    """Run a command, and show the first lines that it prints."""
    print("$", line)
    command = [sys.executable, "-P", "-m", *shlex.split(line)]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    print(*told[:shown], *["..."] * (len(told) > shown), "", sep="\n")
    return told


# %%
# Which method suits the data?

shell("fastclf compare train.csv --target income --models tree,bayes,logistic,centroid --picture compare.png --quiet")

# %%
# A tree, pruned by cross-validation: how often is it wrong, and what does it say?

shell("fastclf evaluate train.csv --target income --model tree --set ccp_alpha=cv --cv 5 --quiet")
shell("fastclf train train.csv --target income --model tree --set ccp_alpha=cv --out model --quiet")
shell("fastclf explain model")

# %%
# Labels for new rows.

labels = shell("fastclf predict model new.csv", shown=5)

# %%
# The picture is the one that ``compare --picture`` has drawn.

figure, ax = plt.subplots(figsize=(8, 3.6))
ax.imshow(plt.imread(folder / "compare.png"))
ax.axis("off")
