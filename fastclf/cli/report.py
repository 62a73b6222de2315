"""Reports on predictions for rows with known labels."""

import csv

import numpy as np

from .files import blame
from .options import table_text


class Report:
    """A report in two forms: lines of text, and a dict for JSON."""

    def __init__(self, title, **content):
        self.lines, self.record, self.counts = [title, ""], content, None

    @property
    def text(self):
        return "\n".join(self.lines)

    def error(self, error, spread, table):
        self.record |= {
            "error": error,
            "standard_error": spread,
            "majority_error": table.majority_error,
            "random_error": table.proportional_error,
            "uniform_error": table.uniform_error,
        }
        self.lines += [
            f"error                          {error:7.2%}   standard error {spread:.2%}",
            f"error by the commonest class   {table.majority_error:7.2%}   told for every row",
            f"error by a draw, class shares  {table.proportional_error:7.2%}",
            f"error by a draw, equal shares  {table.uniform_error:7.2%}",
        ]

    def figure(self, name, value):
        self.record[name] = value
        self.lines.append(f"{name.ljust(30)} {value:7.4f}")

    def table(self, table):
        """Add the table of counts, and the figures of each class."""
        self.counts = table
        labels = [str(label) for label in table.labels]
        counts = np.asarray(table.counts)
        parts = {name: getattr(table, name)() for name in ("precision", "recall", "f1", "specificity")}
        whole = {name: getattr(table, name) for name in ("kappa", "mcc", "balanced_accuracy")}
        self.record |= {"classes": labels, "table": counts, **parts, **whole}
        for name, value in whole.items():
            self.lines.append(f"{name.replace('_', ' ').ljust(30)} {value:7.4f}")
        if len(labels) <= 20:
            rows = [[label, *(f"{count:g}" for count in row)] for label, row in zip(labels, counts)]
            self.lines += ["", table_text(["true \\ predicted", *labels], rows)]
        rows = [
            [label, f"{counts[i].sum():g}", *(f"{part[i]:.4f}" for part in parts.values())]
            for i, label in enumerate(labels)
        ]
        self.lines += ["", table_text(["class", "rows", "precision", "recall", "F1", "specificity"], rows)]

    def costs(self, costs, plain, by_cost):
        """Add mean costs of a row: as predicted, decided by least expected cost, and with one label for all rows."""
        shares = plain.counts.sum(axis=1) / plain.counts.sum()
        always = shares @ costs
        found = {
            "cost": float((plain.counts * costs).sum() / plain.counts.sum()),
            "cost_by_least_expected_cost": float((by_cost.counts * costs).sum() / by_cost.counts.sum()),
            "cost_of_the_cheapest_class": float(always.min()),
        }
        self.record |= found
        self.lines += [
            "",
            f"cost of a row, as predicted    {found['cost']:7.4f}",
            f"decided by least expected cost {found['cost_by_least_expected_cost']:7.4f}",
            f"always {str(plain.labels[always.argmin()]).ljust(23)} {always.min():7.4f}",
        ]


def read_costs(path, classes):
    """Read cost_matrix[true, predicted] from a .csv file."""
    with blame(path), open(path, encoding="utf-8-sig", newline="") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
        names = [str(label) for label in classes]
        if lines and sorted(lines[0][1:]) == sorted(names) and len(lines) == len(names) + 1:
            rows = {line[0]: dict(zip(lines[0][1:], line[1:])) for line in lines[1:]}
            if sorted(rows) != sorted(names):
                raise ValueError(f"the rows are {', '.join(rows)}; one for each of {', '.join(names)} is wanted")
            lines = [[rows[true].get(name, "") for name in names] for true in names]
        if [len(line) for line in lines] != [len(names)] * len(names):
            raise ValueError(f"there are {len(lines)} lines; a square of costs for {', '.join(names)} is wanted")
        costs = np.array(lines, dtype=np.float64)
        if not np.isfinite(costs).all():
            raise ValueError("there is a cost of NaN or infinity; finite costs are wanted")
        return costs
