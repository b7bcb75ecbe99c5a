"""Limits and filters of the page of `explore`: it names the candidate that the rule of choice names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from choice_rule import winner
from explore_browser import KINDS, Open, change, click, numbers, text, with_winner
from explore_cases import bounds, record
from runtime.chromium import Browser


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
