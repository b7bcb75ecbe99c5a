"""Boards and chips stand for their core; those without one here are refused, with the nearest."""

from __future__ import annotations

import pytest

from svmcompile.device.boards import ALIASES, OTHERS
from svmcompile.device.cost import CPUS, find_cpu
from svmcompile.errors import OptionError
from tests.device.device_cases import NAME, digits, emitted


@pytest.mark.parametrize(
    ("board", "core"),
    [("uno", "atmega328p"), ("rp2040", "cortex-m0+"), ("STM32F4", "cortex-m4f"),
     ("nano33ble", "cortex-m4f"), ("nano33-ble", "cortex-m4f"), ("esp32c3", "rv32imac"),
     ("esp32_c3", "rv32imac"), ("pico2", "cortex-m33"),
     ("Cortex_M4F", "cortex-m4f")],
)  # fmt: skip
def test_a_board_is_its_core(board: str, core: str) -> None:
    assert find_cpu(board) is CPUS[core]


def test_every_alias_has_a_core_and_one_meaning() -> None:
    assert set(ALIASES.values()) <= set(CPUS)
    assert not set(ALIASES) & set(CPUS) and not set(ALIASES) & set(OTHERS)


@pytest.mark.parametrize(
    ("board", "words"),
    [("nano33", r"nano33ble \(cortex-m4f\)"),
     ("cortex-m5", "did you mean 'cortex-m"),
     ("stm32f44", "did you mean 'stm32f4'"), ("z80", "known: cortex-m0")],
)  # fmt: skip
def test_what_is_not_known_is_refused_with_the_nearest(board: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        find_cpu(board)


@pytest.mark.device
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m33"])
def test_cores_without_and_with_an_fpu_run(cpu: str) -> None:
    from svmcompile.device.measure import measure

    program, files = emitted("digits")
    rows = digits()[2][:2]
    found = measure(find_cpu(cpu), NAME, files, rows)
    assert (program.labels.array()[found.values[:, 0]] == program.predict(rows)).all()
    assert (found.mean > 10 * measure(find_cpu("cortex-m4f"), NAME, files, rows).mean) == (
        cpu == "cortex-m4"
    )
