"""One browser for all tests of the page, and a page that must do no harm in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explore_browser import Open
from runtime.chromium import Browser, find_browser

from svmcompile.choose.page import explore_page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium is installed to open the page with")
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
