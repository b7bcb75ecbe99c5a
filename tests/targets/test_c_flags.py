"""Flags and modes that change arithmetic: the compiler refuses, or labels stay the original's.

`make flags` runs all combinations; the usual run takes some of them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import DRIVER, X86, Command, attempt, compilers, run, write_all
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.program import Program
from tests.attack.reference import has_digits, possible
from tests.attack.rows import boundary, ordinary

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(not has_digits(), reason="longdouble has no more digits than double here"),
]
FULL = bool(os.environ.get("SVMCOMPILE_ALL_FLAGS"))
REFUSAL = "needs"  # what our own errors have in common, and the name of the type that does not compile
FAST, SINGLE = "-ffast-math", "-fsingle-precision-constant"
REORDERED = ("-funsafe-math-optimizations", "-fassociative-math -fno-signed-zeros -fno-trapping-math")
HARMLESS = (
    "-O0", "-O1", "-O2", "-O3", "-ffp-contract=fast", "-ffp-contract=off", "-frounding-math",
    "-march=native", "-fno-signed-zeros", "-fno-trapping-math",
)  # fmt: skip
FLAGS = (
    *HARMLESS,
    FAST,
    SINGLE,
    *REORDERED,
    "-freciprocal-math",
    "-Ofast -fno-finite-math-only",
    "-mfpmath=387",
)
REFUSED = {("gcc", SINGLE), ("gcc", REORDERED[0]), *((name, FAST) for name in ("gcc", "clang", "zig"))}
# Before main; FTZ and DAZ are bits 15 and 6 of the control register.
MODES = r"""
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif
__attribute__((constructor)) static void set_mode(void)
{
    const char *mode = getenv("MODE");
    if (!mode)
        return;
    if (!strcmp(mode, "up"))
        fesetround(FE_UPWARD);
    if (!strcmp(mode, "down"))
        fesetround(FE_DOWNWARD);
    if (!strcmp(mode, "zero"))
        fesetround(FE_TOWARDZERO);
#ifdef __SSE2__
    if (!strcmp(mode, "flush"))
        _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}
"""


@cache
def toolchains() -> dict[str, Command]:
    """gcc and clang, and in the full run ziglang too."""
    found = dict(compilers())
    if FULL and importlib.util.find_spec("ziglang"):
        found["zig"] = (sys.executable, "-m", "ziglang", "cc", "-Wno-unused-command-line-argument")
    return found


@cache
def machines() -> dict[str, tuple[Any, Any]]:
    """Rows and SVMs: two classes, far from zero, three classes."""
    X, y = make_moons(160, noise=0.25, random_state=0)
    far = X * [30.0, 5.0] + [1000.0, -200.0]
    iris, species = load_iris(return_X_y=True)
    return {
        "moons": (X, SVC(C=5.0, gamma=1.0).fit(X, y)),
        "far": (far, SVC(C=10.0, gamma=0.01).fit(far, y)),
        "iris": (iris, SVC(C=2.0, gamma=0.2).fit(iris, species)),
    }


PROGRAMS = {
    "moons": ("moons", "certified"), "stages": ("moons", "anytime"), "far": ("far", "certified"),
    "votes": ("iris", "certified"),
}  # fmt: skip
SOME = ("far", "votes")


@cache
def programs() -> dict[str, Program]:
    found = {}
    for name in PROGRAMS if FULL else SOME:
        machine, method = PROGRAMS[name]
        X, model = machines()[machine]
        found[name] = sc.compile(model, method=method, X=X, force=True)
        assert found[name].origin.claim is sc.Claim.SAME_LABEL
    return found


@cache
def rows(name: str, precision: str) -> Any:
    """Half of them on the boundary."""
    number, random = np.float32 if precision == "f32" else np.float64, np.random.default_rng(1)
    X, model = machines()[PROGRAMS[name][0]]
    return np.concatenate(
        [boundary(model.predict, X, 300, number, random), ordinary(X, 300, number, random)]
    )


def combinations() -> Iterator[tuple[str, str, str, str]]:
    """Compiler, flags, profile, precision: all, or the flags that compilers differ in, and some others."""
    forms = [
        (profile, precision) for precision in ("f32", "f64") for profile in ("portable", "host", "device")
    ]
    for c, compiler in enumerate(toolchains()):
        for f, flags in enumerate(FLAGS):
            if FULL:
                yield from ((compiler, flags, *form) for form in forms)
            elif flags not in HARMLESS or (f < 8 and f % 4 == c):
                yield compiler, flags, *forms[(f + c) % 3]


@pytest.mark.parametrize(("compiler", "flags", "profile", "precision"), [*combinations()])
def test_labels_hold_or_the_compiler_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str, flags: str, profile: str, precision: str
) -> None:
    write_all(programs(), tmp_path, precision, profile)
    (tmp_path / "driver.c").write_text(DRIVER)
    (tmp_path / "modes.c").write_text(MODES)
    real, level = (
        "double" if precision == "f64" else "float",
        () if "-O" in flags else ("-O2" if FULL else "-O1",),
    )
    tests = [f"-D{name.upper()}_SELF_TEST" for name in programs()]
    done = attempt(
        toolchains()[compiler], tmp_path, *level, *flags.split(), *tests, f"-DREAL={real}", "driver.c",
        "modes.c", "all.c", "-o", "driver", "-lm",
    )  # fmt: skip
    if done.returncode:
        if "not supported" in done.stderr and REFUSAL not in done.stderr:
            pytest.skip(f"{compiler} does not know {flags}")
        assert REFUSAL in done.stderr, done.stderr
        assert flags not in HARMLESS
        return
    assert (compiler, flags) not in REFUSED
    for mode in ("", "up", "down", "zero", *(["flush"] if X86 else [])):
        monkeypatch.setenv("MODE", mode)
        for name, program in programs().items():
            given = rows(name, precision)
            wide, model = given.astype(np.float64), machines()[PROGRAMS[name][0]][1]
            labels = run(tmp_path / "driver", name, program, given, precision).labels
            found = model.classes_[labels]
            differ = np.flatnonzero(found != model.predict(wide))
            assert possible(model, wide[differ], found[differ]).all(), (name, mode)


@pytest.mark.skipif("gcc" not in compilers(), reason="clang has no such flag")
def test_single_precision_constants_would_change_labels(tmp_path: Path) -> None:
    """What the refusal prevents: without it there are wrong labels, so rows and reference can tell."""
    wanted = {"far": programs()["far"]}
    write_all(wanted, tmp_path, "f32")
    source = (tmp_path / "far.c").read_text()
    lines = [line for line in source.splitlines() if "far_needs_double_constants[" not in line]
    (tmp_path / "far.c").write_text("\n".join(lines) + "\n")
    (tmp_path / "driver.c").write_text(DRIVER)
    done = attempt(
        compilers()["gcc"], tmp_path, "-O1", SINGLE, "-DREAL=float", "driver.c", "all.c", "-o", "driver"
    )
    assert not done.returncode, done.stderr
    given, model = rows("far", "f32"), machines()["far"][1]
    found = model.classes_[run(tmp_path / "driver", "far", wanted["far"], given, "f32").labels]
    assert not possible(model, given.astype(np.float64), found).all()
