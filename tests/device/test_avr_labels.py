"""On an AVR the text of labels stays in flash, and comes out whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.device.avr import missing_tools
from svmcompile.device.build import link, read_image, run

MAIN = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include "m.h"

static void print(const char *text)
{
    for (; *text != 0; text++) {
        while (!(UCSR0A & (1 << UDRE0)))
            ;
        UDR0 = (uint8_t)*text;
    }
}

int main(void)
{
    UCSR0B = 1 << TXEN0;
    for (int i = -1; i <= 3; i++) {
        print("<");
        print(m_label_name(i));
        print(">");
    }
    print("\\n");
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
@pytest.mark.parametrize(
    "labels", [["setosa, of a long name", "versicolor", "virginica"], [7, -200000, 12]]
)
def test_text_of_labels_stays_in_flash(labels: list[str | int], tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    files = sc.emit(sc.compile(SVC().fit(X, np.array(labels)[y])), "c", "m", profile="device")
    sources = {name: str(files[name]) for name in files if name.endswith((".c", ".h"))}
    image = link(["avr-gcc"], [*FLAGS, "-fdata-sections"], {**sources, "main.c": MAIN})
    texts = [str(label) for label in sorted(labels, key=lambda one: (str(type(one)), one))]
    assert (
        read_image(image).ram <= max(map(len, texts)) + 1 + len("<>\n") * 2
    )  # one text, and what main prints
    (tmp_path / "image.elf").write_bytes(image)
    told = run(["simavr", "-m", "atmega328p", "-f", "16000000", "image.elf"], tmp_path)
    assert "".join(f"<{text}>" for text in ["", *texts, ""]) in told
