"""docs/options.md is what the script writes now, and every option is explained there."""

from __future__ import annotations

from pathlib import Path

import pytest

from svmcompile.accelerate.registry import METHODS, method
from tests import options_page

PAGE = Path(__file__).parents[1] / "docs" / "options.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == options_page.page(), "run: make options-page"


@pytest.mark.parametrize("name", METHODS)
def test_every_option_has_a_sentence(name: str) -> None:
    for option in (*method(name).option_list, *method(name).train_option_list):
        assert option.text.endswith(".") and len(option.text.split()) > 2, option.name
        if option.type in ("number", "whole number") and option.name != "coef0":
            assert option.range, f"{option.name}: which values make sense?"
