"""Folds that keep groups together and spread the classes evenly."""

import numpy as np

from .._exceptions import warn
from .._validation import encode_labels
from .splitters import OfGroups, Partition, as_classes, as_groups, documented


@documented
class StratifiedGroupKFold(OfGroups, Partition):
    """Folds that keep groups together and have nearly even class shares: those of scikit-learn's StratifiedGroupKFold.

    Parameters
    ----------
    {n_splits}
    shuffle : bool, default=False
        Whether groups whose class counts have the same standard deviation are taken in random order.
    {random_state}

    Notes
    -----
    Groups join the folds one after the other, those with the most uneven numbers of the classes first: each joins the
    fold with which the classes' shares of the folds differ least, and of equal folds the one with the fewest rows.
    Cost: O(n_groups n_splits^2 n_classes).

    Examples
    --------
    >>> from fastclf import StratifiedGroupKFold
    >>> y, groups = ["a", "b", "a", "b", "b", "a"], [1, 1, 2, 2, 3, 3]
    >>> [test.tolist() for _, test in StratifiedGroupKFold(3).split([[0]] * 6, y, groups)]
    [[0, 1], [2, 3], [4, 5]]
    """

    def __init__(self, n_splits=5, shuffle=False, random_state=None):
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)

    @documented
    def split(self, X, y=None, groups=None):
        """The rows of each fold.

        Parameters
        ----------
        {split}

        Returns
        -------
        iterator of (train, test), ndarrays of int
        """
        return super().split(X, y, groups)

    def _fold(self, n, y, groups):
        classes, codes = encode_labels(as_classes(y, n))
        names, group = as_groups(groups, n)
        count, n_splits = np.bincount(codes), self.n_splits
        if n_splits > count.max():
            raise ValueError(f"n_splits={n_splits} cannot be greater than the number of members in each class.")
        if n_splits > count.min():
            warn(
                f"The least populated class in y has only {count.min()} members, which is less than"
                f" n_splits={n_splits}."
            )
        if n_splits > len(names):
            raise ValueError(
                f"Cannot have number of splits n_splits={n_splits} greater than the number of groups: {len(names)}."
            )
        of_group = np.zeros((len(names), len(classes)))
        np.add.at(of_group, (group, codes), 1)
        order, rng = np.arange(len(names)), self._shuffler()
        if rng is not None:
            rng.shuffle(order)
        order = order[np.argsort(-np.std(of_group[order], axis=1), kind="stable")]
        fold, filled = np.empty(len(names), np.intp), np.zeros((n_splits, len(classes)))
        for code in order:
            fold[code] = _best_fold(filled, of_group[code], count)
            filled[fold[code]] += of_group[code]
        return fold[group]


def _best_fold(filled, more, count):
    """The number of the fold that a group joins; more: the group's rows per class; filled: rows per fold and class."""
    best, least, fewest = 0, np.inf, np.inf
    for i, rows in enumerate(filled):
        rows += more
        uneven = np.mean(np.std(filled / count, axis=0))
        rows -= more
        if uneven < least or (np.isclose(uneven, least) and rows.sum() < fewest):
            best, least, fewest = i, uneven, rows.sum()
    return best
