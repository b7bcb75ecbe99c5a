"""Kit micropython: its module in Python and its native module give what the interpreter gives."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import OptionError
from tests.end_to_end.test_languages import HERE, check, need, shell
from tests.targets.blob_cases import CASES, X, Y, program_of, some_rows

FEW = 240  # rows of each model; the first 60 have numbers that are not finite
NATIVE = ["two", "three", "ties", "poly", "tanh", "linear", "value", "outliers", "filled", "plane", "lists"]
COMPILERS = {
    "armv6m": "arm-none-eabi-gcc",
    "armv7emsp": "arm-none-eabi-gcc",
    "armv7emdp": "arm-none-eabi-gcc",
    "rv32imc": "riscv64-unknown-elf-gcc",
    "xtensawin": "xtensa-esp32-elf-gcc",
}


def written(folder: Path, case: str, number: str) -> Path:
    """The kit of a case, with rows beside it."""
    program = program_of(case)
    files = sc.emit(program, "c", case, number, "device", soft_double=True, kit="micropython")
    sc.write(files, folder)
    (folder / f"{case}.rows").write_bytes(some_rows(case)[:FEW].astype("<f8").tobytes())
    return folder / "micropython" / case


def run(python: object, folder: Path, modules: dict[str, Path], number: str) -> str:
    """Rows of each module, in one process of an interpreter; they must be those of the program."""
    arguments = [
        part
        for case, place in modules.items()
        for part in (place, case, folder / f"{case}.rows", folder / f"{case}.out")
    ]
    told = shell(python, HERE / "rows.py", *arguments)
    check(folder, number, list(modules), FEW)
    return told


@pytest.mark.parametrize("number", ["f64", "f32"])
def test_the_module_runs_in_python(tmp_path: Path, number: str) -> None:
    modules = {case: written(tmp_path, case, number) for case in CASES}
    assert run(sys.executable, tmp_path, modules, number).startswith("('no', 'yés')")


def test_the_module_runs_in_micropython(tmp_path: Path) -> None:
    micropython = need("micropython", "its unix port runs kit micropython")
    run(micropython, tmp_path, {case: written(tmp_path, case, "f64") for case in CASES}, "f64")


def natively(kit: Path, arch: str) -> Path:
    """The folder of a native module, built from MicroPython's source."""
    source = os.environ.get("MPY_DIR")
    if not source:
        pytest.skip("set MPY_DIR to MicroPython's source, which builds native modules")
    for module in ("elftools", "ar"):
        pytest.importorskip(module, reason="MicroPython's linker needs pyelftools and ar")
    if arch != "x64":
        need(COMPILERS[arch], f"it builds native modules for {arch}")
    shell("make", "-C", kit / "native", f"MPY_DIR={source}", f"ARCH={arch}", f"PYTHON={sys.executable}")
    place = kit / arch
    place.mkdir()
    shutil.move(kit / "native" / f"{kit.name}.mpy", place)
    return place


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_native_modules_run_in_micropython(tmp_path: Path, number: str) -> None:
    micropython = need("micropython", "its unix port runs native modules")
    modules = {case: natively(written(tmp_path, case, number), "x64") for case in NATIVE}
    told = run(micropython, tmp_path, modules, number)
    assert told.startswith(("('no', 'y\\xe9s')", "('no', 'yés')"))


@pytest.mark.parametrize("arch", COMPILERS)
def test_native_modules_of_boards_are_built(tmp_path: Path, arch: str) -> None:
    place = natively(written(tmp_path, "three", "f32"), arch)
    assert (place / "three.mpy").read_bytes()[:2] == b"M\x06"


def test_whole_numbers_have_a_native_module_alone(tmp_path: Path) -> None:
    program = sc.compile(SVC().fit(X, Y))
    files = sc.emit(program, "c", "whole", "q15", "device", X=X, given="i16", kit="micropython")
    assert "micropython/whole/whole.py" not in files
    assert "There is no `whole.py`" in str(files["micropython/whole/README.md"])
    sc.write(files, tmp_path)
    place = natively(tmp_path / "micropython" / "whole", "x64")
    micropython = need("micropython", "its unix port runs native modules")
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(place)!r})\nimport whole\n"
        "print(whole.CLASSES, whole.predict([1, 2, 3, 4]))\n"
        "try:\n    whole.predict([40000, 0, 0, 0])\nexcept ValueError as error:\n    print(error)\n"
    )
    wanted = int(program.predict(np.array([[1.0, 2, 3, 4]]))[0])
    assert shell(micropython, script).split("\n")[:2] == [
        f"(0, 1, 2) {wanted}",
        "a number is out of the range of int16_t",
    ]


def test_names_that_python_keeps_are_refused() -> None:
    with pytest.raises(OptionError, match="a Python package cannot be called 'array'"):
        sc.emit(program_of("linear"), "c", "array", profile="device", kit="micropython")
