"""Folds as an array: for each row the number of its fold, in which it is a test row. Folds are numbered from 0."""

import numpy as np


def is_leave_one_out(fold):
    """Whether the folds are those of leave-one-out in the order of the rows: fold i is row i alone, for every i."""
    return np.array_equal(fold, np.arange(len(fold)))


def rows_of_folds(fold):
    """A list with an array of row numbers, ascending, for each fold."""
    return np.split(np.argsort(fold, kind="stable"), np.cumsum(np.bincount(fold))[:-1])


def keeps_classes(fold, y):
    """Whether each class has rows in at least two folds, so that every train set has all classes."""
    n_folds = fold.max() + 1
    pairs = np.unique(np.unique(y, return_inverse=True)[1] * np.int64(n_folds) + fold)
    return np.bincount(pairs // n_folds).min() >= 2
