"""On an AVR the names of categories stay in flash, and texts find their codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import svmcompile as sc
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
    static const char *const texts[] = {"green", "red", "name 99", "name 100", ""};
    UCSR0B = 1 << TXEN0;
    for (int i = 0; i < 5; i++)
        print((char)('a' + (int)m_category(i < 2 ? 0 : 1, texts[i]) % 26));
    print((char)('a' + (int)m_category(0, 0)));
    print((char)('0' + m_predict((const float[]){m_category(0, "red"), m_category(1, "name 5")})));
    print('\\n');
    cli();
    sleep_mode();
    return 0;
}
"""
FLAGS = (
    "-mmcu=atmega328p -std=gnu99 -Os -Wall -Wextra -Werror -ffunction-sections -Wl,--gc-sections".split()
)


@pytest.mark.device
@pytest.mark.skipif(bool(missing_tools()), reason="needs avr-gcc and simavr")
def test_names_stay_in_flash_and_are_found(tmp_path: Path) -> None:
    names = [f"name {at}" for at in range(100)]
    X = np.array([[["green", "red"][at % 2], name] for at, name in enumerate(names)], dtype=object)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC(random_state=0))
    model.fit(X, np.arange(100) % 2)
    files = sc.emit(sc.compile(model), "c", "m", profile="device")
    sources = {name: str(files[name]) for name in files if name.endswith((".c", ".h"))}
    image = link(["avr-gcc"], [*FLAGS, "-fdata-sections"], {**sources, "main.c": MAIN})
    assert read_image(image).ram < 100  # the names alone have 800 bytes
    (tmp_path / "image.elf").write_bytes(image)
    told = run(["simavr", "-m", "atmega328p", "-f", "16000000", "image.elf"], tmp_path)
    last = sorted(names).index("name 99")
    assert f"ab{chr(ord('a') + last % 26)}```1" in told
