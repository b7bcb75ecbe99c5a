"""predict on files as people have them: never over its input, nothing missing unnoticed, columns kept."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc

pytestmark = pytest.mark.compile
NAMES = ["age", "balance", "visits"]


@pytest.fixture(scope="module")
def churn(tmp_path_factory):
    """A model of named features with probabilities, its folder, and a frame with an id and a date."""
    folder = tmp_path_factory.mktemp("churn")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=NAMES)
    y = np.array(["leaves", "stays", "unsure"])[np.digitize(frame.to_numpy() @ [1, -1, 0.5], [-0.5, 0.8])]
    model = make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)).fit(frame, y)
    sc.write(sc.emit(sc.compile(model), ["c", "onnx"], "churn"), folder / "out")
    frame.insert(0, "id", [f"{n:05d}" for n in range(200)])
    frame["seen"] = pd.date_range("2024-01-01", periods=200).date
    frame.to_csv(folder / "new.csv", index=False)
    frame.to_parquet(folder / "new.parquet", index=False)
    return model, folder, frame


def rows_in(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def score(run, churn, tmp_path):
    """Score a file into a CSV; the result and the rows of the output."""

    def call(data, *flags, output="p.csv"):
        done = run("predict", churn[1] / "out", "--data", data, "-o", tmp_path / output, *flags)
        return done, rows_in((tmp_path / output).read_text()) if done.code == 0 else []

    return call


def plain(churn, folder: Path, name: str = "rows.csv") -> Path:
    churn[2][NAMES].to_csv(folder / name, index=False)
    return folder / name


@pytest.mark.parametrize("how", ["same", "symlink", "hard link"])
def test_the_input_is_never_overwritten(run, churn, tmp_path, how):
    data = plain(churn, tmp_path)
    before, output = data.read_bytes(), data if how == "same" else tmp_path / "other.csv"
    if how == "symlink":
        output.symlink_to(data)
    elif how == "hard link":
        os.link(data, output)
    done = run("predict", churn[1] / "out", "--data", data, "-o", output)
    assert done.code == 2 and "is the file to score; choose another name for -o" in done.err
    assert data.read_bytes() == before


def test_neither_standard_input_nor_a_folder_is_overwritten(run, churn, tmp_path, monkeypatch):
    data = plain(churn, tmp_path)
    before = data.read_bytes()
    with data.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("predict", churn[1] / "out", "--data", "-", "-o", data)
    assert done.code == 2 and "is the file to score" in done.err and data.read_bytes() == before
    done = run("predict", churn[1] / "out", "--data", tmp_path, "-o", tmp_path / "p.csv")
    assert done.code == 2 and "is in the folder to score" in done.err


@pytest.mark.parametrize("kind", ["csv", "blank.csv", "parquet", "npy"])
def test_missing_values_are_refused_or_left_out(run, churn, tmp_path, kind):
    model, folder, frame = churn
    gaps = frame[NAMES].copy()
    gaps.loc[6, "age"] = np.nan
    data, rest = tmp_path / f"gaps.{kind}", np.arange(200) != 6
    if kind == "parquet":
        gaps.to_parquet(data)
    elif kind == "npy":
        np.save(data, gaps.to_numpy())
    else:
        gaps.to_csv(data, index=False, na_rep="" if "blank" in kind else "nan")
    done = run("predict", folder / "out", "--data", data, "-o", tmp_path / "p.csv")
    assert done.code == 2 and "'age'" in done.err and "--allow-missing" in done.err
    assert "row 7" in done.err or "gaps.blank.csv:8" in done.err
    assert not (tmp_path / "p.csv").exists()
    done = run(
        "predict", folder / "out", "--data", data, "-o", tmp_path / "p.csv", "--allow-missing", "--scores"
    )
    assert done.code == 0 and "1 of them without a label: they have missing" in done.out
    found = rows_in((tmp_path / "p.csv").read_text())
    assert set(found[6].values()) == {""}
    expected = model.predict(frame[NAMES])
    assert [row["label"] for row in found] == list(np.where(rest, expected, ""))


def test_missing_labels_in_files_of_other_kinds(run, churn, tmp_path):
    _, folder, frame = churn
    rows = frame[NAMES].to_numpy().copy()
    rows[3, 1] = np.inf
    np.save(tmp_path / "rows.npy", rows)
    for name in ("p.npz", "p.parquet", "p.npy"):
        done = run(
            "predict",
            folder / "out",
            "--data",
            tmp_path / "rows.npy",
            "-o",
            tmp_path / name,
            "--allow-missing",
        )
        assert done.code == 0, done.err
    assert np.load(tmp_path / "p.npz")["label"][3] == "" == np.load(tmp_path / "p.npy")[3]
    assert pd.read_parquet(tmp_path / "p.parquet").label.isna().tolist() == [n == 3 for n in range(200)]


def test_loaded_models_refuse_nan_as_scikit_learn_does(churn):
    model, folder, frame = churn
    rows = frame[NAMES].copy()
    rows.loc[2, "visits"] = np.nan
    for target in ("c", "onnx"):
        fast = sc.load(folder / "out", target=target)
        for name in ("predict", "decision_function", "predict_proba"):
            with pytest.raises(ValueError):
                getattr(model, name)(rows)
            with pytest.raises(ValueError, match=r"row 2, column 'visits': the value is missing"):
                getattr(fast, name)(rows)
            assert len(getattr(fast, name)(rows, allow_nan=True)) == 200
        with pytest.raises(ValueError, match="row 0, column 'age': the value is infinite"):
            fast.predict([[np.inf, 0, 0]])


def test_what_preprocessing_fills_in_or_leaves_out_may_be_missing(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + X[:, 1] > 0
    gaps = X.copy()
    gaps[3, 0] = gaps[5, 3] = np.nan
    columns = [("fill", SimpleImputer(), [0]), ("plain", "passthrough", [1, 2])]  # the last is left out
    model = make_pipeline(ColumnTransformer(columns), SVC()).fit(gaps, y)
    sc.write(sc.emit(sc.compile(model), ["c", "onnx"], "m"), tmp_path / "out")
    for target in ("c", "onnx"):
        fast = sc.load(tmp_path / "out", target=target)
        assert (fast.predict(gaps) == model.predict(gaps)).all()
        with pytest.raises(ValueError, match="row 0, column 1"):
            fast.predict(gaps[:, [1, 3, 0, 2]][5:])
    np.save(tmp_path / "gaps.npy", gaps)
    done = run("predict", tmp_path / "out", "--data", tmp_path / "gaps.npy", "-o", tmp_path / "p.npy")
    assert done.code == 0 and (np.load(tmp_path / "p.npy") == model.predict(gaps)).all()


def test_large_numbers_are_no_gaps_and_no_warnings(churn):
    fast = sc.load(churn[1] / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(fast.predict(np.full((1, 3), 1e200))) == 1
        assert len(fast.predict(np.full((2000, 3), 1e305))) == 2000


def test_names_of_columns(score, churn):
    model, folder, frame = churn
    flags = ("--scores", "--probabilities", "--keep", "id,seen")
    done, found = score(folder / "new.csv", *flags)
    assert done.code == 0, done.err
    classes = model.classes_.tolist()
    columns = [
        "id",
        "seen",
        "label",
        *(f"score_{c}" for c in classes),
        *(f"probability_{c}" for c in classes),
    ]
    assert list(found[0]) == columns
    assert [row["id"] for row in found] == frame.id.tolist() and found[1]["seen"] == "2024-01-02"
    chances = np.array([[float(row[f"probability_{c}"]) for c in classes] for row in found])
    np.testing.assert_allclose(chances, model.predict_proba(frame[NAMES]), atol=1e-4)


def test_parquet_keeps_the_types_of_columns(run, churn, tmp_path):
    output = tmp_path / "p.parquet"
    done = run(
        "predict", churn[1] / "out", "--data", churn[1] / "new.parquet", "-o", output, "--keep", "id,seen"
    )
    assert done.code == 0, done.err
    found = pd.read_parquet(output)
    assert found.seen.tolist() == churn[2].seen.tolist() and found.id.tolist() == churn[2].id.tolist()


def test_extra_columns_are_refused_or_ignored(score, churn):
    done, _ = score(churn[1] / "new.csv")
    assert done.code == 2 and "unknown 'id', 'seen'; --ignore-extra leaves out columns" in done.err
    done, found = score(churn[1] / "new.csv", "--ignore-extra")
    assert done.code == 0 and [row["label"] for row in found] == churn[0].predict(churn[2][NAMES]).tolist()


def test_a_kept_column_may_not_hide_the_prediction(score, churn, tmp_path):
    frame = churn[2].assign(label="x")
    frame.to_csv(tmp_path / "twice.csv", index=False)
    done, _ = score(tmp_path / "twice.csv", "--ignore-extra", "--keep", "label")
    assert done.code == 2 and "'label' would be there twice" in done.err


@pytest.mark.parametrize("kind", ["pairs", "two", "LIBSVM"])
def test_scores_are_named_by_what_they_decide(run, tmp_path, kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    if kind != "pairs":
        X, y = X[y != "c"], y[y != "c"]
    model = SVC(decision_function_shape="ovo").fit(
        X, np.searchsorted(["a", "b"], y) if kind == "LIBSVM" else y
    )
    if kind == "LIBSVM":
        import skops.io

        from svmcompile.commands.convert import run as convert
        from svmcompile.commands.options import ConvertOptions

        skops.io.dump(model, tmp_path / "m.skops")
        convert(ConvertOptions(model=tmp_path / "m.skops", output=tmp_path / "m.model"))
    source = tmp_path / "m.model" if kind == "LIBSVM" else model
    sc.write(sc.emit(sc.compile(source, n_features=2), name="m"), tmp_path / "out")
    np.save(tmp_path / "rows.npy", X)
    done = run(
        "predict", tmp_path / "out", "--data", tmp_path / "rows.npy", "-o", tmp_path / "p.csv", "--scores"
    )
    assert done.code == 0, done.err
    found = rows_in((tmp_path / "p.csv").read_text())
    names = {"pairs": ["score_a_b", "score_a_c", "score_b_c"], "two": ["score_b"]}.get(kind)
    if names:
        assert list(found[0]) == ["label", *names]
    else:  # whatever the order of LIBSVM's labels, a value above zero speaks for the class it is named by
        (name,) = [column for column in found[0] if column != "label"]
        assert all((float(row[name]) > 0) == (row["label"] == name.removeprefix("score_")) for row in found)


def test_standard_input_and_output_and_gzip(run, churn, tmp_path, monkeypatch, capsys):
    model, folder, frame = churn
    data = plain(churn, tmp_path)
    expected = model.predict(frame[NAMES]).tolist()
    with data.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("predict", folder / "out", "--data", "-", "-o", "-")
    assert done.code == 0, done.err
    assert [row["label"] for row in rows_in(done.out)] == expected and "200 rows scored" in done.err
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(data.read_bytes()))
    output = tmp_path / "p.csv.gz"
    assert run("predict", folder / "out", "--data", tmp_path / "rows.csv.gz", "-o", output).code == 0
    assert [row["label"] for row in rows_in(gzip.decompress(output.read_bytes()).decode())] == expected
    done = run("predict", folder / "out", "--data", data, "-o", "-", "--json")
    assert done.code == 2 and "leave out --json" in done.err


def test_faults_of_standard_input_are_called_that(run, churn, tmp_path, monkeypatch):
    (tmp_path / "bad.csv").write_text("age,balance\n1,2\n")
    with (tmp_path / "bad.csv").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("predict", churn[1] / "out", "--data", "-", "-o", tmp_path / "p.csv")
    assert done.code == 2 and "svmcompile: standard input: columns do not match" in done.err


def test_decimal_commas(score, churn, tmp_path):
    churn[2][NAMES].to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=",")
    done, found = score(tmp_path / "rows.csv")
    assert done.code == 0 and [row["label"] for row in found] == churn[0].predict(churn[2][NAMES]).tolist()


def test_the_end_tells_rows_and_speed(run, churn, tmp_path):
    data = plain(churn, tmp_path)
    done = run("predict", churn[1] / "out", "--data", data, "-o", tmp_path / "p.csv")
    assert "200 rows scored by churn" in done.out and "rows a second" in done.out
    done = run("predict", churn[1] / "out", "--data", data, "-o", tmp_path / "p.csv", "--json")
    assert json.loads(done.out)["rows_per_second"] > 0


def test_what_the_model_does_not_give_is_refused(run, iris, tmp_path):
    run("compile", iris.file("iris.skops"), "-o", tmp_path / "out")
    data = iris.file("iris.npz")
    done = run("predict", tmp_path / "out", "--data", data, "-o", tmp_path / "p.csv", "--probabilities")
    assert done.code == 2 and "train it with probability=True" in done.err
    done = run("predict", tmp_path / "out", "--data", data, "-o", tmp_path / "p.npy", "--scores")
    assert done.code == 2 and "can hold labels or values only" in done.err


def test_no_folder_is_made_for_a_file(run, churn, iris, tmp_path):
    data, nowhere = plain(churn, tmp_path), tmp_path / "nowhere"
    for command in (
        ("predict", churn[1] / "out", "--data", data, "-o", nowhere / "p.csv"),
        ("train", "--data", iris.file("iris.npz"), "-o", nowhere / "t.svmc"),
        ("convert", iris.file("iris.skops"), "-o", nowhere / "m.model"),
    ):
        done = run(*command)
        assert done.code == 2 and "does not exist; make it first" in done.err
    assert not nowhere.exists()


def test_errors_are_json_too(run, tmp_path):
    done = run("predict", tmp_path, "--data", "x.csv", "-o", tmp_path / "p.csv", "--json")
    found = json.loads(done.out)
    assert done.code == found["exit_code"] == 2 and found["error"] == "ReadError" and not found["ok"]
    assert found["message"] in done.err
    done = run("predict", tmp_path, "--nonsense", "--json")
    assert done.code == 2 and "--nonsense" in json.loads(done.out)["message"] and "--nonsense" in done.err


def test_zero_based_svmlight_files(run, churn, tmp_path):
    """Without its first feature such a file was read one column off, without a word."""
    model, folder, frame = churn
    rows = frame[NAMES].to_numpy().copy()
    rows[:, 0] = 0
    data, output = tmp_path / "rows.svmlight", tmp_path / "p.csv"
    dump_svmlight_file(rows, np.zeros(200), str(data))
    done = run("predict", folder / "out", "--data", data, "-o", output)
    assert done.code == 2 and "--zero-based or --one-based" in done.err
    assert run("predict", folder / "out", "--data", data, "-o", output, "--zero-based").code == 0
    expected = model.predict(pd.DataFrame(rows, columns=NAMES)).tolist()
    assert [row["label"] for row in rows_in(output.read_text())] == expected
