"""Cycles of Cortex-M: what single instructions take, and whole predictions."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from svmcompile.cli import app
from svmcompile.device.cost import device_cost, read_clock
from svmcompile.device.cycles import TIMINGS, block_cycles
from svmcompile.errors import OptionError
from tests.device.device_cases import NAME, digits, emitted


@pytest.mark.parametrize(
    ("cpu", "instructions", "cycles"),
    [
        ("cortex-m0+", [("ldr", "r0, [r1]"), ("ldr", "r2, [r1, #4]"), ("muls", "r0, r2, r0")], 5),
        ("cortex-m4f", [("vldr", "s0, [r1]"), ("vldr", "s1, [r2]"), ("vfma.f32", "s2, s0, s1")], 6),
        ("cortex-m4f", [("vmul.f32", "s0, s0, s1"), ("vdiv.f32", "s0, s0, s1")], 15),
        ("cortex-m3", [("mla", "r0, r1, r2, r3"), ("smull", "r0, r1, r2, r3"), ("udiv", "r0, r1, r2")], 13),
        ("cortex-m3", [("push.w", "{r4, r5, r6, lr}"), ("strd", "r0, r1, [sp]"), ("str", "r0, [sp]")], 9),
        ("cortex-m7", [("add", "r0, r1"), ("sub", "r0, r1")], 1.2),
    ],
)  # fmt: skip
def test_blocks(cpu: str, instructions: list[tuple[str, str]], cycles: float) -> None:
    assert block_cycles(instructions, TIMINGS[cpu]) == pytest.approx(cycles)


@pytest.mark.parametrize(
    ("text", "megahertz"), [("64M", 64), ("16000kHz", 16), ("72", 72), (1.5, 1.5), ("8000000 Hz", 8)]
)
def test_clocks(text: str | float, megahertz: float) -> None:
    assert read_clock(text) == pytest.approx(megahertz)


@pytest.mark.parametrize("text", ["fast", "0", "-5M", "64MB", "9999G"])
def test_what_is_no_clock(text: str) -> None:
    with pytest.raises(OptionError, match="not a frequency"):
        read_clock(text)


@pytest.mark.device
def test_time_of_a_prediction() -> None:
    files, rows = emitted("digits")[1], digits()[2][:2]
    cost = device_cost(files, NAME, "cortex-m4f", rows, clock="64M")
    assert cost["mean"] < cost["cycles"]["mean"] < 3 * cost["mean"]
    assert cost["time_us"]["worst"] == pytest.approx(cost["cycles"]["worst"] / 64)
    predicted = device_cost(files, NAME, "esp32", rows, clock=240)
    assert not predicted["measured"] and "cycles" not in predicted
    assert predicted["time_us"] == {"mean": pytest.approx(predicted["mean"] / 240), "worst": None}


def test_processors_are_listed() -> None:
    done = CliRunner().invoke(app, ["compile", "--list-cpus"])
    assert done.exit_code == 0
    assert all(word in done.output for word in ("cortex-m4f", "nrf52840", "atmega328p", "predicted"))
