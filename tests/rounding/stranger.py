"""A stranger's bound on rounding: the emitted C, run operation by operation with balls of python-flint.

Each number is the real value that it stands for, over a whole box of rows, and how far the code can be
from it. A result is rounded once per operation, as IEEE 754 says. Nothing of svmcompile's error analysis is
used; exp2 and tanh are off by what their comments state, which `tests.rounding.certified` certifies.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from pycparser import c_ast

from svmcompile.proofs.c_code import functions_of
from svmcompile.proofs.plain import without_comments

UNIT = {"float": 2.0**-24, "double": 2.0**-53}
TINY = {"float": 2.0**-149, "double": 2.0**-1074}
UP = 1 + 1e-12  # covers the rounding of bounds, which are floats
TABLE = re.compile(r"static const (?:float|double) (\w+)\[\d+\] = \{\n(.*?)\n\};", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pair:
    """A real value within a ball, and a bound on the error of what the code has for it."""

    value: Any
    error: float
    kind: str  # float or double

    @property
    def size(self) -> float:
        return UP * float(self.value.abs_upper())

    def rounded(self, kind: str) -> Pair:
        """Off by half a unit in the last place of what is rounded, or less."""
        most = self.size + self.error
        last = 2.0 ** math.floor(math.log2(most)) if most else 0.0
        return Pair(self.value, UP * (self.error + UNIT[kind] * last + TINY[kind]), kind)


class Stranger:
    """The functions of a C file in float, with the tables of the same file in double as the true ones."""

    def __init__(self, text: str, exact: str, exp2_error: float = 2e-7, tanh_error: float = 3e-7) -> None:
        self.functions = functions_of(without_comments(text, "m"))
        self.errors = {"exp2": exp2_error, "tanh": tanh_error}
        true = dict(TABLE.findall(exact))
        self.tables = {name: _table(own, true[name]) for name, own in TABLE.findall(text)}

    def call(self, name: str, arguments: list[Any]) -> Any:
        """What a function returns; arrays are lists with a place to start from."""
        if (known := name.rsplit("_", 1)[-1]) in self.errors:
            return getattr(self, f"_{known}")(arguments[0])
        function = self.functions[name]
        scope = {
            one.name: given for one, given in zip(function.decl.type.args.params, arguments, strict=True)
        }
        return self._block(function.body, scope)

    def _exp2(self, t: Pair) -> Pair:
        value, own = flint.arb(2) ** t.value, self.errors["exp2"]
        moved = float((flint.arb(2) ** flint.arb(t.error) - 1).abs_upper())
        size = UP * float(value.abs_upper())
        return Pair(value, UP * (size * (moved + own * (1 + moved)) + 2.0**-126), "float")

    def _tanh(self, t: Pair) -> Pair:
        return Pair(t.value.tanh(), UP * (t.error + self.errors["tanh"]), "float")

    def _block(self, one: Any, scope: dict[str, Any]) -> Any:
        for part in one.block_items if isinstance(one, c_ast.Compound) else [one]:
            if isinstance(part, c_ast.Return):
                return self.value(part.expr, scope)
            found = self._statement(part, scope)
            if found is not None:
                return found
        return None

    def _statement(self, one: Any, scope: dict[str, Any]) -> Any:
        if isinstance(one, c_ast.Compound):
            return self._block(one, scope)
        if isinstance(one, (c_ast.Decl, c_ast.DeclList)):
            for part in getattr(one, "decls", [one]):
                self._declare(part, scope)
        elif isinstance(one, c_ast.For):
            if one.init:
                self._statement(one.init, scope)
            while self.value(one.cond, scope):
                self._statement(one.stmt, scope)
                if one.next:
                    self._statement(one.next, scope)
        elif isinstance(one, c_ast.If):
            branch = one.iftrue if self.value(one.cond, scope) else one.iffalse
            return self._block(branch, scope) if branch else None
        elif isinstance(one, c_ast.ExprList):
            for part in one.exprs:
                self.value(part, scope)
        else:
            self.value(one, scope)
        return None

    def _declare(self, one: Any, scope: dict[str, Any]) -> None:
        kind = one.type
        if isinstance(kind, c_ast.ArrayDecl):
            given = [self.value(part, scope) for part in one.init.exprs] if one.init else []
            names = kind.type.type.names
            filler = _zero(names[-1]) if names[-1] in UNIT else 0
            count = self.value(kind.dim, scope)
            scope[one.name] = (given + [filler] * (count - len(given)), 0)
        elif one.init is not None:
            while not hasattr(kind, "names"):
                kind = kind.type
            scope[one.name] = self._as(self.value(one.init, scope), kind.names[-1])
        else:
            scope[one.name] = None

    def _as(self, value: Any, kind: str) -> Any:
        if kind not in UNIT or not isinstance(value, Pair):
            return value
        return (
            value.rounded(kind)
            if (value.kind, kind) == ("double", "float")
            else Pair(value.value, value.error, kind)
        )

    def value(self, one: Any, scope: dict[str, Any]) -> Any:
        return getattr(self, f"_of_{type(one).__name__}")(one, scope)

    def _of_Constant(self, one: Any, scope: dict[str, Any]) -> Any:
        if one.type not in UNIT:
            return int(one.value.rstrip("uUlL"), 0)
        kind = "float" if one.value.endswith("f") else "double"
        held = np.float32 if kind == "float" else np.float64
        return Pair(flint.arb(float(held(one.value.rstrip("f")))), 0.0, kind)

    def _of_ID(self, one: Any, scope: dict[str, Any]) -> Any:
        return scope[one.name] if one.name in scope else (self.tables[one.name], 0)

    def _of_ArrayRef(self, one: Any, scope: dict[str, Any]) -> Any:
        array, start = self.value(one.name, scope)
        return array[start + self.value(one.subscript, scope)]

    def _of_Cast(self, one: Any, scope: dict[str, Any]) -> Any:
        return self._as(self.value(one.expr, scope), one.to_type.type.type.names[-1])

    def _of_FuncCall(self, one: Any, scope: dict[str, Any]) -> Any:
        return self.call(one.name.name, [self.value(part, scope) for part in one.args.exprs])

    def _of_UnaryOp(self, one: Any, scope: dict[str, Any]) -> Any:
        old = self.value(one.expr, scope)
        if one.op == "-":
            return Pair(-old.value, old.error, old.kind) if isinstance(old, Pair) else -old
        if one.op == "*":
            return old[0][old[1]]
        scope[one.expr.name] = computed("+", old, 1 if "+" in one.op else -1)
        return old

    def _of_TernaryOp(self, one: Any, scope: dict[str, Any]) -> Any:
        """Where a comparison of floats is not decided, the code clamps: the true value is on one side."""
        taken = self.value(one.cond, scope)
        if taken is None:
            found = [self.value(branch, scope) for branch in (one.iftrue, one.iffalse)]
            return max(found, key=lambda pair: pair.error)
        return self.value(one.iftrue if taken else one.iffalse, scope)

    def _of_Assignment(self, one: Any, scope: dict[str, Any]) -> Any:
        new = self.value(one.rvalue, scope)
        if one.op != "=":
            new = computed(one.op[0], self.value(one.lvalue, scope), new)
        if isinstance(one.lvalue, c_ast.ArrayRef):
            array, start = self.value(one.lvalue.name, scope)
            at = start + self.value(one.lvalue.subscript, scope)
            array[at] = self._as(new, array[at].kind) if isinstance(array[at], Pair) else new
        else:
            scope[one.lvalue.name] = new
        return new

    def _of_BinaryOp(self, one: Any, scope: dict[str, Any]) -> Any:
        a = self.value(one.left, scope)
        if one.op == "-" and isinstance(a, Pair) and _alike(one.left, one.right):
            return _zero(a.kind)
        return computed(one.op, a, self.value(one.right, scope))


_WHOLE: dict[str, Any] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b,
    "%": lambda a, b: a % b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
}  # fmt: skip


def computed(op: str, a: Any, b: Any) -> Any:
    """What an operation gives: pointers, whole numbers, floats."""
    if isinstance(a, tuple):
        return (a[0], a[1] + b)
    if not isinstance(a, Pair):
        return _WHOLE[op](a, b)
    if op == "!=":  # asks whether a number that is zero here is NaN
        return not (a.value == b.value and a.error == b.error == 0)
    if op in ("<", ">"):
        return _compared(op, a, b)
    kind = "double" if "double" in (a.kind, b.kind) else "float"
    if op == "*":
        if any(one.error == 0 and one.value == 0 for one in (a, b)):
            return _zero(kind)
        error = a.size * b.error + b.size * a.error + a.error * b.error
        return Pair(a.value * b.value, UP * error, kind).rounded(kind)
    if any(one.error == 0 and one.value == 0 for one in (a, b)):  # adding zero rounds nothing
        value = b if a.error == 0 and a.value == 0 else a
        return Pair(-value.value if op == "-" and value is b else value.value, value.error, kind)
    value = a.value + b.value if op == "+" else a.value - b.value
    return Pair(value, UP * (a.error + b.error), kind).rounded(kind)


def _compared(op: str, a: Pair, b: Pair) -> bool | None:
    """None where rounding decides."""
    apart = a.value - b.value if op == ">" else b.value - a.value
    off = a.error + b.error
    return True if apart.lower() > off else False if apart.upper() < -off else None


def _alike(a: Any, b: Any) -> bool:
    """Whether two expressions are one."""
    return type(a) is type(b) and repr(a) == repr(b)


def _zero(kind: str) -> Pair:
    return Pair(flint.arb(0), 0.0, kind)


def _table(own: str, true: str) -> list[Pair]:
    """Numbers as the code has them, beside the true ones, which double holds nearly."""
    held = [np.float32(item.strip().rstrip("f")) for item in own.split(",")]
    found = []
    for item, code in zip(true.split(","), held, strict=True):
        value = float(item.strip().rstrip("f"))
        near = abs(value) * 2.0**-50
        found.append(Pair(flint.arb(value, near), UP * (abs(value - float(code)) + near), "float"))
    return found
