"""cost: work per row and memory, counted from the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from svmcompile.data.rows import as_rows
from svmcompile.ir.arithmetic import BYTES
from svmcompile.ir.check import infer_types
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kinds import Types
from svmcompile.ir.node import At, Values, Work
from svmcompile.ir.nodes import Kind, Node, lazy_operands, operands, table_names
from svmcompile.ir.program import Program

WIDE_VALUES = 1 << 22  # of rows that stay sparse, so many are looked at


@dataclass(frozen=True, slots=True)
class Cost:
    """What a program costs, as the report shows it."""

    mean_kernel_evaluations: float
    max_kernel_evaluations: int
    mean_flops: float
    exact_flops: int
    table_bytes: int
    scratch_bytes: int

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def cost(program: Program, rows: Any = None) -> Cost:
    """The cost per row: on average over `rows`, at most where none are given."""
    types = infer_types(program)
    most = _total(program, types, None)
    mean = most if rows is None else _total(program, types, _values(program, rows))
    held = [types[node.out] for node in program.body if types[node.out].kind is not Kind.INDEX]
    narrow = 8 if program.number in (None, "f64") else 4
    return Cost(
        mean_kernel_evaluations=float(mean.kernel_evaluations),
        max_kernel_evaluations=int(most.kernel_evaluations),
        mean_flops=float(mean.flops),
        exact_flops=program.origin.exact_flops,
        table_bytes=table_bytes(program),
        scratch_bytes=sum(
            (BYTES.get(kind.whole) or (8 if kind.wide else narrow)) * kind.width for kind in held
        ),
    )


def flops(program: Program) -> int:
    """Flops per row, at most."""
    return int(_total(program, infer_types(program), None).flops)


def _values(program: Program, rows: Any) -> Values:
    """The values the cost of a row can depend on, for all rows."""
    wanted = {name for node in program.body if node.is_adaptive for name in node.values_for_cost}
    if not wanted:
        return {}
    given: Any = as_rows(rows, program.n_features, program.feature_names, program.categories)
    if not isinstance(given, np.ndarray):  # wide rows: what is known of them would be wide as well
        given = given[:: -(-given.shape[0] * given.shape[1] // WIDE_VALUES)]
    return interpret_values(program, given, wanted)


def _total(program: Program, types: Types, values: Values | None) -> Work:
    """The work of all nodes, each counted for the rows that need it."""
    return sum((share * work for _, share, work in _by_node(program, types, values)), Work(0, 0))


def _by_node(program: Program, types: Types, values: Values | None) -> Iterator[tuple[Node, float, Work]]:
    """Each node from the last to the first with the share of rows that need it, and its work on those."""
    every = np.ones(len(next(iter(values.values()))) if values else 1, dtype=bool)
    rows = dict.fromkeys((output.value for output in program.outputs), every)
    for node in reversed(program.body):
        own = rows.get(node.out, ~every)
        if not own.any():
            continue
        seen = {name: value[own] for name, value in values.items()} if values else values
        bound = None if seen is None else At(node, program.tables, seen)
        yield node, float(own.mean()), node.work(At(node, program.tables, types), bound)
        for name in operands(node):
            needed = own.copy()
            if seen and bound and name in lazy_operands(node):
                needed[own] = node.needs_lazy(bound)
            rows[name] = rows.get(name, ~every) | needed


def stages(program: Program, rows: Any) -> list[dict[str, Any]]:
    """What a row goes through: of each node the share of rows that need it, flops per row, bytes."""
    found = [
        {
            "name": type(node).__name__,
            "share": share,
            "flops": share * float(work.flops),
            "bytes": sum(int(program.tables[name].nbytes) for name in table_names(node)),
        }
        for node, share, work in _by_node(program, infer_types(program), _values(program, rows))
    ]
    return found[::-1]


def table_bytes(program: Program) -> int:
    """Bytes of all tables."""
    return sum(int(table.nbytes) for table in program.tables.values())
