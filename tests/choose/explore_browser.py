"""Records with their winner, and a hand and an eye on the page that shows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from choice_rule import winner
from explore_cases import record
from runtime.chromium import Browser

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
