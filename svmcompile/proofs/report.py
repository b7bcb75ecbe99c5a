"""prove: a program and its C in, a verdict on every function in whole numbers out."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.program import Program
from svmcompile.progress import steps
from svmcompile.proofs import terms
from svmcompile.proofs.c_code import Source, parse
from svmcompile.proofs.functions import look_at_all
from svmcompile.proofs.quantising import prove_range
from svmcompile.proofs.run import NotWhole
from svmcompile.proofs.solver import Solver, Verdicts
from svmcompile.proofs.tasks import Tasks
from svmcompile.targets.c.read_back import differences

INTS = (32, 16)  # bits of int that C is read with; processors of 8 bits have 16


@dataclass(frozen=True, slots=True)
class Function:
    """One function: for which inputs, how many claims were decided how, and what failed."""

    name: str
    inputs: str
    claims: dict[str, int]  # by form, by range, by the solver
    failures: tuple[str, ...]
    left_out: str  # why it is not proven, if it is not tried

    @property
    def proven(self) -> bool:
        return not self.failures and not self.left_out


@dataclass(frozen=True, slots=True)
class ProofReport:
    """All functions of a C file in whole numbers, by bits of int."""

    name: str
    sha256: str  # of the C file
    tools: tuple[str, ...]
    functions: tuple[Function, ...]
    int_bits: tuple[int, ...] = INTS

    @property
    def ok(self) -> bool:
        return not any(one.failures for one in self.functions)

    def as_dict(self) -> dict[str, Any]:
        functions = [{**asdict(one), "proven": one.proven} for one in self.functions]
        return {**asdict(self), "functions": functions, "ok": self.ok}


def prove_functions(program: Program, text: str, name: str) -> ProofReport:
    """Every function in whole numbers equals its definition, and nothing overflows, for all inputs."""
    if program.number not in FIXED:
        raise UnsupportedError(f"{name}: proofs are for whole numbers; compile with --precision q15 or q7")
    terms.forget()
    solver = Solver()
    found: dict[str, Function] = {}
    with steps("proving", len(INTS)) as advance:
        for bits in INTS:
            for one in _functions(program, text, name, solver, bits):
                found[one.name] = _joined(found.get(one.name), one)
            advance(1)
    tools = (solver.version, f"pycparser {metadata.version('pycparser')}")
    return ProofReport(name, hashlib.sha256(text.encode()).hexdigest(), tools, tuple(found.values()))


def _joined(one: Function | None, other: Function) -> Function:
    """What is known of a function under two sizes of int."""
    if one is None:
        return other
    claims = {way: one.claims.get(way, 0) + other.claims.get(way, 0) for way in one.claims | other.claims}
    failures = tuple(dict.fromkeys(one.failures + other.failures))
    return Function(one.name, one.inputs, claims, failures, one.left_out or other.left_out)


def _functions(program: Program, text: str, name: str, solver: Solver, bits: int) -> list[Function]:
    source = parse(text, name, int_bits=bits)
    tasks, found = Tasks(program, source, name), _tables(program, source, name)
    for task in look_at_all(tasks):
        verdicts = Verdicts()
        for claim in [] if task.problem else task.run.claims:
            solver.decide(claim, verdicts)
        found.append(_told(task.function, task.given, verdicts, task.problem))
    for node in program.body:
        function = tasks.function_of(node)
        if function in tasks.done or function not in source.functions:
            continue
        if isinstance(node, ir.Quantise):
            verdicts, problem = Verdicts(), ""
            try:
                verdicts = prove_range(source.functions[function], node.limit, function)
            except NotWhole as reason:
                problem = str(reason)
            found.append(_told(function, "any floats, NaN too", verdicts, problem))
        elif all(tasks.types[one].whole for one in ir.operands(node)) and not isinstance(
            node, ir.Dequantise
        ):
            found.append(_told(function, "", Verdicts(), f"{type(node).__name__} is not covered yet"))
    return found


def _tables(program: Program, source: Source, name: str) -> list[Function]:
    """The tables that are not the program's: functions are proven with the program's numbers."""
    tables = {f"{name}_{one}": table for one, table in program.tables.items() if table.size}
    told = differences(source.text, tables)
    return [Function(f"{name}_tables", "", {}, tuple(told), "")] if told else []


def _told(name: str, inputs: str, verdicts: Verdicts, problem: str) -> Function:
    return Function(name, inputs, dict(verdicts.ways), tuple(verdicts.failures), problem)
