"""The Bayes rule: its risk where it is known, its bounds for nearest neighbours, and averages over models."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse, stats
from sklearn import naive_bayes

import fastclf
from fastclf import (
    BayesClassifier,
    BayesOptimalClassifier,
    GaussianNB,
    KNeighborsClassifier,
    MultinomialNB,
    NaiveBayes,
)

SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "{six}", "1010010", "1111111", "{nine}"]


def led(six, nine, flip=0.1):
    """For each digit the probabilities of the 128 patterns of a display whose seven segments may each be wrong."""
    tables = []
    for digit in " ".join(SEGMENTS).format(six=six, nine=nine).split():
        table = np.ones((2,) * 7)
        for axis, lit in enumerate(digit):
            p = flip if lit == "1" else 1 - flip
            table *= np.reshape([p, 1 - p], [2 if i == axis else 1 for i in range(7)])
        tables.append(table)
    return tables


@pytest.mark.parametrize(("six", "nine", "risk"), [("1101111", "1111011", 0.25998), ("0101111", "1111010", 0.25362)])
def test_led_digits_have_the_published_risk(six, nine, risk):
    rule = BayesClassifier(np.full(10, 0.1), led(six, nine))
    assert rule.risk().value == pytest.approx(risk, abs=5e-6)
    assert rule.risk().standard_error == 0
    X, digits = rule.sample(100_000, random_state=0)
    assert (rule.predict(X) != digits).mean() == pytest.approx(risk, abs=0.005)


def test_two_normal_classes_have_the_risk_of_the_tail():
    rule = BayesClassifier([0.5, 0.5], [stats.norm(-1), stats.norm(1)])
    assert rule.risk().value == pytest.approx(stats.norm.sf(1), abs=1e-12)
    plane = BayesClassifier([0.5, 0.5], [stats.multivariate_normal([s, 0]) for s in (-1, 1)])
    value, error = plane.risk(random_state=0)
    assert abs(value - stats.norm.sf(1)) < 4 * error < 0.005


def test_discrete_distributions_are_summed():
    x = np.arange(200)
    joint = np.stack([0.3 * stats.poisson(2).pmf(x), 0.7 * stats.poisson(9).pmf(x)])
    rule = BayesClassifier([0.3, 0.7], [stats.poisson(2), stats.poisson(9)])
    assert rule.risk().value == pytest.approx(joint.min(axis=0).sum(), abs=1e-12)


def test_sums_that_are_too_long_are_sampled():
    value, error = BayesClassifier([0.5, 0.5], [stats.zipf(2), stats.zipf(3)]).risk(10_000, random_state=0)
    x = np.arange(1, 10**6)
    assert abs(value - 0.5 * np.minimum(stats.zipf(2).pmf(x), stats.zipf(3).pmf(x)).sum()) < 4 * error < 0.02


RISKS = {
    "a peak among wide ones": ([stats.norm(0, 1e-6), stats.norm(0, 1e3)], None),
    "heavy tails": ([stats.cauchy(0), stats.cauchy(2)], 0.5 - np.arctan(1) / np.pi),
    "a step": ([stats.uniform(0, 2), stats.uniform(1, 2)], 0.25),
    "poles": ([stats.beta(0.5, 0.5), stats.uniform(0, 1)], None),
    "callables": ([stats.norm(-1).pdf, stats.norm(1).pdf], stats.norm.sf(1)),
}


@pytest.mark.parametrize("name", RISKS)
def test_the_risk_of_densities_is_their_overlap(name):
    densities, value = RISKS[name]
    rule = BayesClassifier([0.5, 0.5], densities)
    if value is None:
        # The densities cross at two points; the distribution functions give the overlap between and outside of them.
        one, two = densities
        low, high = (optimize.brentq(lambda x: one.pdf(x) - two.pdf(x), *ends) for ends in CROSSINGS[name])
        inner, outer = (two, one) if one.pdf((low + high) / 2) > two.pdf((low + high) / 2) else (one, two)
        value = 0.5 * (inner.cdf(high) - inner.cdf(low) + outer.cdf(low) + outer.sf(high))
    risk = rule.risk(support=(-12, 12) if name == "callables" else None)
    assert risk.value == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert risk.standard_error == 0


CROSSINGS = {"a peak among wide ones": [(-1e-4, 0), (0, 1e-4)], "poles": [(1e-3, 0.5), (0.5, 0.999)]}


def test_costs_move_the_decision():
    tables = [np.array([0.6, 0.4]), np.array([0.5, 0.5])]
    assert BayesClassifier([0.5, 0.5], tables).predict([[0]]) == 0
    rule = BayesClassifier([0.5, 0.5], tables, [[0, 1, 0.3], [9, 0, 0.3]])
    np.testing.assert_allclose(rule.expected_costs([[0]]), [[45 / 11, 6 / 11, 0.3]])
    assert rule.predict([[0]]) == 2
    assert rule.risk().value == pytest.approx(0.3)


def test_callables_are_densities():
    rule = BayesClassifier([0.5, 0.5], [stats.norm(-1).pdf, stats.norm(1).pdf])
    np.testing.assert_array_equal(rule.predict([-2.0, 0.5]), [0, 1])
    np.testing.assert_allclose(rule.predict_proba([0.0]), [[0.5, 0.5]])


class Says:
    """A model that always predicts one of the labels."""

    def __init__(self, label):
        self.classes_, self.label = np.array(["+", "-"]), label

    def predict_proba(self, X):
        return np.tile(self.classes_ == self.label, (len(X), 1)).astype(float)


def test_the_three_models_of_the_texts():
    models = [Says("+"), Says("-"), Says("-")]
    vote = BayesOptimalClassifier(models, [0.4, 0.3, 0.3], "none", prefit=True).fit([[0.0], [1.0]], ["+", "-"])
    np.testing.assert_allclose(vote.posterior_, [0.4, 0.3, 0.3])
    assert vote.models_[vote.map_model_].label == "+"
    assert vote.predict([[0.0]]) == "-"
    np.testing.assert_allclose(vote.predict_proba([[0.0]]), [[0.4, 0.6]])


def test_the_evidence_prefers_the_model_that_predicts(rng, tmp_path):
    X = rng.standard_normal((200, 2))
    y = (X[:, 0] > 0).astype(int)
    model = BayesOptimalClassifier([GaussianNB(var_smoothing=1e3), GaussianNB()]).fit(X, y)
    assert model.map_model_ == model.ml_model_ == 1
    assert model.posterior_[1] > 0.99
    np.testing.assert_allclose(model.predict_proba(X), model.models_[1].predict_proba(X), atol=0.02)
    fastclf.save(model, tmp_path / "model")
    np.testing.assert_array_equal(fastclf.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_marginal_likelihoods_are_the_evidence_where_all_models_have_them(rng):
    y = rng.integers(0, 2, 200)
    X = rng.poisson(3 + 3 * y)[:, None]
    models = [NaiveBayes("poisson"), NaiveBayes("gaussian"), NaiveBayes("categorical")]
    model = BayesOptimalClassifier(models, [0.2, 0.4, 0.4]).fit(X, y)
    assert model.evidence_ == "marginal likelihood"
    np.testing.assert_array_equal(model.log_evidence_, [m.fit(X, y).log_evidence_ for m in models])
    weights = [0.2, 0.4, 0.4] * np.exp(model.log_evidence_ - model.log_evidence_.max())
    np.testing.assert_allclose(model.posterior_, weights / weights.sum())
    assert models[model.map_model_].distributions == "poisson"
    fitted = BayesOptimalClassifier(models, prefit=True).fit(X, y)
    np.testing.assert_array_equal(fitted.log_evidence_, model.log_evidence_)
    assert BayesOptimalClassifier([*models, GaussianNB()]).fit(X, y).evidence_ == "cross-validation"
    given = BayesOptimalClassifier(models, evidence=np.log([1, 2, 1])).fit(X, y)
    np.testing.assert_allclose(given.posterior_, [0.25, 0.5, 0.25])
    assert (given.evidence_, given.ml_model_) == ("given", 1)


def test_models_of_scikit_learn_sparse_rows_and_tables_are_taken(rng):
    X, y = rng.poisson(1, (90, 5)) * (rng.random((90, 5)) < 0.5), np.arange(90) % 3
    X[:, 0] += 2 * y
    ours, theirs = MultinomialNB(), naive_bayes.MultinomialNB()
    dense, thin = (BayesOptimalClassifier([ours, theirs]).fit(form(X), y) for form in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(dense.posterior_, 0.5, rtol=1e-9)
    table = pd.DataFrame(X).rename(columns=str).assign(word=np.array(["a", "b", "c"])[y])
    model = BayesOptimalClassifier([NaiveBayes(), NaiveBayes("categorical")]).fit(table, y)
    assert model.score(table, y) > 0.95


BAD = {
    "priors": (lambda: BayesClassifier([0.5, 0.6], [[1.0], [1.0]]), "sum of the priors should be 1"),
    "kinds": (lambda: BayesClassifier([0.5, 0.5], [[1.0], stats.norm()]), "one kind is wanted"),
    "table": (lambda: BayesClassifier([0.5, 0.5], [[1.0], [0.5]]), "the sum 0.5"),
    "cost": (lambda: BayesClassifier([1.0], [[1.0]], [1.0]), r"cost_matrix has shape \(1,\)"),
    "index": (lambda: BayesClassifier([1.0], [[1.0]]).predict([[1]]), "no index into tables"),
    "sampling": (lambda: BayesClassifier([1.0], [np.sin]).sample(), "cannot be sampled"),
    "mixed": (
        lambda: BayesClassifier([0.5, 0.5], [stats.norm(), stats.poisson(1)]),
        "only one of the two kinds is wanted",
    ),
    "support": (lambda: BayesClassifier([1.0], [stats.norm().pdf]).risk(support=(1, 0)), "two finite bounds"),
    "mass": (
        lambda: BayesClassifier([1.0], [stats.norm().pdf]).risk(support=(0, 9)),
        "the integral of each density is 1",
    ),
    "evidence": (
        lambda: BayesOptimalClassifier([GaussianNB()], evidence=[1, 2]).fit([[0.0]], [0]),
        "one logarithm for",
    ),
    "models": (lambda: BayesOptimalClassifier([]).fit([[0.0]], [0]), "models is empty"),
    "prefit": (
        lambda: BayesOptimalClassifier([Says("+")], prefit=True).fit([[0.0]], [0]),
        "evidence='none' or an array is wanted",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


# Tests of the limits of nearest neighbours, of other rules, and of P(class | x) with the distribution of x


def test_the_limits_of_nearest_neighbours_are_those_of_the_texts():
    eta, mu = np.array([0.1, 0.5, 0.8]), np.array([0.5, 0.2, 0.3])
    rule = BayesClassifier.from_posterior(eta, mu)
    error = mu @ np.minimum(eta, 1 - eta)
    assert rule.risk() == (pytest.approx(error), 0)
    assert rule.neighbors_risk() == (pytest.approx(2 * mu @ (eta * (1 - eta))), 0)
    third = eta * (1 - eta) * (1 + 4 * eta * (1 - eta))  # the formula of Devroye, Gyorfi, Lugosi 1996, section 5.5
    assert rule.neighbors_risk(3).value == pytest.approx(mu @ third)
    limits = [rule.neighbors_risk(k).value for k in range(1, 61, 2)]
    assert (np.diff(limits) < 0).all()
    assert all(
        error <= limit <= rule.neighbors_bound(k).value for k, limit in zip(range(1, 61, 2), limits, strict=True)
    )
    assert rule.neighbors_bound(5).value == pytest.approx(error + 1 / np.sqrt(5 * np.e))
    assert rule.neighbors_risk(1).value <= 2 * error * (1 - error) + 1e-15


def test_the_limit_of_the_nearest_neighbour_of_many_classes_is_the_chance_that_two_labels_differ():
    eta = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    rule = BayesClassifier.from_posterior(eta, [0.25, 0.75])
    assert rule.neighbors_risk().value == pytest.approx(1 - [0.25, 0.75] @ (eta**2).sum(axis=1))


def test_the_error_of_one_neighbour_approaches_its_limit(rng):
    rule = BayesClassifier([0.5, 0.5], [stats.norm(-1), stats.norm(1)])
    X, y = rule.sample(40_000, rng)
    model = KNeighborsClassifier(1).fit(X[:20_000], y[:20_000])
    assert 1 - model.score(X[20_000:], y[20_000:]) == pytest.approx(rule.neighbors_risk().value, abs=0.012)


def tail(x):
    """P(class 1 | x) of two normal distributions around -1 and 1."""
    return 1 / (1 + np.exp(-2 * x))


class Mixture:
    """The distribution of x, as a frozen distribution that is neither of SciPy nor of one formula."""

    def rvs(self, size, random_state):
        return random_state.normal(size=size) + random_state.choice([-1, 1], size)

    def logpdf(self, x):
        return np.log(stats.norm.pdf(x, -1) / 2 + stats.norm.pdf(x, 1) / 2)


@pytest.mark.parametrize("mu", [lambda x: stats.norm.pdf(x, -1) / 2 + stats.norm.pdf(x, 1) / 2, Mixture()])
def test_the_posterior_and_the_distribution_of_x_are_the_same_rule_as_the_densities(mu):
    rule = BayesClassifier([0.5, 0.5], [stats.norm(-1), stats.norm(1)])
    other = BayesClassifier.from_posterior(tail, mu)
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(other.predict_proba(x), rule.predict_proba(x))
    np.testing.assert_allclose(other.predict_joint_log_proba(x), rule.predict_joint_log_proba(x))
    risk = other.risk(random_state=0, support=(-12, 12))
    assert risk.value == pytest.approx(rule.risk().value, abs=max(1e-9, 5 * risk.standard_error))
    if callable(mu):
        assert risk.standard_error == 0
    else:
        X, y = other.sample(50_000, random_state=1)
        assert np.mean(y) == pytest.approx(0.5, abs=0.02)
        assert np.mean(X[y == 1]) == pytest.approx(1, abs=0.03)


def test_no_rule_is_better_and_the_difference_is_that_of_the_text():
    rule = BayesClassifier.from_posterior(tail, stats.norm(0, 2))
    assert rule.risk_of(lambda X: (X[:, 0] > 0).astype(int)).value == pytest.approx(rule.risk().value, abs=1e-13)
    shifted = rule.risk_of(lambda X: (X[:, 0] > 0.7).astype(int)).value
    expected = stats.norm(0, 2).expect(lambda x: abs(2 * tail(x) - 1), lb=0, ub=0.7)
    assert shifted - rule.risk().value == pytest.approx(expected, rel=1e-7)
    costs = [[0, 1, 0.3], [5, 0, 0.3]]
    rule = BayesClassifier([0.5, 0.5], [stats.norm(-1), stats.norm(1)], costs)
    assert rule.risk_of(rule.predict).value == pytest.approx(rule.risk().value, abs=1e-12)
    assert rule.risk_of(lambda X: np.full(len(X), 2)).value == pytest.approx(0.3)


def test_callables_of_several_variables_have_a_risk_with_its_error():
    def density(mean):
        return lambda X: stats.multivariate_normal(mean).pdf(X)

    rule = BayesClassifier([0.5, 0.5], [density([-1, 0]), density([1, 0])])
    value, error = rule.risk(n=200_000, random_state=0, support=[(-7, 7), (-6, 6)])
    assert 0 < error < 0.002
    assert value == pytest.approx(stats.norm.cdf(-1), abs=5 * error)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: BayesClassifier.from_posterior([0.5], stats.norm()), "eta is an array .* a function, or an array for a"),
    (lambda: BayesClassifier.from_posterior([0.5], [0.5]), "mu has the sum 0.5"),
    (lambda: BayesClassifier.from_posterior(lambda x: 2 + 0 * x, stats.norm()).predict([0.0]), "eta gives the"),
    (lambda: BayesClassifier.from_posterior(tail, stats.norm().pdf).risk(support=(0, 1)), "mu has the integral 0.34"),
    (lambda: BayesClassifier.from_posterior(tail, stats.norm()).neighbors_risk(2), "an odd k and two classes"),
    (lambda: BayesClassifier.from_posterior(tail, stats.norm()).neighbors_bound(2), "k is 2; an odd number"),
    (lambda: BayesClassifier.from_posterior(tail, stats.norm()).risk_of(len), "rule gives values of shape"),
])  # fmt: skip
def test_wrong_posteriors_and_rules_get_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


ETAS = [lambda x: x, lambda X: X[:, 0], lambda X: X[:, :1], np.vectorize(lambda x: x)]


@pytest.mark.parametrize("eta", ETAS)
def test_functions_of_one_variable_take_numbers_or_rows(eta):
    rule = BayesClassifier.from_posterior(eta, stats.uniform())
    assert rule.risk().value == pytest.approx(0.25)
    assert rule.neighbors_risk().value == pytest.approx(1 / 3)
    assert rule.predict([0.2, 0.7]).tolist() == rule.predict([[0.2], [0.7]]).tolist() == [0, 1]
    densities = BayesClassifier([0.5, 0.5], [lambda x: 2 * (1 - eta(x)), lambda x: 2 * eta(x)])
    assert densities.risk(support=(0, 1)).value == pytest.approx(0.25)


@pytest.mark.parametrize("rule", [
    lambda x: x > 0.5, lambda X: X[:, 0] > 0.5, lambda X: 1 * (X > 0.5),
    KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1]), KNeighborsClassifier(1).fit([[0.0], [1.0]], ["no", "yes"]),
    KNeighborsClassifier(1).fit([[0.0], [1.0]], [False, True]),
    BayesClassifier.from_posterior(ETAS[0], stats.uniform()),
])  # fmt: skip
def test_a_rule_is_a_function_of_numbers_or_rows_or_a_fitted_model(rule):
    known = BayesClassifier.from_posterior(ETAS[0], stats.uniform())
    assert known.risk_of(rule).value == pytest.approx(0.25)
    assert known.risk_of(lambda x: 1).value == pytest.approx(0.5)


UNIFORM = BayesClassifier.from_posterior(ETAS[0], stats.uniform())


@pytest.mark.parametrize(("call", "message"), [
    (lambda: BayesClassifier.from_posterior(lambda x: 0.3 if x < 0.5 else 0.7, stats.uniform()).risk(), "vectorize"),
    (lambda: BayesClassifier.from_posterior(lambda x: 2 - x, stats.uniform()).risk(), "eta gives the probabilities"),
    (lambda: BayesClassifier.from_posterior(lambda x: x[:3], stats.uniform()).risk(), "one value per row"),
    (lambda: BayesClassifier.from_posterior(lambda x: "a", stats.uniform()).risk(), "no array of numbers"),
    (lambda: BayesClassifier.from_posterior(ETAS[0], 0.5), "mu is 0.5; a frozen distribution"),
    (lambda: BayesClassifier.from_posterior([0.2, 0.3, 0.4], [0.5, 0.5]), r"table mu of shape \(2,\)"),
    (lambda: BayesClassifier([0.5, 0.5], [0.5, 0.5]), r"densities\[0\] is 0.5; a frozen distribution"),
    (lambda: BayesClassifier([0.5, 0.5], [[0.5, 0.5], [0.2, 0.9]]), r"densities\[1\] has the sum 1.1"),
    (lambda: BayesClassifier([0.5, 0.5], [lambda x: -x, abs]).predict([1.0]), "a density gives -1.0"),
    (lambda: BayesClassifier([0.5, 0.5], [[0.5, 0.5], [0.2, 0.8]]).predict([[0, 1]]), "X has 2 columns; 1"),
    (lambda: UNIFORM.predict(0.3), "2D array"),
    (lambda: UNIFORM.predict([[[0.3]]]), "shape"),
    (lambda: UNIFORM.predict(["a"]), "no array of numbers"),
    (lambda: UNIFORM.predict([[0.1, 0.2]]), "X has 2 columns"),
    (lambda: UNIFORM.risk_of([0, 1]), "rule is .*; a function of rows, or a fitted classifier, is wanted"),
    (lambda: UNIFORM.risk_of(lambda x: x), "rule gives values"),
    (lambda: UNIFORM.risk_of(KNeighborsClassifier(1).fit([[0.0], [1.0], [2.0]], list("abc"))), "one per decision"),
])  # fmt: skip
def test_what_the_rule_cannot_use_is_refused_in_one_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_functions_of_coordinates_in_place_of_columns_are_refused_for_any_number_of_rows():
    by_column = BayesClassifier.from_posterior(
        lambda X: 1 / (1 + np.exp(X[:, 0] - X[:, 1])), stats.multivariate_normal([0, 0])
    )
    by_row = BayesClassifier.from_posterior(lambda x: 1 / (1 + np.exp(x[0] - x[1])), stats.multivariate_normal([0, 0]))
    for n in (2, 3):
        X = np.random.default_rng(n).standard_normal((n, 2))
        assert by_column.predict(X).tolist() == (X[:, 0] < X[:, 1]).tolist()
        with pytest.raises(ValueError, match=r"the first variable of all rows X is X\[:, 0\]"):
            by_row.predict(X)
