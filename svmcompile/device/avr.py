"""Generated C on an ATmega328P, in cycles: avr-gcc builds it, simavr runs it.

Both come from a Linux distribution (Debian: gcc-avr, avr-libc, simavr); PyPI has no such thing.
Rows are linked into a driver that runs on an ATmega1284P, which has the same core and more room;
flash and memory are those of the model alone.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.device.build import link, read_image, run
from svmcompile.device.cost import Cpu
from svmcompile.device.emulate import TYPES, RowFunction
from svmcompile.errors import ToolchainError
from svmcompile.files.cache import scratch

if TYPE_CHECKING:
    from svmcompile.device.measure import Measured

TOOLS = ("avr-gcc", "simavr")
ROOMY = "atmega1284p"
ROW_BYTES = 8192  # of rows in the memory of one run
FLAGS = ("-std=gnu99", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
LINE = "[0-9a-f]{{8}} [0-9a-f]{{4}} (?:[0-9a-f]+ ){{{width}}}"  # what the driver sends for a row
CLOCK = 16_000_000
C_TYPES = {numpy_name[1:]: name for name, numpy_name in TYPES.items() if name != "int"}

DRIVER = r"""
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>
#include "@NAME@.h"

static const @ROW@ rows[@ROWS@][@FEATURES@] = { @VALUES@ };
static volatile uint16_t overflows;
extern uint8_t _end;

ISR(TIMER1_OVF_vect) { overflows++; }

static void send(char c)
{
    while (!(UCSR0A & (1 << UDRE0)))
        ;
    UDR0 = (uint8_t)c;
}

static void hex(const void *place, uint8_t bytes)
{
    const uint8_t *b = place;
    while (bytes-- > 0) {
        send("0123456789abcdef"[b[bytes] >> 4]);
        send("0123456789abcdef"[b[bytes] & 15]);
    }
    send(' ');
}

static __attribute__((noinline)) void paint(void)
{
    for (uint8_t *p = &_end; p < (uint8_t *)SP - 4; p++)
        *p = 0xA5;
}

static __attribute__((noinline)) uint16_t painted(void)
{
    const uint8_t *p = &_end;
    while (*p == 0xA5)
        p++;
    return (uint16_t)((uint8_t *)SP + 2 - p);
}

static __attribute__((noinline)) void call(const @ROW@ *x, @RESULT@ *out) { @CALL@; }

int main(void)
{
    UCSR0B = 1 << TXEN0;
    TIMSK1 = 1 << TOIE1;
    sei();
    for (uint16_t i = 0; i < @ROWS@; i++) {
        @RESULT@ out[@WIDTH@];
        uint32_t cycles;
        uint16_t stack;
        paint();
        overflows = 0;
        TCNT1 = 0;
        TCCR1B = 3; /* counts every 64th cycle */
        call(rows[i], out);
        cycles = TCNT1;
        TCCR1B = 0;
        cycles = (cycles + ((uint32_t)overflows << 16)) * 64;
        stack = painted();
        hex(&cycles, 4);
        hex(&stack, 2);
        for (uint16_t k = 0; k < @WIDTH@; k++)
            hex(&out[k], sizeof out[k]);
        send('\n');
    }
    cli();
    sleep_mode();
    return 0;
}
"""


def missing_tools() -> list[str]:
    """Which of the programs needed are not there."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def measure_avr(
    cpu: Cpu, function: RowFunction, name: str, files: Mapping[str, str], rows: NDArray[Any], optimise: str
) -> Measured:
    """One function on every row, in as many runs as the memory asks for."""
    from svmcompile.device.measure import Measured

    if missing_tools():
        raise ToolchainError(
            f"measuring on {cpu.name} needs {' and '.join(missing_tools())}; "
            "install gcc-avr, avr-libc and simavr"
        )
    flash, ram = _sizes(cpu, function, files, optimise)
    lines: list[list[str]] = []
    at_once = max(1, ROW_BYTES // (function.features * function.row_dtype.itemsize))
    for at in range(0, len(rows), at_once):
        lines += _run(function, files, rows[at : at + at_once], optimise)
    counts = np.array([int(line[0], 16) for line in lines], dtype=np.int64)
    kind = _device_type(function)
    values = [[_value(word, kind) for word in line[2:]] for line in lines]
    stack = max(int(line[1], 16) for line in lines)
    return Measured(cpu.name, name, flash, ram, stack, counts, cpu.unit, np.array(values, dtype=kind))


def _sizes(cpu: Cpu, function: RowFunction, files: Mapping[str, str], optimise: str) -> tuple[int, int]:
    """Flash and memory of the function alone, without start-up code and driver."""
    options = [*cpu.target, *FLAGS, optimise, "-g", "-nostartfiles", f"-Wl,--entry={function.symbol}"]
    image = read_image(link(["avr-gcc"], [*options, f"-Wl,--undefined={function.symbol}"], files))
    return image.flash, image.ram


def _device_type(function: RowFunction) -> np.dtype[Any]:
    """The type of a result on the device, whose int has 16 bits."""
    return np.dtype("<i2") if function.result == np.dtype("<i4") and function.returns else function.result


def _value(word: str, kind: np.dtype[Any]) -> Any:
    return np.frombuffer(bytes.fromhex(word)[::-1], kind)[0]


def _run(
    function: RowFunction, files: Mapping[str, str], rows: NDArray[Any], optimise: str
) -> list[list[str]]:
    driver = _driver(function, next(iter(files)).rsplit(".", 1)[0], rows)
    options = [f"-mmcu={ROOMY}", *FLAGS, optimise, f"-DF_CPU={CLOCK}UL"]
    image = link(["avr-gcc"], options, {**files, "driver.c": driver})
    with scratch() as temporary:
        (Path(temporary) / "image.elf").write_bytes(image)
        command = ["simavr", "-m", ROOMY, "-f", str(CLOCK), "image.elf"]
        printed = run(command, Path(temporary))
    found = [line.split() for line in re.findall(LINE.format(width=function.width), printed)]
    if len(found) != len(rows):
        raise ToolchainError(f"simavr printed {len(found)} results for {len(rows)} rows: {printed[-400:]}")
    return found


def _driver(function: RowFunction, name: str, rows: NDArray[Any]) -> str:
    kept = np.asarray(rows, function.row_dtype)
    text = str if kept.dtype.kind in "iu" else _literal
    call = f"{function.symbol}(x, out)" if function.fills else f"out[0] = {function.symbol}(x)"
    parts = {
        "NAME": name,
        "ROW": C_TYPES[function.row_type[1:]],
        "ROWS": str(len(kept)),
        "FEATURES": str(function.features),
        "VALUES": ",".join("{" + ",".join(text(value) for value in row.tolist()) + "}" for row in kept),
        "RESULT": "int" if _device_type(function).kind == "i" else C_TYPES[function.result.str[1:]],
        "WIDTH": str(function.width),
        "CALL": call,
    }
    driver = DRIVER
    for key, value in parts.items():
        driver = driver.replace(f"@{key}@", value)
    return driver


def _literal(value: float) -> str:
    odd = {"nan": '__builtin_nanf("")', "inf": "__builtin_inff()", "-inf": "-__builtin_inff()"}
    return odd.get(repr(value), f"{value!r}f")
