"""Tables of fitted state: every attribute fits its table, and other values are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import fastclf
from fastclf._csr import Csr, Matrix
from fastclf._state_table import (
    Array,
    DeclaredState,
    Dict,
    Instance,
    List,
    Size,
    SizeOf,
    Starts,
    Value,
    declare,
    has,
    or_none,
    table_of,
    where,
)
from fastclf._validation import require_choice
from fastclf.storage import state

pytestmark = pytest.mark.once


class Base(DeclaredState):
    _state_table = declare(
        n=Size("n_columns"),
        wide=Array("float32 or float64", "n_rows", "n_columns", least=1),
        place=Array("int32", "n_rows", below="n_columns"),
    )

    def __init__(self, **changes):
        self.n, self.wide, self.place = 3, np.ones((2, 3)), np.array([0, 2], np.int32)
        self.starts, self.many = np.array([0, 0, 2]), [np.arange(2.0), np.arange(5.0)]
        self.kind, self.inner = "a", {"cells": np.arange(4), "counts": np.zeros((2, 3))}
        self.rows, self.none = Csr.from_dense(np.eye(2)[:, [0, 1, 1]]), None
        vars(self).update(changes)


class Whole(Base):
    _state_table = declare(
        n_lists=SizeOf(lambda whole: len(whole.many)),
        starts=Starts("n_lists", "n_rows"),
        many=List("n_lists", Array("any", None)),
        kind=Value(require_choice, ("a", "b")),
        inner=Dict(
            cells=Array("int64", "n_cells", ascends=True),
            n_bins=SizeOf(lambda inner: len(inner["cells"]) - 1),
            counts=Array("float64", "n_rows", "n_bins"),
        ),
        rows=Matrix("n_rows", "n_columns"),
        none=or_none(Array("float64", "n_columns")),
        **where(has("extra"), extra=Array("bool", "n_columns")),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"wide": np.ones((2, 3), np.float32)},
        {"rows": np.ones((2, 3))},
        {"none": np.zeros(3), "extra": np.zeros(3, bool)},
        {"many": [np.array(["a"]), np.array([None])]},
    ],
)
def test_what_fits_is_taken(changes):
    Whole(**changes)._check_state()


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_of_any_order_is_contiguous_in_one(order):
    entry, value = Array("float64", 2, 3, any_order=True), np.zeros((4, 6), order=order)
    entry.require("wide", np.array(value[:2, :3], order=order), {}, True)
    with pytest.raises(ValueError, match="wide is not contiguous"):
        entry.require("wide", value[::2, ::2], {}, True)


FORMS = [
    ({"n": 0}, "n is 0; at least 1 is wanted"),
    ({"n": 2.0}, "n is 2.0; a whole number is wanted"),
    ({"n": 4}, r"wide has shape \(2, 3\); \(2, 4\) is wanted"),
    ({"wide": None}, "wide is a NoneType; an array of dtype float32 or float64 is wanted"),
    ({"wide": np.ones((2, 3), int)}, "wide is an array of dtype int64; an array of dtype float32 or float64 is wanted"),
    ({"wide": np.ones((2, 3), ">f8")}, "wide is an array of dtype >f8; an array of dtype float32 or float64"),
    ({"wide": np.ones(3)}, r"wide has shape \(3,\); \(n_rows, 3\) is wanted"),
    ({"wide": np.ones((0, 3))}, r"wide has shape \(0, 3\); a length of at least 1 is wanted"),
    ({"wide": np.ones((3, 2)).T}, "wide is not contiguous; an array in C order is wanted"),
    ({"place": np.zeros(3, np.int32)}, r"place has shape \(3,\); \(2,\) is wanted"),
    ({"starts": np.array([0, 2])}, r"starts has shape \(2,\); \(3,\) is wanted"),
    ({"starts": np.array([], int)}, r"starts has shape \(0,\); a length of at least 1 is wanted"),
    ({"many": (1, 2)}, "many is a tuple; a list is wanted"),
    ({"many": [np.ones(1), 5]}, r"many\[1\] is a int; an array is wanted"),
    ({"kind": "c"}, "kind is 'c'; one of 'a', 'b' is wanted"),
    ({"inner": {"cells": np.arange(4)}}, "inner is not a dict with the keys cells, counts"),
    ({"inner": {"cells": np.arange(4), "counts": np.zeros((2, 4))}}, r"inner\['counts'\] has shape \(2, 4\); \(2, 3\)"),
    ({"rows": Csr.from_dense(np.eye(3))}, r"rows has shape \(3, 3\); \(2, 3\) is wanted"),
    ({"rows": np.ones((2, 3), int)}, "rows is an array of dtype int64"),
    ({"none": np.zeros(2)}, r"none has shape \(2,\); \(3,\) is wanted"),
    ({"extra": None}, "extra is a NoneType; an array of dtype bool is wanted"),
]
ENTRIES = [
    ({"place": np.array([0, 3], np.int32)}, "place has an entry outside of 0 to 2; entries in this range are wanted"),
    ({"place": np.array([0, -1], np.int32)}, "place has an entry outside of 0 to 2; entries in this range are wanted"),
    ({"starts": np.array([1, 1, 2])}, "starts has an entry outside of 0 to 2, or does not ascend"),
    ({"starts": np.array([0, 2, 1])}, "starts has an entry outside of 0 to 2, or does not ascend"),
    ({"starts": np.array([0, 0, 3])}, "starts has an entry outside of 0 to 2, or does not ascend"),
    (
        {"inner": {"cells": np.array([0, 1, 1, 2]), "counts": np.zeros((2, 3))}},
        r"inner\['cells'\] has entries that do not ascend; ascending entries are wanted",
    ),
]


@pytest.mark.parametrize("entries", [True, False])
@pytest.mark.parametrize(("changes", "words"), FORMS)
def test_another_form_is_refused_whether_or_not_entries_are_read(changes, words, entries):
    with pytest.raises((ValueError, TypeError), match=f"^{words}"):
        Whole(**changes)._check_state(entries)


@pytest.mark.parametrize(("changes", "words"), ENTRIES)
def test_entries_are_checked_only_where_they_are_asked_for(changes, words):
    Whole(**changes)._check_state(entries=False)
    with pytest.raises(ValueError, match=f"^{words}$"):
        Whole(**changes)._check_state()


def test_full_lists_have_all_entries():
    for starts, full in (([0, 1, 2], True), ([0, 0, 2], False), ([0, 1, 1], False)):
        sizes = {"lists": 2, "entries": 2}
        Starts("lists", "entries").check("starts", np.array(starts), sizes, True)
        if full:
            Starts("lists", "entries", full=True).check("starts", np.array(starts), sizes, True)
        else:
            with pytest.raises(ValueError, match="starts has an entry outside of 0 to 2, or does not ascend"):
                Starts("lists", "entries", full=True).check("starts", np.array(starts), sizes, True)


def test_an_estimator_within_another_is_of_its_class_and_fitted():
    entry = Instance(fastclf.GaussianNB)
    entry.check("model_", fastclf.GaussianNB().fit([[0.0], [1.0]], [0, 1]), {}, True)
    with pytest.raises(ValueError, match="not fitted yet"):
        entry.check("model_", fastclf.GaussianNB(), {}, True)
    with pytest.raises(ValueError, match="model_ is a SimpleNamespace; a GaussianNB is wanted"):
        entry.check("model_", SimpleNamespace(), {}, True)


DECLARED = [state.find_class(name) for name in [*state._CLASSES, *fastclf.__all__]]
DECLARED = [cls for cls in DECLARED if cls is not None and len(table_of(cls))]


def test_all_that_a_file_may_hold_is_declared():
    undeclared = {cls.__name__ for cls in map(state.find_class, [*state._CLASSES, *fastclf.__all__]) if cls is not None}
    assert undeclared - {cls.__name__ for cls in DECLARED} == {"SpareRows"}


@pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: cls.__name__)
def test_a_size_has_a_number_before_entries_are_compared_with_it(cls):
    # the object that has a NamedTuple as attribute passes these sizes to its check
    known = {"n_rows", "n_features"} if issubclass(cls, tuple) else set()
    for name, entry in table_of(cls).items():
        known |= {name} if isinstance(entry, SizeOf) else set()
        known |= {getattr(entry, each) for each in ("size", "lists", "length") if hasattr(entry, each)}
        known |= set(getattr(entry, "shape", ()))
        for used in (getattr(entry, "below", None), getattr(entry, "entries", None)):
            assert used is None or isinstance(used, int) or used in known, (name, used)


def sizes_named(table):
    for name, entry in table.items():
        yield from [name] if isinstance(entry, SizeOf) else []
        named = [getattr(entry, each, None) for each in ("size", "lists", "length", "entries", "below")]
        yield from (size for size in (*named, *getattr(entry, "shape", ())) if isinstance(size, str))
        yield from sizes_named(getattr(entry, "table", {}))
        yield from sizes_named({"item": entry.entry} if hasattr(entry, "entry") else {})


@pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: cls.__name__)
def test_two_entries_share_every_size_but_those_that_others_know(cls):
    # a misspelled name would agree with any length
    named = list(sizes_named(table_of(cls)))
    known = {"n_rows", "n_features", "n_columns", "n_classes", "n_outputs"}
    assert {size for size in named if named.count(size) == 1} <= known


@pytest.mark.parametrize("shape", [(np.zeros(2), 3), np.zeros((2, 2)), ("x", 3), (-1, 3), (None, 3), (0.5, 3), 3, "x"])
def test_a_size_that_is_no_number_is_refused(shape):
    model = fastclf.NuSVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    model.shape_fit_ = shape
    with pytest.raises(ValueError, match=r"shape_fit_"):
        model.predict([[0.0]])
