"""The text of the page of `explore`: what comes from a record cannot leave its JSON block."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from explore_cases import record

from svmcompile.choose.page import SCRIPTS, explore_page
from svmcompile.targets.templating import template_folder
from svmcompile.targets.wasm.page import digest

HOSTILE = "</script><!--<script><img src=x onerror=alert(1)>\u2028\"'&"


def block(text: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_hostile_text_stays_in_its_block() -> None:
    made = record(labels=[HOSTILE, "b"], models=(HOSTILE,))
    made["sentence"] = HOSTILE
    text = explore_page(made)
    assert block(text, "record") == made
    assert text.count("<script") == text.count("</script>") == 2 and "<img" not in text


def test_the_policy_allows_the_page_and_no_request() -> None:
    text = explore_page(record())
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)
    script, style = (
        re.search("<script>(.*?)</script>", text, re.DOTALL),
        re.search("<style>(.*?)</style>", text, re.DOTALL),
    )
    assert policy and script and style
    assert policy[1] == (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src '{digest(script[1])}'; style-src '{digest(style[1])}'"
    )
    assert not re.search("(src|href)=[\"']?(https?:)?//", text)


def test_numbers_json_cannot_hold_become_null() -> None:
    made = record()
    made["candidates"][0]["figures"] |= {"time_us": math.nan, "energy_nj": math.inf}
    figures = block(explore_page(made), "record")["candidates"][0]["figures"]
    assert figures["time_us"] is None and figures["energy_nj"] is None


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_short_and_write_no_markup(script: str) -> None:
    text = (template_folder() / "explore" / f"{script}.js").read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|\{\{|\{%|\{#", text
    )
    assert len(text.splitlines()) <= 400
    assert max(map(len, text.splitlines())) <= 120


def test_no_name_is_defined_twice() -> None:
    folder: Path = template_folder() / "explore"
    text = "".join((folder / f"{script}.js").read_text() for script in SCRIPTS)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names)), "a second function would silently replace the first"
