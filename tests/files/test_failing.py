"""Writing while every step fails in turn, the process is killed, or another one writes too."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs.files_cases import NEW, OLD, ROOT, as_text, check_furniture, content, furnish

from svmcompile import files
from svmcompile.errors import EmitError
from svmcompile.files import atomic, staging, write_files

# faults: every step fails once

STEPS = ("os.mkdir", "os.link", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.scandir",
         "os.listdir", "os.chown", "open", "os.symlink")  # fmt: skip


class Faults:
    """Counts system steps below a folder, and makes one of them fail.

    Audit events see every such step however it is called; `fsync` and `exchange` have none and are wrapped.
    """

    active: Faults | None = None

    def __init__(self, folder: Path, fail_at: int, error: type[BaseException]) -> None:
        self.folder, self.fail_at, self.error = str(folder), fail_at, error
        self.count, self.failed = 0, ""

    def step(self, name: str) -> None:
        self.count += 1
        if self.count == self.fail_at:
            self.failed = name
            raise OSError(errno.ENOSPC, "injected") if self.error is OSError else self.error

    @staticmethod
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        active = Faults.active
        if active and event in STEPS and str(arguments[0]).startswith(active.folder):
            active.step(event)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Faults]]:
    if not getattr(Faults, "hooked", False):
        sys.addaudithook(Faults.hook)
        Faults.hooked = True  # type: ignore[attr-defined]

    def wrapped(name: str, function: object) -> object:
        def call(*arguments: object) -> object:
            if Faults.active:
                Faults.active.step(name)
            return function(*arguments)  # type: ignore[operator]

        return call

    monkeypatch.setattr(os, "fsync", wrapped("fsync", os.fsync))
    monkeypatch.setattr(staging, "exchange", wrapped("exchange", staging.exchange))
    yield Faults
    Faults.active = None


def write_with_fault(
    faults: type[Faults], folder: Path, fail_at: int, error: type[BaseException]
) -> Faults:
    fault = faults(folder.parent, fail_at, error)
    faults.active = fault
    raised: BaseException | None = None
    try:
        write_files(NEW, folder)
    except (EmitError, KeyboardInterrupt) as caught:
        raised = caught
    finally:
        faults.active = None
    found = {name: text for name, text in content(folder).items() if name in NEW} if folder.exists() else {}
    assert found in ({}, as_text(OLD), as_text(NEW)), f"a mixture after {fault.failed} failed"
    if isinstance(raised, EmitError):
        assert found != as_text(NEW), f"an error, but new files, after {fault.failed} failed"
        assert "injected" in str(raised) and str(folder) in str(raised)
    if raised is None:
        assert found == as_text(NEW)
    return fault


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("way", ["new folder", "swap", "one by one"])
def test_every_step_may_fail(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: type[Faults],
    way: str,
    error: type[BaseException],
) -> None:
    if way == "one by one":
        monkeypatch.setattr(staging, "may_swap", lambda folder: False)
    failed = []
    for fail_at in range(1, 200):
        folder = tmp_path / f"{fail_at}" / "out"
        folder.parent.mkdir()
        if way != "new folder":
            write_files(OLD, folder)
            furnish(folder)
        fault = write_with_fault(faults, folder, fail_at, error)
        write_files(OLD, folder)  # clears up what a failed clean-up left
        hidden = [path.name for path in folder.parent.rglob(".*svmcompile-*")]
        assert not hidden, f"{hidden} left after {fault.failed} failed"
        if way != "new folder":
            check_furniture(folder)
        if not fault.failed:
            break
        failed.append(fault.failed)
    moved = "exchange" if way == "swap" else "os.rename"
    assert {"os.mkdir", "open", "fsync", moved} <= set(failed) and len(failed) > 15


# killed processes

LOOP = """
import sys
from pathlib import Path
from svmcompile.files import write_files
versions = [{f"f{i}": mark * (1 << 20) for i in range(4)} for mark in (b"A", b"B")]
folder = Path(sys.argv[1])
print("ready", flush=True)
for turn in range(int(sys.argv[2])):
    write_files(versions[turn % 2], folder)
"""


def loop(folder: Path, turns: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(folder), str(turns)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def versions_in(folder: Path) -> set[bytes]:
    """The distinct contents of the files, each of which must be whole."""
    found = [(folder / f"f{i}").read_bytes() for i in range(4)]
    assert all(len(item) == 1 << 20 for item in found)
    return {item[:1] if item == item[:1] * len(item) else b"torn" for item in found}


def test_a_kill_at_any_instant_leaves_one_version(swappable: Path) -> None:
    rng = random.Random(0)
    folder = swappable / "out"
    write_files({f"f{i}": b"A" * (1 << 20) for i in range(4)}, folder)
    furnish(folder)
    seen: set[bytes] = set()
    for turn in range(300):  # many where the machine is busy, and few processes come to write
        if turn > 20 and len(seen) == 2:
            break
        process = loop(folder, 10**9)
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = versions_in(folder)
        assert len(found) == 1 and b"torn" not in found
        seen |= found
        assert (folder / "notes.txt").read_text() == "mine"
    assert seen == {b"A", b"B"}, "the kills never met the second version"
    write_files({"last": "x"}, folder)
    check_furniture(folder)


KILL_AT_EACH_STEP = """
import os, signal, sys
from pathlib import Path
from svmcompile.files import staging
from svmcompile.files import write_files

top, way = Path(sys.argv[1]), sys.argv[2]
old, new = ({f"f{i}": mark for i in range(4)} for mark in ("old", "new"))
left = None

def hook(event, arguments):
    global left
    if left is not None and (event == "open" or event.startswith(("os.", "fcntl."))):
        left -= 1
        if left < 0:
            left = None  # the kill is an event as well
            os.kill(os.getpid(), signal.SIGKILL)

def write_and_die(folder, step):
    global left
    left = step
    write_files(new, folder)
    os._exit(0)

sys.addaudithook(hook)
if way == "one by one":
    staging.may_swap = lambda folder: False
for step in range(300):
    folder = top / str(step) / "out"
    if way != "new folder":
        write_files(old, folder)
        (folder / "sub").mkdir()
        (folder / "other").write_text("mine")
    child = os.fork()
    if not child:
        write_and_die(folder, step)
    status = os.waitpid(child, 0)[1]
    found = {path.read_text() for path in folder.glob("f?")}
    write_files(old, folder)
    mine = way == "new folder" or ((folder / "sub").is_dir() and (folder / "other").read_text() == "mine")
    print("+".join(sorted(found)) or "none", "kept" if mine else "lost", flush=True)
    if os.WIFEXITED(status):
        break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(
    ("way", "outcomes"),
    [
        ("swap", {"old kept", "new kept"}),
        ("new folder", {"none kept", "new kept"}),
        (
            "one by one",
            {"old kept", "new+old kept", "new kept"},
        ),  # as documented; shows that a mixture is found
    ],
)
def test_a_kill_before_each_system_call(swappable: Path, way: str, outcomes: set[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", KILL_AT_EACH_STEP, str(swappable), way],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = result.stdout.splitlines()
    assert set(lines) == outcomes
    assert 15 < len(lines) < 300 and lines[-1] == "new kept"


def test_two_writers_end_with_one_version(tmp_path: Path) -> None:
    processes = [loop(tmp_path / "out", turns) for turns in (21, 20)]
    while any(process.poll() is None for process in processes):
        time.sleep(0.01)
    assert [process.returncode for process in processes] == [0, 0]
    assert len(versions_in(tmp_path / "out")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


MANY = """
import sys
from pathlib import Path
from svmcompile.files import write_files
name = sys.argv[2]
print("ready", flush=True)
for turn in range(30):
    write_files({f"{name}.c": str(turn), f"{name}.h": str(turn)}, Path(sys.argv[1]))
"""


def test_writers_of_other_names_do_not_undo_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MANY, str(tmp_path / "out")]
    processes = [subprocess.Popen([*command, name], cwd=ROOT, stdout=subprocess.PIPE) for name in "ab"]
    assert [process.wait() for process in processes] == [0, 0]
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    assert content(tmp_path / "out") == {"a.c": "29", "a.h": "29", "b.c": "29", "b.h": "29"}


def test_public_names() -> None:
    assert files.write_file is atomic.write_file and set(files.__all__) == {
        "recover",
        "write_file",
        "write_files",
    }
