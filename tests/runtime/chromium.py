"""A headless Chromium driven through a pipe: pages, keys and the mouse in, what the page shows out."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
SECONDS = 60


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def _give(to_read: int, to_write: int) -> None:
    """The two ends under the numbers the browser expects, whatever these were before."""
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
    for number, end in zip((3, 4), ends, strict=True):
        os.dup2(end, number)


class Browser:
    """One page of one browser; every call waits for its answer."""

    def __init__(self, program: str, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        switches = (*SWITCHES, f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank")
        self._process = subprocess.Popen(
            [program, *switches],
            preexec_fn=lambda: _give(to_read, to_write),
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._held, self._count, self._session = b"", 0, ""
        self.events: list[Any] = []  # of the domains a test has enabled
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def send(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> Any:
        while b"\0" not in self._held:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._held += part
        message, self._held = self._held.split(b"\0", 1)
        return json.loads(message)

    def open(self, page: Path, fragment: str = "") -> None:
        """Show a page, and wait until its script says that it is ready."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=page.as_uri() + fragment)
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.ask(condition):
            assert time.monotonic() < end, f"never true: {condition}; {self.ask('document.body.innerText')}"
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def drag(self, points: list[tuple[float, float]]) -> None:
        """Press the button at the first point, move along the others, let go at the last."""
        kinds = ["mousePressed", *["mouseMoved"] * (len(points) - 1), "mouseReleased"]
        for kind, (x, y) in zip(kinds, [*points, points[-1]], strict=True):
            self.send(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1
            )

    def press(self, key: str, code: int, text: str = "") -> None:
        """A key by its name and number, and the text it types."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **typed
            )

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def screenshot(self, path: Path, width: int, height: int) -> None:
        self.resize(width, height)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(SECONDS)
        os.close(self._read)
        os.close(self._write)
