"""Text from files: compiled, verified and predicted by the commands; files that do not fit are refused."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import skops.io
from programs.texts import LABELS, TEXTS
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.commands import compile as compiling
from svmcompile.commands import predict, verify
from svmcompile.commands.options import CompileOptions, PredictOptions, VerifyOptions
from svmcompile.data import iter_data, read_data
from svmcompile.errors import OptionError, ReadError

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = np.array(["fox", "café", "Σ", "жук"])
MODEL = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC())


def write_csv(path, rows, separator=","):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=separator).writerows(rows)
    return path


@pytest.fixture
def texts(tmp_path):
    rows = [
        [at, text + ',\n"quoted"', NAMES[label]]
        for at, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
    ]
    return write_csv(tmp_path / "texts.csv", [["id", "body", "kind"], *rows])


@pytest.mark.compile
def test_the_commands_take_a_column_of_text(texts, tmp_path):
    model = MODEL.fit(TEXTS, NAMES[LABELS])
    skops.io.dump(model, tmp_path / "m.skops")
    out, found = tmp_path / "out", tmp_path / "found.csv"
    options = {"data": texts, "text": "body", "label": "kind"}
    report = compiling.run(
        CompileOptions(model=tmp_path / "m.skops", output=out, target=["c", "onnx"], **options)
    )
    assert report["agreement"] == 1.0 and report["accuracy"]["compiled"] == 1.0
    checked = verify.run(VerifyOptions(folder=out, model=tmp_path / "m.skops", **options))
    assert checked["ok"] and {one["backend"] for one in checked["comparisons"]} == {
        "interpreter",
        "c",
        "onnx",
    }
    done = predict.run(PredictOptions(folder=out, output=found, scores=True, keep="id", **options))
    assert done["rows"] == len(TEXTS)
    with found.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["label"] for row in rows] == list(NAMES[LABELS])
    assert [row["id"] for row in rows] == [str(at) for at in range(len(TEXTS))]


@pytest.mark.compile
@pytest.mark.parametrize("machine", [LinearSVC(), SVC()])
def test_texts_are_verified_as_rows_are(machine, tmp_path):
    model = make_pipeline(TfidfVectorizer(), machine).fit(TEXTS, LABELS)
    program = sc.compile(model, X=TEXTS, y=LABELS)
    sc.write(sc.emit(program, ("c", "onnx"), "m", X=TEXTS, y=LABELS, model=model), tmp_path / "m")
    report = sc.verify(tmp_path / "m", model, [*TEXTS, "", "nothing known here"])
    assert report.ok and report.rows == len(TEXTS) + 2
    with pytest.raises(OptionError, match="pass the texts"):
        sc.verify(tmp_path / "m", model, np.zeros((2, program.n_features)))


def read(path, **wanted):
    return read_data(path, takes_text=True, **wanted)


def test_columns_are_found_by_name_or_alone(texts, tmp_path):
    assert read(texts, text="body", label="kind").X.tolist()[1].startswith("A café")
    assert read(texts, label="kind", keep=("id",)).y.tolist() == list(NAMES[LABELS])
    alone = write_csv(tmp_path / "alone.tsv", [["anything"], ["one"], ["two, three"]], "\t")
    assert read(alone).X.tolist() == ["one", "two, three"]
    named = write_csv(tmp_path / "named.csv", [["a", "Text"], ["1", "one"]])
    assert [part.X.tolist() for part in iter_data(named, takes_text=True)] == [["one"]]


def test_parquet_holds_text(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"text": ["one", "two"], "y": [1, 2]}), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet", label="y")
    assert found.X.tolist() == ["one", "two"] and found.y.tolist() == [1, 2]
    parquet.write_table(arrow.table({"text": ["one", None]}), tmp_path / "b.parquet")
    with pytest.raises(ReadError, match="row 1: column 'text' holds None"):
        read(tmp_path / "b.parquet")


def test_files_without_text_are_refused(texts, tmp_path):
    with pytest.raises(OptionError, match="name it with --text"):
        read(texts)
    with pytest.raises(OptionError, match="no column 'nope' for --text"):
        read(texts, text="nope")
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    with pytest.raises(ReadError, match="the model takes text"):
        read(tmp_path / "a.npy")
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("text,y\nonly one\n")
    with pytest.raises(ReadError, match=r"ragged\.csv:2: 1 fields, the first line has 2"):
        read(ragged, label="y")
    (tmp_path / "header.csv").write_text("text\n")
    with pytest.raises(ReadError, match="holds no rows"):
        read(tmp_path / "header.csv")
