"""Expressions of C over terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from svmcompile.proofs import terms as t
from svmcompile.proofs.c_code import CType
from svmcompile.proofs.run import LONG, VERY_LONG, Array, NotWhole, Number, Pointer, Run
from svmcompile.proofs.terms import Term

Scope = dict[str, Any]
COMPARED: dict[str, Callable[[Term, Term], Term]] = {
    "<": t.lt, "<=": t.le, ">": lambda a, b: t.lt(b, a), ">=": lambda a, b: t.le(b, a),
    "==": t.eq, "!=": lambda a, b: t.no(t.eq(a, b)),
}  # fmt: skip
COMPUTED = {"+": t.add, "-": t.sub, "*": t.mul}


def _constant(run: Run, one: Any, scope: Scope) -> Number:
    if one.type in ("float", "double"):
        raise NotWhole("computes in floating point")
    value = int(one.value.rstrip("uUlL"), 0)
    kinds = (run.source.int_type, LONG, VERY_LONG)
    return Number(next(kind for kind in kinds if value <= kind.high), t.const(value))


def _name(run: Run, one: Any, scope: Scope) -> Any:
    if one.name in scope:
        if isinstance(scope[one.name], CType):
            raise NotWhole(f"reads {one.name} before it is set")
        return scope[one.name]
    if one.name not in run.source.tables:
        raise NotWhole(f"reads {one.name}, which is no table of whole numbers")
    numbers, kind = run.source.tables[one.name]
    return Pointer(Array(kind, [], numbers), t.const(0))


def _promoted(run: Run, value: Number) -> Number:
    own = run.source.int_type
    return value if value.kind.bits >= own.bits else Number(own, value.term)


def common(run: Run, a: Number, b: Number) -> CType:
    """The type that C computes two numbers in."""
    a, b = _promoted(run, a), _promoted(run, b)
    wide = max(a.kind.bits, b.kind.bits)
    return CType(wide, all(one.kind.signed for one in (a, b) if one.kind.bits == wide))


def _binary(run: Run, one: Any, scope: Scope) -> Any:
    if one.op in ("&&", "||"):
        a = run.truth(one.left, scope)
        whole = run.path
        run.path = t.both(whole, a if one.op == "&&" else t.no(a))
        b = run.truth(one.right, scope)
        run.path = whole
        return Number(run.source.int_type, (t.both if one.op == "&&" else t.either)(a, b))
    return compute(run, one.op, run.value(one.left, scope), run.value(one.right, scope), one)


def compute(run: Run, op: str, a: Any, b: Any, at: Any) -> Any:
    if isinstance(a, Pointer):
        return Pointer(a.array, COMPUTED[op](a.at, b.term))
    kind = _promoted(run, a).kind if op in ("<<", ">>") else common(run, a, b)
    if not kind.signed:  # nothing negative is converted, so that nothing wraps
        for operand in (a, b):
            run.held(kind, operand.term, at, "conversion")
    if op in COMPARED:
        return Number(run.source.int_type, COMPARED[op](a.term, b.term))
    if op in COMPUTED:
        return run.held(kind, COMPUTED[op](a.term, b.term), at)
    if not t.is_const(b.term):
        raise NotWhole(f"has {op} by a number that is not constant")
    by = b.term.low
    if op in ("<<", ">>"):
        run.claim("shift", b.term, 0, kind.bits - 1, at)
        if op == ">>":
            return Number(kind, t.shr(a.term, by))
        run.claim("shift of a negative number", a.term, 0, kind.high, at)
        return run.held(kind, t.mul(a.term, t.const(1 << by)), at)
    if op == "&" and by >= 0 and (by & (by + 1)) == 0:
        return Number(kind, t.mod(a.term, by.bit_length()))
    if op == "/" and t.is_const(a.term) and a.term.low >= 0 and by > 0:
        return Number(kind, t.const(a.term.low // by))
    raise NotWhole(f"has {op} {by}")


def _cast(run: Run, one: Any, scope: Scope) -> Any:
    kind = run._kind(one.to_type)
    value = run.value(one.expr, scope)
    if isinstance(value, Pointer):
        return value
    if not kind.bits:
        if one.to_type.type.type.names == ["void"]:
            return value
        raise NotWhole("computes in floating point")
    return run.held(kind, value.term, one, "conversion")


def _ternary(run: Run, one: Any, scope: Scope) -> Any:
    condition = run.truth(one.cond, scope)
    if t.is_const(condition):
        return run.value(one.iftrue if condition.low else one.iffalse, scope)
    whole, ends = run.path, []
    for branch, taken in ((one.iftrue, condition), (one.iffalse, t.no(condition))):
        run.path = t.both(whole, taken)
        ends.append(run.value(branch, scope))
    run.path = whole
    return Number(common(run, *ends), t.ite(condition, ends[0].term, ends[1].term))


def _place(run: Run, one: Any, scope: Scope) -> Pointer:
    """Where an element of an array is; it is claimed to be there."""
    base, index = run.value(one.name, scope), run.value(one.subscript, scope)
    at = t.add(base.at, index.term)
    run.claim("index", at, 0, len(base.array) - 1, one)
    if t.is_const(at) and not 0 <= at.low < len(base.array):
        raise NotWhole(f"reads element {at.low} of {len(base.array)}")
    return Pointer(base.array, at)


def _element(run: Run, one: Any, scope: Scope) -> Number:
    return read(run, _place(run, one, scope))


def read(run: Run, place: Pointer) -> Number:
    array, at = place.array, place.at
    if array.table:
        return Number(array.kind, t.load(array.table, at))
    picks = [at.low] if t.is_const(at) else range(max(at.low, 0), min(at.high, len(array) - 1) + 1)
    cells = [(pick, array.cells[pick]) for pick in picks]
    if any(cell is None for _, cell in cells):
        raise NotWhole("reads a number that was never written")
    found = cells[-1][1]
    for pick, cell in reversed(cells[:-1]):
        assert cell is not None and found is not None
        found = t.ite(t.eq(at, t.const(pick)), cell, found)
    assert found is not None
    return Number(array.kind, found)


def _write(run: Run, place: Pointer, op: str, value: Number, at: Any) -> None:
    """An element becomes a number, or that is added to it; where is known, or one of several places."""
    array = place.array
    if t.is_const(place.at):
        new = compute(run, op, read(run, place), value, at) if op else value
        array.cells[place.at.low] = run.held(array.kind, new.term, at).term
        return
    if op not in ("+", "-"):
        raise NotWhole("writes to a place that depends on data")
    for pick in range(place.at.low, place.at.high + 1):
        there = t.eq(place.at, t.const(pick))
        own = Number(value.kind, t.ite(there, value.term, t.const(0)))
        new = compute(run, op, read(run, Pointer(array, t.const(pick))), own, at)
        array.cells[pick] = run.held(array.kind, new.term, at).term


def _assign(run: Run, one: Any, scope: Scope) -> Any:
    value = run.value(one.rvalue, scope)
    _store(run, one.lvalue, one.op[:-1], value, scope, one)
    return value


def _store(run: Run, target: Any, op: str, value: Any, scope: Scope, at: Any) -> None:
    if type(target).__name__ == "ArrayRef":
        _write(run, _place(run, target, scope), op, value, at)
        return
    if op:
        value = compute(run, op, _name(run, target, scope), value, at)
    old = scope[target.name]
    kind = old if isinstance(old, CType) else None if isinstance(old, Pointer) else old.kind
    scope[target.name] = run.held(kind, value.term, at) if kind else value


def _unary(run: Run, one: Any, scope: Scope) -> Any:
    if one.op in ("p++", "++", "p--", "--"):
        old = run.value(one.expr, scope)
        _store(run, one.expr, one.op[-1], Number(run.source.int_type, t.const(1)), scope, one)
        return old
    if one.op == "!":
        return Number(run.source.int_type, t.no(run.truth(one.expr, scope)))
    value = _promoted(run, run.value(one.expr, scope))
    if one.op != "-":
        raise NotWhole(f"has {one.op}")
    return run.held(value.kind, t.neg(value.term), one)


def _call(run: Run, one: Any, scope: Scope) -> Any:
    arguments = [run.value(x, scope) for x in one.args.exprs]
    hook = run.hooks.get(one.name.name)
    if hook is not None:
        return hook(run, arguments)
    if one.name.name not in run.source.functions:
        raise NotWhole(f"calls {one.name.name}")
    return run.call(one.name.name, arguments)


EXPRESSIONS: dict[str, Callable[[Run, Any, Scope], Any]] = {
    "Constant": _constant, "ID": _name, "BinaryOp": _binary, "Cast": _cast, "TernaryOp": _ternary,
    "ArrayRef": _element, "Assignment": _assign, "UnaryOp": _unary, "FuncCall": _call,
}  # fmt: skip
