"""Labels as codes, which number the classes, and the weights of rows and classes in a fit."""

from typing import NamedTuple

import numpy as np

from ._threads import aside_for_many, aside_if_many
from ._validation import (
    as_array,
    as_sample_weight,
    as_targets,
    described,
    encode_labels,
    require_label_dtype,
    require_number,
)


class Labels(NamedTuple):
    """The labels and weights of a fit, in which rows of weight 0 are ignored."""

    classes: np.ndarray  # the sorted distinct labels of the rows with weight above 0
    codes: np.ndarray  # for each row with weight above 0, the index of its label in `classes`
    rows: np.ndarray | None  # the numbers of the rows with weight above 0; None: all rows
    weight: np.ndarray | None  # float64: the weight of each row, zeros included; None: all weights are 1

    def spread(self, n_samples, dtype, missing=0):
        """The class codes of all rows as an array of `dtype`; rows of weight 0 have the code `missing`."""
        if self.rows is None:
            return self.codes.astype(dtype, copy=False)
        codes = np.full(n_samples, missing, dtype)
        codes[self.rows] = self.codes
        return codes


def as_labels(y, sample_weight, n_samples, owner, known=None):
    """The checked Labels of a fit to at least two classes; `known` has the classes declared to `partial_fit`."""
    if known is not None:
        require_two("classes", known)
    y = as_label_vector(y, n_samples, owner)
    weight = as_sample_weight(sample_weight, n_samples)
    rows = rows_that_count(weight)
    y = y if rows is None else y[rows]
    if known is not None:
        return Labels(known, encode_known(known, y), rows, weight)
    classes, codes = encode_labels(y)
    require_two("y", classes)
    return Labels(classes, codes, rows, weight)


def require_two(name, classes):
    """Raise an error if there is only one class; the message calls the labels `name`."""
    if len(classes) < 2:
        raise ValueError(
            f"{name} has one class, {classes.tolist()[0]!r}; the number of classes has to be greater than one"
        )


def as_label_vector(y, n_samples, owner):
    """The labels y as an ndarray of shape (n_samples,)."""
    y = as_targets(y, n_samples, owner, labels=True)
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}; ({n_samples},), one label per row, is wanted")
    return y


def rows_that_count(weight):
    """The numbers of the rows with weight above 0, or None if these are all rows."""
    return None if weight is None or weight.all() else aside_if_many(len(weight), np.flatnonzero, weight)


def declared_classes(classes, known):
    """The argument `classes` of `partial_fit`, checked and sorted; `known` has the classes of earlier calls or None."""
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit; classes is None, and a list of all labels"
                " that any call will have is wanted"
            )
        return known
    given = as_array(classes, "classes")
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"classes has shape {given.shape}; a list of labels is wanted")
    require_label_dtype(given, "classes")
    given = encode_labels(given, "classes")[0]
    if known is not None and not np.array_equal(given, known):
        raise ValueError(f"`classes={given}` is not the same as on last call to partial_fit, was: {known}")
    return given


@aside_for_many
def encode_known(classes, y):
    """The index of each label in the sorted classes; a label that is no class is refused."""
    found, codes = encode_labels(y)
    try:
        place = np.minimum(np.searchsorted(classes, found), len(classes) - 1)
    except TypeError:
        raise TypeError(f"y has labels like {found[0]!r}, which do not sort with the classes {classes}") from None
    unknown = classes[place] != found
    if unknown.any():
        raise ValueError(f"The target label(s) {found[unknown]} in y do not exist in the initial classes {classes}")
    return place[codes]


def class_factors(class_weight, classes, heavy):
    """The factor of each class by the parameter `class_weight`; `heavy` has the total weight of each class.

    'balanced' makes the classes equally heavy. It is refused if `heavy` is None, which means that not all rows are
    known. A class that a dict does not name has the factor 1. A dict may name labels that are no class if it names all
    classes, too, because a part of the rows, such as a fold, need not contain every class.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        if heavy is None:
            raise ValueError("class_weight is 'balanced', which needs all rows at once; a dict or None is wanted")
        return heavy.sum() / (len(classes) * heavy)
    if not isinstance(class_weight, dict):
        kind = ValueError if isinstance(class_weight, str) else TypeError
        raise kind(f"class_weight is {described(class_weight)}; a dict, 'balanced' or None is wanted")
    given = {
        label: require_number(f"class_weight[{label!r}]", factor, 0, finite=True)
        for label, factor in class_weight.items()
    }
    labels = classes.tolist()
    unknown = [label for label in given if label not in labels]
    if unknown and any(label not in given for label in labels):
        raise ValueError(f"class_weight has {unknown[0]!r}, which is no class; the classes are {labels}")
    factors = np.array([given.get(label, 1.0) for label in labels])
    if not factors.any():
        raise ValueError(f"class_weight is {class_weight}; a weight above 0 is wanted")
    return factors
