"""On an AVR the names of categories stay in flash, and texts find their codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from device.avr_cases import needs_avr, run_on_avr
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import svmcompile as sc

BODY = """
    static const char *const texts[] = {"green", "red", "name 99", "name 100", ""};
    for (int i = 0; i < 5; i++)
        print((char)('a' + (int)m_category(i < 2 ? 0 : 1, texts[i]) % 26));
    print((char)('a' + (int)m_category(0, 0)));
    print((char)('0' + m_predict((const float[]){m_category(0, "red"), m_category(1, "name 5")})));
"""


@pytest.mark.device
@needs_avr
def test_names_stay_in_flash_and_are_found(tmp_path: Path) -> None:
    names = [f"name {at}" for at in range(100)]
    X = np.array([[["green", "red"][at % 2], name] for at, name in enumerate(names)], dtype=object)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC(random_state=0))
    model.fit(X, np.arange(100) % 2)
    ram, told = run_on_avr(sc.emit(sc.compile(model), "c", "m", profile="device"), BODY, tmp_path)
    assert ram < 100  # the names alone have 800 bytes
    last = sorted(names).index("name 99")
    assert f"ab{chr(ord('a') + last % 26)}```1" in told
