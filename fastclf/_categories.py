"""Distinct values of a column (its categories), and labels as integer codes: indices of categories."""

import numpy as np

from ._threads import distinct, map_rows, ranges

# The number of labels that are sorted at a time; the distinct labels that are found are then sorted together.
_LABELS = 1 << 16


def sorted_categories(labels, name="X", missing=False):
    """The distinct labels of an array, ascending; error messages call the array `name`.

    Missing labels are left out. With `missing`, the missing ones come last: None, then a single NaN for all labels that
    differ from themselves (NaN, NaT, pandas.NA).
    """
    if labels.dtype.kind != "O":
        parts = [distinct(labels[start:stop]) for start, stop in ranges(0, len(labels), _LABELS)]
        found = parts[0] if len(parts) == 1 else distinct(np.concatenate(parts)) if parts else np.unique(labels)
        return found if missing else found[found == found]
    try:
        different = set(labels.tolist())
        gone = [label for label in different if label is None or _is_nan(label)]
        found = sorted(different.difference(gone))
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist() if not (label is None or _is_nan(label))})
        raise TypeError(
            f"{name} holds labels of types {', '.join(kinds)}, which cannot be sorted; one type is wanted"
        ) from None
    if missing:
        found += [None] * (None in gone) + [np.nan] * any(label is not None for label in gone)
    return np.fromiter(found, object, len(found))


def codes_of(labels, categories):
    """The index of each label in the categories, which may be in any order; -1 if the label is no category.

    NaN equals NaN.
    """
    kinds = {"S" if array.dtype.kind == "U" else array.dtype.kind for array in (labels, categories)}
    if "O" in kinds or ("S" in kinds and len(kinds) > 1):
        return _object_codes(labels.astype(object).tolist(), categories.astype(object).tolist())
    if not len(categories):
        return np.full(len(labels), -1)
    order = np.argsort(categories, kind="stable")
    ascending = categories[order]

    def codes(labels):
        with np.errstate(invalid="ignore"):  # NumPy reports a signaling NaN as invalid
            return found(labels)

    def found(labels):
        near = np.minimum(np.searchsorted(ascending, labels), len(order) - 1)
        known = ascending[near] == labels
        if ascending[-1] != ascending[-1]:  # NaN, which differs from itself, is the last of the sorted categories
            known |= (near == len(order) - 1) & (labels != labels)
        return np.where(known, order[near], -1)

    return map_rows(codes, labels)


def float_codes(labels, categories):
    """The index of each label among the sorted categories, as floats; NaN for a label that is no category."""
    codes = codes_of(labels, categories)
    return np.where(codes < 0, np.nan, codes)


def _object_codes(labels, categories):
    place = {label: code for code, label in enumerate(categories)}
    codes = np.array([place.get(label, -1) for label in labels], np.intp)
    nan = next((code for label, code in place.items() if _is_nan(label)), -1)
    if nan >= 0:
        for row in np.flatnonzero(codes < 0):
            codes[row] = nan if _is_nan(labels[row]) else -1
    return codes


def _is_nan(label):
    """Whether a label is NaN or NaT, which differ from themselves, or pandas.NA, which cannot be compared."""
    try:
        return (label != label) is not False
    except ArithmeticError:  # the signaling NaN of Decimal refuses comparisons
        return True
