"""
Which digits are taken for which
================================

The table of true against predicted labels, from ten folds: each row of the data is predicted once, by a model that
has not seen it. The figures below the table follow from its counts.
"""

from sklearn.datasets import load_digits

from fastclf import GaussianNB, cross_validate
from fastclf.display import ConfusionMatrixDisplay

digits = load_digits()
result = cross_validate(GaussianNB(var_smoothing=1e-2), digits.data, digits.target, cv=10)
table = result.table
print(f"accuracy {table.accuracy:.3f}, kappa {table.kappa:.3f}, majority error {table.majority_error:.3f}")
print("recall of each digit", table.recall().round(2).tolist())
display = ConfusionMatrixDisplay(table).plot()
