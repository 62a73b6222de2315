"""Tables from transformers: `set_output`, and scikit-learn's configuration."""

import subprocess
import sys

import numpy as np
import pandas
import polars
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from fastclf import KNeighborsTransformer, Nystroem, OneHotEncoder, PolynomialFeatures, RBFSampler

MAPS = {
    "polynomial": PolynomialFeatures(2),
    "fourier": RBFSampler(n_components=4, random_state=0),
    "nystroem": Nystroem(n_components=4, random_state=0),
    "one-hot": OneHotEncoder(sparse_output=False),
}


@pytest.fixture
def table(rng):
    return pandas.DataFrame(rng.integers(0, 3, (12, 2)).astype(float), columns=["a", "b"], index=range(100, 112))


@pytest.mark.parametrize("name", MAPS)
def test_a_table_has_the_numbers_the_names_and_the_index(name, table):
    model = clone(MAPS[name]).fit(table)
    rows = model.transform(table)
    assert model.set_output(transform="pandas") is model
    for got in (model.transform(table), clone(model).fit_transform(table)):
        assert isinstance(got, pandas.DataFrame)
        np.testing.assert_array_equal(got.to_numpy(), rows)
        assert got.columns.tolist() == model.get_feature_names_out().tolist()
        assert got.index.tolist() == table.index.tolist()
    got = model.set_output(transform="polars").transform(polars.from_pandas(table))
    assert isinstance(got, polars.DataFrame)
    np.testing.assert_array_equal(got.to_numpy(), rows)
    assert got.columns == model.get_feature_names_out().tolist()
    model.set_output(transform=None)
    assert isinstance(model.transform(table), polars.DataFrame)
    np.testing.assert_array_equal(model.set_output(transform="default").transform(table), rows)


@pytest.mark.parametrize("name", MAPS)
def test_scikit_learns_configuration_is_obeyed_unless_the_estimator_says_otherwise(name, table):
    model = clone(MAPS[name]).fit(table)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(model.transform(table), pandas.DataFrame)
        model.set_output(transform="default")
        assert isinstance(model.transform(table), np.ndarray)


def test_pipelines_and_column_transformers_pass_the_choice_on(table):
    both = ColumnTransformer([("p", PolynomialFeatures(2), ["a"]), ("o", OneHotEncoder(sparse_output=False), ["b"])])
    pipeline = make_pipeline(both, PolynomialFeatures(1)).set_output(transform="pandas")
    got = pipeline.fit_transform(table)
    assert got.columns[:3].tolist() == ["1", "p__1", "p__a"]
    assert got.index.tolist() == table.index.tolist()


def test_sparse_rows_make_no_table(table):
    with pytest.raises(ValueError, match=r"Pandas output does not support sparse data. Set sparse_output=False"):
        OneHotEncoder().set_output(transform="pandas").fit_transform(table)
    with pytest.raises(ValueError, match=r"Polars output does not support sparse data. Pass dense rows"):
        PolynomialFeatures().set_output(transform="polars").fit_transform(csr_array(table.to_numpy()))


def test_a_graph_of_neighbours_is_no_table(table):
    graph = KNeighborsTransformer(n_neighbors=2).set_output(transform="pandas")
    with pytest.raises(ValueError, match="Pandas output does not support sparse data"):
        graph.fit_transform(table)
    assert graph.set_output(transform="default").fit_transform(table).shape == (12, 12)


def test_what_is_no_container_is_refused():
    with pytest.raises(ValueError, match=r"output config must be in \['default', 'pandas', 'polars'\], got arrow"):
        PolynomialFeatures().set_output(transform="arrow").fit_transform(np.eye(2))


def test_tables_come_without_scikit_learn():
    code = (
        "import sys, numpy as np; from fastclf import PolynomialFeatures;"
        "got = PolynomialFeatures().set_output(transform='pandas').fit_transform(np.eye(2));"
        "print(type(got).__name__, list(got.columns)[-1], 'sklearn' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["DataFrame", "x1^2", "False"]
