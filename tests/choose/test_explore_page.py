"""The page of `explore` in a real browser: what it draws, what it lets out, who can use it."""

from __future__ import annotations

import base64
import csv
import json
import re
import time
from pathlib import Path

import pytest
from explore_browser import (
    HOSTILE,
    KINDS,
    WIDEST,
    Open,
    change,
    click,
    hostile_record,
    numbers,
    text,
    with_winner,
)
from explore_cases import record
from runtime.chromium import Browser
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.choose.page import explore_page
from svmcompile.lower import lower


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_drawn(browser: Browser, show: Open, kind: str) -> None:
    made = with_winner(record(**KINDS[kind]))
    show(made)
    expected = [one["number"] for one in made["candidates"]]
    assert sorted(numbers(browser, ".dot")) == expected
    assert sorted(numbers(browser, "#table tbody tr", "row")) == expected
    assert numbers(browser, "#winner") == numbers(browser, ".dot.winner") == [made["winner"]]
    assert len(numbers(browser, ".dot.refused.hollow")) == len(made["models"])
    assert len(numbers(browser, ".dot.skipped.hollow")) == 2 * len(made["models"])
    assert browser.ask("document.querySelectorAll('#canvas .front').length") == len(made["models"])
    assert text(browser, "#sentence").replace("\xa0", " ") == made["sentence"]
    command = made["candidates"][made["winner"]]["command"]
    assert text(browser, "#taken code") == text(browser, "#choice code") == command
    assert made["rows"]["sha256"] in text(browser, "#fine")


@pytest.mark.parametrize("kind", KINDS)
def test_axes(browser: Browser, show: Open, kind: str) -> None:
    made = with_winner(record(**KINDS[kind]))
    show(made)
    options = {
        axis: browser.ask(f"[...document.querySelectorAll('#{axis}-key option')].map((e) => e.value)")
        for axis in "xy"
    }
    figures = {key for one in made["candidates"] for key, value in one["figures"].items() if value}
    assert set(options["x"]) == figures - {"predicted"}
    assert options["y"] == ["disagreement", "accuracy", "error"]
    places = set()
    for x in options["x"]:
        change(browser, "#x-key", x)
        for y in options["y"]:
            change(browser, "#y-key", y)
            for scale in "xyxy":
                browser.ask(f"document.querySelector('#{scale}-log').click()")
                drawn = browser.ask(
                    "s = document.querySelector('#canvas'); b = s.viewBox.baseVal; [b.width, b.height, "
                    "[...s.querySelectorAll('.dot')].map((e) => e.getAttribute('transform')), s.outerHTML]"
                )
                width, height, dots, source = drawn
                assert len(dots) == len(made["candidates"])
                assert not re.search("NaN|Infinity|undefined", source)
                for dot in dots:
                    left, top = map(float, re.findall(r"-?[\d.]+", dot))
                    assert 0 <= left <= width and 0 <= top <= height
                places.add(tuple(dots))
    assert len(places) >= 3 * len(options["x"]) * len(options["y"]), "energy goes with instructions here"


def test_a_click_pins(browser: Browser, show: Open) -> None:
    made = with_winner(record())
    show(made)
    one = next(one for one in made["candidates"] if len(one["confusion"]) > 8)
    click(browser, f'.dot[data-number="{one["number"]}"] .body')
    assert browser.ask("document.querySelector('.dot[aria-pressed=true]').dataset.number") == str(
        one["number"]
    )
    assert text(browser, "#detail code") == one["command"]
    assert one["title"] in text(browser, "#detail h2") and one["title"] in text(browser, "#live")
    assert browser.ask("document.querySelectorAll('#detail .stages tbody tr').length") == len(one["stages"])
    cells = browser.ask(
        "[...document.querySelectorAll('#detail .matrix .hit')].map((e) => [e.title, e.textContent])"
    )
    assert {(title, int(count)) for title, count in cells} == {
        (f"{old} becomes {new}", count) for old, new, count in one["confusion"]
    }
    rows = browser.ask(
        "[...document.querySelectorAll('#detail .rows tbody tr')].map((e) => e.firstChild.textContent)"
    )
    assert rows == [str(row["row"]) for row in one["differences"]] and len(rows) <= 20
    refused = next(one for one in made["candidates"] if one["state"] == "refused")
    click(browser, f'tr[data-row="{refused["number"]}"]')
    assert refused["reason"] in text(browser, "#detail .verdict")
    click(browser, "#detail .quiet")
    assert browser.ask("document.querySelector('#detail').hidden")
    click(browser, 'tr[data-row="0"]')
    change(browser, "#limit-agreement", "14", "input")
    assert text(browser, "#detail code") == made["candidates"][0]["command"], "what one has pinned stays"


def test_hover_shows_bounds(browser: Browser, show: Open) -> None:
    show(with_winner(record(limits={"agreement": 0.98})))
    assert browser.ask("document.querySelector('#tip').hidden")
    x, y = browser.ask(
        "r = document.querySelector('.dot.winner .body').getBoundingClientRect(); [r.left + 5, r.top + 5]"
    )
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    browser.wait("!document.querySelector('#tip').hidden")
    assert re.search(r"99\.\d+.% \(\d+\.\d+.% to \d+\.\d+.%\)", text(browser, "#tip"))


def test_copy(browser: Browser, show: Open) -> None:
    made = with_winner(record())
    show(made)
    browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    for place, number in (("#taken", made["winner"]), ("#detail", 4)):
        if place == "#detail":
            click(browser, '.dot[data-number="4"] .body')
        click(browser, f"{place} .copy")
        browser.wait(f"document.querySelector('{place} .copy').textContent === 'Copied'")
        assert browser.ask("navigator.clipboard.readText()") == made["candidates"][number]["command"]


def downloaded(browser: Browser, folder: Path, button: str, name: str) -> str:
    browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    click(browser, button)
    end = time.monotonic() + 20
    while not (folder / name).exists() or not (folder / name).stat().st_size:
        assert time.monotonic() < end, "nothing was downloaded"
        time.sleep(0.05)
    return (folder / name).read_bytes().decode()


@pytest.mark.parametrize("kind", ["device", "hostile"])
def test_downloads(browser: Browser, show: Open, tmp_path: Path, kind: str) -> None:
    made = hostile_record() if kind == "hostile" else with_winner(record(**KINDS[kind]))
    show(made)
    lines = list(
        csv.DictReader(downloaded(browser, tmp_path, "#csv", "explore.csv").splitlines(keepends=True))
    )
    assert len(lines) == len(made["candidates"])
    for line, one in zip(lines, made["candidates"], strict=True):
        assert line["command"] == one["command"] and int(line["number"]) == one["number"]
        assert line["title"].removeprefix("'") == one["title"].removeprefix("'")
        for key, value in one["figures"].items():
            if key in line and key != "predicted":
                assert line[key] == "" if value is None else float(line[key]) == value
        if one["agreement"]:
            assert float(line["agreement_low"]) == one["agreement"]["report"]["low"][0]
    assert json.loads(downloaded(browser, tmp_path, "#json", "explore.json")) == made


def test_light_and_dark(browser: Browser, show: Open) -> None:
    show(with_winner(record()))
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    for scheme in ("light", "dark"):
        browser.send(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        show(with_winner(record()))
        assert (browser.ask(brightness) > 128) == (scheme == "light")
        click(browser, "#theme")
        assert (browser.ask(brightness) > 128) == (scheme == "dark"), "the button turns it round"


@pytest.mark.parametrize("wide", [1280, 360])
def test_hostile_text_stays_text(browser: Browser, show: Open, wide: int) -> None:
    browser.resize(wide, 800)
    made = hostile_record()
    show(made)
    assert len(numbers(browser, ".dot")) == len(made["candidates"])
    for one in made["candidates"][:8]:
        browser.ask(f"document.querySelector('tr[data-row=\"{one['number']}\"]').click()")
        if browser.ask("document.querySelector('#detail').hidden"):  # it was pinned before
            browser.ask(f"document.querySelector('tr[data-row=\"{one['number']}\"]').click()")
        assert one["title"] in text(browser, "#detail h2")
        assert browser.ask("document.documentElement.scrollWidth") <= wide, browser.ask(WIDEST)
    assert text(browser, "#sentence") == HOSTILE[1]
    assert browser.ask("document.title") == f"{HOSTILE[0]}, {HOSTILE[3]} - svmcompile explore"
    assert browser.ask("document.querySelectorAll('img').length") == 0
    assert browser.ask("document.scripts.length") == 2


def test_keyboard_alone(browser: Browser, show: Open) -> None:
    made = with_winner(record())
    show(made)
    focus = "document.activeElement.closest('.dot') && document.activeElement.dataset.number"
    for _ in range(30):
        browser.press("Tab", 9)
        if browser.ask(focus) is not None:
            break
    first = browser.ask(focus)
    assert first is not None and not browser.ask("document.querySelector('#tip').hidden")
    seen = {first}
    for key, code in (("ArrowRight", 39), ("ArrowUp", 38), ("ArrowLeft", 37), ("ArrowDown", 40)) * 5:
        browser.press(key, code)
        seen.add(browser.ask(focus))
    assert len(seen) > 4 and None not in seen
    for key, code, typed in (("Enter", 13, "\r"), (" ", 32, " ")):
        browser.press("ArrowRight", 39)
        here = browser.ask(focus)
        if here != str(made["winner"]):
            browser.press(key, code, typed)
        assert browser.ask("document.querySelector('.dot[aria-pressed=true]').dataset.number") == here
        assert browser.ask(focus) == here, "the focus stays where it was"
    browser.press("Escape", 27)
    assert browser.ask("document.querySelector('#detail').hidden")
    for dot in browser.ask(
        "[...document.querySelectorAll('.dot')].map((e) => e.getAttribute('aria-label'))"
    ):
        assert re.match(r"\d+, .+; (f32|f64); ", dot)
    unnamed = browser.ask(
        "[...document.querySelectorAll('button, select, input')].filter((e) => "
        "!(e.textContent || e.getAttribute('aria-label') || (e.labels && e.labels.length))).length"
    )
    assert unnamed == 0


def test_the_table_sorts(browser: Browser, show: Open) -> None:
    made = with_winner(record())
    show(made)
    click(browser, "[data-sort=table_bytes]")
    sizes = {one["number"]: one["figures"]["table_bytes"] for one in made["candidates"]}
    known = [n for n in numbers(browser, "tr[data-row]", "row") if sizes[n] is not None]
    assert known == sorted(known, key=lambda number: sizes[number])
    assert browser.ask("document.querySelector('th[aria-sort=ascending]').textContent") == "table bytes"
    click(browser, "[data-sort=table_bytes]")
    order = numbers(browser, "tr[data-row]", "row")
    assert order[: len(known)] == known[::-1], "what is not known stays last"


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_and_paper(browser: Browser, show: Open, kind: str) -> None:
    made = with_winner(record(**KINDS[kind]))
    browser.resize(360, 740)
    show(made)
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    assert browser.ask("document.querySelector('#canvas').getBoundingClientRect().right") <= 360
    browser.resize(1280, 900)
    pdf = base64.b64decode(
        browser.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"]
    )
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


def test_a_regressor_and_nothing_measured(browser: Browser, show: Open) -> None:
    made = with_winner(record())
    made["models"][0] |= {"is_regressor": True, "labels": None, "accuracy": None, "n_classes": 0}
    for one in made["candidates"]:
        one |= {"accuracy": None, "confusion": []}
        for row in one["differences"]:
            row |= {"original": 1.25, "candidate": 1.5, "truth": None, "original_scores": [1.25]}
    show(made)
    assert text(browser, "#y-key option") == "values that change"
    changed = next(one for one in made["candidates"] if one["differences"])
    click(browser, f'tr[data-row="{changed["number"]}"]')
    assert "1.25" in text(browser, "#detail .rows tbody")
    for candidates in ([one for one in made["candidates"] if one["state"] == "refused"], []):
        show(made | {"candidates": candidates, "winner": None, "sentence": "Nothing could be built."})
        assert len(numbers(browser, ".dot")) == len(candidates)
        assert text(browser, "#winner") == "None meets all of these" and not text(browser, "#taken")


@pytest.mark.compile
def test_rows_are_tried_in_the_page(browser: Browser, show: Open, tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    program = sc.compile(SVC(gamma=0.001, C=10).fit(X[:300], y[:300]))
    module = sc.emit(program, "wasm", "digits", X=X)["digits.wasm"]
    assert isinstance(module, bytes)
    page = tmp_path / "explore.html"  # the one whose requests are watched
    page.write_text(explore_page(with_winner(record()), lower(program, "f32"), module, X), encoding="utf-8")
    for row in X[300:303]:
        browser.open(page, "#row=" + ",".join(map(str, row)))
        browser.wait("document.getElementById('test').textContent === 'Self-test passed.'")
        assert text(browser, "#label") == str(program.predict([row])[0])
    click(browser, "#tab-type")
    assert browser.ask("document.querySelectorAll('#grid input').length") == 64
    assert len(numbers(browser, ".dot")) == 35
