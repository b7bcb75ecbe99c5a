"""Emissions that mutants are tried on, and the check: under sanitizers, against the interpreter."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import FunctionLoader
from targets.c_build import LEVELS, SANITIZE, attempt, sanitizing_compiler
from targets.c_cases import FEATURES, RBF, normal_rows
from targets.c_cases import program_of as small_program

from svmcompile.data import Data
from svmcompile.flow.emission import Emitted, Request, emit_targets, prepare
from svmcompile.flow.program import compile_svm
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.targets import templating
from svmcompile.targets.c import model as emitter
from svmcompile.targets.c.api import row_type
from svmcompile.targets.kits import emit_kit
from tests.crossing.driven import TYPES, run_driver, write_driver
from tests.crossing.judged import Expected, judge, rows_of
from tests.mutants.mutation import marked, read, templates
from tests.replay.cases import CASES, program_of

LARGEST = 1_500_000  # characters of C: beyond, one build takes too long
ENOUGH = 4  # emissions that each line is in
SECONDS = 10.0  # a mutant that takes longer does not end
ROWS = 60


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
        """Answers for rows of the data, hostile rows, and rows as close to a boundary as they get."""
        number, rows = self.request.number, self.X
        if self.program.labels and np.isfinite(rows).all():
            rows = np.vstack([rows[:ROWS], near_boundary(self.program, rows)])
        rows = rows_of(self.program, rows, number, 2 * ROWS)
        return Expected.of(self.program, number, rows)

    def files(self) -> Mapping[str, str]:
        """The C as the templates are now."""
        assert self.emitted.code and self.emitted.test
        return emitter.emit(self.emitted.code, "model", self.emitted.test, self.request.soft_double)

    def check(self, files: Mapping[str, str], folder: Path, strictly: bool) -> None:
        """Fails if answers are wrong; `strictly`: all instruction sets, sanitizers, the shipped test."""
        assert self.emitted.code
        program = self.emitted.code.program
        write_driver(files, program, folder)
        (folder / "self_test.c").write_text(self.shipped(files))
        sanitize = ("-std=gnu99", *(flag for flag in SANITIZE if flag != "-std=c99"))
        for flags in self.levels if strictly else self.levels[:1]:
            style = (*(sanitize if strictly else ("-O0",)), *flags)
            build(folder, style, ("-c", "model.c"), ("driver.c", "model.o", "-o", "driver"))
            for name, both in run_driver(program, self.expected.rows, folder, SECONDS).items():
                for said in both:
                    judge(self.expected, name, said)
            if strictly:
                build(folder, style, ("self_test.c", "model.o", "-o", "self_test"))
                done = subprocess.run([folder / "self_test"], capture_output=True, timeout=SECONDS)
                assert done.returncode == 0, done.stdout

    def shipped(self, files: Mapping[str, str]) -> str:
        """The test of kit cmake."""
        number, profile, test = self.request.number, self.request.profile, self.emitted.test
        assert test
        kit = emit_kit("cmake", self.program, "model", number, profile, files, test)
        return kit["cmake/model/tests/self_test.c"]

    def seen(self, files: Mapping[str, str], folder: Path) -> str:
        """What the compiler sees here."""
        for name, text in files.items():
            (folder / name).write_text(text)
        compiler = (*sanitizing_compiler(), "-E", "-P", "model.c")
        return "".join(attempt(compiler, folder, *flags).stdout for flags in self.levels)

    def work(self, files: Mapping[str, str], folder: Path) -> int:
        """How many blocks of code run for the rows."""
        assert self.emitted.code
        write_driver(files, self.emitted.code.program, folder)
        (folder / "counter.c").write_text(COUNTER)
        counted = ("-fsanitize-coverage=trace-pc", "-c", "model.c")
        build(folder, ("-O0",), counted, ("driver.c", "counter.c", "model.o", "-o", "driver"))
        given = np.ascontiguousarray(self.expected.rows, dtype=TYPES[row_type(self.emitted.code.program)])
        command = ["./driver", str(len(given))]
        subprocess.run(command, cwd=folder, input=given.tobytes(), stdout=subprocess.DEVNULL, check=True)
        return int((folder / "blocks").read_text())

    @property
    def levels(self) -> list[list[str]]:
        """Flags for each instruction set."""
        assert self.emitted.code
        several = self.emitted.code.profile == "host"
        return [[f"-DMODEL_NO_{isa}" for isa in one] for one in (LEVELS.values() if several else [[]])]


def build(folder: Path, flags: tuple[str, ...], *steps: tuple[str, ...]) -> None:
    for step in steps:
        done = attempt(sanitizing_compiler(), folder, "-w", "-DMODEL_SELF_TEST", *flags, *step)
        if done.returncode:
            raise Invalid(done.stderr)


def near_boundary(program: Program, rows: Any) -> Any:
    """Rows between others of another label, bisected until float32 has no closer ones."""
    random = np.random.default_rng(2)
    a, b = (rows[random.integers(0, len(rows), 2 * ROWS)].astype(np.float32) for _ in range(2))
    label = interpret(program, a)["label"]
    differ = label != interpret(program, b)["label"]
    a, b, label = a[differ][:ROWS], b[differ][:ROWS], label[differ][:ROWS]
    for _ in range(30 if len(a) else 0):
        middle = (a + b) / 2
        same = (interpret(program, middle.astype(np.float64))["label"] == label)[:, None]
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return np.vstack([a, b]).astype(np.float64)


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


def small_jobs() -> Iterator[Job]:
    """Small programs of other tests, with nodes that the replay has in large programs, or not at all."""
    for name, (program, rows) in small_programs().items():
        for profile in ("portable", "host"):
            yield job(name, program, rows, profile)


def small_programs() -> dict[str, tuple[Program, Any]]:
    """By name, with rows."""
    import targets.bounded_cases as bounded
    import targets.taylor_cases as taylor
    import targets.test_c_leaves as leaves
    import targets.test_c_picked as picked
    import targets.test_c_taylor_vote as votes
    from programs.leaves import RECIPES, leaf_rows

    rows = normal_rows(200, "f64")
    found = {}
    for name, program in picked.programs().items():
        found[f"picked {name}"] = program, picked.fitted(picked.FORMS[name][0])[0]
    for case in leaves.FEW:
        program = leaves.PROGRAMS[case]
        found[f"leaves {case}"] = program, leaf_rows(RECIPES[case], program, 200)
    for kind in ("rbf", "poly"):
        found |= {name: (program, bounded.two_classes()[0]) for name, program in bounded.sums(kind).items()}
    for kind in ("iris", "sparse", "poly"):
        X = bounded.voting_machine(kind)[1]
        found |= {f"vote {name}": (program, X) for name, program in bounded.votes(kind).items()}
    for case, (kind, *_) in votes.CASES.items():
        found[f"taylor {case}"] = votes.program_of(case), bounded.voting_machine(kind)[1]
    for name in ("d2", "d5_axes", "d8", "d17_walk", "d5_cubic"):
        case = taylor.made(*taylor.SIZES[name])
        found[f"taylor {name}"] = case.program, case.X
    for method, classes in itertools.product(("certified", "anytime"), (3, 5)):
        program = compile_svm(in_circles(classes), method, Data(rows, None), {"force": True})
        found[f"{method} {classes} circles"] = program, rows
    some = ("rbf_ovo", "rbf_argmax", "poly_ovo", "quadratic_ovo", "sigmoid_sparse", "linear_scaled")
    return found | {name: (small_program(name), rows) for name in some}


def in_circles(classes: int) -> SVM:
    """Random weights: of three classes, each may beat the next one."""
    random, each = np.random.default_rng(classes), 8
    return SVM(
        RBF,
        random.normal(size=(each * classes, FEATURES)),
        4 * random.normal(size=(classes - 1, each * classes)),
        random.normal(size=classes * (classes - 1) // 2),
        LabelRule.VOTE,
        Source("test", "0" * 64),
        Labels(tuple(range(classes)), "<i8"),
        (each,) * classes,
        one_vs_rest_scores=True,
    ).check("test")


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
    ordered = {
        key: [one for _, one in sorted(some, key=lambda pair: pair[0])] for key, some in found.items()
    }
    return few(ordered)


def few(found: dict[tuple[str, int], list[Job]]) -> dict[tuple[str, int], list[Job]]:
    """As few jobs as will do, so that what is known of each is used often."""
    kept = {one for some in found.values() for one in some if "circles" in one.name}  # few rows get there
    for some in sorted(found.values(), key=len):
        missing = ENOUGH - len(kept.intersection(some))
        kept.update([one for one in some if one not in kept][: max(0, missing)])
    return {key: [one for one in some if one in kept] for key, some in found.items()}
