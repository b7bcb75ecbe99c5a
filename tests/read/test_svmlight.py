"""SVM-light's models: what is read gives svm_classify's own values, and bad bytes give a located error."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from read_cases import KERNELS, blobs, program_of

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import read, read_content

STORED = Path(__file__).parents[1] / "data" / "svmlight"  # models and outputs that SVM-light 6.02 wrote
RBF = (STORED / "rbf.model").read_bytes()
DIGITS = 2e-6  # svm_classify writes eight digits, and adds up a linear machine in float32


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_same_as_svmlight_wrote(kernel):
    svm = read(STORED / f"{kernel}.model")
    stored = json.loads((STORED / "outputs.json").read_text())
    found = program_of(svm).decision_function(np.array(stored["rows"]))
    np.testing.assert_allclose(found, stored[kernel], rtol=0, atol=DIGITS)
    assert svm.kernel.kind == kernel and svm.source.kind == "SVM-light"
    np.testing.assert_array_equal(
        program_of(svm).predict(np.array(stored["rows"])), np.where(np.array(stored[kernel]) > 0, 1, -1)
    )


def write_rows(path, rows, labels):
    pairs = (" ".join(f"{at}:{value:.8g}" for at, value in enumerate(row, 1)) for row in rows)
    path.write_text("".join(f"{label} {text}\n" for label, text in zip(labels, pairs, strict=True)))


@pytest.mark.skipif(not shutil.which("svm_classify"), reason="SVM-light is not installed")
@pytest.mark.parametrize("options", ["-t 0", "-t 1 -d 2 -s 0.5 -r 1", "-t 2 -g 0.1", "-t 3 -s 0.1 -r 0.2"])
def test_the_same_as_svmlight(tmp_path, options):
    X, y = blobs(2)
    rows = np.random.default_rng(2).normal(size=(10_000, 5)).astype(np.float32)
    write_rows(tmp_path / "train", X.astype(np.float32), 2 * y - 1)
    write_rows(tmp_path / "rows", rows, np.ones(len(rows), dtype=int))
    model = tmp_path / "a.model"
    for command in (
        ["svm_learn", *options.split(), "train", "a.model"],
        ["svm_classify", "rows", "a.model", "o"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    expected = np.loadtxt(tmp_path / "o")
    found = program_of(read(model)).decision_function(rows.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=0, atol=DIGITS * max(1, np.abs(expected).max()))


def test_features_that_no_vector_has():
    text = RBF.replace(b"3 # highest", b"7 # highest")
    assert read_content("m", text)[0].n_features == 7
    assert read_content("m", text, n_features=9)[0].n_features == 9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"SVM-light Version V6.02", b"SVM-light Version", "m:1: expected 'SVM-light Version"),
        (b"2 # kernel type", b"4 # kernel type", "m:2: kernel 4 is one of your own"),
        (b"2 # kernel type", b"-1 # kernel type", "m:2: kernel type has '-1', expected an integer"),
        (b"2 # kernel type", b"2", "m:2: expected a line that ends with '# kernel type'"),
        (b"0.5 # kernel parameter -g", b"nan # kernel parameter -g", "'nan', which is not a finite"),
        (b"3 # highest", b"99999999 # highest", "m:8: highest feature index has '99999999'"),
        (b"3 # highest", b"16000000 # highest", "would make a dense table"),
        (b" 1:", b" 0:", "feature index 0; SVM-light's start at 1"),
        (b" 1:", b" one:", "is not a pair index:value"),
    ],
)
def test_bad_bytes(old, new, message):
    assert old in RBF
    with pytest.raises((ReadError, UnsupportedError), match=message):
        read_content("m", RBF.replace(old, new), "svmlight")


def test_too_few_or_too_many_vectors():
    for content, message in {
        RBF[: RBF.rindex(b"\n", 0, -1)]: "the file ends after",
        RBF + b"1 1:1 #\n": "text after the last",
        RBF[:40]: "expected a line that ends with",
    }.items():
        with pytest.raises(ReadError, match=message):
            read_content("m", content, "svmlight")
