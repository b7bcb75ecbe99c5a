"""Rows that are made up between others: their number, and how wide they may be."""

from __future__ import annotations

import numpy as np
import pytest

from svmcompile.accelerate.fitting import rows as fitting
from svmcompile.accelerate.fitting.rows import made_up_rows


def test_wide_rows_are_made_up_in_smaller_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.random.default_rng(0).normal(size=(20, 50))
    assert made_up_rows(given, 300, np.random.default_rng(1)).shape == (300, 50)
    monkeypatch.setattr(fitting, "MADE_UP_VALUES", 1000)
    assert made_up_rows(given, 300, np.random.default_rng(1)).shape == (20, 50)
    monkeypatch.setattr(fitting, "MADE_UP_VALUES", 49)  # not one row
    assert made_up_rows(given, 300, np.random.default_rng(1)).shape == (0, 50)
