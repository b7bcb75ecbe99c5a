"""Columns of text in data files: compiled, verified, predicted and timed by the commands."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess

import joblib
import numpy as np
import pytest
import skops.io
from programs.categories import ENCODERS, SHAPES, columns, frame, labels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, LinearSVC
from targets.c_build import CXX_WARNINGS, attempt, compile_c, cxx_compilers

import svmcompile as sc
from svmcompile.bench.peers import Subject
from svmcompile.commands import compile as compiling
from svmcompile.commands import inspect, predict, verify
from svmcompile.commands.options import (
    CompileOptions,
    InspectOptions,
    PredictOptions,
    VerifyOptions,
)
from svmcompile.data import read_data
from svmcompile.errors import OptionError, ReadError, UnknownCategoryError
from svmcompile.flow.evaluation import rows_or_texts
from svmcompile.runtime.toolchain import find_compiler

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = np.array(["no", "yes"])


def rows_of_files(count, seed=0, **how):
    """Without numbers that are missing, which files write as nan."""
    found = frame(count, seed, **how)
    return found.assign(colour=found["colour"].str.replace(r"[\r\0]", "", regex=True))


def fitted(name="several"):
    rows = rows_of_files(500, missing=0.1)
    return make_pipeline(ENCODERS[name], SVC()).fit(rows, NAMES[labels(rows).astype(int)])


def write(folder, rows, kind):
    path = folder / f"rows.{kind}"
    rows.to_parquet(path) if kind == "parquet" else rows.to_csv(path, index=False)
    return path


@pytest.mark.compile
@pytest.mark.parametrize(("kind", "stored"), [("csv", "skops"), ("parquet", "joblib")])
def test_the_commands_take_columns_of_text(kind, stored, tmp_path):
    model = fitted()
    (skops.io if stored == "skops" else joblib).dump(model, tmp_path / f"m.{stored}")
    rows = rows_of_files(700, 1, missing=0.1, unknown=0.1)
    rows.loc[rows["colour"].isin(["nan", "None"]), "colour"] = "red"  # names of their own, in CSV
    data = write(tmp_path, rows.assign(kind=model.predict(rows)), kind)
    given = {"data": data, "label": "kind"}
    model_options = {"model": tmp_path / f"m.{stored}", "trust_pickle": stored == "joblib"}
    out = tmp_path / "out"
    report = compiling.run(CompileOptions(output=out, target=["c", "onnx"], **given, **model_options))
    assert report["agreement"] == 1.0 and report["accuracy"]["compiled"] == 1.0
    assert [one["name"] for one in report["categories"]] == ["colour", "shape", "grade"]
    checked = verify.run(VerifyOptions(folder=out, **given, **model_options))
    assert checked["ok"] and checked["accuracy_of_reference"] == 1.0
    found = tmp_path / "found.csv"
    predict.run(PredictOptions(folder=out, output=found, keep="shape", **given))
    with found.open(encoding="utf-8") as stream:
        told = list(csv.DictReader(stream))
    assert [one["label"] for one in told] == list(model.predict(rows))
    assert [one["shape"] for one in told][:20] == list(rows["shape"].fillna("")[:20])


def test_columns_of_text_are_inspected(tmp_path):
    skops.io.dump(fitted(), tmp_path / "m.skops")
    sc.write(sc.emit(sc.compile(fitted()), "c", "m"), tmp_path / "out")
    for thing in (tmp_path / "m.skops", tmp_path / "out"):
        facts = inspect.run(InspectOptions(thing=thing))
        assert facts.get("models", {"m": facts})["m"]["categories"][1]["names"] == sorted(SHAPES)


def test_rivals_get_frames_with_texts(tmp_path):
    """`bench` holds rows as codes, and its answers against those of scikit-learn."""
    model, rows = fitted(), rows_of_files(300, 2, missing=0.2, unknown=0.2)
    program = sc.compile(model)
    codes = np.asarray(rows_or_texts(program, rows))
    subject = Subject(program, None, model, "f64", codes, 300, 300, tmp_path, tmp_path)
    np.testing.assert_array_equal(subject.frame()["shape"].isna(), rows["shape"].isna())
    assert (model.predict(subject.frame()) == model.predict(rows)).all()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_read_as_frames_are(kind, tmp_path):
    model, rows = fitted(), rows_of_files(300, 2, missing=0.2, unknown=0.2)
    program = sc.compile(model)
    wanted = {"feature_names": program.feature_names, "categories": program.categories}
    shuffled = rows[rows.columns[::-1]]
    found = read_data(write(tmp_path, shuffled, kind), **wanted).X
    known = rows["colour"].isin(program.categories.texts[0].names)
    np.testing.assert_array_equal(found[:, 0] >= 0, known)
    np.testing.assert_allclose(program.decision_function(found), model.decision_function(rows), atol=1e-9)


def test_careful_and_fast_readers_agree(tmp_path, monkeypatch):
    program, rows = sc.compile(fitted()), rows_of_files(300, 2, missing=0.2, unknown=0.2)
    path = write(tmp_path, rows, "csv")
    wanted = {"feature_names": program.feature_names, "categories": program.categories}
    fast = read_data(path, **wanted).X
    monkeypatch.setattr("svmcompile.data.csv_arrow.BLOCK_BYTES", 0)
    monkeypatch.setattr("svmcompile.data.csv_text.arrow_parts", _not_read)
    np.testing.assert_array_equal(read_data(path, **wanted).X, fast)


def _not_read(*_):
    from svmcompile.data.csv_arrow import NotRead

    raise NotRead
    yield


def strict():
    rows = rows_of_files(300)
    return sc.compile(
        make_pipeline(columns(OneHotEncoder(), ["shape"]), LinearSVC()).fit(rows, labels(rows))
    )


@pytest.mark.parametrize(
    ("kind", "says"),
    [("csv", "rows.csv:5, column 'shape': 'oval'"), ("parquet", "row 3, column 'shape': 'oval'")],
)
def test_unknown_text_in_a_file_is_told_with_its_place(kind, says, tmp_path):
    program, rows = strict(), rows_of_files(10, 2)
    rows.loc[3, "shape"] = "oval"
    with pytest.raises(UnknownCategoryError, match=re.escape(says)):
        read_data(
            write(tmp_path, rows, kind), feature_names=program.feature_names, categories=program.categories
        )


def test_files_that_do_not_fit(tmp_path):
    program, rows = strict(), rows_of_files(10, 2)
    wanted = {"feature_names": program.feature_names, "categories": program.categories}
    with pytest.raises(ReadError, match="column 'shape' holds int64; the model takes text there"):
        read_data(write(tmp_path, rows.assign(shape=1), "parquet"), **wanted)
    with pytest.raises(ReadError, match=r"column 'size': 'large' is not a number"):
        read_data(write(tmp_path, rows.assign(size="large"), "csv"), **wanted)
    with pytest.raises(OptionError, match=r"missing \['shape'\]"):
        program.predict(rows.drop(columns="shape"))


@pytest.mark.compile
def test_the_page_offers_the_categories():
    pytest.importorskip("ziglang")
    model = fitted("flags")
    page = sc.emit(sc.compile(model), "wasm", "m")["m.html"]
    facts = json.loads(
        re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    )
    shape = [
        *([name, code] for code, name in enumerate(sorted(SHAPES))),
        ["(missing)", -2],
        ["(another)", -1],
    ]
    assert facts["codes"]["2"] == shape and "1" not in facts["codes"]
    assert all(float(code).is_integer() for row in facts["examples"] for code in (row[0], row[2], row[4]))


@pytest.mark.compile
def test_a_package_takes_frames(tmp_path):
    import importlib.util
    import zipfile

    model, rows = fitted(), rows_of_files(300, 2, missing=0.2, unknown=0.2)
    files = sc.emit(sc.compile(model), "shared", "m", kit="wheel")
    (wheel,) = (name for name in files if name.endswith(".whl"))
    (tmp_path / "m.whl").write_bytes(files[wheel])
    zipfile.ZipFile(tmp_path / "m.whl").extractall(tmp_path)
    spec = importlib.util.spec_from_file_location("m", tmp_path / "m" / "__init__.py")
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    assert (package.predict(rows) == model.predict(rows)).all()


@pytest.mark.compile
def test_compiled_estimators_are_cross_validated_on_frames():
    from sklearn.model_selection import cross_val_score

    rows = rows_of_files(200, missing=0.1)
    scores = [
        cross_val_score(one, rows, labels(rows), cv=2)
        for one in (
            make_pipeline(ENCODERS["flags"], SVC()),
            sc.Compiled(make_pipeline(ENCODERS["flags"], SVC())),
        )
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.compile
def test_other_methods_and_pickles_take_frames():
    import pickle

    rows, model = rows_of_files(300, 2, missing=0.2, unknown=0.2), fitted()
    program = sc.compile(model, method="linear", X=rows, y=model.predict(rows))
    assert (program.predict(rows) == model.predict(rows)).mean() > 0.8
    assert program.categories == sc.compile(model).categories
    revived = pickle.loads(pickle.dumps(sc.build(model, profile="portable")))
    assert (revived.predict(rows) == model.predict(rows)).all()


NPM = """
import {{ load }} from "./index.js";
const model = await load();
const asked = JSON.parse(process.argv[2]);
console.log(JSON.stringify(asked.map(([feature, text]) => model.category(feature, text))));
"""
CPP = """
#include <cstdio>
#include "m.hpp"

int main()
{
    std::printf("%g %g %g\\n", double(m::category(2, "flat")), double(m::category(2, "fla")),
                double(m::category(99, "flat")));
}
"""


@pytest.mark.compile
def test_javascript_and_cpp_find_codes(tmp_path):
    program = sc.compile(fitted())
    asked = [
        [column.feature, name]
        for column in program.categories.texts
        for name in [*column.codes, None, "zz\0"]
    ]
    wanted = [program.categories.by_feature[at].field_code(name) for at, name in asked]
    if node := shutil.which("node"):
        pytest.importorskip("ziglang")
        sc.write(sc.emit(program, "wasm", "m", kit="npm"), tmp_path)
        (tmp_path / "npm" / "m" / "try.mjs").write_text(NPM.format())
        done = subprocess.run(
            [node, "try.mjs", json.dumps(asked)],
            cwd=tmp_path / "npm" / "m",
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout) == wanted
    for name, command in cxx_compilers().items():
        folder = tmp_path / name
        sc.write(sc.emit(program, "c", "m", profile="portable", api="cpp"), folder)
        (folder / "main.cpp").write_text(CPP)
        compile_c(find_compiler(), folder, "-std=c99", "-c", "m.c", "-o", "m.o")
        compile_c(command, folder, "-std=c++17", *CXX_WARNINGS, "main.cpp", "m.o", "-o", "main")
        assert attempt(("./main",), folder).stdout == "0 -1 -1\n"
