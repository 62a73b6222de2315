"""Feature maps give scikit-learn's features; linear models on them."""

import itertools

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn import base, kernel_approximation, model_selection, preprocessing
from sklearn.metrics.pairwise import rbf_kernel

from fastclf import (
    GeneralisedLinearClassifier,
    LeastSquaresClassifier,
    NearestCentroid,
    Nystroem,
    OneHotEncoder,
    PolynomialFeatures,
    RBFSampler,
    load,
    save,
)

TABLE = [["red", 3], ["blue", 1], ["red", 2], ["green", 3]]


def slow_products(X, degree):
    """All products of at most `degree` features, by degree, then in the order of the features."""
    columns = []
    for size in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(range(X.shape[1]), size):
            columns.append(np.prod(X[:, list(chosen)], axis=1))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_products_are_those_of_the_obvious_loop(rng, dtype, degree):
    X = rng.standard_normal((50, 3)).astype(dtype)
    got = PolynomialFeatures(degree).fit_transform(X)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, slow_products(X, degree), rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("degree", [2, 3, (2, 3), (0, 2), (1, 1)])
@pytest.mark.parametrize("interaction_only", [True, False])
@pytest.mark.parametrize("include_bias", [True, False])
def test_products_powers_and_names_are_scikit_learns(rng, degree, interaction_only, include_bias):
    X = rng.standard_normal((20, 4))
    parameters = {"interaction_only": interaction_only, "include_bias": include_bias, "order": "F"}
    ours = PolynomialFeatures(degree, **parameters).fit(X)
    theirs = preprocessing.PolynomialFeatures(degree, **parameters).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-13)
    assert ours.transform(X).flags.f_contiguous
    np.testing.assert_array_equal(ours.powers_, theirs.powers_)
    assert ours.n_output_features_ == theirs.n_output_features_
    for names in (None, ["a", "b", "c", "d"]):
        np.testing.assert_array_equal(ours.get_feature_names_out(names), theirs.get_feature_names_out(names))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, (2, 3), 4])
@pytest.mark.parametrize("interaction_only", [True, False])
def test_products_of_sparse_rows_are_those_of_dense_ones(rng, degree, interaction_only, dtype, tmp_path):
    X = rng.integers(-3, 4, (60, 9)).astype(dtype) * (rng.random((60, 9)) < rng.random((60, 1)))
    X[:2] = 0
    fitted = PolynomialFeatures(degree, interaction_only=interaction_only).fit(csc_array(X))
    got = fitted.transform(csr_array(X))
    assert got.dtype == dtype
    assert got.has_sorted_indices
    np.testing.assert_array_equal(got.toarray(), fitted.transform(X))
    theirs = preprocessing.PolynomialFeatures(degree, interaction_only=interaction_only).fit(X)
    np.testing.assert_array_equal(got.toarray(), theirs.transform(csr_array(X)).toarray())
    save(fitted, tmp_path / "map")
    np.testing.assert_array_equal(load(tmp_path / "map").transform(X), fitted.transform(X))


def test_products_of_many_sparse_features_take_the_room_of_those_that_are_there():
    X = csr_array((np.array([2.0, 3.0, 5.0]), ([0, 0, 1], [7, 69_999, 1])), shape=(2, 70_000))
    fitted = PolynomialFeatures(2, include_bias=False).fit(X)
    assert fitted.n_output_features_ == 70_000 + 70_000 * 70_001 // 2
    assert fitted.transform(X).data.tolist() == [2, 3, 4, 6, 9, 5, 25]
    model = GeneralisedLinearClassifier(PolynomialFeatures(2), LeastSquaresClassifier())
    with pytest.raises(ValueError, match="a model takes rows of at most 2147483647"):
        model.fit(X, [0, 1])
    products = PolynomialFeatures(2, interaction_only=True).fit(X[:, :50_000]).transform(X[:, :50_000])
    assert products.shape == (2, 1 + 50_000 + 50_000 * 49_999 // 2)
    assert products.data.tolist() == [1, 2, 1, 5]


def test_a_model_on_products_takes_sparse_rows(rng):
    X = rng.integers(0, 2, (90, 6)).astype(float)
    y = (X[:, 0] != X[:, 3]).astype(int)
    dense, sparse = (GeneralisedLinearClassifier().fit(rows, y) for rows in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), y)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("gamma", [0.3, "scale"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_fourier_features_are_scikit_learns(rng, make, gamma, dtype):
    X = make(rng.standard_normal((300, 5)).astype(dtype))
    ours = RBFSampler(gamma=gamma, n_components=40, random_state=7).fit(X)
    theirs = kernel_approximation.RBFSampler(gamma=gamma, n_components=40, random_state=7).fit(X)
    got, expected = ours.transform(X), theirs.transform(X)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 if dtype == "float32" else 1e-13)
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


@pytest.mark.parametrize("n_components", [1, 5, 16, 33, 100])
@pytest.mark.parametrize("scale", [1e-30, 1, 30, 1e4])
def test_random_fourier_features_of_float32_are_those_of_float64_but_for_rounding(rng, n_components, scale):
    X = (scale * rng.standard_normal((77, 9))).astype(np.float32)
    model = RBFSampler(n_components=n_components, random_state=3).fit(X)
    W, b = model.random_weights_.astype(np.float64), model.random_offset_.astype(np.float64)
    X[7] *= np.float32(3 / scale)
    got = model.transform(X)
    # float64 sums the angles of rows that have one above 8192
    angles = X.astype(np.float64) @ W + b
    size = abs(X).astype(np.float64) @ abs(W) + 2 * np.pi
    error = np.finfo(np.float32).eps * (1 + np.where(abs(angles).max(axis=1, keepdims=True) > 8193, 0, 4 * size))
    expected = np.cos(angles)
    assert got.dtype == np.float32
    assert (abs(got / np.sqrt(2 / n_components) - expected) <= error).all()
    for part in (slice(0, 1), slice(3, 12), slice(7, 8), slice(30, None)):
        np.testing.assert_array_equal(model.transform(X[part]), got[part])


def test_inner_products_of_random_fourier_features_approach_the_kernel(rng):
    X = rng.standard_normal((40, 3))
    Z = RBFSampler(gamma=0.4, n_components=20_000, random_state=0).fit_transform(X)
    # 20000^-0.5 bounds the standard deviation of a mean of 20000 numbers whose variance is at most 1
    assert np.abs(Z @ Z.T - rbf_kernel(X, gamma=0.4)).max() < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf", "gamma": 0.2},
        {"kernel": "rbf"},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
        {"kernel": "cosine"},
    ],
    ids=str,
)
def test_the_nystroem_map_is_scikit_learns(rng, make, kernel):
    X = make(rng.standard_normal((200, 12)))
    ours = Nystroem(**kernel, n_components=10, random_state=3).fit(X)
    theirs = kernel_approximation.Nystroem(**kernel, n_components=10, random_state=3).fit(X)
    np.testing.assert_array_equal(ours.component_indices_, theirs.component_indices_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


def test_the_nystroem_map_with_all_rows_has_the_kernel_itself(rng):
    X = rng.standard_normal((30, 4)) + 1000
    with pytest.warns(UserWarning, match="n_components is 100 and X has 30 rows"):
        Z = Nystroem(gamma=0.5, random_state=0).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X - 1000, gamma=0.5), atol=1e-8)


@pytest.mark.parametrize("X", [TABLE, np.array(TABLE, dtype=object)], ids=["list", "objects"])
def test_one_hot_codes_are_scikit_learns(X):
    ours, theirs = OneHotEncoder().fit(X), preprocessing.OneHotEncoder().fit(X)
    got, expected = ours.transform(X), theirs.transform(X)
    assert type(got) is type(expected)
    np.testing.assert_array_equal(got.toarray(), expected.toarray())
    np.testing.assert_array_equal(OneHotEncoder(sparse_output=False).fit_transform(X), expected.toarray())
    for a, b in zip(ours.categories_, theirs.categories_):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


@pytest.mark.parametrize("make", [pandas.DataFrame, lambda table: polars.DataFrame(table, strict=False)])
def test_tables_keep_the_types_and_names_of_their_columns(make):
    table = make({"colour": ["red", "blue"], "size": [10, 9]})
    encoder = OneHotEncoder(sparse_output=False).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["colour_blue", "colour_red", "size_9", "size_10"]
    assert encoder.transform(table).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]


def test_unknown_categories_are_refused_or_give_zeros():
    encoder = OneHotEncoder(sparse_output=False).fit(TABLE)
    with pytest.raises(ValueError, match=r"Found unknown categories \['pink'\] in column 0 during transform"):
        encoder.transform([["pink", 3]])
    encoder.set_params(handle_unknown="ignore")
    assert encoder.transform([["pink", 3], ["red", 7]]).tolist() == [[0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]]
    encoder = OneHotEncoder(categories=[["b", "a"]], sparse_output=False).fit([["a"]])
    assert encoder.transform([["b"]]).tolist() == [[1, 0]]


def answers(kind, X, Q, **parameters):
    """All results of an encoder for the rows of its fit and for others with unknown labels."""
    try:
        encoder = kind(**parameters).fit(X)
    except (ValueError, AttributeError):  # raised by scikit-learn if a category to drop is infrequent
        return "refused"

    def inverse(codes):
        try:
            return encoder.inverse_transform(codes).tolist()
        except ValueError:
            return "refused"

    codes = encoder.transform(X).toarray()
    drop = encoder.drop_idx_
    found = [codes.tolist(), encoder.get_feature_names_out().tolist(), None if drop is None else drop.tolist()]
    found.append(inverse(codes))
    if parameters["min_frequency"] is not None or parameters["max_categories"] is not None:
        found.append([labels if labels is None else labels.tolist() for labels in encoder.infrequent_categories_])
    if parameters["handle_unknown"] == "error":
        with pytest.raises(ValueError, match="unknown categories"):
            encoder.transform(Q)
        return found
    codes = encoder.transform(Q).toarray()
    return [*found, codes.tolist(), inverse(codes)]


@pytest.mark.parametrize("drop", [None, "first", "if_binary", ["a", "x", "k", "1"]])
@pytest.mark.parametrize("handle_unknown", ["error", "ignore", "infrequent_if_exist", "warn"])
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_every_option_of_one_hot_codes_is_scikit_learns(rng, drop, handle_unknown):
    draws = rng.exponential(1, 30).astype(int).clip(0, 4), rng.integers(0, 6, 30) // 5, rng.integers(0, 4, 30)
    X = np.array([["abcde"[i], "xy"[j], "k", str(m)] for i, j, m in zip(*draws)], dtype=object)
    Q = np.array([["a", "x", "k", "0"], ["z", "x", "k", "1"], ["e", "y", "q", "9"]], dtype=object)
    for min_frequency in (None, 3, 0.2):
        for max_categories in (None, 1, 2, 3):
            if handle_unknown == "ignore" and isinstance(drop, str) and (min_frequency or max_categories):
                continue  # here scikit-learn's inverse returns a category that was not dropped
            parameters = {
                "drop": drop,
                "handle_unknown": handle_unknown,
                "min_frequency": min_frequency,
                "max_categories": max_categories,
            }
            theirs = answers(preprocessing.OneHotEncoder, X, Q, **parameters)
            assert answers(OneHotEncoder, X, Q, **parameters) == theirs, parameters


HOLES = {
    "objects": np.array([["b", 1], [None, 2], ["a", np.nan], [np.nan, 1], ["a", None]], dtype=object),
    "floats": np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, 1.0]]),
    "pandas": pandas.DataFrame({"a": ["x", None, "y"], "b": [1.0, np.nan, 2.0]}),
    "NA": pandas.DataFrame({"a": ["x", pandas.NA, "y"], "b": [1, None, 2]}),
    "alone": np.array([[None], [np.nan]], dtype=object),
}


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("name", HOLES)
def test_what_is_missing_is_a_category_as_in_scikit_learn(name, drop, tmp_path):
    X = HOLES[name]
    ours, theirs = (kind(drop=drop).fit(X) for kind in (OneHotEncoder, preprocessing.OneHotEncoder))
    for a, b in zip(ours.categories_, theirs.categories_):
        assert str(a.tolist()) == str(b.tolist())
    np.testing.assert_array_equal(ours.transform(X).toarray(), theirs.transform(X).toarray())
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    back, expected = (kind.inverse_transform(kind.transform(X)) for kind in (ours, theirs))
    assert back.astype(str).tolist() == expected.astype(str).tolist()
    save(ours, tmp_path / "encoder")
    np.testing.assert_array_equal(load(tmp_path / "encoder").transform(X).toarray(), ours.transform(X).toarray())


def test_a_missing_category_is_named_given_and_dropped_as_any_other():
    X = np.array([["a", 1.0], [None, np.nan]], dtype=object)
    encoder = OneHotEncoder(categories=[[None, "a"], [np.nan, 1.0]], sparse_output=False).fit(X)
    assert encoder.transform(X).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    encoder = OneHotEncoder(drop=[None, np.nan], sparse_output=False).fit(X)
    assert encoder.transform(X).tolist() == [[1, 1], [0, 0]]
    assert encoder.inverse_transform([[1, 0], [0, 1]]).tolist()[1] == [None, 1.0]
    times = np.array([["NaT"], ["2020-01-01"]], dtype="M8[D]")
    assert OneHotEncoder(sparse_output=False).fit_transform(times).tolist() == [[0, 1], [1, 0]]
    late = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit([[1.0]])
    assert late.transform([[np.nan], ["a"], [1.0]][::2]).tolist() == [[0], [1]]


def test_what_was_dropped_is_what_zeros_mean():
    X = np.array([["a"], ["b"], ["b"], ["c"], ["c"]])
    encoder = OneHotEncoder(drop="first", handle_unknown="ignore", max_categories=2).fit(X)
    assert encoder.drop_idx_.tolist() == [2]
    assert encoder.inverse_transform([[0], [1]]).tolist() == [["c"], ["infrequent_sklearn"]]
    with pytest.warns(UserWarning, match=r"Found unknown categories in columns \[0\] during transform"):
        assert encoder.transform([["q"], ["a"]]).toarray().tolist() == [[0], [1]]


def test_one_hot_names_and_types_can_be_chosen(tmp_path):
    encoder = OneHotEncoder(dtype="int8", sparse_output=False, drop="first", max_categories=2).fit(TABLE)
    codes = encoder.transform(TABLE)
    assert codes.dtype == np.int8
    save(encoder, tmp_path / "encoder")
    loaded = load(tmp_path / "encoder")
    np.testing.assert_array_equal(loaded.transform(TABLE), codes)
    np.testing.assert_array_equal(loaded.inverse_transform(codes), encoder.inverse_transform(codes))
    encoder = OneHotEncoder(feature_name_combiner=lambda name, label: f"{name}={label!r}").fit([["a"], ["b"]])
    assert encoder.get_feature_names_out(["c"]).tolist() == ["c='a'", "c='b'"]
    with pytest.raises(TypeError, match="it should return a Python string"):
        encoder.set_params(feature_name_combiner=lambda name, label: 1).get_feature_names_out()


def test_a_damaged_one_hot_encoder_is_refused():
    for name, value in (
        ("_groups", [np.array([0, 5]), np.array([0, 1])]),
        ("_groups", [np.array([0, 1])]),
        ("_dropped_group", np.array([0, 7])),
        ("_infrequent_group", np.array([0, -1])),
    ):
        encoder = OneHotEncoder().fit([["a", "x"], ["b", "y"]])
        setattr(encoder, name, value)
        with pytest.raises(ValueError, match="_group"):
            encoder._check_state()


MAPS = {
    "polynomial": PolynomialFeatures(2),
    "fourier": RBFSampler(n_components=9, random_state=0),
    "nystroem": Nystroem(n_components=9, random_state=0),
    "one-hot": OneHotEncoder(sparse_output=False),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_row_alone_has_the_same_bits(rng, name):
    X = rng.integers(0, 4, (50, 3)).astype(float)
    fitted = base.clone(MAPS[name]).fit(X)
    together = fitted.transform(X)
    np.testing.assert_array_equal(np.concatenate([fitted.transform(X[i : i + 1]) for i in range(50)]), together)


@pytest.mark.parametrize("name", MAPS)
def test_a_composed_model_is_the_model_on_the_features(rng, name, tmp_path):
    X = rng.integers(0, 4, (120, 3)).astype(float)
    y = np.array(["no", "yes"])[((X[:, 0] - 1.5) * (X[:, 1] - 1.5) > 0).astype(int)]
    composed = GeneralisedLinearClassifier(MAPS[name], LeastSquaresClassifier(0.1)).fit(X, y)
    features = base.clone(MAPS[name]).fit_transform(X)
    alone = LeastSquaresClassifier(0.1).fit(features, y)
    np.testing.assert_array_equal(composed.predict(X), alone.predict(features))
    np.testing.assert_array_equal(composed.decision_function(X), alone.decision_function(features))
    assert composed.score(X, y) == alone.score(features, y)
    assert not hasattr(composed, "predict_proba")
    save(composed, tmp_path / "model.fclf")
    np.testing.assert_array_equal(load(tmp_path / "model.fclf").predict(X), composed.predict(X))


def test_sparse_features_are_scored_without_scipy(rng):
    X = rng.integers(0, 5, (200, 3))
    y = X.sum(axis=1) % 2
    sparse = GeneralisedLinearClassifier(OneHotEncoder(), LeastSquaresClassifier()).fit(X, y)
    dense = GeneralisedLinearClassifier(OneHotEncoder(sparse_output=False), LeastSquaresClassifier()).fit(X, y)
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-10)


def test_a_composed_model_has_the_parameters_of_its_parts(rng):
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = GeneralisedLinearClassifier(PolynomialFeatures(2), NearestCentroid())
    model.set_params(model__priors="empirical", feature_map__degree=3)
    assert model.get_params()["model__priors"] == "empirical"
    assert hasattr(model.fit(X, y), "predict_proba")
    assert not hasattr(model.set_params(model__metric="manhattan"), "predict_proba")
    grid = {"feature_map__degree": [1, 2]}
    search = model_selection.GridSearchCV(
        GeneralisedLinearClassifier(PolynomialFeatures(), LeastSquaresClassifier()), grid, cv=3
    )
    assert search.fit(X, y).best_params_ == {"feature_map__degree": 2}


def test_xor_is_learned_on_products():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    assert GeneralisedLinearClassifier().fit(X, y).predict(X).tolist() == y


BAD = {
    "degree": (lambda X: PolynomialFeatures(-1).fit(X), "degree is -1; at least 0 is wanted"),
    "degrees": (lambda X: PolynomialFeatures((3, 2)).fit(X), r"degree=\(min_degree, max_degree\) must be"),
    "many": (lambda X: PolynomialFeatures(100).fit(np.ones((2, 100))), "features which is too large to be indexed"),
    "nothing": (lambda X: PolynomialFeatures(0, include_bias=False).fit(X), "would result in an empty output"),
    "overflow": (lambda X: PolynomialFeatures(3).fit_transform(X * 1e200), "products beyond float64"),
    "gamma": (lambda X: RBFSampler(gamma=0).fit(X), "gamma is 0; a number above 0"),
    "components": (lambda X: RBFSampler(n_components=0).fit(X), "n_components is 0; at least 1"),
    "seed": (lambda X: RBFSampler(random_state="a").fit(X), "random_state is 'a'; a whole number"),
    "kernel": (lambda X: Nystroem("chi").fit(X), "kernel is 'chi'; one of 'rbf', "),
    "unknown": (lambda X: OneHotEncoder(handle_unknown="x").fit(X), "handle_unknown is 'x'; one of"),
    "infinite": (lambda X: OneHotEncoder().fit([[1.0], [np.inf]]), "contains infinity in column 0"),
    "missing": (
        lambda X: OneHotEncoder().fit([["a"]]).transform([[None]]),
        r"Found unknown categories \[None\] in column 0",
    ),
    "mixed": (lambda X: OneHotEncoder().fit([["a"], [1]]), "column 0 of X holds labels of types int, str"),
    "dtype": (lambda X: OneHotEncoder(dtype=str).fit(X), "dtype is .*; a dtype of numbers is wanted"),
    "drop": (lambda X: OneHotEncoder(drop="last").fit(X), "drop is 'last'; one of"),
    "dropped": (lambda X: OneHotEncoder(drop=["q"]).fit([["a"]]), "Category: 0, Feature: q"),
    "drops": (lambda X: OneHotEncoder(drop=["a", "b"]).fit([["a"]]), "should have length equal to the number"),
    "rare": (lambda X: OneHotEncoder(drop=["a"], min_frequency=9).fit([["a"]]), "Unable to drop category 'a'"),
    "share": (lambda X: OneHotEncoder(min_frequency=1.5).fit(X), "min_frequency is 1.5; a whole number or a share"),
    "columns": (lambda X: OneHotEncoder().fit([["a"]]).inverse_transform([[1, 0]]), "Expected 1 columns, got 2"),
    "zeros": (lambda X: OneHotEncoder().fit([["a"]]).inverse_transform([[0]]), r"Samples \[0\] can not be inverted"),
    "twice": (lambda X: OneHotEncoder(categories=[["a", "a"]]).fit([["a"]]), "contain duplicate elements"),
    "map": (
        lambda X: GeneralisedLinearClassifier(3).fit(X, X[:, 0] > 0),
        "feature_map is 3; an estimator",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call(rng.standard_normal((20, 3)))
    assert "\n" not in str(caught.value)
