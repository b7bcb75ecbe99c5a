"""The page of `explore` in a real browser: what it draws, which candidate it names, what it lets out."""

from __future__ import annotations

import base64
import csv
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from choice_rule import winner
from explore_cases import bounds, record
from runtime.chromium import Browser, find_browser
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.choose.page import explore_page
from svmcompile.lower import lower

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium is installed to open the page with"
)
HOSTILE = (
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "'\"`${document.title='broken'}\u2028\\ \u202eabc \u00e9\u4e2d\U0001f600",
    "long" * 200,
)
KINDS: dict[str, dict[str, Any]] = {
    "ten": {"limits": {"agreement": 0.98}},
    "two": {"n_classes": 2, "seed": 1},
    "models": {"models": ("spam", "spam small"), "n_classes": 2, "seed": 2},
    "device": {"cpu": "cortex-m4f", "seed": 3, "limits": {"flash": 32768, "ram": 400}},
}
WIDEST = (
    "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroller') && "
    "e.getBoundingClientRect().right > innerWidth).slice(0, 5).map((e) => e.outerHTML.slice(0, 200))"
)
FRAME = "new Promise((done) => requestAnimationFrame(() => done(0)))"  # drawn anew by then
Open = Callable[[dict[str, Any]], None]


def with_winner(made: dict[str, Any]) -> dict[str, Any]:
    made["winner"] = winner(made, made["settings"]["limits"], made["settings"]["minimise"])
    return made


def hostile_record() -> dict[str, Any]:
    made = record(labels=list(HOSTILE), models=(HOSTILE[0], HOSTILE[3]), seed=4)
    made["sentence"] = made["rows"]["file"] = made["settings"]["cpu"] = HOSTILE[1]
    for number, one in enumerate(made["candidates"]):
        text = HOSTILE[number % 4]
        one |= {"title": text, "reason": text, "command": "compile " + text, "options": {text: text}}
        one["method"] = text if number % 3 == 0 else one["method"]
        one["precision"] = text if number % 5 == 0 else one["precision"]
        for stage in one["stages"]:
            stage["name"] = text
    made["versions"][HOSTILE[2]] = HOSTILE[0]
    return with_winner(made)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    assert program
    browser = Browser(program, tmp_path_factory.mktemp("browser"))
    for domain in ("Runtime", "Log", "Network"):
        browser.send(f"{domain}.enable")
    yield browser
    browser.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a record; in the end nothing may have gone wrong or asked for anything."""
    browser.resize(1280, 900)
    browser.send("Emulation.setEmulatedMedia", media="", features=[])
    browser.events.clear()
    page = tmp_path / "explore.html"

    def open_page(made: dict[str, Any]) -> None:
        page.write_text(explore_page(made), encoding="utf-8")
        browser.open(page)

    yield open_page
    browser.ask("0")
    asked = {
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    }
    wrong = [
        event
        for event in browser.events
        if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    ]
    assert not wrong
    assert {url.split("#")[0] for url in asked if not url.startswith("blob:")} <= {page.as_uri()}


def numbers(browser: Browser, selector: str, name: str = "number") -> list[int]:
    found = browser.ask(f"[...document.querySelectorAll({selector!r})].map((e) => e.dataset.{name})")
    return [int(number) for number in found]


def text(browser: Browser, selector: str) -> str:
    return str(browser.ask(f"document.querySelector({selector!r}).textContent"))


def change(browser: Browser, selector: str, value: Any, event: str = "change") -> None:
    browser.ask(
        f"e = document.querySelector({selector!r}); e.value = {json.dumps(value)}; "
        f"e.dispatchEvent(new Event({event!r})); {FRAME}"
    )


def click(browser: Browser, selector: str) -> None:
    """A click of the mouse, where the element is."""
    browser.ask(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    x, y = browser.ask(
        f"r = document.querySelector({selector!r}).getBoundingClientRect(); "
        "[r.left + r.width / 2, r.top + r.height / 2]"
    )
    browser.drag([(x, y)])
    browser.ask(FRAME)


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


def test_filters(browser: Browser, show: Open) -> None:
    made = with_winner(record(**KINDS["models"]))
    show(made)
    gone: dict[str, str] = {}
    for key, value in (("method", "reduced-set"), ("precision", "f64"), ("claim", "EXACT")):
        click(browser, f"[data-filter={key}][data-value={value}]")
        gone[key] = value
        left = [
            one["number"]
            for one in made["candidates"]
            if not any(one[name] == value for name, value in gone.items())
        ]
        assert sorted(numbers(browser, ".dot")) == left == sorted(numbers(browser, "tr[data-row]", "row"))
        assert numbers(browser, "#winner") == [made["winner"]], "auto does not look at filters"
    first = made["candidates"][made["winner"]]["model"]
    click(browser, f"[data-filter=model][data-value='{first}']")
    rest = made | {"candidates": [one for one in made["candidates"] if one["model"] != first]}
    assert numbers(browser, "#winner") == [winner(rest, made["settings"]["limits"], "time")]


GRID = """(() => {
  const sliders = [...document.querySelectorAll('#limits input')], found = [];
  const set = (slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input')); };
  let seed = 7;
  for (let run = 0; run < 90; run++) {
    for (const slider of sliders) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const loose = slider.id === 'limit-agreement' ? 0 : Number(slider.max);
      set(slider, run % 3 && (seed >> 8) % 3 ? loose : (seed >> 12) % (Number(slider.max) + 1));
    }
    found.push([Object.fromEntries(sliders.map((s) => [s.id.slice(6), JSON.parse(s.dataset.limit)])),
      document.querySelector('#winner').dataset.number]);
  }
  return found;
})()"""


def scramble(made: dict[str, Any], generator: np.random.Generator) -> None:
    """Costs that are nearly equal, shares at the edges of groups, lucky finalists and figures that lack."""
    for one in made["candidates"]:
        if one["state"] != "measured":
            continue
        figures = one["figures"]
        for key in ("time_us", "batch_time_us", "instructions", "energy_nj"):
            if figures[key] is not None:
                figures[key] = float(
                    generator.choice([0.5, 1.0, 4.0]) * generator.choice([1, 1.03, 1.05, 1.08])
                )
        for key in ("table_bytes", "ram_bytes", "time_us"):
            if generator.random() < 0.15:
                figures[key] = None
        if one["proven"]:
            one["proven"] = bool(generator.random() < 0.4)
            continue
        rows, changed = 1000, int(generator.integers(0, 12))
        one["agreement"]["choose"] = {"rows": rows, "same": rows - changed}
        one["agreement"]["expected_low"] = bounds(rows - changed, rows)
        if generator.random() < 0.1:
            one["accuracy"] = None


@pytest.mark.parametrize("seed", range(8))
def test_sliders_name_the_winner_of_the_rule(browser: Browser, show: Open, seed: int) -> None:
    cpu = "cortex-m0+" if seed % 2 else None
    given = {"batch_latency_us": 3.0, "agreement": 1.0 if seed == 5 else None}
    made = record(seed=seed, cpu=cpu, report=(200, 700, 2007)[seed % 3], limits=given)
    if seed > 1:
        scramble(made, np.random.default_rng(seed))
    show(with_winner(made))
    wishes = browser.ask("[...document.querySelectorAll('#minimise option')].map((e) => e.value)")
    winners = set()
    for wish in wishes:
        change(browser, "#minimise", wish)
        for chosen, number in browser.ask(GRID):
            limits = made["settings"]["limits"] | chosen
            limits["same_labels"] = limits["agreement"] == "proven"
            limits["agreement"] = None if limits["same_labels"] else limits["agreement"]
            expected = winner(made, limits, wish)
            assert number == ("" if expected is None else str(expected)), (limits, wish)
            winners.add(expected)
    assert len(winners) > 5 and None in winners
    assert text(browser, "#live")


def test_what_misses_a_limit_is_grey(browser: Browser, show: Open) -> None:
    made = with_winner(record())
    show(made)
    assert not numbers(browser, ".dot.grey")
    change(browser, "#limit-agreement", "14", "input")  # proven
    unproven = [
        one["number"] for one in made["candidates"] if one["state"] == "measured" and not one["proven"]
    ]
    assert sorted(numbers(browser, ".dot.grey")) == unproven
    assert browser.ask("document.querySelectorAll('#canvas .wall').length") == 1
    assert text(browser, "#shown-agreement") == "every one, proven"
    change(browser, "#limit-latency_us", "0", "input")
    assert text(browser, "#winner") == "None meets all of these"
    assert browser.ask("document.querySelector('#detail').hidden"), (
        "what was pinned as the winner goes with it"
    )


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
