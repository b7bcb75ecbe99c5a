"""Folders that were changed: digests, signatures, and bounds that a folder cannot forge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands import compile as compiling
from svmcompile.commands import inspect, verify
from svmcompile.commands.options import CompileOptions, InspectOptions, VerifyOptions
from svmcompile.errors import CheckError, EmitError, OptionError, ReadError, VerifyError
from svmcompile.flow.program import Opened
from svmcompile.flow.seal import sealed
from svmcompile.ir.bounds import near_tests
from svmcompile.runtime import toolchain

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A model, rows, a key, and a signed folder with a kit."""
    skops.io.dump(SVC(C=3).fit(X, Y), tmp_path / "m.skops")
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    (tmp_path / "key").write_bytes(b"0123456789abcdef")
    options = CompileOptions(
        model=tmp_path / "m.skops", output=tmp_path / "out", target=["c", "onnx"], kit=["zephyr"],
        sign=tmp_path / "key",
    )  # fmt: skip
    compiling.run(options)
    return tmp_path


def check(made: Path, **more: Any) -> dict[str, Any]:
    more = {"no_run": True, **more}
    return verify.run(
        VerifyOptions(folder=made / "out", data=made / "rows.npz", model=made / "m.skops", **more)
    )


def test_a_change_of_any_file_is_noticed(made: Path) -> None:
    files = [path for path in sorted((made / "out").rglob("*")) if path.is_file()]
    assert {"m.c", "m.h", "m.svmc", "m.onnx", "m.json", "m.hmac", "CMakeLists.txt"} <= {
        p.name for p in files
    }
    for path in files:
        before = path.read_bytes()
        path.write_bytes(before.replace(b"0", b"1", 1) if b"0" in before else before + b" ")
        key = made / "key" if path.name in ("m.json", "m.hmac") else None
        name = "m.hmac" if key else path.name
        for look in (
            lambda key=key: check(made, key=key),
            lambda key=key: inspect.run(InspectOptions(thing=made / "out", key=key)),
        ):
            with pytest.raises(ReadError, match=rf"{name}: .*(was changed|signature)"):
                look()
        path.write_bytes(before)
    (made / "out" / "m.h").unlink()
    with pytest.raises(ReadError, match=r"m\.h: is missing"):
        check(made)
    with pytest.raises(ReadError, match=r"m\.h"):
        sc.load(made / "out")


def test_what_is_untouched_passes(made: Path) -> None:
    found = check(made, key=made / "key")
    assert found["ok"] and found["signature_checked"] and found["files_checked"] > 4 and not found["notes"]
    facts = inspect.run(InspectOptions(thing=made / "out", key=made / "key"))["models"]["m"]
    assert facts["signature_checked"] and facts["files_checked"] == found["files_checked"]


def test_signatures_need_the_key(made: Path) -> None:
    (made / "other").write_bytes(b"another key that is long")
    (made / "short").write_bytes(b"short")
    with pytest.raises(ReadError, match="not that of the report under this key"):
        check(made, key=made / "other")
    with pytest.raises(OptionError, match="at least 16 bytes"):
        check(made, key=made / "short")
    with pytest.raises(ReadError, match="not that of the report"):
        sc.load(made / "out", key=b"another key that is long")
    (made / "out" / "m.hmac").unlink()
    with pytest.raises(ReadError, match="no signature"):
        check(made, key=made / "key")


def test_without_running_nothing_is_built(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*given: Any, **more: Any) -> None:
        raise AssertionError("something was built")

    monkeypatch.setattr(toolchain, "build", forbidden)
    monkeypatch.setattr("svmcompile.runtime.c.build_library", forbidden)
    found = check(made)
    assert [one["backend"] for one in found["comparisons"]] == ["interpreter"]
    assert [text.split()[0] for text in found["left_out"]] == ["c", "onnx"]
    inspect.run(InspectOptions(thing=made / "out"))
    with pytest.raises(AssertionError, match="was built"):
        check(made, no_run=False)


@pytest.mark.parametrize("outputs", [("scores", "label"), ("label",)])
def test_a_forged_program_cannot_widen_its_own_bounds(
    made: Path, monkeypatch: pytest.MonkeyPatch, outputs: tuple[str, ...]
) -> None:
    """By its own bounds, huge coefficients that cancel make any label one "within rounding"."""
    program = sc.compile(made / "m.skops")
    node = next(node for node in program.body if hasattr(node, "vectors"))
    vectors, weights = program.tables[node.vectors], program.tables[node.weights]
    zero = np.zeros((2, vectors.shape[1]))
    tables = {
        **program.tables,
        node.vectors: np.concatenate([vectors, zero]),
        node.weights: np.concatenate([-weights, [[1e17, -1e17]]], axis=1),
    }
    given = tuple(output for output in program.outputs if output.name in outputs)
    forged = program.replace(tables=tables, outputs=given)
    files = sc.emit(forged, "c", "m", "f64")
    sc.write(sealed(files, "m", b"0123456789abcdef"), made / "out")
    found = check(made)
    monkeypatch.setattr(Opened, "rebuilt", lambda self: ())
    assert check(made)["ok"] and not found["ok"]
    assert any("beyond rounding" in text for text in found["comparisons"][0]["broken"])


def forge_fixed(made: Path, **told: Any) -> None:
    """A folder in whole numbers whose sums are turned about, and which says this of itself."""
    program = sc.quantise(sc.compile(made / "m.skops"), "q15", X)
    node = next(node for node in program.body if hasattr(node, "vectors"))
    tables = {**program.tables, node.weights: -program.tables[node.weights]}
    details = {**program.origin.details, "fixed": {**program.origin.details["fixed"], **told}}
    forged = program.replace(tables=tables, origin=replace(program.origin, details=details))
    sc.write(sealed(sc.emit(forged, "c", "m", "q15"), "m", b"0123456789abcdef"), made / "out")


def test_a_forged_program_cannot_state_its_own_error(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whole numbers the error is that of the model over the stated range, whatever the folder says."""
    forge_fixed(made, error=1e9)
    found = check(made)
    monkeypatch.setattr(Opened, "fixed_anew", lambda self, program: ())
    assert check(made)["ok"] and not found["ok"]
    assert any("more than the stated error" in text for text in found["comparisons"][0]["broken"])


@pytest.mark.parametrize(
    "told",
    [{"error": "1"}, {"error": [1]}, {"error": float("nan")}, {"high": [1.0]}, {"low": {}}, {"slacks": []}],
)
def test_what_a_program_states_is_made_of_numbers(made: Path, told: dict[str, Any]) -> None:
    program = sc.quantise(sc.compile(made / "m.skops"), "q15", X)
    stated = {**program.origin.details["fixed"], **told}
    forged = program.replace(origin=replace(program.origin, details={"fixed": stated}))
    forged.save(made / "out" / "m.svmc")
    (made / "out" / "m.json").unlink()
    with pytest.raises(ReadError, match=r"m\.svmc: not a readable svmcompile program"):
        check(made)


def test_slacks_of_nodes_without_tests_are_refused(made: Path) -> None:
    program = sc.quantise(sc.compile(made / "m.skops"), "q15", X)
    node = next(node for node in program.body if hasattr(node, "vectors"))
    details = {"fixed": {**program.origin.details["fixed"], "slacks": {node.out: [1.0]}}}
    with pytest.raises(CheckError, match="are not those of its tests"):
        near_tests(program.replace(origin=replace(program.origin, details=details)), X)


def test_a_forged_range_is_told(made: Path) -> None:
    forge_fixed(made, low=[1e6] * 3, high=[1e6 + 1] * 3)
    with pytest.raises(VerifyError, match="no row is within the range"):
        check(made)


def test_another_model_is_told(made: Path) -> None:
    skops.io.dump(SVC(C=3).fit(X[::-1], Y[::-1]), made / "m.skops")
    assert "not the file this was compiled from" in check(made)["notes"][0]


def test_a_report_that_is_none(made: Path) -> None:
    for text in ("", "[]", "{", '{"digests": []}', '{"digests": {"../m.skops": "0"}}'):
        (made / "out" / "m.json").write_text(text)
        with pytest.raises((ReadError, EmitError)):
            check(made)
