"""A program on an ATmega328P: what it keeps in memory, and what it sends by the serial port."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from svmcompile.device.avr import missing_tools
from svmcompile.device.build import link, read_image, run

MAIN = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include "m.h"

static void print(char text)
{
    while (!(UCSR0A & (1 << UDRE0)))
        ;
    UDR0 = (uint8_t)text;
}

int main(void)
{
    UCSR0B = 1 << TXEN0;
    @BODY@
    print('\\n');
    cli();
    sleep_mode();
    return 0;
}
"""
FLAGS = ("-mmcu=atmega328p", "-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror", "-ffunction-sections",
         "-fdata-sections", "-Wl,--gc-sections")  # fmt: skip

needs_avr = pytest.mark.skipif(bool(missing_tools()), reason="needs avr-gcc and simavr")


def run_on_avr(files: Mapping[str, str | bytes], body: str, folder: Path) -> tuple[int, str]:
    """Bytes of variables, and what simavr tells, of the model `m` and a `main` that prints characters."""
    sources = {name: str(text) for name, text in files.items() if name.endswith((".c", ".h"))}
    image = link(["avr-gcc"], list(FLAGS), {**sources, "main.c": MAIN.replace("@BODY@", body)})
    (folder / "image.elf").write_bytes(image)
    told = run(["simavr", "-m", "atmega328p", "-f", "16000000", "image.elf"], folder)
    return read_image(image).ram, told
