"""SVMs of R, where it is installed: e1071 and kernlab through examples/r, and e1071's write.svm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from read_cases import program_of

from svmcompile.read import read

EXPORTER = Path(__file__).resolve().parents[2] / "examples" / "r" / "export_pmml.R"
TRAIN = """
source("{exporter}")
suppressMessages({{ library(e1071); library(kernlab) }})
set.seed(1)
rows <- as.matrix(read.csv("rows.csv"))
two <- droplevels(iris[51:150, ])
models <- list(
  e1071_votes = svm(Species ~ ., data = iris),
  e1071_poly = svm(Species ~ ., data = iris, kernel = "polynomial", degree = 2, coef0 = 1),
  e1071_plain = svm(Species ~ ., data = iris, kernel = "linear", scale = FALSE),
  e1071_two = svm(Species ~ ., data = two, kernel = "sigmoid", gamma = 0.05, coef0 = 0.1),
  e1071_values = svm(iris[, 1:4], sin(iris[, 1])),
  kernlab_votes = ksvm(Species ~ ., data = iris, kernel = "rbfdot", kpar = list(sigma = 0.4)),
  kernlab_two = ksvm(Species ~ ., data = two, kernel = "polydot",
    kpar = list(degree = 2, scale = 0.5, offset = 1)),
  kernlab_plain = ksvm(Species ~ ., data = iris, kernel = "vanilladot", scaled = FALSE, kpar = list()),
  kernlab_values = ksvm(as.matrix(iris[, 1:4]), sin(iris[, 1]), type = "eps-svr", kernel = "tanhdot",
    kpar = list(scale = 0.05, offset = 0.1)))
for (name in names(models)) {{
  export_pmml(models[[name]], paste0(name, ".pmml"))
  found <- predict(models[[name]], as.data.frame(rows))
  text <- if (is.factor(found)) as.character(found) else sprintf("%.17g", as.numeric(found))
  writeLines(text, paste0(name, ".txt"))
}}
values <- attr(predict(models$e1071_votes, rows, decision.values = TRUE), "decision.values")
writeLines(sprintf("%.17g", t(values)), "values.txt")
types <- c("C-classification", "nu-classification", "eps-regression", "nu-regression", "one-classification")
for (type in types) {{
  y <- if (grepl("class", type)) iris$Species else iris[, 1]
  model <- svm(iris[, 1:4], if (grepl("^one", type)) NULL else y, type = type, scale = FALSE, nu = 0.2)
  write.svm(model, svm.file = paste0(type, ".svm"), scale.file = "scale")
  found <- predict(model, rows)
  writeLines(sprintf("%.17g", as.numeric(found)), paste0(type, ".out"))
}}
"""
NAMES = ("Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder of models and what R predicts for 10,000 rows."""
    if not shutil.which("Rscript"):
        pytest.skip("R is not installed")
    folder = tmp_path_factory.mktemp("r")
    check = 'quit(status = !all(c("e1071", "kernlab") %in% rownames(installed.packages())))'
    if subprocess.run(["Rscript", "-e", check], capture_output=True).returncode:
        pytest.skip("R has no packages e1071 and kernlab")
    rows = np.random.default_rng(3).uniform([4, 2, 1, 0], [8, 4.5, 7, 2.5], size=(10_000, 4))
    np.savetxt(folder / "rows.csv", rows, delimiter=",", header=",".join(NAMES), comments="", fmt="%.17g")
    (folder / "train.R").write_text(TRAIN.format(exporter=EXPORTER))
    subprocess.run(["Rscript", "train.R"], cwd=folder, check=True, capture_output=True)
    return folder, rows


@pytest.mark.parametrize(
    "name",
    [
        *(f"e1071_{name}" for name in ("votes", "poly", "plain", "two", "values")),
        *(f"kernlab_{name}" for name in ("votes", "two", "plain", "values")),
    ],
)
def test_the_same_as_r_through_the_exporter(trained, name):
    folder, rows = trained
    svm = read(folder / f"{name}.pmml")
    expected = (folder / f"{name}.txt").read_text().split("\n")[:-1]
    assert svm.feature_names == NAMES
    if name.endswith("values"):
        np.testing.assert_allclose(
            program_of(svm).predict(rows), np.array(expected, float), rtol=0, atol=1e-9
        )
    else:
        assert program_of(svm).predict(rows).tolist() == expected


def test_the_same_decision_values_as_e1071(trained):
    folder, rows = trained
    values = np.loadtxt(folder / "values.txt").reshape(-1, 3)
    found = program_of(read(folder / "e1071_votes.pmml")).decision_function(rows)
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("kind", "svm_type"),
    {
        "C-classification": "c_svc", "nu-classification": "nu_svc", "eps-regression": "epsilon_svr",
        "nu-regression": "nu_svr", "one-classification": "one_class",
    }.items(),
)  # fmt: skip
def test_the_same_as_r_through_write_svm(trained, kind, svm_type):
    """write.svm keeps eight digits of the vectors; labels are the numbers of the levels."""
    folder, rows = trained
    svm = read(folder / f"{kind}.svm")
    expected = np.loadtxt(folder / f"{kind}.out")
    assert svm.source.kind == f"LIBSVM {svm_type}"
    if svm.labels is None:
        np.testing.assert_allclose(program_of(svm).predict(rows), expected, rtol=0, atol=1e-6)
        return
    scores = program_of(svm).decision_function(rows).reshape(len(rows), -1)
    clear = (np.abs(scores) > 1e-6).all(axis=1)
    meant = np.where(expected > 0, 1, -1) if kind.startswith("one") else expected
    np.testing.assert_array_equal(program_of(svm).predict(rows)[clear], meant[clear])
    assert clear.mean() > 0.99
