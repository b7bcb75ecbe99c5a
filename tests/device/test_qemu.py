"""A second opinion: GCC's code for a Cortex-M4F in QEMU gives what the emulator of the suite gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_cases import NAME, digits, emitted

from svmcompile.device.build import read_image
from svmcompile.device.cost import find_cpu
from svmcompile.device.emulate import Core, row_functions

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"needs {' and '.join(TOOLS)}"),
]
GCC = [
    "arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
    "-std=gnu99", "-O2", "-ffunction-sections", "-nostdlib", "-Wl,--gc-sections",
]  # fmt: skip
TICK = 40  # instructions, at one per nanosecond and a timer of 25 MHz

DRIVER = r"""
#include "model.h"
static const float rows[ROWS][64] = { VALUES };
static int call(int what, const void *where)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = where;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
static void print(unsigned value)
{
    char text[10];
    for (int i = 7; i >= 0; i--, value >>= 4)
        text[i] = "0123456789abcdef"[value & 15];
    text[8] = ' ';
    text[9] = 0;
    call(4, text); /* SYS_WRITE0 */
}
void reset(void)
{
    static const unsigned leave[2] = { 0x20026, 0 };
    volatile unsigned *tick = (volatile unsigned *)0xE000E010;
    *(volatile unsigned *)0xE000ED88 |= 0xF << 20; /* the FPU */
    tick[1] = 0xFFFFFF;
    tick[2] = 0;
    tick[0] = 5;
    for (int i = 0; i < ROWS; i++) {
        float score;
        unsigned start = tick[2], stop;
        const int label = model_predict(rows[i]);
        stop = tick[2];
        model_decision_function(rows[i], &score);
        print((start - stop) & 0xFFFFFF);
        print((unsigned)label);
        print(((union { float f; unsigned u; }){ score }).u);
    }
    call(0x20, leave); /* SYS_EXIT_EXTENDED */
    for (;;)
        ;
}
__attribute__((section(".vectors"), used))
static void *const vectors[2] = { (void *)0x20010000, (void *)reset };
"""
SCRIPT = """ENTRY(reset)
SECTIONS {
  . = 0;
  .text : { KEEP(*(.vectors)) *(.text .text.*) *(.rodata .rodata.*) }
  . = 0x20000000;
  .data : { *(.data .data.*) *(.bss .bss.*) }
}
"""


def compiled(folder: Path, files: Any, *arguments: str) -> Path:
    for end in ("c", "h"):
        (folder / f"{NAME}.{end}").write_text(files[f"{NAME}.{end}"])
    subprocess.run([*GCC, *arguments, f"{NAME}.c", "-o", "image"], cwd=folder, check=True)
    return folder / "image"


def in_qemu(folder: Path, files: Any, rows: Any) -> Any:
    """For each row: instructions of predict, the label, the score."""
    values = ",".join("{" + ",".join(f"{float(value)!r}f" for value in row) + "}" for row in rows)
    driver = DRIVER.replace("ROWS", str(len(rows))).replace("VALUES", values)
    (folder / "driver.c").write_text(driver)
    (folder / "qemu.ld").write_text(SCRIPT)
    image = compiled(folder, files, "-T", "qemu.ld", "driver.c", "-lgcc")
    command = [
        "qemu-system-arm",
        "-M",
        "mps2-an386",
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]
    command += [
        "-icount",
        "shift=0",
        "-semihosting-config",
        "enable=on,target=native",
        "-kernel",
        str(image),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    words = [int(word, 16) for word in (done.stdout + done.stderr).split()]
    return np.array(words, dtype=np.uint32).reshape(-1, 3)


def in_unicorn(folder: Path, files: Any, rows: Any) -> tuple[Any, Any, Any]:
    """The same of an image without a driver."""
    (folder / "flat.ld").write_text(
        SCRIPT.replace(". = 0;", ". = 0x10000;").replace("reset", f"{NAME}_predict")
    )
    keep = [f"-Wl,--undefined={NAME}_{end}" for end in ("predict", "decision_function")]
    image = read_image(compiled(folder, files, "-g", "-T", "flat.ld", *keep, "-lgcc").read_bytes())
    core = Core(find_cpu("cortex-m4f"), image)
    functions = row_functions(NAME, files[f"{NAME}.h"])
    labels = [core.call(functions["predict"], row) for row in rows]
    scores = [core.call(functions["decision_function"], row) for row in rows]
    return (
        np.array([call.instructions for call in labels]),
        np.array([call.values[0] for call in labels]),
        np.array([call.values[0] for call in scores]),
    )


def test_both_emulators_give_the_same_numbers(tmp_path: Path) -> None:
    _, files = emitted("digits")
    rows = digits()[2][:12]
    counts, labels, scores = in_unicorn(tmp_path, files, rows)
    found = in_qemu(tmp_path, files, rows)
    assert (found[:, 1] == labels).all()
    assert (found[:, 2].view(np.float32) == scores).all()
    assert np.abs(TICK * found[:, 0].astype(int) - counts).max() <= 2 * TICK
