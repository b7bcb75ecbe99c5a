"""Dot products, curves and kernel values: what they must compute, and what stands for them in callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svmcompile.ir.whole_numbers import INT32, UNIT_BITS, sizes
from svmcompile.proofs import terms as t
from svmcompile.proofs.run import LONG, Array, Hook, NotWhole, Number, Pointer, Run
from svmcompile.proofs.tasks import KINDS, Range, Tasks, ends, rounded
from svmcompile.proofs.terms import Family, Term

TABLES = {"int8": "i8", "uint8": "u8", "int16": "i16"}


def dot_limits(tasks: Tasks, node: Any, table: str) -> list[int]:
    """The largest size of a dot product with each row of a table."""
    values = tasks.table(table)
    found: list[int] = (tasks.reach(node.x) * sizes(values.reshape(-1, values.shape[-1]))).tolist()
    return found


def dot(tasks: Tasks, node: Any, table: str) -> dict[str, Hook]:
    """The dot product with rows of a table is looked at; what stands for it where it is called."""
    own = TABLES[tasks.program.tables[table].dtype.name]
    function = f"{tasks.name}_dot_{tasks.types[node.x].whole}_{own}"
    values, limits = tasks.table(table), dot_limits(tasks, node, table)
    d, most, symbol = values.shape[-1], max(limits), f"{tasks.name}_{table}"

    def look(run: Run) -> Sequence[Range]:
        row, x = tasks.inputs(node.x)
        v = [t.var(f"v[{j}]", int(values.min()), int(values.max())) for j in range(d)]
        family, expected = Family(most), t.const(0)
        for j in range(d):
            expected = t.add(expected, t.summand(t.mul(x[j], v[j]), family, j))
        vector = Pointer(Array(KINDS[own], [*v]), t.const(0))
        found = run.call(function, [row, vector, Number(run.source.size_type, t.const(d))])
        run.claim("is the dot product", t.eq(found.term, expected))
        return [(-most, most)]

    key = f"{function} {table}"
    if key not in tasks.done:
        tasks.attempt(function, f"{tasks.range_of(node.x)}, vectors of {table}", look, key=key)
    return {function: _dot_hook(tasks, node, (symbol, d, d), limits)}


def nibble_dot(tasks: Tasks, node: Any) -> tuple[dict[str, Hook], list[int]]:
    """The same with bytes that hold two weights each, and the largest size by row of the table."""
    values, symbol = tasks.table(node.weights), f"{tasks.name}_{node.weights}"
    function = f"{tasks.name}_dot_{tasks.types[node.x].whole}_nibbles"
    d, size = tasks.types[node.x].width, values.shape[1]
    limits = (tasks.reach(node.x) * sizes((values & 15) + (values >> 4))).tolist()

    def look(run: Run) -> Sequence[Range]:
        row, x = tasks.inputs(node.x)
        v = [t.var(f"v[{j}]", 0, 255) for j in range(size)]
        expected = t.const(0)
        for j in range(d // 2):
            low, high = t.mul(x[j], t.mod(v[j], 4)), t.mul(x[j + size], t.shr(v[j], 4))
            expected = t.add(expected, t.add(low, high))
        if d % 2:
            expected = t.add(expected, t.mul(x[size - 1], t.mod(v[size - 1], 4)))
        vector = Pointer(Array(KINDS["u8"], [*v]), t.const(0))
        found = run.call(function, [row, vector, Number(run.source.size_type, t.const(d))])
        run.claim("is the dot product", t.eq(found.term, expected))
        return [(found.term.low, found.term.high)]

    hook = _dot_hook(tasks, node, (symbol, size, d), limits)
    if function not in tasks.done:
        tasks.attempt(function, f"{tasks.range_of(node.x)}, bytes of {node.weights}", look)
    return {function: hook}, limits


def _dot_hook(tasks: Tasks, node: Any, table: tuple[str, int, int], limits: list[int]) -> Hook:
    """What stands for a dot product with a row of a table: its name, size of a row, features."""
    symbol, size, d = table

    def hook(run: Run, arguments: list[Any]) -> Number:
        row, vector, count = arguments
        run.claim("length of the dot product", count.term, d, d)
        if vector.array.table is None or vector.array.table.name != symbol or not t.is_const(vector.at):
            raise NotWhole("calls a dot product with another table")
        i, rest = divmod(vector.at.low, size)
        if rest or not t.is_const(row.at) or row.at.low or not 0 <= i < len(limits):
            raise NotWhole("calls a dot product with part of a row")
        tasks.check(run, row, node.x)
        return Number(LONG, t.var(f"dot[{i}]", -limits[i], limits[i]))

    return hook


def curve(tasks: Tasks, node: Any, asked: list[Term]) -> dict[str, Hook]:
    """Between two points the curve is straight, rounded up; after the last it stays there."""
    function, values = tasks.function_of(node, "_curve_of"), tasks.table(node.curve).tolist()

    def look(run: Run) -> Sequence[Range]:
        at = t.var("t", 0, INT32)
        found = run.call(function, [Number(LONG, at)]).term
        cell, last = t.shr(at, node.cell_bits), len(values) - 1
        coarse = max(0, node.cell_bits - UNIT_BITS)
        unit = 1 << (node.cell_bits - coarse)
        step = t.shr(t.mod(at, node.cell_bits), coarse)
        run.path = t.le(t.const(last), cell)
        run.claim("is the last point", found, values[-1], values[-1])
        for c in range(last):
            own = t.rebuilt(found, {id(cell): t.const(c)})
            run.path = t.eq(cell, t.const(c))
            exact = t.add(t.const(values[c] * unit), t.mul(step, t.const(values[c + 1] - values[c])))
            run.claim(f"is straight in piece {c}", t.sub(t.mul(own, t.const(unit)), exact), 0, unit - 1)
            run.claim(f"is between its points in piece {c}", own, *ends(values[c : c + 2]))
        run.path = t.const(1)
        return [ends(values)]

    def hook(run: Run, arguments: list[Any]) -> Number:
        run.claim("argument of the curve", arguments[0].term, 0, INT32)
        asked.append(arguments[0].term)
        return Number(LONG, t.var(f"curve {len(asked)}", *ends(values)))

    tasks.attempt(function, f"t within 0 and {INT32}", look)
    return {function: hook}


def kernel(tasks: Tasks, node: Any) -> tuple[dict[str, Hook], tuple[Range, ...]]:
    """Kernel values of every vector are looked at; what stands for them, and their ranges."""
    function, asked = tasks.function_of(node, "_kernel"), list[Term]()
    hooks, limits = dot(tasks, node, node.vectors), dot_limits(tasks, node, node.vectors)
    if node.shape in ("exp2", "tanh"):
        hooks |= curve(tasks, node, asked)
    by_norm, n = node.shape == "exp2", len(limits)
    norm = t.var("norm", 0, tasks.types[node.x].width * tasks.reach(node.x) ** 2)

    def look(run: Run) -> Sequence[Range]:
        row, ranges = tasks.inputs(node.x)[0], []
        for i, most in enumerate(limits):
            index = Number(run.source.size_type, t.const(i))
            given = [row, Number(LONG, norm), index] if by_norm else [row, index]
            found = run.call(function, given).term
            expected = _argument(tasks, node, i, t.var(f"dot[{i}]", -most, most), norm)
            if asked:
                least = t.ite(t.lt(expected, t.const(0)), t.const(0), expected)
                run.claim("is where the curve is asked", t.eq(asked[-1], least))
                expected = t.var(f"curve {len(asked)}", *ends(tasks.table(node.curve)))
            run.claim("is the kernel value", t.eq(found, expected))
            ranges.append((found.low, found.high))
        return ranges

    given = f"{tasks.range_of(node.x)}, i below {n}" + (
        f", norm of the row, at most {norm.high}" if by_norm else ""
    )
    task = tasks.attempt(function, given, look, hooks)

    def hook(run: Run, arguments: list[Any]) -> Number:
        if task.problem:
            raise NotWhole(f"calls {function}, which {task.problem}")
        row, number = arguments[0], arguments[-1].term
        tasks.check(run, row, node.x)
        if by_norm:
            squares = t.const(0)
            for cell in row.array.cells:
                squares = t.add(squares, t.mul(cell, cell))
            run.claim("the norm is that of the row", t.eq(arguments[1].term, squares))
        if not t.is_const(number) or not 0 <= number.low < n:
            raise NotWhole("asks for a vector that is not known")
        return Number(LONG, t.var(f"kernel[{number.low}]", *task.gives[number.low]))

    return {function: hook}, task.gives


def _argument(tasks: Tasks, node: Any, i: int, dots: Term, norm: Term) -> Term:
    """What a curve is asked for, or the kernel value itself."""
    offset = int(tasks.table(node.offsets)[i])
    if node.shape == "exp2":
        moved = t.add(norm, t.const(offset << node.offset_shift))
        return t.add(moved, t.mul(dots, t.const(-2)))
    at = t.add(dots, t.const(offset))
    if node.shape != "power":
        return at
    if not node.degree:
        return t.const(1 << 2 * UNIT_BITS)
    base = rounded(at, node.cell_bits)
    power = t.mul(base, t.const(1 << UNIT_BITS))
    for _ in range(node.degree - 1):
        power = t.shr(t.mul(power, base), UNIT_BITS)
    return power
