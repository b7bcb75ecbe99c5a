"""Mutation testing of the templates of C: `make mutants MINUTES=30`. A survivor is a hole in the tests.

One operator, number or line of a template is changed. The programs that the line goes into are emitted and
built under sanitizers; answers are held against the interpreter, and the test they ship runs. A mutant is

  killed     by a wrong answer, a sanitizer, a test that fails, or a run that does not end
  refused    when what was emitted is read back
  invalid    if its template or its C is not well formed
  unchanged  if no program has other C
  elsewhere  if the compiler sees the same here: it is code for other processors
  slower     if answers are the same by more work, such as exact sums where a bound would do
  equivalent if `equivalent.py` says why nothing can tell it from the original
  survived   else; counted with those in no program, and those that the check cannot judge
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import TemplateError

from svmcompile.errors import EmitError
from svmcompile.targets.c import model as emitter
from tests.mutants.equivalent import reason
from tests.mutants.jobs import ODD, How, Invalid, Job, instead, users
from tests.mutants.kept import Kept
from tests.mutants.mutation import Mutant, mutants, templates
from tests.replay.cases import CASES

MOST, FIRST = 9, 3  # jobs that a mutant is tried on, and the smallest of them
OTHERS = 5  # with every instruction set
MOST_IN_DOUBT = 20


def remember_tables() -> None:
    """No template changes the text of tables, which takes longer than all else of an emission."""
    plain, known = emitter._table_text, {}

    def text(table: Any, *how: Any) -> str:
        key = (table.dtype.str, table.shape, sha256(table.tobytes()).digest(), how)
        if key not in known:
            known[key] = plain(table, *how)
        return known[key]

    emitter._table_text = text


@cache
def original(job: Job) -> dict[str, str]:
    return dict(job.files())


@cache
def seen(job: Job) -> str:
    """What the compiler sees without any mutation."""
    with TemporaryDirectory() as folder:
        return job.seen(original(job), Path(folder))


@cache
def work(job: Job) -> int:
    """How much work it is without any mutation."""
    with TemporaryDirectory() as folder:
        return job.work(original(job), Path(folder))


@cache
def passes(job: Job, how: How) -> bool:
    """Without any mutation; else nothing a job says about mutants counts."""
    try:
        with TemporaryDirectory() as folder:
            job.check(original(job), Path(folder), how)
    except (AssertionError, subprocess.TimeoutExpired, ValueError) as error:
        print(f"wrong without a mutant, {how}: {job.name}: {error}"[:300], flush=True)
        return False
    return True


def fate(mutant: Mutant, used_by: list[Job]) -> tuple[str, str]:
    """What became of a mutant, and where or why."""
    changed = []
    for job in spread(used_by):
        files = mutated(mutant, job)
        if isinstance(files, tuple):
            return files
        if files != original(job):
            changed.append((job, files))
            if found := verdict(job, files, "best"):
                return found
    if told := hidden(changed) or in_doubt(mutant, used_by):
        return told
    if why := reason(mutant):
        return "equivalent", why
    rounds: tuple[tuple[How, Any], ...] = ("others", changed[-OTHERS:]), ("strictly", strict(changed))
    for how, some in rounds:
        for job, files in some:
            if found := verdict(job, files, how):
                return found
    if any(is_slower(job, files) for job, files in changed[-OTHERS:]):
        return "slower", ""
    return "survived", ", ".join(job.name for job, _ in changed)


def strict(changed: list[Any]) -> list[Any]:
    """The two smallest, and two that are not: a step beyond an array may need a width to be seen."""
    third = len(changed) // 3
    return [changed[at] for at in sorted({0, min(1, len(changed) - 1), third, 2 * third})]


def is_slower(job: Job, files: Mapping[str, str]) -> bool:
    try:
        with TemporaryDirectory() as folder:
            return job.work(files, Path(folder)) > work(job)
    except Invalid:  # gcc 12 cannot count the blocks of some code
        return False


def mutated(mutant: Mutant, job: Job) -> dict[str, str] | tuple[str, str]:
    """The C of a job as a mutant has it, or its fate."""
    try:
        with instead({mutant.template: mutant.source()}):
            return dict(job.files())
    except EmitError as error:
        return "refused", str(error)
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        return "invalid", str(error)


def in_doubt(mutant: Mutant, used_by: list[Job]) -> tuple[str, str] | None:
    """Whether the label of a row tells that a bound decided it where it should not, or did not."""
    jobs = doubtful(used_by)
    rounds: tuple[tuple[How, list[Job]], ...] = ("best", jobs), ("others", jobs[:: len(jobs) // OTHERS + 1])
    for how, some in rounds:
        for job in some:
            files = mutated(mutant, job)
            if isinstance(files, tuple):
                return files
            if files != original(job) and (found := verdict(job, files, how)):
                return found
    return None


def doubtful(used_by: list[Job]) -> list[Job]:
    """For each level of bounds the smallest emission of each profile, the largest, and one whose classes
    beat each other in circles; not too many."""
    found: dict[tuple[str, str], list[Job]] = {}
    for job in used_by:
        if job.level:
            found.setdefault((job.level, job.request.profile), []).append(job)
    jobs = [
        job
        for some in found.values()
        for job in dict.fromkeys((some[0], some[-1], *[one for one in some if "circles" in one.name][:1]))
    ]
    return jobs[:: -(-len(jobs) // MOST_IN_DOUBT)] if jobs else []


def spread(used_by: list[Job]) -> list[Job]:
    """The smallest, as many up to the largest, and odd ones of each kind."""
    others = [one for one in used_by if not one.odd]
    if len(others) > MOST:
        step = (len(others) - 1 - FIRST) / (MOST - FIRST - 1)
        others = others[:FIRST] + [others[FIRST + round(step * at)] for at in range(MOST - FIRST)]
    for kind in ODD:
        odd = [one for one in used_by if one.odd == kind]
        others += odd if len(odd) < 3 else [odd[0], odd[len(odd) // 2], odd[-1]]
    return others


def verdict(job: Job, files: Mapping[str, str], how: How) -> tuple[str, str] | None:
    try:
        with TemporaryDirectory() as folder:
            job.check(files, Path(folder), how)
    except (AssertionError, subprocess.TimeoutExpired, ValueError) as error:
        return ("killed", f"{job.name}: {type(error).__name__}") if passes(job, how) else None
    except Invalid as error:
        return "invalid", str(error)
    return None


def hidden(changed: list[tuple[Job, dict[str, str]]]) -> tuple[str, str] | None:
    """Whether nothing changed that a compiler here sees."""
    if not changed:
        return "unchanged", ""
    with TemporaryDirectory() as folder:
        same = all(job.seen(files, Path(folder)) == seen(job) for job, files in changed)
    return ("elsewhere", "") if same else None


def report(fates: Counter[str], seed: int, part: str) -> None:
    """What became of all, and how many of those that differ are killed."""
    tried, killed = fates.total(), fates["killed"] + fates["refused"]
    print(", ".join(f"{count} {what}" for what, count in fates.most_common()))
    meant = killed + fates["survived"] + fates["in no program"] + fates["not checked"]
    share = f"{killed} of {meant} that differ are killed ({killed / max(1, meant):.1%})"
    print(f"{tried} mutants of seed {seed}, part {part}: {share}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--only", default="", help="templates whose name contains this")
    parser.add_argument(
        "--part", default="1/1", help="which part of the sample of how many, for several processes"
    )
    parser.add_argument("cases", nargs="*", help="of tests/replay/cases.py (default: all)")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    remember_tables()
    kept = Kept(asked.cases or CASES)
    lines = users(kept.jobs())
    kept.save()
    sample = [one for template in templates() if asked.only in template for one in mutants(template)]
    random.Random(asked.seed).shuffle(sample)
    nowhere = sum(not lines.get((one.template, one.line)) for one in sample)
    print(f"{len(sample):,} mutants, {nowhere} in no program, {len(kept.jobs())} emissions", flush=True)
    fates: Counter[str] = Counter()
    end = time.monotonic() + 60 * asked.minutes
    part, parts = map(int, asked.part.split("/"))
    for mutant in sample[part - 1 :: parts]:
        if time.monotonic() > end:
            break
        used_by = lines.get((mutant.template, mutant.line), [])
        try:
            what, where = fate(mutant, used_by) if used_by else ("in no program", "")
        except Exception as error:  # of the check, which must not end the others
            what, where = "not checked", repr(error)[:1000]
        fates[what] += 1
        if what in ("survived", "slower", "in no program", "not checked"):
            print(f"{what}: {mutant}\n    {where}", flush=True)
        print(
            f"{fates.total()}: " + ", ".join(f"{count} {one}" for one, count in fates.items()),
            end="\r",
            file=sys.stderr,
        )
    kept.save()
    report(fates, asked.seed, asked.part)
    sys.exit(1 if fates["survived"] else 0)


if __name__ == "__main__":
    main()
