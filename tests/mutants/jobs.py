"""Emissions that mutants are tried on, and the check: under sanitizers, against the interpreter."""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

import numpy as np
from jinja2 import FunctionLoader
from targets.c_build import LEVELS, SANITIZE, X86, attempt, sanitizing_compiler

from svmcompile.flow.emission import Emitted, Request, emit_targets, prepare
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.targets import templating
from svmcompile.targets.c import model as emitter
from svmcompile.targets.c.api import row_type, takes_kernel
from svmcompile.targets.kits import emit_kit
from tests.crossing.driven import TYPES, run_driver, write_driver
from tests.crossing.judged import Expected, judge, rows_of
from tests.mutants.interface import interface_driver
from tests.mutants.mutation import CONDITION, marked, read, templates
from tests.mutants.worded import check_words, write_word_driver

LARGEST = 1_500_000  # characters of C: beyond, one build takes too long
ENOUGH = 4  # emissions that each line is in
SECONDS, WAIT = 3, 60.0  # of the processor: a mutant that takes longer does not end; and by the clock
ROWS = 60
ODD = ("ties", "circles", "several")
DOUBT = " in doubt of "  # in the names of programs whose bounds are widened
BATCH = 1100  # rows, more than code takes at once
How = Literal["best", "others", "strictly"]
SCALES = (1.0, 6.0)  # of rows whose boundary is looked for: far out, bounds matter more


# Counts the blocks of code that run, which says how much work is done.
COUNTER = """
#include <stdio.h>
static unsigned long blocks;
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { blocks++; }
__attribute__((destructor)) static void tell(void)
{
    FILE *file = fopen("blocks", "w");
    fprintf(file, "%lu", blocks);
    fclose(file);
}
"""


LIMIT = f"""
#include <sys/resource.h>
__attribute__((constructor)) static void limit(void)
{{
    const struct rlimit seconds = {{ {SECONDS}, {SECONDS} }};
    setrlimit(RLIMIT_CPU, &seconds);
}}
"""


ALONE = """#include "model.h"
int main(void) { return model_self_test(); }
"""


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
    exactly: bool = False  # nothing is rounded, so that ties are ties
    texts: tuple[bytes, ...] = ()  # of a program that takes text

    @property
    def odd(self) -> str:
        """What few programs have: ties, classes that beat each other in circles, several sums."""
        return next((word for word in (DOUBT, *ODD) if word in self.name), "")

    @property
    def level(self) -> str:
        """Whose bounds are widened, if any are."""
        return self.name.partition(DOUBT)[2]

    @cached_property
    def lines(self) -> set[tuple[str, int]]:
        """Lines of templates that go into it; asked for with marks."""
        text = "".join(self.files().values())
        return {(template, int(at)) for template, at in re.findall(r"@(c/[\w/.]+):(\d+)@", text)}

    @property
    def size(self) -> int:
        """Characters of C."""
        return len(self.emitted.c["model.c"])

    @cached_property
    def expected(self) -> Expected:
        """Answers for rows of the data, hostile rows, and rows as close to a boundary as they get."""
        number, rows = self.request.number, self.X
        if self.exactly:
            found = Expected.of(self.program, number, rows)
            bounds = found.bounds
            return replace(found, bounds=bounds._replace(unstable=np.zeros(len(rows), bool)))
        if self.program.labels and np.isfinite(rows).all():
            near = [near_boundary(self.program, scale * rows) for scale in SCALES]
            rows = np.vstack([rows[:ROWS], *near])
        rows = np.resize(rows, (max(ROWS, len(rows)), rows.shape[1]))
        rows = rows_of(self.program, rows, number, 4 * ROWS)
        if self.odd:
            rows = np.resize(rows, (BATCH, rows.shape[1]))
        return Expected.of(self.program, number, rows)

    def files(self) -> Mapping[str, str]:
        """The C as the templates are now."""
        assert self.emitted.code and self.emitted.test
        return emitter.emit(self.emitted.code, "model", self.emitted.test, self.request.soft_double)

    def check(self, files: Mapping[str, str], folder: Path, how: How) -> None:
        """Fails if answers are wrong, with the best instruction set or the others.

        `strictly` is all of them under sanitizers, with the shipped test.
        """
        assert self.emitted.code
        code, strictly = self.emitted.code.program, how == "strictly"
        write_driver(files, code, folder)  # where the kernel is the caller's, rows hold its values
        alone = takes_kernel(code) or self.program.several
        (folder / "self_test.c").write_text(ALONE if alone else self.shipped(files))
        sanitize = ("-std=gnu99", *(flag for flag in SANITIZE if flag != "-std=c99"))
        for flags in {"best": self.levels[:1], "others": self.levels[1:]}.get(how, self.levels):
            style = (*(sanitize if strictly else ("-O0",)), *flags)
            build(folder, style, ("-c", "model.c"), ("driver.c", "model.o", "-o", "driver"))
            for name, ways in run_driver(code, self.expected.rows, folder, WAIT).items():
                for said in ways:
                    judge(self.expected, name, said)
            if strictly:
                build(folder, style, ("self_test.c", "model.o", "-o", "self_test"))
                run([folder / "self_test"])
        if strictly:
            self.check_spoiled(files, folder)
        if strictly and "model_get(" in files["model.h"]:
            (folder / "driver.c").write_text(interface_driver(code, files["model.h"]))
            build(folder, style, ("driver.c", "model.o", "-o", "driver"))
            run([folder / "driver"])
        if how != "others" and (code.input.text or code.categories.texts):
            write_word_driver(code, folder)
            build(folder, style, ("driver.c", "model.o", "-o", "driver"))
            check_words(code, self.program, self.request.number, self.texts, folder, WAIT)

    def check_spoiled(self, files: Mapping[str, str], folder: Path) -> None:
        """Fails unless the self-test sees one wrong number among those it expects."""
        before, stored = files["model.c"].split("int model_self_test(void)\n")
        (folder / "driver.c").write_text(ALONE)
        for table in ("expected", "labels"):
            wrong, count = re.subn(rf"( {table}\[.*\] = {{\s*(?:{{ )?)", r"\g<1>1000 + ", stored, count=1)
            (folder / "model.c").write_text(f"{before}int model_self_test(void)\n{wrong}")
            build(folder, ("-O0",), ("driver.c", "model.c", "-o", "driver"))
            done = subprocess.run([folder / "driver"], timeout=WAIT)
            assert done.returncode == count, f"{done.returncode} rows fail, {count} should"
        write(files, folder)

    def shipped(self, files: Mapping[str, str]) -> str:
        """The test of kit cmake."""
        number, profile, test = self.request.number, self.request.profile, self.emitted.test
        assert test
        kit = emit_kit("cmake", self.program, "model", number, profile, files, test)
        return kit["cmake/model/tests/self_test.c"]

    def seen(self, files: Mapping[str, str], folder: Path) -> str:
        """What the compiler sees here, but for white space."""
        write(files, folder)
        compiler = (*sanitizing_compiler(), "-E", "-P", "model.c")
        found = (attempt(compiler, folder, *flags).stdout for flags in self.levels)
        return " ".join(" ".join(found).split())

    def work(self, files: Mapping[str, str], folder: Path) -> int:
        """How many blocks of code run for the rows, in all instruction sets."""
        assert self.emitted.code
        write_driver(files, self.emitted.code.program, folder)
        (folder / "counter.c").write_text(COUNTER)
        given = np.ascontiguousarray(self.expected.rows, dtype=TYPES[row_type(self.emitted.code.program)])
        counted, done = ("-fsanitize-coverage=trace-pc", "-c", "model.c"), 0
        for flags in self.levels:
            build(folder, ("-O0", *flags), counted, ("driver.c", "counter.c", "model.o", "-o", "driver"))
            command = ["./driver", str(len(given))]
            subprocess.run(
                command, cwd=folder, input=given.tobytes(), stdout=subprocess.DEVNULL, check=True
            )
            done += int((folder / "blocks").read_text())
        return done

    @property
    def levels(self) -> list[list[str]]:
        """Flags for each instruction set."""
        assert self.emitted.code
        several = self.emitted.code.profile == "host"
        return [[f"-DMODEL_NO_{isa}" for isa in one] for one in (LEVELS.values() if several else [[]])]


def write(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def run(command: list[Path]) -> None:
    """Fails unless all is well."""
    done = subprocess.run(command, capture_output=True, timeout=WAIT)
    assert done.returncode == 0, done.stdout


@cache
def limited() -> tuple[str, ...]:
    """An object that ends a program which takes too long."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    (folder / "limit.c").write_text(LIMIT)
    build(folder, ("-O0",), ("-c", "limit.c"))
    return (str(folder / "limit.o"),)


@cache
def vectors() -> tuple[str, ...]:
    """Flags that have vector instructions declared, which takes as long to read as all else."""
    if not X86:
        return ()
    folder, clang = Path(mkdtemp()), "clang" in sanitizing_compiler()[0]
    atexit.register(shutil.rmtree, folder)
    (folder / "vectors.h").write_text("#include <immintrin.h>\n")
    made = f"vectors.{'pch' if clang else 'h.gch'}"
    build(folder, ("-O0",), ("-x", "c-header", "vectors.h", "-o", made))
    return ("-include-pch", str(folder / made)) if clang else ("-include", str(folder / "vectors.h"))


def build(folder: Path, flags: tuple[str, ...], *steps: tuple[str, ...]) -> None:
    for step in steps:
        if flags[0] == "-O0" and "model.c" in step and "immintrin" in (folder / "model.c").read_text():
            step = (*vectors(), *step)
        if not {"-c", "-x"} & {*step}:
            step = (*step, *limited())
        done = attempt(sanitizing_compiler(), folder, "-w", "-DMODEL_SELF_TEST", *flags, *step)
        if done.returncode:
            raise Invalid(done.stderr)


def alike(labels: Any, others: Any) -> Any:
    """Where labels are the same, all of them if rows have several."""
    return (labels == others).reshape(len(labels), -1).all(axis=1)


def near_boundary(program: Program, rows: Any) -> Any:
    """Rows between others of another label, bisected until float32 has no closer ones."""
    random = np.random.default_rng(2)
    a, b = (rows[random.integers(0, len(rows), 2 * ROWS)].astype(np.float32) for _ in range(2))
    label = interpret(program, a)["label"]
    differ = ~alike(label, interpret(program, b)["label"])
    a, b, label = a[differ][:ROWS], b[differ][:ROWS], label[differ][:ROWS]
    for _ in range(30 if len(a) else 0):
        middle = (a + b) / 2
        same = alike(interpret(program, middle.astype(np.float64))["label"], label)[:, None]
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return np.vstack([a, b]).astype(np.float64)


def job(
    name: str, program: Program, X: Any, profile: str, precision: str = "f32", tables: str | None = None,
    given: str | None = None, soft_double: bool = True, exactly: bool = False,
) -> Job:  # fmt: skip
    """X may be texts where the program takes some."""
    texts = tuple(one.encode("utf-8", "replace") for one in X) if program.input.text else ()
    X = program.counts(X).toarray() if texts else X
    request = Request.of(program, "c", "model", precision, profile, tables, soft_double)
    ready, request = prepare(program, request, None if program.number else X, None, given)
    words = "-".join(filter(None, (profile, precision, tables, given)))
    return Job(f"{name}/{words}", ready, request, emit_targets(ready, request), X, exactly, texts)


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
    _use(sources)
    try:
        yield
    finally:
        _use({})


def _use(sources: Mapping[str, str]) -> None:
    current = _current()
    current.clear()
    current.update(sources)
    for template in templating._environment().cache.values():
        template._module = None  # holds macros that it imported


def users(all_jobs: Iterable[Job]) -> dict[tuple[str, int], list[Job]]:
    """The jobs that each line of each template goes into, those with little C first."""
    found: dict[tuple[str, int], list[Job]] = {}
    with marks():
        for one in sorted(all_jobs, key=lambda job: job.size):
            for place in one.lines:
                found.setdefault(place, []).append(one)
    return few(found | inline_macros(found))


@contextmanager
def marks() -> Iterator[None]:
    """Every line of every template says where it stands."""
    check, emitter.check_tables = emitter.check_tables, lambda *_: None  # which marks would confuse
    try:
        with instead({template: marked(template) for template in templates()}):
            yield
    finally:
        emitter.check_tables = check


def inline_macros(found: Mapping[tuple[str, int], list[Job]]) -> dict[tuple[str, int], list[Job]]:
    """Macros of one line and conditions bear no mark: whoever has a line of the template may have them."""
    by_template: dict[str, dict[str, Job]] = {}
    for (template, _), some in found.items():
        by_template.setdefault(template, {}).update((one.name, one) for one in some)
    return {
        (template, at): sorted(some.values(), key=lambda job: job.size)
        for template, some in by_template.items()
        for at, line in enumerate(read(template).splitlines())
        if ("{% macro " in line and "{% endmacro %}" in line) or CONDITION.match(line)
    }


def few(found: dict[tuple[str, int], list[Job]]) -> dict[tuple[str, int], list[Job]]:
    """As few jobs as will do, so that what is known of each is used often; the largest of each line."""
    usual = [[one for one in some if not one.level] for some in found.values()]
    kept = {one for some in found.values() for one in some if one.odd} | {
        some[-1] for some in usual if some
    }
    for some in sorted(usual, key=len):
        missing = ENOUGH - len(kept.intersection(some))
        kept.update([one for one in some if one not in kept][: max(0, missing)])
    return {key: [one for one in some if one in kept] for key, some in found.items()}
