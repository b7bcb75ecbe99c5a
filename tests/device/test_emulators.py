"""Generated C on emulated processors: the interpreter's answers, within the stack the header states."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from device_cases import MODELS, NAME, assert_meant, digits, emitted
from programs.whole_numbers import fixed_programs, rows_of

import svmcompile as sc
from svmcompile.device.avr import missing_tools
from svmcompile.device.build import build, read_image
from svmcompile.device.cost import CPUS, find_cpu
from svmcompile.device.emulate import Core, row_functions
from svmcompile.device.measure import Measured, measure
from svmcompile.errors import OptionError, ReadError, ToolchainError
from svmcompile.ir.interpret import interpret

pytestmark = pytest.mark.device

STACK = re.compile(r"Stack: at most (\d+) bytes per call")

QUICK = ("cortex-m0", "cortex-m4f", "rv32imac", "wasm32")
OTHERS = ("cortex-m0+", "cortex-m3", "cortex-m7", "rv32imafc")
ALL = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
METHODS = ("metric-tree", "sv-tree", "h1-tree", "dtsvm")


def few(rows: Any, cpu: str) -> Any:
    return rows[:24] if CPUS[cpu].hard_float else rows[:4]


def run_both(cpu: str, program: Any, files: Any, rows: Any) -> tuple[Measured, Measured]:
    """Labels, and values where there are some; a regressor's are its labels."""
    label = measure(find_cpu(cpu), NAME, files, rows)
    values = label
    if program.labels is not None and program.output("scores"):
        values = measure(find_cpu(cpu), NAME, files, rows, "decision_function")
    return label, values


def assert_sound(cpu: str, program: Any, files: Any, rows: Any) -> None:
    label, values = run_both(cpu, program, files, rows)
    stated = STACK.search(files[f"{NAME}.h"])
    assert stated and max(label.stack, values.stack) <= int(stated[1])
    assert json.loads(files[f"{NAME}.json"])["cost"]["stack_bytes"] == int(stated[1])
    assert label.ram == values.ram == 0
    assert (label.counts > 0).all()
    assert_meant(program, rows, label.values[:, 0] if program.labels else None, values.values)


@pytest.mark.parametrize("cpu", ALL)
def test_exact_digits(cpu: str) -> None:
    program, files = emitted("digits")
    assert_sound(cpu, program, files, few(digits()[2], cpu))


@pytest.mark.parametrize("cpu", ALL)
@pytest.mark.parametrize("model", [name for name in MODELS if name != "digits"])
def test_kernels_and_heads(cpu: str, model: str) -> None:
    program, files = emitted(model)
    assert_sound(cpu, program, files, few(MODELS[model]()[2], cpu))


@pytest.mark.parametrize("cpu", [name for name in CPUS if name != "atmega328p"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow
def test_methods(cpu: str, method: str) -> None:
    program, files = emitted("digits", method)
    assert_sound(cpu, program, files, few(digits()[2], cpu))


def test_a_tree_on_an_fpu() -> None:
    program, files = emitted("digits", "metric-tree")
    assert_sound("cortex-m4f", program, files, digits()[2])
    assert measure(find_cpu("cortex-m4f"), NAME, files, digits()[2]).worst <= 3000


@pytest.mark.parametrize("precision", ["q15", "q7"])
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m4f", *OTHERS, "rv32imac", "wasm32"])
@pytest.mark.parametrize("method", ["exact", *METHODS])
@pytest.mark.slow
def test_whole_numbers_are_the_same_everywhere(cpu: str, precision: str, method: str) -> None:
    program, files = emitted("digits", method, precision)
    rows = digits()[2][:12]
    meant = sc.quantise(program, precision, digits()[1])
    found = measure(find_cpu(cpu), NAME, files, rows)
    assert (program.labels.array()[found.values[:, 0]] == meant.predict(rows)).all()
    stated = STACK.search(files[f"{NAME}.h"])
    assert stated and found.stack <= int(stated[1])
    assert found.ram == 0


@pytest.mark.parametrize("cpu", QUICK)
@pytest.mark.parametrize("name", ["even", "odd", "far"])
def test_projections_of_four_bits_are_the_same_everywhere(cpu: str, name: str) -> None:
    """With DSP instructions and without, for even and odd numbers of features."""
    fixed = fixed_programs("q7")[f"projected_{name}"]
    files = sc.emit(fixed, name=NAME, precision="q7", profile="device")
    rows = rows_of(fixed, 20, seed=2).astype(np.float32)
    assert "_dot_i8_nibbles" in files[f"{NAME}.c"]
    found = measure(find_cpu(cpu), NAME, files, rows, "decision_function")
    meant = interpret(fixed, rows.astype(np.float64))
    assert np.array_equal(found.values.ravel(), meant["scores"].ravel().astype(np.float32))
    labels = measure(find_cpu(cpu), NAME, files, rows).values[:, 0]
    assert np.array_equal(labels, meant["label"].ravel())


def test_the_figures_of_the_documentation() -> None:
    """What exact code costs on a Cortex-M4F; a change that costs more must be meant."""
    program, files = emitted("digits")
    model, _, rows = digits()
    found = measure(find_cpu("cortex-m4f"), NAME, files, rows)
    assert found.flash <= 28_000
    assert found.worst <= 35_000
    assert found.stack <= 256
    assert (program.labels.array()[found.values[:, 0]] == model.predict(rows)).all()


def test_rows_that_are_not_finite(cpu: str = "cortex-m4f") -> None:
    program, files = emitted("digits")
    rows = np.repeat(digits()[2][:1], 5, axis=0)
    rows[:, 3] = [np.nan, np.inf, -np.inf, 3e38, 1e25]
    values = measure(find_cpu(cpu), NAME, files, rows, "decision_function").values[:, 0]
    assert np.isnan(values[:3]).all()
    bias = program.tables["bias"][0]  # what is left of a sum whose kernel values are all zero
    np.testing.assert_allclose(values[3:], bias, rtol=1e-6)


def _note(steps: list[int], machine: Any, address: int, size: int, _: Any) -> None:
    steps.append(address)


def test_blocks_are_counted_as_single_steps_are(cpu: str = "rv32imac") -> None:
    """The quick count by blocks against one instruction at a time."""
    for name in (cpu, "cortex-m0"):
        _, files = emitted("value")
        sources = {f"{NAME}.{end}": files[f"{NAME}.{end}"] for end in ("c", "h")}
        function = row_functions(NAME, sources[f"{NAME}.h"])["predict"]
        core = Core(find_cpu(name), read_image(build(find_cpu(name), sources, [function.symbol])))
        steps: list[int] = []
        note = partial(_note, steps)
        core._machine.hook_add(4, note)  # UC_HOOK_CODE
        core._machine.ctl_flush_tb()
        found = core.call(function, MODELS["value"]()[2][0])
        assert found.instructions == len(steps) > 100


def test_two_runs_count_alike() -> None:
    _, files = emitted("rbf")
    rows = MODELS["rbf"]()[2]
    one, other = (measure(find_cpu("cortex-m4f"), NAME, files, rows) for _ in range(2))
    assert (one.counts == other.counts).all() and one.flash == other.flash


@pytest.mark.skipif(bool(missing_tools()), reason="needs avr-gcc and simavr")
def test_an_avr_reads_tables_from_flash() -> None:
    program, files = emitted("rbf")
    rows = MODELS["rbf"]()[2][:6]
    label, values = run_both("atmega328p", program, files, rows)
    assert_meant(program, rows, label.values[:, 0], values.values)
    stated = STACK.search(files[f"{NAME}.h"])
    assert stated and label.stack <= int(stated[1])
    assert label.ram == 0 and label.unit == "cycles"


def test_unknown_names_are_told() -> None:
    with pytest.raises(OptionError, match="unknown CPU 'z80'; known: cortex-m0"):
        find_cpu("z80")
    _, files = emitted("rbf")
    with pytest.raises(OptionError, match="declares no model_guess"):
        measure(find_cpu("cortex-m4f"), NAME, files, np.zeros((1, 4)), "guess")
    with pytest.raises(ReadError, match="declares no other_predict"):
        row_functions("other", files[f"{NAME}.h"])


def test_code_that_fails_to_build_is_told() -> None:
    with pytest.raises(ToolchainError, match="failed"):
        build(find_cpu("cortex-m0"), {"m.c": "int m(void) { return what; }\n"}, ["m"])
