"""Functions in whole numbers are proven for every kernel, and what is planted in them is found."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest
import skops.io
from programs.whole_numbers import math_programs, rows_of
from sklearn.datasets import load_iris, make_blobs
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from typer.testing import CliRunner

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.ir import nodes as ir
from svmcompile.proofs.report import prove_functions
from svmcompile.targets.c import literals

pytest.importorskip("bitwuzla")
X, Y = load_iris(return_X_y=True)
X, Y = X[::5], Y[::5]
MODELS = {
    "rbf": SVC(gamma=0.3),
    "poly": SVC(kernel="poly", degree=3, coef0=1.0),
    "square": SVC(kernel="poly", degree=2),
    "linear": SVC(kernel="linear"),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.05),
    "rest": OneVsRestClassifier(SVC()),
    "svr": SVR(),
    "linear-rest": LinearSVC(),
}


@cache
def emitted(kind: str, classes: int, number: str, given: str = "", profile: str = "portable"):
    rows, labels = X[classes > Y], Y[classes > Y]
    rows = np.round(rows * 10) if given else rows
    model = make_pipeline(StandardScaler(), MODELS[kind]).fit(rows, labels)
    program = sc.quantise(sc.compile(model), number, rows, given=given or None)
    return program, sc.emit(program, name="m", precision=number, profile=profile)


def failures(report) -> list[str]:
    return [one for function in report.functions for one in function.failures]


@pytest.mark.parametrize(
    "case",
    [
        ("rbf", 2, "q7"), ("rbf", 3, "q7", "u8", "device"), ("rbf", 2, "q15"), ("poly", 3, "q15"),
        ("poly", 2, "q7"), ("square", 3, "q7"), ("square", 2, "q15"), ("linear", 3, "q15", "i16"),
        ("linear", 2, "q7"), ("sigmoid", 2, "q7"), ("rest", 3, "q7"), ("svr", 3, "q7"),
        ("linear-rest", 3, "q15", "", "device"),
    ],
)  # fmt: skip
def test_every_function_is_proven(case):
    program, files = emitted(*case)
    report = prove_functions(program, files["m.c"], "m")
    assert report.ok and all(one.proven for one in report.functions), failures(report)
    names = {one.name for one in report.functions}
    assert {f"m_{node.out}" for node in program.body if node.is_whole or node.quantises} <= names
    assert sum(one.claims.get("solver", 0) for one in report.functions) > 10
    assert report.tools[0].startswith("bitwuzla ")


def test_ten_classes_vote():
    rows, labels = make_blobs(60, 3, centers=10, random_state=0)
    program = sc.quantise(sc.compile(SVC(kernel="linear").fit(rows, labels)), "q15", rows)
    report = prove_functions(program, sc.emit(program, name="m", precision="q15")["m.c"], "m")
    assert all(one.proven for one in report.functions), failures(report)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_a_byte(classes):
    model = make_pipeline(StandardScaler(), SVC()).fit(X[classes > Y], Y[classes > Y])
    small = {"rank": 2, "vectors": 5, "density": 1.0, "steps": 50, "synthetic_rows": 0}
    program = sc.quantise(sc.compile(model, method="proto", X=X, **small), "q7", X)
    sums = next(node for node in program.body if isinstance(node, ir.FixedSum))
    assert program.tables[sums.weights].dtype == np.int8
    report = prove_functions(program, sc.emit(program, name="m", precision="q7")["m.c"], "m")
    assert all(one.proven for one in report.functions), failures(report)


@pytest.mark.parametrize("name", ["even", "odd", "one"])
def test_weights_of_four_bits(name):
    math = math_programs()[f"projected_{name}"]
    program = sc.quantise(math, "q7", rows_of(math, 300))
    assert any(isinstance(node, ir.NibbleProjection) for node in program.body)
    text = sc.emit(program, name="m", precision="q7")["m.c"]
    report = prove_functions(program, text, "m")
    assert all(one.proven for one in report.functions), failures(report)
    for right, wrong in (("v[0] & 15", "v[0] & 7"), ("rest += x[j]", "rest -= x[j]")):
        assert right in text
        assert not prove_functions(program, text.replace(right, wrong), "m").ok


def test_large_tables_are_strings(monkeypatch):
    monkeypatch.setattr(literals, "MAX_DECIMAL_BYTES", 64)
    program = sc.quantise(sc.compile(make_pipeline(StandardScaler(), SVC()).fit(X, Y)), "q7", X)
    text = sc.emit(program, name="m", precision="q7")["m.c"]
    assert "unsigned char bytes[" in text
    assert all(one.proven for one in prove_functions(program, text, "m").functions)


def test_leaves_of_a_tree():
    """What walks the tree is told as not proven; the functions of its leaves are, for each leaf."""
    model = SVC(kernel="rbf").fit(X, Y)
    program = sc.quantise(sc.compile(model, method="metric-tree", X=X), "q15", X)
    assert any(isinstance(node, ir.FixedLeaves) for node in program.body)
    text = sc.emit(program, name="m", precision="q15")["m.c"]
    report = prove_functions(program, text, "m")
    by_name = {one.name: one for one in report.functions}
    leaves = next(node for node in program.body if isinstance(node, ir.FixedLeaves))
    assert report.ok and by_name[f"m_{leaves.out}"].proven, by_name
    wrong = text.replace("const int shift = ", "const int shift = 1 + ")
    assert wrong != text and not prove_functions(program, wrong, "m").ok


PLANTED = {
    "a product in 32 bits": ("poly", "((int64_t)power * u)", "(power * u)", "m_sums_kernel: overflow"),
    "a sum in 32 bits": ("poly", "int64_t sums[", "int32_t sums[", "m_sums: overflow"),
    "a product in 8 bits": ("rbf", "2 * dot", "(int8_t)dot", "m_sums_kernel: conversion"),
    "another factor": ("rbf", "2 * dot", "3 * dot", "m_sums_kernel"),
    "no lower end": ("rbf", "t < 0 ? 0 : t", "t", "m_sums_kernel: argument of the curve"),
    "a wrong end of the curve": ("rbf", "if (place >= ", "if (place > ", "m_sums_curve_of: index"),
    "a wrong slope": ("rbf", "return left - (", "return right - (", "m_sums_curve_of: is straight"),
    "a pair of others": ("rbf", "x[1] * v[1]", "x[1] * v[2]", "m_dot_i8_i8: is the dot product"),
    "beyond the row": ("rbf", "x[3] * v[3]", "x[4] * v[3]", None),
    "a shift too far": ("poly", ">> 15)", ">> 64)", "m_sums_kernel: shift"),
    "ties": ("rbf", "pairs[p] > 0", "pairs[p] >= 0", "m_label"),
    "the last class": ("rbf", "votes[c] > votes[best]", "votes[c] >= votes[best]", "m_label: class"),
    "a wider range": ("rbf", "< 0x42fe0000u", "< 0x43000000u", "m_x_q: a number may be"),
    "rounded up": ("rbf", "? halves : halves + 1", "? halves : halves + 3", "m_x_q: a number may be"),
    "another bias": ("rbf", "m_sums_bias[p]", "m_sums_bias[0]", "m_sums: number"),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED)
def test_what_is_planted_is_found(plant):
    kind, good, bad, found = PLANTED[plant]
    program, files = emitted(kind, 3, "q7")
    assert good in files["m.c"]
    report = prove_functions(program, files["m.c"].replace(good, bad), "m")
    if found is None:  # not run at all
        assert any("element 4 of 4" in one.left_out for one in report.functions)
    else:
        assert not report.ok
        assert any(one.startswith(found) for one in failures(report)), failures(report)


HIDDEN = {  # what makes a compiler read other code than the proof
    "condition": "#if 1\nEVIL\n#else\nGOOD\n#endif",
    "known condition": "#if defined(__GNUC__)\nEVIL\n#else\nGOOD\n#endif",
    "branch": "#ifdef __AVR__\n#elif 1\nEVIL\n#else\nGOOD\n#endif",
    "macro": "GOOD\n#define m_sums(x, out) ((out)[0] = 7)",
    "indented": "GOOD\n  #define m_sums(x, out) ((out)[0] = 7)",
    "spliced": "GOOD\n#def\\\nine m_sums(x, out) ((out)[0] = 7)",
    "spaces": "GOOD\n#def\\ \nine m_sums(x, out) ((out)[0] = 7)",
    "digraph": "GOOD\n%:define m_sums(x, out) ((out)[0] = 7)",
    "trigraph": "GOOD\n??=define m_sums(x, out) ((out)[0] = 7)",
    "file": 'GOOD\n#include "other.h"',
    "pragma": "GOOD\n#pragma weak m_sums = m_other",
    "line comment": "//*\n#define m_sums m_other\nEVIL\n/*/\nGOOD",
    "string": 'static const char a[] = "/*";\n#define m_sums m_other\nconst char b[] = "*/";\nGOOD',
    "comment": "/* *\\\n/\n#define m_sums m_other\n/* */\nGOOD",
    "table": "/*\nstatic const int8_t m_no[1] = {\n    1 */\n#define m_sums m_other\n/*\n};\n*/\nGOOD",
}


@pytest.mark.parametrize("way", HIDDEN)
def test_code_that_only_a_compiler_sees_is_refused(way):
    program, files = emitted("linear", 2, "q7")
    good = re.search(r"^static void m_sums\(.*?^\}$", files["m.c"], re.MULTILINE | re.DOTALL)[0]
    hidden = (
        HIDDEN[way].replace("EVIL", good.replace("m_sums_bias", "1 + m_sums_bias")).replace("GOOD", good)
    )
    with pytest.raises(sc.UnsupportedError, match="is not what svmcompile writes"):
        prove_functions(program, files["m.c"].replace(good, hidden), "m")


@pytest.mark.parametrize("comment", ["", "\n/*\n{table}\n*/"])
@pytest.mark.parametrize(
    ("kind", "symbol"), [("linear", "sums_weights"), ("rbf", "sums_vectors"), ("rbf", "x_q_factor")]
)
def test_tables_of_products_are_compared(kind, symbol, comment):
    """Dot products are proven for any numbers; a table that stands in a comment is none."""
    program, files = emitted(kind, 2, "q7")
    table = re.search(rf"^static const [^\n]*m_{symbol}\[.*?^}};", files["m.c"], re.MULTILINE | re.DOTALL)[
        0
    ]
    bad = re.sub(r"\{\n *(-?)", lambda one: "{\n    " + ("" if one[1] else "-"), table, count=1)
    report = prove_functions(program, files["m.c"].replace(table, bad + comment.format(table=table)), "m")
    assert bad != table and not report.ok
    assert any(one.startswith(f"m_{symbol}") for one in failures(report)), failures(report)


def test_a_table_that_stands_twice_is_refused():
    program, files = emitted("linear", 2, "q7")
    table = re.search(
        r"^static const [^\n]*m_sums_weights\[.*?^};", files["m.c"], re.MULTILINE | re.DOTALL
    )[0]
    with pytest.raises(sc.UnsupportedError, match="'m_sums_weights is defined twice' is not what"):
        prove_functions(program, files["m.c"].replace(table, f"{table}\n{table}"), "m")


def test_a_header_that_replaces_functions_is_refused(tmp_path):
    _, files = emitted("linear", 2, "q7")
    header = files["m.h"].replace("#include <stddef.h>", "#include <stddef.h>\n#define m_sums m_other")
    sc.write({**files, "m.h": header}, tmp_path)
    (tmp_path / "m.json").unlink()
    with pytest.raises(sc.UnsupportedError, match="'#define m_sums m_other' is not what svmcompile writes"):
        sc.prove(tmp_path)


def test_a_changed_table_is_found():
    program, files = emitted("rbf", 3, "q7")
    first = int(program.tables["sums_weights"].flat[0])
    head, tail = files["m.c"].split("m_sums_weights[", 1)
    text = f"{head}m_sums_weights[{tail.replace(f'{first},', f'{first + 1},', 1)}"
    assert any("is that of the program" in one for one in failures(prove_functions(program, text, "m")))


def test_the_command(tmp_path):
    _, files = emitted("linear", 2, "q7")
    sc.write(files, tmp_path)
    done = CliRunner().invoke(app, ["verify", str(tmp_path), "--prove"])
    assert done.exit_code == 0, done.output
    assert "m_predict_q" in done.output and "bitwuzla" in done.output
    told = json.loads((tmp_path / "m.proof.json").read_text())
    assert told["ok"] and all(one["proven"] for one in told["functions"])
    report = json.loads((tmp_path / "m.json").read_text())
    assert told["sha256"] == report["digests"]["m.c"]
    assert "m.proof.json" in files["m.h"]


def test_header_and_report_say_what_is_proven(tmp_path):
    skops.io.dump(SVC(kernel="linear").fit(X, Y), tmp_path / "m.skops")
    np.savez(tmp_path / "rows.npz", X=X)
    words = ["compile", "m.skops", "-o", "out", "--precision", "q7", "--data", "rows.npz", "--kit", "cmake"]
    words = [str(tmp_path / one) if one.startswith(("m.", "out", "rows")) else one for one in words]
    done = CliRunner().invoke(app, [*words, "--prove"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "out" / "m.json").read_text())
    proof = json.loads((tmp_path / "out" / "m.proof.json").read_text())
    assert told["proof"]["tools"] == proof["tools"] and "bitwuzla" in proof["tools"][0]
    assert set(told["proof"]["proven"]) == {one["name"] for one in proof["functions"] if one["proven"]}
    headers = [path.read_text() for path in (tmp_path / "out").rglob("m.h")]
    assert len(headers) == 2
    for header in headers:
        plain = " ".join(header.replace("\n *", "\n").split())
        assert "verify --prove" not in plain and f"inputs by {', '.join(proof['tools'])}: " in plain
        assert all(name in plain for name in told["proof"]["proven"])
    again = CliRunner().invoke(app, ["verify", str(tmp_path / "out"), "--prove"])  # which checks the seal
    assert again.exit_code == 0, again.output
    refused = CliRunner().invoke(app, [*words[:4], "--prove"])
    assert isinstance(refused.exception, sc.OptionError) and "q15 or q7" in str(refused.exception)


def test_floats_are_refused(tmp_path):
    sc.write(sc.emit(sc.compile(SVC().fit(X, Y)), name="m"), tmp_path)
    with pytest.raises(sc.UnsupportedError, match="proofs are for whole numbers"):
        sc.prove(tmp_path)


def test_a_failure_ends_with_1(tmp_path):
    _, files = emitted("linear", 2, "q7")
    sc.write(files, tmp_path)
    source, report = tmp_path / "m.c", tmp_path / "m.json"
    source.write_text(files["m.c"].replace("x[1] * v[1]", "x[1] * v[0]"))
    report.write_text(
        json.dumps({k: v for k, v in json.loads(report.read_text()).items() if k != "digests"})
    )
    done = CliRunner().invoke(app, ["verify", str(tmp_path), "--prove"])
    assert done.exit_code == 1 and "is the dot product" in done.output
