"""Labels as codes, which number the classes, and the change of classes as rows are added and removed."""

import contextlib

import numpy as np

from .._validation import as_array, as_list, described, encode_labels, require_labels


def encode_more(classes, y):
    """(the sorted union of the classes and the labels y, the index of each label of y in the union)."""
    require_labels(y)
    kinds = {"numbers" if kind in "biuf" else kind for kind in (classes.dtype.kind, y.dtype.kind)} - {"O"}
    if len(kinds) > 1:
        raise TypeError(f"y has dtype {y.dtype} and classes_ {classes.dtype}; labels that sort together are wanted")
    if np.result_type(classes, y) == classes.dtype:
        with contextlib.suppress(TypeError):
            codes = np.searchsorted(classes, y)
            codes[codes == len(classes)] = 0
            if (classes[codes] == y).all():
                return classes, codes
    union, codes = encode_labels(np.concatenate([classes, y]))
    return union, codes[len(classes) :]


def join(codes, classes, labels):
    """Add new labels to the classes of each output.

    Returns (codes, classes, codes of the new labels). The array `codes` of shape (n_rows, n_outputs), the codes of the
    earlier rows, is renumbered if there are new classes; None stays None.
    """
    joined, new = zip(*(encode_more(*output) for output in zip(classes, labels)))
    if codes is not None and any(len(more) > len(old) for more, old in zip(joined, classes)):
        columns = [np.searchsorted(more, old)[column] for more, old, column in zip(joined, classes, codes.T)]
        codes = np.stack(columns, axis=1)
    return codes, list(joined), new


def leave(codes, classes, declared):
    """Remove, for each output, classes that neither a row has nor the user has declared; return (codes, classes)."""
    columns, kept = [], []
    for output, (column, names) in enumerate(zip(codes.T, classes)):
        stays = np.bincount(column, minlength=len(names)) > 0
        if declared is not None:
            stays |= np.isin(names, declared[output])
        columns.append((np.cumsum(stays) - 1)[column])
        kept.append(names[stays])
    return np.stack(columns, axis=1), kept


def as_label_lists(classes, n_outputs, several):
    """The argument `classes` as a sorted array for each output."""
    labels = [as_array(labels, "classes") for labels in (as_list(classes, "classes") if several else [classes])]
    if len(labels) != n_outputs or any(column.ndim != 1 or len(column) == 0 for column in labels):
        wanted = f"a list of labels for each of {n_outputs} outputs" if several else "a list of labels"
        raise ValueError(f"classes is {described(classes)}; {wanted} is wanted")
    return [encode_labels(column, "classes")[0] for column in labels]
