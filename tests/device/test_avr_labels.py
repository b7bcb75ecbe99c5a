"""On an AVR the text of labels stays in flash, and comes out whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from device.avr_cases import needs_avr, run_on_avr
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc

BODY = """
    for (int i = -1; i <= 3; i++) {
        print('<');
        for (const char *text = m_label_name(i); *text != 0; text++)
            print(*text);
        print('>');
    }
"""


@pytest.mark.device
@needs_avr
@pytest.mark.parametrize(
    "labels", [["setosa, of a long name", "versicolor", "virginica"], [7, -200000, 12]]
)
def test_text_of_labels_stays_in_flash(labels: list[str | int], tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    files = sc.emit(sc.compile(SVC().fit(X, np.array(labels)[y])), "c", "m", profile="device")
    ram, told = run_on_avr(files, BODY, tmp_path)
    texts = [str(label) for label in sorted(labels, key=lambda one: (str(type(one)), one))]
    assert ram <= max(map(len, texts)) + 1  # one text
    assert "".join(f"<{text}>" for text in ["", *texts, ""]) in told
