"""On an AVR, where int has 16 bits and tables stay in flash, weights of four bits mean the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from device.avr_cases import needs_avr, run_on_avr
from programs.whole_numbers import fixed_programs, rows_of

import svmcompile as sc
from svmcompile.ir.interpret import interpret

BODY = """
    static const float rows[@ROWS@ * @WIDTH@] = {@NUMBERS@};
    for (int r = 0; r < @ROWS@; r++) {
        float scores[1];
        union { float number; uint8_t bytes[4]; } score;
        m_decision_function(rows + r * @WIDTH@, scores);
        score.number = scores[0];
        print('<');
        for (int i = 0; i < 4; i++) {
            print((char)('a' + (score.bytes[i] >> 4)));
            print((char)('a' + (score.bytes[i] & 15)));
        }
        print('>');
    }
"""


@pytest.mark.device
@needs_avr
@pytest.mark.parametrize("name", ["even", "odd"])
def test_scores_are_those_of_the_interpreter(name: str, tmp_path: Path) -> None:
    fixed = fixed_programs("q7")[f"projected_{name}"]
    rows = rows_of(fixed, 12, seed=4).astype(np.float32)
    numbers = ", ".join(f"{number!r}f" for number in rows.ravel().tolist())
    body = BODY.replace("@ROWS@", str(len(rows))).replace("@WIDTH@", str(fixed.n_features))
    files = sc.emit(fixed, name="m", precision="q7", profile="device")
    ram, told = run_on_avr(files, body.replace("@NUMBERS@", numbers), tmp_path)
    meant = interpret(fixed, rows.astype(np.float64))["scores"].ravel().astype("<f4")
    for score in meant:
        halves = [half for byte in score.tobytes() for half in (byte >> 4, byte & 15)]
        text = "".join(chr(ord("a") + half) for half in halves)
        assert f"<{text}>" in told
    assert ram >= rows.nbytes  # which the test has there
