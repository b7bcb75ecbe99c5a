"""No name, label or text from outside can break, hide in or escape from generated code."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import WARNINGS, compile_c, compilers, write_c
from c_cases import CASES, FEATURES, RBF, VOTE, dense, optimised, pairs, program_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import LabelRule
from svmcompile.targets.templating import HEADERS, KEYWORDS, MAX_NAME, Names, check_name, comment, name_from

REFUSALS = (OptionError, EmitError, UnsupportedError)
NASTY = (
    "*/ int x; /*", '"\n', "%s%n", "??/", "??/\n", "a\\", "\\", "*\\", "/", "*", "int", "\U0001f600", "",
    "\u202e\u2066evil", "\0", "\ud800", "\udcff", "line\rbreak", "tab\there", "\x1b[31m", "\\u0041",
    "\\777", "{{ 7 * 7 }}", "{% raw %}", "-DX", "a" * 5000, "é" * 3000, " two  spaces ", "//", "#error",
    "\x7f", "\u2028",
)  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=30))
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


# Names of models


@pytest.mark.parametrize(
    "name", [*NASTY, "1a", "a-b", "a.b", "_a", "ä", "math", "Class", "a" * (MAX_NAME + 1), "a\n"]
)
def test_names_c_cannot_use_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match="--name"):
        check_name(name)
    with pytest.raises(OptionError):
        sc.emit(program_of("affine"), "c", name)


@given(st.one_of(texts, st.sampled_from(sorted(KEYWORDS | HEADERS))))
def test_any_text_gives_a_name(text: str) -> None:
    assert check_name(name_from(text)) == name_from(text)


@pytest.mark.compile
@pytest.mark.parametrize(
    "name", ["a", "N_SCORES", "A_N_SCORES", "x", "scores", "linux", "size_t", "I", "Z" * MAX_NAME]
)
def test_odd_but_valid_names(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    for case in ("rbf_ovr", "rbf_value"):
        write_c(program_of(case), tmp_path, name, "f32")
        for command in compilers().values():
            compile_c(command, tmp_path, "-std=gnu11", *WARNINGS, "-c", f"{name}.c")
    sc.write(sc.emit(program_of("rbf_value"), "c", name), tmp_path / "out")
    assert sc.load(tmp_path / "out").self_test() == 0


# Names of values and tables


def renamed(program: Program, new: Callable[[str], str]) -> Program:
    """The program with other names for its values and tables."""
    body = []
    for node in program.body:
        names = {"out", *(f for f in node.__dataclass_fields__ if _is_name(node, f))}
        body.append(replace(node, **{field: new(getattr(node, field)) for field in names}))
    return program.replace(
        body=tuple(body),
        tables={new(name): table for name, table in program.tables.items()},
        input=replace(program.input, name=new(program.input.name)),
        outputs=tuple(replace(output, value=new(output.value)) for output in program.outputs),
    )


def _is_name(node: ir.Node, field: str) -> bool:
    return getattr(node, field) in (*ir.operands(node), *ir.table_names(node))


CLASHES = [  # old name -> new name
    {
        "vectors": "int",
        "sums": "labels",
        "weights": "predict",
        "label": "exp2",
        "x": "float",
        "bias": "dot",
    },
    {"vectors": "x", "x": "scores", "scores": "x", "sums": "j", "weights": "row", "bias": "block"},
    {"weights": "sums_kernel", "bias": "sums_block", "vectors": "self_test"},  # names made from `sums`
    {"weights": "exp2", "sums": "sums_kernel", "label": "kernel"},
]


@pytest.mark.compile
@pytest.mark.parametrize("changes", CLASHES, ids=str)
def test_names_within_a_program_never_clash(changes: dict[str, str], tmp_path: Path) -> None:
    def new(name: str) -> str:
        taken = name in changes.values()
        return changes.get(name, f"{name}_1" if taken else name)

    write_c(renamed(program_of("rbf_ovr"), new), tmp_path, "model", "f32")
    compile_c(next(iter(compilers().values())), tmp_path, "-std=c99", *WARNINGS, "-c", "model.c")


def test_names_are_unique_and_stable() -> None:
    names = Names(frozenset({"taken"}), prefix="p_")
    assert [names("a", "taken"), names("b", "taken"), names("a", "taken")] == [
        "p_taken_2",
        "p_taken_3",
        "p_taken_2",
    ]
    assert names("c", "taken_2") == "p_taken_2_2"


# Comments


@given(texts)
def test_comments_hold_any_text(text: str) -> None:
    safe = comment(text)
    assert safe.isascii() and (safe.isprintable() or not safe)
    assert not any(mark in safe for mark in ("*/", "/*", "??"))
    assert not safe.endswith("\\")


def with_texts(labels: list[str], features: list[str], source: str) -> Program:
    svm = pairs(RBF, VOTE, Labels(tuple(labels), "object"), feature_names=tuple(features))
    program = optimised(svm)
    return program.replace(origin=replace(program.origin, source=source, options=(("key", source),)))


COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)


def assert_harmless(content: str) -> None:
    """Pure ASCII; comments end where ours do; only our own conditions are continued; no trigraphs."""
    assert content.isascii()
    content = re.sub(r"^(#if [\w ()!<>=&|]+(?:\|\||&&) )\\\n", r"\1", content, flags=re.MULTILINE)
    assert content.replace("\n", "").isprintable()
    assert "\\\n" not in content and "??" not in content
    for found in COMMENT_OR_STRING.findall(content):
        assert found.startswith('"') or "/*" not in found[2:]
    code = COMMENT_OR_STRING.sub("", content)
    assert not any(mark in code for mark in ("*/", "/*", '"', "\\"))


@pytest.mark.compile
@quick
@given(
    st.lists(texts, min_size=3, max_size=3, unique=True),
    st.lists(texts, min_size=FEATURES, max_size=FEATURES),
    texts,
)
def test_any_texts_compile_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], features: list[str], source: str
) -> None:
    try:
        files: dict[str, Any] = sc.emit(
            with_texts(labels, features, source), "c", "model", profile="portable"
        )
    except REFUSALS:
        assert any("\0" in label or not encodable(label) for label in labels + features + [source])
        return
    folder = tmp_path_factory.mktemp("names")
    for suffix in (".c", ".h"):
        assert_harmless(files[f"model{suffix}"])
        (folder / f"model{suffix}").write_bytes(files[f"model{suffix}"].encode("ascii"))
    for command in compilers().values():
        compile_c(command, folder, "-std=c99", *WARNINGS, "-fsyntax-only", "model.c")


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Labels come back


def labels_in_c(model: Any, count: int) -> list[Any]:
    """The label table, as C code that includes the header sees it."""
    table = model._library.model_labels
    values = [table[i] for i in range(count)]
    return [v if isinstance(v, (int, float)) else model._ffi.string(v).decode() for v in values]


def loaded(program: Program, folder: Path) -> Any:
    sc.write(sc.emit(program, "c", "model", profile="portable"), folder)
    return sc.load(folder)


@pytest.mark.compile
@pytest.mark.parametrize("start", range(0, len(NASTY), 3))
def test_string_labels_come_back(start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    chosen = [text for text in NASTY if encodable(text) and "\0" not in text]
    labels = [chosen[(start + i) % len(chosen)] for i in range(3)]
    program = with_texts(labels, ["f"] * FEATURES, "test")
    model = loaded(program, tmp_path / "out")
    assert labels_in_c(model, 3) == labels
    rows = program.probes
    assert set(model.predict(rows)) <= set(labels)
    assert (model.predict(rows) == program.predict(rows)).all()


@pytest.mark.compile
@pytest.mark.parametrize(
    "labels",
    [
        Labels((False, True), "|b1"),
        Labels((-(1 << 31), (1 << 31) - 1), "<i4"),
        Labels((-(1 << 31), 1 << 31), "<i8"),
        Labels((-(1 << 63), (1 << 63) - 1), "<i8"),
        Labels((0, (1 << 64) - 1), "<u8"),
        Labels((-1.5, 5e-324), "<f8"),
        Labels((-3, 200), "<i2"),
        Labels((1.0, 3.4028234663852886e38), "<f4"),
        Labels(("", "b"), "<U1"),
    ],
    ids=str,
)
def test_labels_of_every_type_come_back(
    labels: Labels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    program = optimised(dense(RBF, LabelRule.NEGATIVE_FIRST, labels))
    model = loaded(program, tmp_path / "out")
    assert labels_in_c(model, 2) == list(labels.values)
    found = model.predict(program.probes)
    assert found.dtype == labels.array().dtype
    assert set(found.tolist()) == set(labels.values)


@pytest.mark.parametrize("values", [(-1, 1 << 63), (0, 1 << 64)])
def test_labels_no_c_integer_holds_are_refused(values: tuple[int, ...]) -> None:
    program = optimised(dense(RBF, LabelRule.NEGATIVE_FIRST, Labels(values, "object")))
    with pytest.raises(EmitError, match="do not fit any integer type"):
        sc.emit(program, "c", "model", profile="portable")


@pytest.mark.parametrize("case", CASES)
def test_every_file_is_harmless(case: str) -> None:
    files = sc.emit(program_of(case), "c", "model", profile="portable")
    assert_harmless(str(files["model.c"]))
    assert_harmless(str(files["model.h"]))


def test_many_feature_names_take_little_time() -> None:
    """20,000 of them once took more than a minute."""
    count = 20_000
    svm = dense(Kernel("linear"), LabelRule.POSITIVE_SECOND, Labels((0, 1), "<i8"))
    wide = np.random.default_rng(0).normal(size=(2, count))
    named = replace(
        svm,
        vectors=wide,
        coefficients=wide[:1, :2],
        feature_names=tuple(f"column {i}" for i in range(count)),
    )
    begun = time.process_time()
    header = str(sc.emit(optimised(named.check("test")), name="m")["m.h"])
    assert time.process_time() - begun < 20 and f"column {count - 1}" in header
