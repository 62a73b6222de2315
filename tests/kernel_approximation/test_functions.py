"""Features that are given functions of a row, and models on the features of any map."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as ForeignModel
from sklearn.preprocessing import FunctionTransformer
from sklearn.preprocessing import PolynomialFeatures as ForeignMap

from fastclf import (
    BayesOptimalClassifier,
    CostSensitiveClassifier,
    FunctionFeatures,
    GaussianNB,
    GeneralisedLinearClassifier,
    LogisticRegression,
    MultinomialNB,
    TableClassifier,
    save,
)


def first(x):
    return x[0]


def second(x):
    return x[1]


def product(x):
    return x[0] * x[1]


PHI = [first, second, product]


@pytest.fixture
def exclusive(rng):
    """Rows whose label is whether the signs of their two numbers differ."""
    X = rng.standard_normal((200, 2))
    return X, X[:, 0] * X[:, 1] < 0


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_each_feature_is_its_function_of_the_row(rng, vectorized, dtype):
    X = (4 * rng.standard_normal((30, 2))).astype(dtype)
    features = FunctionFeatures(PHI, vectorized=vectorized).fit_transform(X)
    as_numbers = X.astype(np.result_type(X.dtype, np.float32))
    np.testing.assert_array_equal(features, [[phi(x) for phi in PHI] for x in as_numbers])


def test_without_functions_the_features_are_the_coordinates(rng):
    X = rng.standard_normal((5, 3))
    np.testing.assert_array_equal(FunctionFeatures().fit_transform(X), X)


def test_a_function_cannot_change_the_rows(rng):
    def careless(x):
        x[0] = 0
        return 1.0

    X = rng.standard_normal((5, 2))
    kept = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        FunctionFeatures([careless]).fit_transform(X)
    np.testing.assert_array_equal(X, kept)


def test_features_are_named_by_their_functions(rng):
    X = rng.standard_normal((5, 2))
    named = FunctionFeatures([first, lambda x: 1.0, product, product]).fit(X)
    assert named.get_feature_names_out().tolist() == ["first", "phi2", "phi3", "phi4"]
    table = pandas.DataFrame(X, columns=["a", "b"])
    assert FunctionFeatures().fit(table).get_feature_names_out().tolist() == ["a", "b"]
    assert FunctionFeatures(PHI).set_output(transform="pandas").fit_transform(table).columns[2] == "product"


def test_a_list_of_functions_is_a_map(exclusive):
    X, y = exclusive
    model = GeneralisedLinearClassifier(PHI, LogisticRegression()).fit(X, y)
    by_columns = GeneralisedLinearClassifier(FunctionFeatures(PHI, vectorized=True), LogisticRegression()).fit(X, y)
    alone = LogisticRegression().fit(np.c_[X, X[:, 0] * X[:, 1]], y)
    np.testing.assert_array_equal(model.model_.coef_, alone.coef_)
    np.testing.assert_array_equal(by_columns.model_.coef_, alone.coef_)
    assert model.score(X, y) > 0.95
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


@pytest.mark.parametrize("feature_map", [ForeignMap(2), FunctionTransformer(lambda X: np.c_[X, X[:, :1] * X[:, 1:]])])
def test_any_map_with_fit_and_transform_will_do(exclusive, feature_map):
    X, y = exclusive
    model = GeneralisedLinearClassifier(feature_map, LogisticRegression(C=100)).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.n_features_in_ == 2
    for wrong in (X[:, :1], X[:, [0, 1, 1]]):
        with pytest.raises(ValueError, match=r"has . features, but \w+ is expecting 2"):
            model.predict(wrong)


def test_a_map_of_texts_will_do():
    texts, labels = ["cheap pills", "cheap offer", "minutes of meeting", "meeting at noon"], [1, 1, 0, 0]
    model = GeneralisedLinearClassifier(CountVectorizer(), MultinomialNB()).fit(texts, labels)
    assert model.predict(["cheap meeting pills", "noon meeting"]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: GeneralisedLinearClassifier(ForeignMap(2), ForeignModel()),
        lambda: CostSensitiveClassifier(ForeignModel()),
        lambda: TableClassifier(ForeignModel()),
        lambda: BayesOptimalClassifier([ForeignModel(), GaussianNB()]),
    ],
)
def test_a_model_with_parts_of_another_library_survives_pickling(exclusive, make):
    X, y = exclusive
    model = make().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_functions_are_not_saved(exclusive, tmp_path):
    model = GeneralisedLinearClassifier(PHI).fit(*exclusive)
    with pytest.raises(TypeError, match="a function, which a file cannot hold"):
        save(model, tmp_path / "model.fclf")
    assert not list(tmp_path.iterdir())


BAD = {
    "no list": (lambda X: FunctionFeatures(first).fit(X), TypeError, "functions is .*; a list is wanted"),
    "text": (lambda X: FunctionFeatures(["log"]).fit(X), TypeError, r"functions\[0\] is 'log'"),
    "empty": (lambda X: FunctionFeatures([]).fit(X), ValueError, "functions is empty"),
    "vector": (lambda X: FunctionFeatures([np.sort]).fit_transform(X), ValueError, r"shape \(20, 3\) for 20 rows"),
    "infinite": (lambda X: FunctionFeatures([lambda x: np.inf]).fit_transform(X), ValueError, "gives inf for row 0"),
    "no number": (
        lambda X: FunctionFeatures([lambda x: "a"]).fit_transform(X),
        ValueError,
        r"result of functions\[0\]",
    ),
    "number": (
        lambda X: FunctionFeatures([lambda x: 1.0], vectorized=True).fit_transform(X),
        ValueError,
        r"values of shape \(1,\) for 20 rows",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_functions_get_one_sentence(rng, name):
    call, kind, sentence = BAD[name]
    with pytest.raises(kind, match=sentence):
        call(rng.standard_normal((20, 3)))


def test_functions_of_columns_are_functions_of_rows(rng):
    X = rng.standard_normal((30, 2))
    columns = [lambda X: X[:, 0], lambda X: X[:, 1] ** 2, lambda X: X.sum(axis=1), lambda x: x[0] * x[1]]
    features = FunctionFeatures(columns).fit_transform(X)
    np.testing.assert_array_equal(features.T, [X[:, 0], X[:, 1] ** 2, X.sum(axis=1), X[:, 0] * X[:, 1]])
    model = GeneralisedLinearClassifier(columns).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(np.concatenate([model.predict(X[[i]]) for i in range(30)]), model.predict(X))


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_that_asks_for_more_features_than_there_are_is_refused(rng, vectorized):
    features = FunctionFeatures([first, lambda x: x[5]], vectorized=vectorized).fit(np.ones((8, 2)))
    with pytest.raises(ValueError, match=r"functions\[1\] asks for what 2 features do not have .*; x\[0\] to x\[1\]"):
        features.transform(np.ones((4, 2)))
