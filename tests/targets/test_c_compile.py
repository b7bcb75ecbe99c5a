"""Generated C compiles alone, without a warning, and brings nothing with it but its own functions."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_build import (
    CXX_WARNINGS,
    WARNINGS,
    attempt,
    compile_c,
    compile_quietly,
    compilers,
    cxx_compilers,
    write_all,
    write_c,
)
from c_cases import CASES, LINEAR, POLY3, RBF, as_it_is, dense, optimised, program_of

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.lower import lower
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.targets.c.nodes.sums import SHAPE_FUNCTIONS

pytestmark = pytest.mark.compile

PRECISIONS = ("f32", "f64")
STYLES = (("-std=c99", "-O0"), ("-std=c99", "-O3"), ("-std=c11", "-O2"))
# Compilers may call these of their own accord, even in freestanding code.
COMPILER_RUNTIME = {"memset", "memcpy", "memmove"}
needs_binutils = pytest.mark.skipif(
    not (shutil.which("nm") and shutil.which("size")), reason="needs nm and size of the binutils"
)


@pytest.fixture(scope="module", params=PRECISIONS)
def all_models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every case in one precision."""
    folder = tmp_path_factory.mktemp(request.param)
    write_all({case: program_of(case) for case in CASES}, folder, request.param)
    return folder


def test_cases_hold_every_machine_node_and_helper() -> None:
    """Other families have cases of their own; sums and decisions must be met here."""
    bodies = [lower(program_of(case), "f32") for case in CASES]
    met = {type(node) for program in bodies for node in program.body}
    sums = {ir.Prepare, ir.PackedSum, ir.SparseSum, ir.Affine, ir.Quadratic}
    assert met == sums | {ir.OvrScores, ir.Vote, ir.ArgMax, ir.Threshold, ir.Scale, ir.Clip}
    shapes = {node.shape for program in bodies for node in program.body if isinstance(node, ir.PackedSum)}
    # One needs a kernel from its caller, one stands behind certain labels (test_certain), one is for hosts.
    assert shapes == set(SHAPE_FUNCTIONS) - {"given", "distance", "cosine"}


@pytest.mark.parametrize("style", STYLES, ids=" ".join)
@pytest.mark.parametrize("compiler", compilers())
def test_no_warnings(all_models: Path, compiler: str, style: tuple[str, ...]) -> None:
    compile_c(compilers()[compiler], all_models, *style, *WARNINGS, "-c", "all.c", "-o", "all.o")


WIDTHS = (1, 2, 3, 4, 64, 900)
KINDS = {
    "rbf": (RBF, optimised),
    "poly": (POLY3, optimised),
    "affine": (LINEAR, optimised),
    "linear": (LINEAR, as_it_is),
}


@pytest.mark.parametrize("compiler", compilers())
def test_no_warnings_at_any_width(compiler: str, tmp_path: Path) -> None:
    """Compilers reason about loops by their counts, which are constants here."""
    programs = {
        f"{kind}_{width}": make(narrowed(kernel, width))
        for width in WIDTHS
        for kind, (kernel, make) in KINDS.items()
    }
    write_all(programs, tmp_path, "f32")
    compile_quietly(compilers()[compiler], tmp_path, "-std=c99", *WARNINGS, "all.c")


def narrowed(kernel: Kernel, width: int) -> SVM:
    """An SVM of few vectors in so many dimensions."""
    svm = dense(kernel, LabelRule.NONE, None)
    return replace(svm, vectors=np.resize(svm.vectors, (17, width)), coefficients=svm.coefficients[:, :17])


@pytest.mark.parametrize("compiler", cxx_compilers())
def test_headers_are_cpp_too(all_models: Path, compiler: str) -> None:
    (all_models / "headers.cpp").write_text('#include "models.h"\n#include "models.h"\n')
    compile_c(cxx_compilers()[compiler], all_models, *CXX_WARNINGS, "-fsyntax-only", "headers.cpp")


CPP_PROGRAM = """
#include "rbf_ovr.h"
#include "rbf_value.h"
#include <cstring>
int main()
{
    const float x[RBF_OVR_N_FEATURES] = {};
    float scores[RBF_OVR_N_SCORES];
    rbf_ovr_decision_function(x, scores);
    return std::strcmp(rbf_ovr_labels[1], "deux") || rbf_value_predict(x) != rbf_value_predict(x)
        || rbf_ovr_self_test() || rbf_value_self_test();
}
"""


@pytest.mark.skipif(not cxx_compilers(), reason="needs a C++ compiler")
def test_two_models_link_into_one_cpp_program(tmp_path: Path) -> None:
    names = ("rbf_ovr", "rbf_value")
    for name in names:
        write_c(program_of(name), tmp_path, name, "f32")
        compile_c(next(iter(compilers().values())), tmp_path, "-O2", "-c", f"{name}.c")
    (tmp_path / "main.cpp").write_text(CPP_PROGRAM)
    objects = [f"{name}.o" for name in names]
    compile_c(next(iter(cxx_compilers().values())), tmp_path, "main.cpp", *objects, "-o", "main")
    assert subprocess.run([tmp_path / "main"]).returncode == 0


@needs_binutils
@pytest.mark.parametrize("case", CASES)
def test_object_holds_the_api_and_no_more(all_models: Path, case: str) -> None:
    compile_c(next(iter(compilers().values())), all_models, "-O2", "-c", f"{case}.c")
    defined = _nm(all_models / f"{case}.o", "--defined-only", "--extern-only")
    header = (all_models / f"{case}.h").read_text()
    assert defined == set(re.findall(rf"\b({case}_\w+)(?:\(|\[\w+\];)", header))
    assert _nm(all_models / f"{case}.o", "--undefined-only") <= COMPILER_RUNTIME
    assert _sizes(all_models / f"{case}.o", ".data", ".bss", ".tbss", ".tdata") == 0


def _nm(path: Path, *flags: str) -> set[str]:
    listing = subprocess.run(["nm", *flags, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listing.splitlines()} - {"_GLOBAL_OFFSET_TABLE_"}


def _sizes(path: Path, *sections: str) -> int:
    listing = subprocess.run(["size", "-A", path], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in listing.splitlines()]
    return sum(int(line[1]) for line in lines if line and line[0] in sections)


@needs_binutils
def test_self_test_can_be_left_out(tmp_path: Path) -> None:
    write_c(program_of("rbf_ovr"), tmp_path, "model", "f32")
    command = next(iter(compilers().values()))
    sizes = []
    for flags in ((), ("-DMODEL_NO_SELF_TEST",)):
        compile_c(command, tmp_path, "-std=c99", *WARNINGS, *flags, "-c", "model.c", "-o", "model.o")
        assert "model_self_test" in _nm(tmp_path / "model.o", "--defined-only", "--extern-only")
        sizes.append(_sizes(tmp_path / "model.o", ".text", ".rodata"))
    stored = 8 * (5 + 3 + 1) * 4  # rows of features, scores and a tolerance
    assert sizes[0] - sizes[1] > stored


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only"])
@pytest.mark.parametrize("compiler", compilers())
def test_fast_math_is_refused(tmp_path: Path, compiler: str, flag: str) -> None:
    write_c(program_of("affine"), tmp_path, "model", "f32")
    done = attempt(compilers()[compiler], tmp_path, flag, "-c", "model.c")
    assert done.returncode != 0
    assert "compile it without -ffast-math" in done.stderr


def test_double_needs_64_bits(tmp_path: Path) -> None:
    """Some small processors have a double of 32 bits."""
    write_c(program_of("affine"), tmp_path, "model", "f64")
    (tmp_path / "float.h").write_text("#define DBL_MANT_DIG 24\n")
    done = attempt(next(iter(compilers().values())), tmp_path, "-I.", "-c", "model.c")
    assert done.returncode != 0
    assert "needs a double of 64 bits" in done.stderr
