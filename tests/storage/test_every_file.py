"""Every estimator in a file: it comes back with its answers, and no altered file crashes or answers out of range."""

import copy
import json
import math
import pickle
import random
from contextlib import suppress

import joblib
import numpy as np
import pytest
from every_estimator import FITTED, answers, asked, same
from test_storage import assemble, attributes, parts

from fastclf import _simd, load, save
from fastclf.storage import state

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


# Values that an altered number may get, and entries that an altered header may.
NUMBERS = [0, 1, -1, 2, 7, 2**15, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, 1e-320, 1e308, -1e308, math.inf, -math.inf, math.nan, 0.5, -3.0]
ENTRIES = [None, True, False, 0, 1, -1, 3, 40, 2**31, 2**63, -(2**63), 10**30, "", "a", "cosine", "gini", "no", [], {}]
ENTRIES += [{"float": "nan"}, {"float": "inf"}, {"float": "-0x1.8p+1"}, {"array": 0}, {"array": 1}, {"array": 2}]
ENTRIES += [{"tuple": []}, {"dict": {}}, {"objects": [[1], ["a"]]}, {"scalar": ["<i8", "ff" * 8]}, "<f8", "<i4", "|u1"]


def containers(tree):
    if isinstance(tree, (list, dict)):
        yield tree
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(item)


def altered_header(content, rng):
    header, arrays = parts(content)
    for _ in range(rng.randint(1, 3)):
        inner = rng.choice([tree for tree in containers(header) if tree])
        key = rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        change = rng.randrange(4)
        if change == 0:
            del inner[key]
        elif change == 1:
            inner[key] = copy.deepcopy(rng.choice(list(containers(header))))
        elif change == 2 and isinstance(inner[key], int):
            inner[key] += rng.choice([-1, 1])
        else:
            inner[key] = copy.deepcopy(rng.choice(ENTRIES))
    return assemble(header, arrays)


def altered_array(content, rng):
    """One or more entries of one array changed, with right checksums."""
    header, arrays = parts(content)
    places = [place for place in state.layout(header["arrays"], 0) if place[3] > place[2]]
    if not places:
        return altered_header(content, rng)
    dtype, _, start, stop = rng.choice(places)
    array = np.frombuffer(arrays[start:stop], dtype).copy()
    for _ in range(rng.choice([1, 1, 1, 3, len(array)])):
        entry = rng.randrange(len(array))
        if dtype.kind in "iu":
            array[entry] = np.array(rng.choice(NUMBERS)).astype(dtype)
        elif dtype.kind == "f":
            with np.errstate(over="ignore"):
                array[entry] = rng.choice(FLOATS)
        else:
            array.view(np.uint8)[rng.randrange(array.nbytes)] = rng.randrange(256)
    return assemble(header, arrays[:start] + array.tobytes() + arrays[stop:])


def altered_bytes(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 4, 64])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def cut(content, rng):
    place = rng.randrange(len(content))
    return content[:place] + content[place + rng.choice([0, 1, 8, len(content)]) :]


ALTER = [altered_header] * 4 + [altered_array] * 4 + [altered_bytes, cut]


def test_no_altered_file_does_harm(path, mutations):
    """A file is refused in one sentence that names it, or what is loaded answers or refuses to."""
    contents = {}
    for name, make in FITTED.items():
        save(make(), path)
        contents[name] = path.read_bytes()
    debug = _simd.build_info()["debug"]  # which ends the process at a distance that is no number
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
        with np.errstate(all="ignore"), suppress(ValueError, TypeError, AttributeError, OverflowError, MemoryError):
            ask(model)
    assert answered
    assert refused


def ask(model):
    rows = asked(model)
    if hasattr(model, "predict"):
        predicted = model.predict(rows)
        assert len(predicted) == len(rows)
        if hasattr(model, "classes_") and isinstance(model.classes_, np.ndarray):
            assert set(predicted.tolist()) <= set(model.classes_.tolist())
    for _ in answers(model):
        pass


def test_the_lies_of_a_table_are_told(path):
    save(FITTED["knn, table"](), path)
    header, arrays = parts(path.read_bytes())
    for change, words in [
        ({"categories_": None}, "categories_ is a NoneType; a list is wanted"),
        ({"categories_": [None, None, None]}, "model_ takes 5 columns; 3 are made"),
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
