"""Mutation of files guided by coverage: `make fuzz MINUTES=30`. Any error but the project's own is a find.

A file that reaches a new line pair of svmcompile is kept and mutated further. Tracing lines costs more than
reading: one file in TRACED is traced, and each that fails by a way through the code that is new. More than
SECONDS of processor time, or MEGABYTES of memory, are finds as well. Finds are stored in
tests/fuzz/corpus, where the tests read them again for ever.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import resource
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from svmcompile.errors import SvmCompileError
from tests.fuzz import blobs, originals, strings
from tests.fuzz.targets import TARGETS, Target, packed, swapped_json, unpacked

CORPUS = Path(__file__).with_name("corpus")
PACKAGE = str(Path(__file__).resolve().parents[2] / "svmcompile")
SECONDS = 5.0
MEGABYTES = 2048
LONGEST = 1 << 16
TRACED = 8
IN_C: dict[str, Any] = {
    blobs.NAME: blobs.Blobs,
    strings.NAME: strings.Strings,
    originals.NAME: originals.Originals,
}


class Slow(BaseException):
    """More processor time than a small file may take."""


@dataclass
class Fuzz:
    """One target: what was reached, the files that reached it, and finds."""

    target: Target
    seed: int = 0
    executions: int = 0
    edges: set[int] = field(default_factory=set)
    ways: set[int] = field(default_factory=set)
    kept: list[bytes] = field(default_factory=list)
    finds: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = random.Random(self.seed).random
        self.choose = lambda count: int(draw() * count)
        self.trace = Trace()

    def begin(self) -> None:
        """Good files and what failed once."""
        for content in (*self.target.seeds(), *stored(self.target.name)):
            self.once(content)

    def step(self) -> None:
        content = mutated(self.choose, self.kept, self.target.words)
        if self.choose(TRACED) == 0 or self.is_new(content):
            self.once(content)

    def is_new(self, content: bytes) -> bool:
        """Whether it fails by a way that no other file took."""
        self.executions += 1
        fault, way = outcome(self.target, content)
        return bool(fault) or way not in self.ways

    def once(self, content: bytes) -> None:
        self.executions += 1
        fault, way = outcome(self.target, content, self.trace)
        self.ways.add(way)
        if fault:
            self.finds.setdefault(fault, content)
        new = self.trace.edges - self.edges
        if new or not self.kept:
            self.edges |= new
            self.kept.append(content)


class Trace:
    """Pairs of lines of svmcompile that were run one after the other."""

    def __init__(self) -> None:
        self.edges: set[int] = set()
        self.last = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self.line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            here = hash((frame.f_code.co_filename, frame.f_lineno))
            self.edges.add(here ^ (self.last >> 1))
            self.last = here
        return self.line


def failure(target: Target, content: bytes) -> str:
    """What went wrong, as a name for the find; empty for a model or an error of the project."""
    return outcome(target, content)[0]


def outcome(target: Target, content: bytes, trace: Trace | None = None) -> tuple[str, int]:
    """What went wrong, and a number for the lines that an error came through; 0 without one."""
    if trace:
        trace.edges, trace.last = set(), 0
    try:
        with limited():
            sys.settrace(trace)
            try:
                target.run(content)
            finally:
                sys.settrace(None)
    except Slow:
        return "slow", 0
    except Exception as error:
        lines, place = [], error.__traceback__
        while place:
            lines.append((place.tb_frame.f_code.co_filename, place.tb_lineno))
            place = place.tb_next
        return _fault(error, *lines[-1]), hash(tuple(lines))
    return "", 0


def _fault(error: Exception, file: str, line: int) -> str:
    if isinstance(error, SvmCompileError):
        return "memory" if "fit into memory" in str(error) else ""
    return f"{type(error).__name__} at {Path(file).name}:{line}"


@contextmanager
def limited() -> Iterator[None]:
    """Processor time of this block is limited."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def mutated(choose: Any, kept: list[bytes], words: tuple[bytes, ...]) -> bytes:
    """A file that was kept, changed a little; inside its members if it is a zip file."""
    content = kept[choose(len(kept))]
    members = unpacked(content) if choose(4) else {}
    if members:
        name = list(members)[choose(len(members))]
        members[name] = mutated(choose, [members[name]], words)
        if choose(16) == 0:
            members[list(members)[choose(len(members))]] = members[name]
        return packed(members)
    if content[:1] in (b"{", b"[") and choose(2):
        content = swapped_json(content, choose)
    data = bytearray(content)
    for _ in range(1 + choose(4)):
        _change(choose, data, kept, words)
    return bytes(data[:LONGEST])


def _change(choose: Any, data: bytearray, kept: list[bytes], words: tuple[bytes, ...]) -> None:
    at = choose(len(data) + 1)
    end = min(len(data), at + 1 + choose(1 << choose(8)))
    how = choose(7)
    if how == 0 and at < len(data):
        data[at] ^= 1 << choose(8)
    elif how == 1:
        data[at:end] = b""
    elif how == 2:
        data[at:at] = data[at:end] * (1 + choose(3))
    elif how == 3 and words:
        data[at : at + choose(2) * 8] = words[choose(len(words))]
    elif how == 4:
        data[at : at + 1] = bytes([choose(256)])
    elif how == 5:
        other = kept[choose(len(kept))]
        start = choose(len(other) + 1)
        data[at:end] = other[start : start + 1 + choose(64)]
    else:
        digits = [place for place in range(at, min(len(data), at + 200)) if 48 <= data[place] < 58]
        if digits:
            data[digits[0] : digits[0] + 1] = str(choose(1 << choose(64))).encode()


def stored(name: str) -> list[bytes]:
    """Inputs of a target that failed once."""
    start = name.replace(" ", "-") + "."
    return [path.read_bytes() for path in sorted(CORPUS.iterdir()) if path.name.startswith(start)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="for all targets together")
    parser.add_argument("--target", help=f"only this one; {' and '.join(IN_C)} run in C")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [target for target in TARGETS if options.target in (None, target.name)]
    in_c = [name for name in IN_C if options.target in (None, name) and blobs.can_run()]
    total = finds = 0
    each = 60 * options.minutes / (len(chosen) + len(in_c))
    for name in in_c:  # before memory is limited, of which sanitizers reserve more
        ran = run_in_c(name, each, options.seed)
        total, finds = total + ran.executions, finds + len(ran.finds)
    for target in chosen:
        fuzz = run_target(target, each, options.seed)
        total, finds = total + fuzz.executions, finds + len(fuzz.finds)
    print(f"{total:,} executions, {finds} finds; seed {options.seed}")
    sys.exit(1 if finds else 0)


def run_target(target: Target, seconds: float, seed: int) -> Fuzz:
    """One target in Python; finds are stored."""
    fuzz = Fuzz(target, seed)
    fuzz.begin()
    _limit_memory()
    end = time.monotonic() + seconds
    begun, before = time.process_time(), fuzz.executions
    while time.monotonic() < end:
        fuzz.step()
    rate = (fuzz.executions - before) / (time.process_time() - begun)
    print(
        f"{target.name:12} {fuzz.executions:9,} executions, {rate:6,.0f} a second of processor time, "
        f"{len(fuzz.edges):5,} line pairs, {len(fuzz.kept):4} files kept, {len(fuzz.finds)} finds",
        flush=True,
    )
    for fault, content in fuzz.finds.items():
        path = CORPUS / f"{target.name.replace(' ', '-')}.{hashlib.sha256(content).hexdigest()[:12]}"
        path.write_bytes(content)
        print(f"    {fault}: {path.name}", flush=True)
    return fuzz


def run_in_c(name: str, seconds: float, seed: int) -> Any:
    """A target that runs in C; a find says how to repeat it."""
    ran = IN_C[name]()
    ran.run(seconds, seed)
    told = f", {ran.opened:,} opened and run" if hasattr(ran, "opened") else ""
    rate = ran.executions / seconds
    print(
        f"{name:12} {ran.executions:9,} executions, {rate:6,.0f} a second{told}, {len(ran.finds)} finds",
        flush=True,
    )
    for find in ran.finds:
        print(f"    {find}", flush=True)
    return ran


def _limit_memory() -> None:
    """More than this at once is a MemoryError, and so a find."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if pages:
        most = pages * resource.getpagesize() + (MEGABYTES << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
