"""The scratch the report states is what the compiler finds on the stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bounded_cases import sums, value_program, votes
from c_build import stack_frames, stated_stack
from c_cases import CASES, program_of
from programs.jets import jets_program
from programs.routes import RECIPES, tree_program
from programs.taylor import random_sum
from taylor_cases import SIZES, made

from svmcompile.lower import lower
from svmcompile.optimise import optimise
from svmcompile.targets.c.node import scratch_bytes

pytestmark = pytest.mark.compile

SPILLS = 1200  # what registers, addresses and alignment may take besides the arrays


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_the_deepest_stack(profile: Any, tmp_path: Path) -> None:
    cases = CASES if profile == "portable" else ["rbf_ovr", "poly_value", "affine"]
    programs = {case: program_of(case) for case in cases}
    programs |= {case: tree_program(recipe) for case, recipe in RECIPES.items()}
    programs |= sums("rbf") | votes("iris") | {"value": value_program()}
    programs |= {name: made(*SIZES[name]).program for name in ("d2", "d13", "d61")}
    programs |= {"jets": optimise(jets_program(random_sum(20, 30, 0.05)))}
    programs = {case.replace(" ", "_"): program for case, program in programs.items()}
    for case, frames in stack_frames(programs, tmp_path, profile).items():
        stated = stated_stack(tmp_path / f"{case}.h")
        assert max(frames.values()) <= stated + SPILLS, (case, stated, frames)
        assert stated <= sum(frames.values()), (case, stated, frames)


def test_scratch_does_not_grow_with_the_vectors() -> None:
    for profile in ("portable", "host"):
        few, many = (scratch_bytes(lower(_model(n), "f32", profile)) for n in (20, 2000))  # type: ignore[arg-type]
        assert few == many


def _model(n: int) -> Any:
    import numpy as np

    from svmcompile.flow.program import compile_svm
    from svmcompile.ir.kernel import Kernel
    from svmcompile.model.svm import SVM, LabelRule, Source

    generator = np.random.default_rng(0)
    svm = SVM(
        Kernel("rbf", 0.5),
        generator.normal(size=(n, 6)),
        generator.normal(size=(1, n)),
        np.zeros(1),
        LabelRule.NONE,
        Source("test", "0" * 64),
    )
    return compile_svm(svm, "exact", None, {})
