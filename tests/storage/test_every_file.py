"""Every estimator in a file: its answers survive loading, and no altered file crashes or gives invalid answers."""

import copy
import json
import pickle
import random

import joblib
import numpy as np
import pytest
from every_call import calls
from every_estimator import FITTED, answers, same
from forge import ALTER, assemble, parts
from sentences import is_sentence
from test_storage import attributes

from fastclf import _simd, load, save

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fclf"


@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_comes_back_from_a_file_with_its_answers(name, path):
    model = FITTED[name]()
    save(model, path)
    loaded = load(path, verify=True)
    assert same(model, loaded)
    assert list(answers(model))
    assert all(map(same, answers(model), answers(loaded)))
    first = path.read_bytes()
    save(loaded, path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_is_pickled_dumped_and_copied(name, tmp_path):
    model = FITTED[name]()
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
        copy.deepcopy(model),
        copy.copy(model),
    ):
        assert repr(other) == repr(model)
        assert all(map(same, answers(model), answers(other)))


def test_no_altered_file_does_harm(path, mutations):
    """A file is refused with one sentence that names it, or each method of the model answers or refuses with one."""
    contents, methods = {}, {name: calls(name) for name in FITTED}
    for name, make in FITTED.items():
        save(make(), path)
        contents[name] = path.read_bytes()
    debug = _simd.build_info()["debug"]  # a debug build ends the process at a distance that is NaN
    answered = refused = 0
    for number in range(mutations):
        rng = random.Random(number)
        name = rng.choice(list(contents))
        alter = rng.choice(ALTER)
        path.write_bytes(alter(contents[name], rng))
        model, told = None, None
        try:
            model = load(path, verify=rng.random() < 0.2)
        except ValueError as error:
            told = str(error)
        if told is not None:
            refused += 1
            assert str(path) in told, f"mutation {number} of {name}"
            assert "\n" not in told
            continue
        answered += 1
        if debug and b'"Segments"' in contents[name]:
            continue
        with np.errstate(all="ignore"):
            for method, call in methods[name].items():
                try:
                    answer, error = call(model), None
                except Exception as raised:
                    answer, error = None, raised
                assert error is None or is_sentence(error), f"{method}, mutation {number} of {name}"
                if method == "predict" and not error and isinstance(getattr(model, "classes_", None), np.ndarray):
                    assert set(answer.tolist()) <= set(model.classes_.tolist())
    assert answered
    assert refused


def test_the_lies_of_a_table_are_told(path):
    save(FITTED["knn, table"](), path)
    header, arrays = parts(path.read_bytes())
    for change, words in [
        ({"categories_": None}, "categories_ is a NoneType; a list is wanted"),
        ({"categories_": [None, None, None]}, "model_ takes 5 columns; 3 are wanted"),
        ({"categories_": [None, [1], None]}, "no list of strings"),
        ({"mean_": attributes(header)["spread_"], "shifted_": 3}, "shifted_ is a int; a bool is wanted"),
        ({"model_": None}, "model_ is a NoneType; a Classifier is wanted"),
        ({"classes_": {"objects": [[1], ["no"]]}}, "classes_ is .* is wanted, as model_ has it"),
    ]:
        altered = json.loads(json.dumps(header))
        attributes(altered).update(change)
        path.write_bytes(assemble(altered, arrays))
        with pytest.raises(ValueError, match=rf"model\.fclf is damaged: .*{words}"):
            load(path)
