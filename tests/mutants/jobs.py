"""Emissions that mutants are tried on, and the check: under sanitizers, against the interpreter."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jinja2 import FunctionLoader
from targets.c_build import LEVELS, SANITIZE, attempt, sanitizing_compiler

from svmcompile.flow.emission import Emitted, Request, emit_targets, prepare
from svmcompile.ir.program import Program
from svmcompile.targets import templating
from svmcompile.targets.c import model as emitter
from svmcompile.targets.kits import emit_kit
from tests.crossing.driven import run_driver, write_driver
from tests.crossing.judged import Expected, judge, rows_of
from tests.mutants.mutation import marked, read, templates
from tests.replay.cases import CASES, program_of

LARGEST = 400_000  # characters of C: beyond, one build takes too long
SECONDS = 20.0  # a mutant that takes longer does not end
ROWS = 150


class Invalid(Exception):
    """The mutant is no program: its template or its C is not well formed."""


@dataclass(frozen=True, eq=False)
class Job:
    """One emission of one program."""

    name: str
    program: Program
    request: Request
    emitted: Emitted
    X: Any

    @cached_property
    def expected(self) -> Expected:
        rows = rows_of(self.program, self.X, self.request.number, ROWS)
        return Expected.of(self.program, self.request.number, rows)

    def files(self) -> Mapping[str, str]:
        """The C as the templates are now."""
        assert self.emitted.code and self.emitted.test
        return emitter.emit(self.emitted.code, "model", self.emitted.test, self.request.soft_double)

    def check(self, files: Mapping[str, str], folder: Path) -> None:
        """An AssertionError or a timeout if the code is wrong anywhere."""
        code = self.emitted.code
        assert code and self.emitted.test
        write_driver(files, code.program, folder)
        kit = emit_kit(
            "cmake", self.program, "model", self.request.number, code.profile, files, self.emitted.test
        )
        (folder / "self_test.c").write_text(kit["cmake/model/tests/self_test.c"])
        levels = LEVELS.values() if code.profile == "host" else [[]]
        for missing in levels:
            self._build(folder, code.profile, [f"-DMODEL_NO_{isa}" for isa in missing])
            for name, both in run_driver(code.program, self.expected.rows, folder, SECONDS).items():
                for said in both:
                    judge(self.expected, name, said)
            shipped = subprocess.run([folder / "self_test"], capture_output=True, timeout=SECONDS)
            assert shipped.returncode == 0, shipped.stdout

    def _build(self, folder: Path, profile: str, flags: list[str]) -> None:
        style = [flag for flag in SANITIZE if profile != "host" or flag != "-std=c99"]
        always = (*style, "-w", "-DMODEL_SELF_TEST", *flags)
        for step in (
            ("-c", "model.c"),
            ("driver.c", "model.o", "-o", "driver"),
            ("self_test.c", "model.o", "-o", "self_test"),
        ):
            done = attempt(sanitizing_compiler(), folder, *always, *step)
            if done.returncode:
                raise Invalid(done.stderr)


def jobs(names: Iterable[str], kept: Path | None = None) -> Iterator[Job]:
    """Every emission as C of these cases of the replay; programs are kept in a folder, if one is given."""
    for name in names:
        case = CASES[name]
        path = kept / f"{name}.svmc" if kept else None
        program = Program.load(path) if path and path.exists() else program_of(case)
        if path and not path.exists():
            program.save(path)
        for how in case.emissions:
            if how.get("target", "c") == "c" and how.get("profile") and "kit" not in how:
                yield job(name, program, case.data()[0], **how)


def job(
    name: str, program: Program, X: Any, profile: str, precision: str = "f32", tables: str | None = None,
    given: str | None = None, soft_double: bool = True,
) -> Job:  # fmt: skip
    request = Request.of(program, "c", "model", precision, profile, tables, soft_double)
    ready, request = prepare(program, request, X, None, given)
    words = "-".join(filter(None, (profile, precision, tables, given)))
    return Job(f"{name}/{words}", ready, request, emit_targets(ready, request), X)


@cache
def _current() -> dict[str, str]:
    """Templates that are not read from disk; the environment asks here from now on."""
    current: dict[str, str] = {}

    def load(name: str) -> tuple[str, None, Any]:
        source = current.get(name) or read(name)
        return source, None, lambda: source == (current.get(name) or read(name))

    templating._environment().loader = FunctionLoader(load)
    return current


@contextmanager
def instead(sources: Mapping[str, str]) -> Iterator[None]:
    """Other text for some templates."""
    current = _current()
    current.update(sources)
    try:
        yield
    finally:
        current.clear()


def users(all_jobs: Iterable[Job]) -> dict[tuple[str, int], list[Job]]:
    """The jobs that each line of each template goes into, those with little C first."""
    found: dict[tuple[str, int], list[tuple[int, Job]]] = {}
    check, emitter.check_tables = emitter.check_tables, lambda *_: None  # which marks would confuse
    try:
        with instead({template: marked(template) for template in templates()}):
            for one in all_jobs:
                text = "".join(one.files().values())
                for template, at in set(re.findall(r"@(c/[\w/.]+):(\d+)@", text)):
                    found.setdefault((template, int(at)), []).append((len(text), one))
    finally:
        emitter.check_tables = check
    return {key: [one for _, one in sorted(some, key=lambda pair: pair[0])] for key, some in found.items()}
