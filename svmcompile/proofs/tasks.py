"""Functions to be proven: each with symbols for its inputs, and with claims where it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from svmcompile.ir.arithmetic import INPUT_LIMITS
from svmcompile.ir.check import infer_types
from svmcompile.ir.kinds import Type
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import whole
from svmcompile.proofs import terms as t
from svmcompile.proofs.c_code import CType, Source
from svmcompile.proofs.run import LONG, Array, Hook, NotWhole, Pointer, Run
from svmcompile.proofs.terms import Term

Range = tuple[int, int]
KINDS = {"i8": CType(8, True), "u8": CType(8, False), "i16": CType(16, True), "i32": LONG}


@dataclass(slots=True)
class Task:
    """A function, what it is given, and the claims that make up its proof."""

    function: str
    given: str
    run: Run
    gives: tuple[Range, ...] = ()  # ranges of what it writes, or of its value
    problem: str = ""


@dataclass(slots=True)
class Tasks:
    """All functions of a program; each is looked at with those that it calls replaced by what they give."""

    program: Program
    source: Source
    name: str
    done: dict[str, Task] = field(default_factory=dict)
    types: dict[str, Type] = field(init=False)

    def __post_init__(self) -> None:
        self.types = infer_types(self.program)

    def function_of(self, node: Any, part: str = "") -> str:
        return f"{self.name}_{node.out}{part}"

    def table(self, name: str) -> Any:
        return whole(self.program.tables[name])

    def row(self, value: str) -> tuple[CType, Range]:
        """The type and the range of the numbers of a row."""
        kind = self.types[value]
        if value == self.program.input.name and self.program.input.number:
            return KINDS[str(kind.whole)], INPUT_LIMITS[self.program.input.number]
        return KINDS[str(kind.whole)], (-kind.limit, kind.limit)

    def reach(self, value: str) -> int:
        """The largest size of the numbers of a row."""
        low, high = self.row(value)[1]
        return max(-low, high)

    def range_of(self, value: str) -> str:
        low, high = self.row(value)[1]
        return f"numbers within {low} and {high}"

    def inputs(self, value: str, letter: str = "x") -> tuple[Pointer, list[Term]]:
        """A row of any numbers within their range."""
        kind, (low, high) = self.row(value)
        cells = [t.var(f"{letter}[{j}]", low, high) for j in range(self.types[value].width)]
        return Pointer(Array(kind, [*cells]), t.const(0)), cells

    def check(self, run: Run, row: Pointer, value: str) -> None:
        """Claims that a row that is passed on is what the function was proven for."""
        limits = self.row(value)[1]
        for cell in row.array.cells[row.at.low : row.at.low + self.types[value].width]:
            if cell is None:
                raise NotWhole("is given a row that was not written")
            run.claim("argument", cell, *limits)

    def attempt(
        self,
        function: str,
        given: str,
        look: Callable[[Run], Sequence[Range]],
        hooks: dict[str, Hook] | None = None,
        key: str = "",
    ) -> Task:
        """A function looked at; what cannot be is told."""
        run = Run(self.source, dict(hooks or {}), where=function)
        task = self.done[key or function] = Task(function, given, run)
        try:
            if function not in self.source.functions:
                raise NotWhole("is not in the C file")
            task.gives = tuple(look(run))
        except NotWhole as problem:
            task.problem = str(problem)
        return task


def ends(values: Any) -> Range:
    return int(min(values)), int(max(values))


def rounded(term: Term, bits: int) -> Term:
    """Divided by 2^bits, to the nearest; half goes up."""
    return t.shr(t.add(term, t.const((1 << bits) >> 1)), bits)


def equal(run: Run, out: Array, p: int, expected: Term) -> None:
    """Claims that a function has written what is expected of it."""
    written = out.cells[p]
    if written is None:
        raise NotWhole(f"does not write number {p}")
    run.claim(f"number {p} is that of the program", t.eq(written, expected))


def written(out: Array) -> list[Range]:
    return [(one.low, one.high) for one in out.cells if one is not None]
