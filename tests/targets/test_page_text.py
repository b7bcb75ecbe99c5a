"""The text of the page: what comes from a model cannot leave its JSON block."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.lower import lower
from svmcompile.targets.wasm.page import page, score_names, script_json, side

LABELS = np.array(["</script><b>", "<!--<script>", "a & b\u2028"])


class Elements(HTMLParser):
    """The text of every element that has one, by tag and id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[tuple[str, str | None], str] = {}
        self.policy = ""
        self._open: tuple[str, str | None] = ("", None)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._open = (tag, given.get("id"))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ("", None)

    def handle_data(self, data: str) -> None:
        self.found[self._open] = self.found.get(self._open, "") + data


def program_of(width: int = 4, names: tuple[str, ...] = (), **options: object) -> sc.Program:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, width))
    program = lower(sc.compile(SVC(**options).fit(X, LABELS[np.digitize(X[:, 0], [-0.5, 0.5])])), "f32")
    return program.replace(input=replace(program.input, feature_names=names))


def test_hostile_text_stays_in_its_block() -> None:
    program = program_of(2, ("</script>", "\"'&<"))
    text = page(program, "model", b"\0asm")
    elements = Elements(text)
    facts = json.loads(elements.found["script", "facts"])
    assert facts["labels"] == sorted(LABELS) and facts["features"] == ["</script>", "\"'&<"]
    assert text.count("<script") == 3 and text.count("</script>") == 3
    assert base64.b64decode(elements.found["script", "module"]) == b"\0asm"


def test_the_policy_allows_the_script_of_the_page_and_no_other() -> None:
    elements = Elements(page(program_of(), "model", b""))
    digest = base64.b64encode(hashlib.sha256(elements.found["script", None].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'" in elements.policy
    assert elements.policy.startswith("default-src 'none'") and "unsafe-inline" not in elements.policy


def test_json_for_scripts_reads_back() -> None:
    value = {"a": ["</script>", "\u2028\u2029", "\\u003c", "é"], "b": [1e-300, -0.0]}
    assert json.loads(script_json(value)) == value
    assert not re.search("[<>&\u2028\u2029]", script_json(value))


def test_ranges_come_from_rows_or_stored_rows() -> None:
    program = program_of(2)
    rows = np.array([[0.0, np.nan], [16.0, np.nan]])
    facts = json.loads(Elements(page(program, "model", b"", rows)).found["script", "facts"])
    assert (facts["low"], facts["high"]) == ([0.0, 0.0], [16.0, 1.0])
    facts = json.loads(Elements(page(program, "model", b"")).found["script", "facts"])
    np.testing.assert_allclose(facts["high"], program.probes.max(axis=0), rtol=1e-6)
    assert len(facts["examples"]) == len(program.probes)


@pytest.mark.parametrize(
    ("width", "names", "expected"),
    [
        (64, (), 8),
        (63, (), 0),
        (49, (), 0),
        (64, tuple(f"pixel_{i // 8}_{i % 8}" for i in range(64)), 8),
        (64, ("age", *(f"pixel_{i}" for i in range(63))), 0),
    ],
)
def test_pictures(width: int, names: tuple[str, ...], expected: int) -> None:
    assert side(program_of(width, names)) == expected


def test_names_of_scores() -> None:
    a, b, c = sorted(LABELS)
    assert score_names(program_of()) == [a, b, c]
    assert score_names(program_of(decision_function_shape="ovo")) == [
        f"{a} / {b}",
        f"{a} / {c}",
        f"{b} / {c}",
    ]
    two = SVC().fit([[0.0], [1.0]], ["n", "y"])
    assert score_names(lower(sc.compile(two), "f32")) == ["decision value"]
