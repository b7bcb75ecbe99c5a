"""Columns of text: the same decision values as scikit-learn for every category, known, missing or not."""

from __future__ import annotations

import io
import json
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from programs.categories import ENCODERS, FLAGS, HOSTILE, SHAPES, columns, frame, labels
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, SVR, LinearSVC

import svmcompile as sc
from svmcompile.data.categories import MISSING, UNKNOWN, TextColumn
from svmcompile.errors import OptionError, ReadError, UnknownCategoryError, UnsupportedError
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.read import read_content

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = 10_000
TRAINED, UNSEEN = frame(600, missing=0.1), frame(ROWS, 1, missing=0.1, unknown=0.1)


def fitted(steps, machine=None, rows=TRAINED):
    return make_pipeline(steps, machine or LinearSVC()).fit(rows, labels(rows))


def assert_same(model, given, program=None):
    program = program or sc.compile(model)
    function = "decision_function" if hasattr(model, "decision_function") else "predict"
    wanted = getattr(model, function)(given)
    np.testing.assert_allclose(getattr(program, function)(given), wanted, rtol=1e-9, atol=1e-11)
    if function == "decision_function":
        assert (program.predict(given) == model.predict(given)).mean() > 0.9999
    return program


@pytest.mark.parametrize("name", ENCODERS)
def test_every_category_has_the_values_of_scikit_learn(name):
    program = assert_same(fitted(ENCODERS[name]), UNSEEN)
    assert {column.feature for column in program.categories.texts} <= {0, 2, 4}


@pytest.mark.parametrize("machine", [SVC(), SVC(decision_function_shape="ovo", kernel="poly"), SVR()])
def test_machines_with_kernels(machine):
    model = make_pipeline(ENCODERS["several"], machine).fit(TRAINED, TRAINED["count"])
    assert_same(model, UNSEEN[:2000])


VOTES = [
    ("a", make_pipeline(ENCODERS["flags"], SVC())),
    ("b", make_pipeline(ENCODERS["targets"], LinearSVC())),
]


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(ENCODERS["flags"], SelectKBest(k=12), SVC()),
        StackingClassifier(VOTES, LinearSVC(), cv=2),
        make_pipeline(columns(make_union(FLAGS, TargetEncoder())), LinearSVC()),
        make_pipeline(columns(make_union(FLAGS, MissingIndicator()), ["shape", "grade"]), LinearSVC()),
    ],
)
def test_among_other_steps(model):
    assert_same(model.fit(TRAINED, labels(TRAINED)), UNSEEN[:2000])


def test_members_of_a_vote_agree_on_codes():
    model = VotingClassifier(VOTES).fit(TRAINED, labels(TRAINED))
    program = sc.compile(model)
    assert (program.predict(UNSEEN) == model.predict(UNSEEN)).all()


def test_codes_are_places_among_the_names():
    program = sc.compile(fitted(ENCODERS["several"]))
    colour, shape, grade = program.categories.texts
    assert colour == TextColumn(0, tuple(sorted(HOSTILE)), missing="NaN")
    assert shape == TextColumn(2, tuple(sorted(SHAPES)), missing="NaN")
    rows = np.zeros((3, 6))
    rows[:, 2], rows[:, 1] = [2, UNKNOWN, MISSING], UNSEEN["size"][0]
    told = pd.DataFrame(
        {
            "colour": colour.names[0],
            "size": UNSEEN["size"][0],
            "shape": [shape.names[2], "?", np.nan],
            "used": False,
            "grade": grade.names[0],
            "count": 0,
        }
    )
    np.testing.assert_array_equal(program.decision_function(rows), program.decision_function(told))


def test_numbers_that_are_no_codes_are_unknown_to_the_original_too():
    model = fitted(ENCODERS["flags"])
    program = sc.compile(model)
    rows = np.zeros((5, 6))
    rows[:, 2] = [0.5, 3, -7, 1e9, -1]
    given = program.categories.frame(rows, program.feature_names)
    assert not given["shape"].isin(SHAPES).any()
    np.testing.assert_allclose(program.decision_function(rows), model.decision_function(given), atol=1e-12)


@pytest.mark.parametrize("kind", ["objects", "texts", "lists", "string", "frame of categories"])
def test_rows_in_other_forms(kind):
    rows = frame(400)[["colour", "shape"]]
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(rows.to_numpy(dtype=object), labels(frame(400)))
    program, given = sc.compile(model), rows.to_numpy(dtype=object)
    wanted = model.decision_function(given)
    made = {
        "objects": lambda: given,
        "texts": lambda: given.astype(str),
        "lists": given.tolist,
        "string": lambda: rows.astype("string"),
        "frame of categories": lambda: rows.astype("category"),
    }
    np.testing.assert_allclose(program.decision_function(made[kind]()), wanted, atol=1e-12)


def test_frames_of_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    model = fitted(ENCODERS["flags"])
    given = frame(300, 2)
    program = sc.compile(model)
    converted = polars.DataFrame({name: given[name].tolist() for name in given})
    np.testing.assert_allclose(program.decision_function(converted), model.decision_function(given))


def test_numbers_with_missing_values_have_categories_too():
    random = np.random.default_rng(0)
    X = random.choice([0.0, 1.0, 2.5, np.nan], (500, 2))
    y = np.nan_to_num(X, nan=5).sum(axis=1) > 4
    for encoder in (
        OneHotEncoder(handle_unknown="ignore"),
        TargetEncoder(),
        OneHotEncoder(max_categories=3),
    ):
        assert_same(make_pipeline(encoder, LinearSVC()).fit(X, y), X)
    assert_same(make_pipeline(FLAGS, LinearSVC()).fit(X.astype(object), y), X.astype(object))


def test_none_is_a_category():
    X = np.array([["a"], ["b"], [None], ["a"]] * 20, dtype=object)
    model = make_pipeline(FLAGS, LinearSVC()).fit(X, np.arange(80) % 4 > 1)
    program = assert_same(model, np.array([["a"], [None], ["c"]], dtype=object))
    assert program.categories.columns[0].missing == "None"


def test_many_categories_are_looked_up():
    names = [f"name {number:05d}" for number in range(20_000)]
    X = np.array([*names, *names], dtype=object)[:, None]
    y = np.arange(len(X)) % 3 == 0
    for encoder in (
        TargetEncoder(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, categories=[names[::-1]]),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50),
    ):
        model = make_pipeline(encoder, StandardScaler(with_mean=False), LinearSVC()).fit(
            X[:20_000], y[:20_000]
        )
        program = assert_same(model, np.array([*names[::3], "none of them"], dtype=object)[:, None])
        assert program.cost().exact_flops < 5000


def test_files_and_programs_keep_the_names(tmp_path):
    model = fitted(ENCODERS["several"], SVC())
    content = io.BytesIO()
    joblib.dump(model, content)
    skops.io.dump(model, tmp_path / "m.skops")
    from_pickle = read_content("m.joblib", content.getvalue(), trust_pickle=True)[0]
    program = sc.compile(tmp_path / "m.skops")
    assert from_pickle.categories == program.categories == sc.compile(model).categories
    program.save(tmp_path / "m.svmc")
    assert sc.Program.load(tmp_path / "m.svmc") == program
    assert_same(model, UNSEEN[:500], sc.Program.load(tmp_path / "m.svmc"))


WRONG = {
    "row 1, column 'shape': 'oval' is no category of the model": ("shape", ["flat", "oval"]),
    "row 0, column 'grade': the text is missing": ("grade", [None, "a"]),
    "column 'shape' is text, and 3 is int, not text": ("shape", ["flat", 3]),
}


@pytest.mark.parametrize("says", WRONG)
def test_what_scikit_learn_would_refuse_is_refused(says):
    name, values = WRONG[says]
    known = frame(300)
    model = make_pipeline(columns(OneHotEncoder(), ["shape", "grade"]), LinearSVC()).fit(
        known, labels(known)
    )
    rows = known[:2].astype({"grade": object, "shape": object}).assign(**{name: values})
    with pytest.raises(ValueError, match=r"unknown categories|uniformly strings"):
        model.predict(rows)
    with pytest.raises(UnknownCategoryError, match=says):
        sc.compile(model).predict(rows)


def both(one, other):
    return ColumnTransformer([("a", one, ["shape"]), ("b", other, ["shape"])])


REFUSED = {
    r"feature 'blank' is missing in several ways \(NaN, None\)": ColumnTransformer(
        [("a", FLAGS, ["blank"])]
    ),
    "encoded_missing_value=nan is no number": columns(
        make_pipeline(OrdinalEncoder(), SimpleImputer()), ["shape"]
    ),
    "neither text nor numbers": ColumnTransformer([("a", OneHotEncoder(), ["when"])]),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_told_apart_is_refused_by_name(says):
    blank = pd.Series(["a", None, np.nan] * 200, dtype=object)
    rows = TRAINED.assign(when=pd.Timestamp("2020-01-01"), blank=blank)
    model = make_pipeline(REFUSED[says], LinearSVC()).fit(rows, labels(rows))
    with pytest.raises(UnsupportedError, match=says):
        sc.compile(model)


def test_text_that_is_also_a_number_is_refused_by_name():
    rows = frame(300).assign(shape=lambda it: it["count"].astype(str).astype(object))
    model = make_pipeline(both(FLAGS, StandardScaler()), LinearSVC())
    model.fit(rows, labels(rows))
    with pytest.raises(UnsupportedError, match="'shape' is text to one step and a number to another"):
        sc.compile(model)


def test_half_a_surrogate_pair_is_refused_by_name():
    X = np.array([["a"], ["\ud800"]] * 20, dtype=object)
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(X, np.arange(40) % 2)
    with pytest.raises(UnsupportedError, match="is not valid Unicode"):
        sc.compile(model)


NAMES = [np.array(HOSTILE, dtype=object), np.array(SHAPES, dtype=object)]
DAMAGED = {
    "one list": {"categories_": NAMES[:1]},
    "twice": {"categories_": [np.array(["a", "a"], dtype=object), NAMES[1]]},
    "empty": {"categories_": [np.array([], dtype=object), NAMES[1]]},
    "numbers among text": {"categories_": [np.array(["a", 1.0], dtype=object), NAMES[1]]},
    "an object": {"categories_": [np.array(["a", object()], dtype=object), NAMES[1]]},
    "a square": {"categories_": [np.array([["a", "b"]], dtype=object), NAMES[1]]},
    "no list": {"categories_": "text"},
    "nothing": {"categories_": None},
    "fewer": {"categories_": [NAMES[0][:3], NAMES[1]]},
    "groups": {"_default_to_infrequent_mappings": [np.array([7]), None]},
    "a column that is not there": {"_drop_idx_after_grouping": np.array([99, None], dtype=object)},
}


@pytest.mark.parametrize("change", DAMAGED)
def test_damaged_encoders_end_in_an_error_of_ours(change, tmp_path):
    rows = frame(200)[["colour", "shape"]]
    model = make_pipeline(OneHotEncoder(min_frequency=2), LinearSVC()).fit(rows, labels(frame(200)))
    vars(model[0]).update(DAMAGED[change])
    try:
        sc.compile(model)
    except (ReadError, UnsupportedError, OptionError):
        return
    assert change == "a column that is not there"  # nothing is dropped then, and the sizes still fit


EDITS = {  # of the description in a skops file
    r'"content": "\"flat\""': tuple(
        rf'"content": "{one}"' for one in ("7", "[1]", r"\"round\"", r"\"\\ud800\"", "null and", "")
    ),
    '"handle_unknown"': ('"handle_unknown_"', '"drop"'),
    '"categories_"': ('"categories"',),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, several in EDITS.items() for new in several])
def test_damaged_skops_files_end_in_an_error_of_ours(old, new, tmp_path):
    rows = frame(100)[["shape"]]
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(rows, labels(frame(100)))
    skops.io.dump(model, tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in members["schema.json"]
    members["schema.json"] = members["schema.json"].replace(old.encode(), new.encode())
    with zipfile.ZipFile(tmp_path / "bad.skops", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises((ReadError, UnsupportedError)):
        sc.compile(tmp_path / "bad.skops")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"feature": 99}, "feature 99 of 6 has categories"),
        ({"feature": -1}, "feature -1 of 6 has categories"),
        ({"names": ["a", "a"]}, "not told apart"),
        ({"missing": "text", "marker": "a", "names": ["a"]}, "not told apart"),
        ({"missing": "maybe"}, "none of"),
        ({"names": ["\ud800"]}, "not valid Unicode"),
        ({"names": 7}, "not a readable"),
        ({"feature": 2}, "has categories twice"),
    ],
)
def test_damaged_programs_end_in_an_error_of_ours(change, says):
    content = to_bytes(sc.compile(fitted(ENCODERS["flags"])))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(members["program.json"])
    described["input"]["categories"]["columns"][0] |= change
    members["program.json"] = json.dumps(described).encode()
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ReadError, match=says):
        from_bytes(changed.getvalue())
