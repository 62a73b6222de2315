"""Categories of a column and codes of labels, shared by encoders, trees, tables and naive Bayes."""

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastclf._categories import codes_of, float_codes, sorted_categories

NAN = float("nan")


def objects(*labels):
    return np.fromiter(labels, object, len(labels))


@given(st.lists(st.one_of(st.none(), st.text("ab", max_size=2))), st.lists(st.text("abc", max_size=2)))
def test_a_label_has_the_place_of_its_category_and_no_other_label_has_one(seen, asked):
    categories = sorted_categories(objects(*seen))
    assert categories.tolist() == sorted(set(seen) - {None})
    assert [code if code >= 0 else None for code in codes_of(objects(*asked), categories)] == [
        categories.tolist().index(label) if label in seen else None for label in asked
    ]


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f4", "f8", "?", "U1", "S1", "M8[D]", object])
def test_codes_put_each_type_of_labels_together_again(rng, dtype):
    labels = rng.integers(0, 3, 40).astype(dtype)
    categories = sorted_categories(labels)
    np.testing.assert_array_equal(categories[codes_of(labels, categories)], labels)
    shuffled = categories[::-1]
    np.testing.assert_array_equal(shuffled[codes_of(labels, shuffled)], labels)
    assert codes_of(labels, categories[:0]).tolist() == [-1] * 40


def test_what_is_missing_is_left_out_or_comes_last():
    for labels, whole, missing in (
        (np.array([NAN, 2.0, 1.0, NAN]), [1.0, 2.0], [NAN]),
        (np.array(["NaT", "2020"], "M8[Y]"), [np.datetime64("2020").tolist()], [None]),
        (objects("b", NAN, None, pandas.NA, "a"), ["a", "b"], [None, NAN]),
        (objects(None, None), [], [None]),
        (objects(pandas.NA), [], [NAN]),
    ):
        assert sorted_categories(labels).tolist() == whole
        assert str(sorted_categories(labels, missing=True).tolist()) == str(whole + missing)


def test_nan_is_nan_where_it_is_a_category_and_unknown_elsewhere():
    labels = objects("a", NAN, pandas.NA, None, "q")
    assert codes_of(labels, objects(None, NAN, "a")).tolist() == [2, 1, 1, 0, -1]
    assert codes_of(labels, objects("a")).tolist() == [0, -1, -1, -1, -1]
    assert codes_of(np.array([1.0, NAN]), np.array([NAN, 1.0])).tolist() == [1, 0]
    assert codes_of(np.array([1.0, NAN]), np.array([1.0])).tolist() == [0, -1]
    np.testing.assert_array_equal(float_codes(np.array([NAN, 7, 1]), np.array([1.0])), [NAN, NAN, 0])


def test_numbers_are_no_texts():
    assert codes_of(np.array([1.0, 2.0]), objects("1", "2")).tolist() == [-1, -1]
    assert codes_of(np.array(["1", "2"]), np.array([1, 2])).tolist() == [-1, -1]
    assert codes_of(objects(1, "1", 1.0, True), np.array([0, 1])).tolist() == [1, -1, 1, 1]


def test_labels_that_do_not_sort_are_refused_by_name():
    with pytest.raises(TypeError, match=r"column 3 holds labels of types int, str, which cannot be sorted"):
        sorted_categories(objects(1, "a", None), "column 3")
