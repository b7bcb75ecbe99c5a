"""Generated C finds the code of any text, and every form takes columns of text in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from programs.categories import ENCODERS, HOSTILE, SHAPES, UNKNOWN, frame, labels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC
from targets.c_build import SANITIZE, WARNINGS, attempt, compile_c, sanitizing_compiler

import svmcompile as sc
from svmcompile.data.categories import MISSING
from svmcompile.data.categories import UNKNOWN as NOT_KNOWN
from svmcompile.errors import EmitError
from svmcompile.ir.program import Program

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore")]
ROWS = 10_000
TRAINED = frame(600, missing=0.1)


def fitted(name="several", machine=None):
    return make_pipeline(ENCODERS[name], machine or SVC()).fit(TRAINED, labels(TRAINED))


@pytest.mark.parametrize(
    ("profile", "precision"), [("portable", "f64"), ("host", "f64"), ("host", "f32"), ("device", "f32")]
)
def test_ten_thousand_rows(profile, precision):
    model, rows = fitted(), frame(ROWS, 1, missing=0.1, unknown=0.1)
    fast = sc.build(model, profile=profile, precision=precision)
    wanted, found = model.decision_function(rows), fast.decision_function(rows)
    error = np.abs(found - wanted).max()
    assert error < (1e-4 if precision == "f32" else 1e-12)
    assert (fast.predict(rows) == model.predict(rows))[np.abs(wanted) > error].all()
    assert fast.self_test() in (0, -1)


@pytest.mark.parametrize("precision", ["q15", "q7"])
def test_whole_numbers_behind_columns_of_text(precision):
    model, rows = fitted(), frame(ROWS, 1, missing=0.1, unknown=0.1)
    program = sc.quantise(sc.compile(model), precision, X=TRAINED)
    found = program.decision_function(rows)
    error = np.abs(found - model.decision_function(rows)).max()
    assert error <= program.origin.details["fixed"]["error"]
    np.testing.assert_array_equal(sc.build(program, precision=precision).decision_function(rows), found)


@pytest.mark.parametrize("target", ["onnx", "wasm", "shared", "sql"])
def test_other_targets_take_columns_of_text(target):
    if target == "wasm":
        pytest.importorskip("wasmtime")
        pytest.importorskip("ziglang")
    model = fitted("most-frequent", LinearSVC() if target == "sql" else None)
    rows = frame(1000, 1, missing=0.1, unknown=0.1)
    rows = rows[~rows["colour"].str.contains("\0", regex=False)] if target == "sql" else rows
    fast = sc.build(model, target=target, precision="f64")
    np.testing.assert_allclose(fast.decision_function(rows), model.decision_function(rows), atol=1e-12)
    assert (fast.predict(rows) == model.predict(rows)).all()


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"

int main(void)
{{
    static const unsigned char bytes[] = {{ {bytes} 0 }};
    static const int features[] = {{ {features} }};
    static const int lengths[] = {{ {lengths} }};
    const unsigned char *at = bytes;
    for (size_t i = 0; i < {count}; i++) {{
        const size_t n = (size_t)(lengths[i] < 0 ? 0 : lengths[i]);
        char *text = malloc(n + 1); /* a block of its own, so that a sanitizer sees a step beyond its end */
        char *exact = malloc(n ? n : 1);
        if (text == NULL || exact == NULL)
            return 1;
        memcpy(text, at, n);
        memcpy(exact, at, n);
        text[n] = 0;
        at += n;
        printf("%g %g\\n", (double)m_category(features[i], lengths[i] < 0 ? NULL : text),
               (double)m_category_n(features[i], lengths[i] < 0 ? NULL : exact, n));
        free(text);
        free(exact);
    }}
    return 0;
}}
"""


def asked(files, calls, folder, *flags):
    """What the two functions say of features and texts; None is NULL."""
    contents = [b"" if text is None else text for _, text in calls]
    for file in ("m.c", "m.h"):
        (folder / file).write_text(files[file], encoding="ascii")
    main = MAIN.format(
        bytes="".join(f"{byte}, " for byte in b"".join(contents)),
        features=", ".join(str(feature) for feature, _ in calls),
        lengths=", ".join(str(-1 if text is None else len(text)) for _, text in calls),
        count=len(calls),
    )
    (folder / "main.c").write_text(main)
    compile_c(sanitizing_compiler(), folder, *SANITIZE, *WARNINGS, *flags, "m.c", "main.c", "-o", "main")
    lines = attempt(("./main",), folder).stdout.splitlines()
    return [tuple(float(word) for word in line.split()) for line in lines]


def calls_of(program):
    """Every name, beginnings and ends of them, bytes that are no UTF-8, and features that are not there."""
    texts = [*HOSTILE, *SHAPES, *UNKNOWN, "a", "b", "c"]
    found = [text.encode() for text in texts]
    found += (
        [text[:-1] for text in found] + [text + b"x" for text in found] + [b"\xff", b"\xc3", b"\x80\x80"]
    )
    features = (-(2**31), -1, *range(program.n_features + 1), 2**31 - 1)
    return [(feature, text) for feature in features for text in (*found, None)]


@pytest.mark.parametrize("profile", ["portable", "host", "device"])
def test_names_are_found_and_nothing_else_under_sanitizers(profile, tmp_path):
    program = sc.compile(fitted())
    files, calls = sc.emit(program, "c", "m", profile=profile), calls_of(program)
    known = {
        (column.feature, name.encode()): code
        for column in program.categories.texts
        for name, code in column.codes.items()
    }
    known |= {(column.feature, None): MISSING for column in program.categories.texts if column.missing}
    flags = ["-std=gnu99"] if profile == "host" else []
    flags = [*flags, "-Wno-pedantic"] if profile == "host" else flags
    for (feature, text), (single, sized) in zip(calls, asked(files, calls, tmp_path, *flags), strict=True):
        assert sized == known.get((feature, text), NOT_KNOWN)
        ends = text is not None and b"\0" in text
        assert single == known.get((feature, text.split(b"\0")[0] if ends else text), NOT_KNOWN)


def test_twenty_thousand_names(tmp_path):
    names = [f"name {number * 7919 % 20_000:05d} é" for number in range(20_000)]
    X = np.array(names, dtype=object)[:, None]
    model = make_pipeline(TargetEncoder(), LinearSVC()).fit(X, np.arange(20_000) % 3 == 0)
    program = sc.compile(model)
    fast = sc.build(program, profile="portable", precision="f64")
    given = np.array([*names[::50], "name 00000", ""], dtype=object)[:, None]
    np.testing.assert_allclose(fast.decision_function(given), model.decision_function(given), atol=1e-12)
    order = sorted(names)
    calls = [(0, name.encode()) for name in [order[0], order[-1], *order[1::997], "name", "zz"]]
    files = sc.emit(program, "c", "m", profile="portable")
    assert len(files["m.h"]) < 20_000  # the header lists some, the report all of them
    found = asked(files, calls, tmp_path)
    wanted = [order.index(text.decode()) if text.decode() in order else NOT_KNOWN for _, text in calls]
    assert [one for one, _ in found] == wanted


def test_sql_looks_up_many_categories():
    names = np.array([f"name {number:04d}" for number in range(5000)], dtype=object)
    X = np.column_stack([names, names[::-1]])
    given = np.array([["name 0007", "nobody"], ["name 4999", "name 0000"]], dtype=object)
    model = make_pipeline(TargetEncoder(random_state=0), StandardScaler(), LinearSVC())
    model.fit(X, np.arange(5000) % 7 < 3)
    assert "Pieces" in {type(node).__name__ for node in sc.compile(model).body}
    fast = sc.build(model, target="sql", precision="f64")
    np.testing.assert_allclose(fast.decision_function(given), model.decision_function(given), atol=1e-9)


def test_names_that_hold_nul_and_codes_in_another_order(tmp_path):
    model = make_pipeline(OrdinalEncoder(), LinearSVC())
    X = np.array([["b\0c"], ["b"], ["a"], ["\0"]] * 20, dtype=object)
    program = sc.compile(model.fit(X, np.arange(80) % 4 > 1))
    (column,) = program.categories.columns
    assert column.names == ("\0", "a", "b", "b\0c")
    reversed_ = program.replace(
        input=type(program.input)(
            1,
            "x",
            categories=type(program.categories)((type(column)(0, column.names[::-1], "text", "zz"),)),
        )
    )
    calls = [(0, text) for text in (b"b", b"b\0c", b"\0", b"", b"zz", None)]
    for one, codes in ((program, [2, 3, 0, -1, -1, -1]), (reversed_, [1, 0, 3, -1, -2, -2])):
        files = sc.emit(one, "c", "m", profile="portable")
        assert [sized for _, sized in asked(files, calls, tmp_path)] == codes


def test_the_header_lists_names_that_cannot_leave_their_comment():
    files = sc.emit(sc.compile(fitted()), "c", "m", api="cpp")
    header = files["m.h"].split("*/")[0]
    assert (
        "Features that are text hold the code of a category" in header and "2 (shape): 0 'flat'" in header
    )
    assert "??/" not in files["m.h"] and files["m.h"].isascii() and files["m.c"].isascii()
    assert "M_CATEGORY_UNKNOWN = -1" in files["m.h"] and "M_N_CATEGORIES_2 = 3" in files["m.h"]
    assert "category(std::size_t feature, std::string_view text)" in files["m.hpp"]


def test_reports_and_files_list_the_names(tmp_path):
    program = sc.compile(fitted())
    sc.write(sc.emit(program, ("c", "onnx"), "m"), tmp_path)
    facts = pd.read_json(tmp_path / "m.json", typ="series")["categories"]
    assert [one["name"] for one in facts] == ["colour", "shape", "grade"]
    assert facts[1] == {
        "feature": 2, "name": "shape", "missing": "NaN", "unknown": "ignored", "names": sorted(SHAPES)
    }  # fmt: skip
    assert Program.load(tmp_path / "m.svmc").categories == program.categories


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"precision": "q15", "X": TRAINED, "given": "i16"}, "cannot hold the codes of columns of text"),
    ],
)
def test_what_columns_of_text_do_not_go_with(options, says):
    with pytest.raises(EmitError, match=says):
        sc.emit(sc.compile(fitted()), **options)


def test_a_name_with_nul_is_no_literal_of_sql():
    X = np.array([["b\0c"], ["b"]] * 20, dtype=object)
    model = make_pipeline(ENCODERS["flags"].transformers[0][1], LinearSVC()).fit(X, np.arange(40) % 2)
    with pytest.raises(EmitError, match="NUL"):
        sc.emit(sc.compile(model), "sql")
