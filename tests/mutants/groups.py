"""Groups of emissions that mutants are tried on: of the replay, of small programs, of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from programs.whole_numbers import fixed_programs
from programs.whole_numbers import rows_of as whole_rows

from svmcompile.data.rows import as_rows
from tests.mutants.doubtful import doubtful
from tests.mutants.jobs import Job, job
from tests.mutants.small import (
    Programs,
    certain_planes,
    crossed_programs,
    doubted_programs,
    exact_programs,
    large_programs,
    long_sums,
    precise_programs,
    rare_programs,
    small_programs,
    sparse_programs,
    steady_programs,
    steady_ties,
    text_programs,
)
from tests.mutants.unusual import constant_kernel, unusual_programs
from tests.replay.cases import CASES, program_of


def replayed(case: str) -> Iterator[Job]:
    """Every emission of a case of the replay as C."""
    its = CASES[case]
    program, rows = program_of(its), its.data()[0]
    if not program.input.text:
        rows = np.asarray(as_rows(rows, program.n_features, program.feature_names, program.categories))
    for how in its.emissions:
        if how.get("target", "c") == "c" and how.get("profile") and "kit" not in how:
            yield job(case, program, rows, **how)


# Small programs of other tests, with nodes that the replay has in large programs, or not at all.
BOTH = (("portable",), ("host",))
ALL = (*BOTH, ("device",))
SMALL: dict[str, tuple[Callable[[], Programs], tuple[tuple[str, ...], ...]]] = {
    "small": (small_programs, BOTH),
    "steady": (steady_programs, (("portable",), ("device",), ("portable", "f64"))),
    "steady ties": (steady_ties, (("portable",), ("device",))),
    "ties": (exact_programs, ALL),
    "precise": (precise_programs, (("portable", "f64"), ("host", "f64"))),
    "crossed": (crossed_programs, (*BOTH, ("portable", "f64"))),
    "sparse": (
        sparse_programs,
        (("portable", "f32", "sparse"), ("host", "f32", "sparse"), ("host", "f64", "sparse")),
    ),
    "large": (large_programs, ALL),
    "planes": (certain_planes, ALL),
    "long": (long_sums, ALL),
    "rare": (rare_programs, BOTH),
    "texts": (text_programs, (("portable",), ("device",), ("portable", "f64"))),
    "unusual": (unusual_programs, (*BOTH, ("host", "f64"))),
    "constant": (constant_kernel, (("device", "q15"),)),
}  # fmt: skip


def small(group: str) -> Iterator[Job]:
    """The emissions of a group."""
    programs, ways = SMALL[group]
    for name, (program, rows) in programs().items():
        for way in ways:
            yield job(name, program, rows, *way, exactly="ties" in group)


def whole() -> Iterator[Job]:
    """Programs of whole numbers."""
    for precision, profile in (("q15", "device"), ("q7", "portable")):
        for name, program in fixed_programs(precision).items():
            if name != "tree_reach":  # which is measured in float, so that rounding decides at its end
                yield job(name, program, whole_rows(program, 300), profile, precision)


def in_doubt() -> Iterator[Job]:
    """Programs with bounds, widened."""
    for name, (program, rows) in doubted_programs().items():
        for way in ALL if name.startswith(("certain", "taylor d", "picked")) else BOTH:
            yield from doubtful(job(name, program, rows, *way))
