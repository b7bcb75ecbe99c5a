"""C functions in whole numbers run with terms for numbers: what they return, and what must hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from svmcompile.proofs import terms as t
from svmcompile.proofs.c_code import CType, Source
from svmcompile.proofs.solver import Claim
from svmcompile.proofs.terms import Numbers, Term

LONG, VERY_LONG = CType(32, True), CType(64, True)
FLOAT = CType(0, True)
MOST_STEPS = 3_000_000  # of loops


class NotWhole(Exception):
    """Something that this runs not: floats, loops whose end depends on data."""


@dataclass(slots=True)
class Array:
    """Numbers that can change, or a table that cannot."""

    kind: CType
    cells: list[Term | None]
    table: Numbers | None = None

    def __len__(self) -> int:
        return len(self.table.values) if self.table else len(self.cells)


@dataclass(frozen=True, slots=True)
class Pointer:
    array: Array
    at: Term


@dataclass(frozen=True, slots=True)
class Number:
    kind: CType
    term: Term


Hook = Callable[["Run", list[Any]], Any]


@dataclass(slots=True)
class Run:
    """One run: claims are collected on the way; `hooks` stand for functions proven by themselves."""

    source: Source
    hooks: dict[str, Hook] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    steps: int = 0
    path: Term = field(default_factory=lambda: t.const(1))
    where: str = ""

    def call(self, name: str, arguments: list[Any]) -> Any:
        """What a function returns; arrays among the arguments change."""
        function = self.source.functions[name]
        names, scope, outer = function.decl.type.args.params, {}, self.where
        for one, given in zip(names, arguments, strict=True):
            scope[one.name] = (
                given if isinstance(given, Pointer) else self.held(self._kind(one), given.term)
            )
        self.where = name
        returned = self._block(function.body.block_items or [], scope)
        self.where = outer
        return returned

    def claim(self, what: str, term: Term, low: int = 1, high: int = 1, at: Any = None) -> None:
        line = f" in line {at.coord.line}" if getattr(at, "coord", None) else ""
        self.claims.append(Claim(f"{self.where}: {what}{line}", self.path, term, low, high))

    def held(self, kind: CType, term: Term, at: Any = None, what: str = "overflow") -> Number:
        """The number in its type, which is claimed to hold it."""
        if not kind.bits:
            raise NotWhole("computes in floating point")
        self.claim(what, term, kind.low, kind.high, at)
        return Number(kind, term)

    def _kind(self, declared: Any) -> CType:
        node = declared.type
        while not hasattr(node, "names"):
            node = node.type
        return self.source.type_of(node.names)

    # Statements give what a function returns, or None if it goes on.

    def _block(self, statements: list[Any], scope: dict[str, Any]) -> Any:
        for at, one in enumerate(statements):
            kind = type(one).__name__
            if kind == "If":
                if (found := self._if(one, statements[at + 1 :], scope)) is not None:
                    return found[0]
                continue
            returned = getattr(self, f"_do_{kind}", self._do_expression)(one, scope)
            if returned is not None:
                return returned
        return None

    def _if(self, one: Any, rest: list[Any], scope: dict[str, Any]) -> tuple[Any] | None:
        """None to go on; else what the function returns."""
        condition = self.truth(one.cond, scope)
        if t.is_const(condition):
            branch = one.iftrue if condition.low else one.iffalse
            returned = self._block([branch], scope) if branch else None
            return None if returned is None else (returned,)
        whole, mutable = self.path, [x.array for x in scope.values() if isinstance(x, Pointer)]
        before = dict(scope), [list(array.cells) for array in mutable]
        ends = []
        for branch, taken in ((one.iftrue, condition), (one.iffalse, t.no(condition))):
            self.path, own = t.both(whole, taken), dict(before[0])
            for array, kept in zip(mutable, before[1], strict=True):
                array.cells = list(kept)
            returned = self._block([branch], own) if branch else None
            if returned is None and _returns(one):
                returned = self._block(rest, own)
            ends.append((returned, own, [array.cells for array in mutable]))
        self.path = whole
        (first, own, cells), (second, other, others) = ends
        for array, mine, theirs in zip(mutable, cells, others, strict=True):
            array.cells = [_merged(condition, x, y) for x, y in zip(mine, theirs, strict=True)]
        if first is not None and second is not None:
            return (Number(first.kind, t.ite(condition, first.term, second.term)),)
        for name, value in own.items():
            there = other[name]
            if isinstance(value, Number) and isinstance(there, Number) and value is not there:
                scope[name] = Number(value.kind, t.ite(condition, value.term, there.term))
        return None

    def _do_Compound(self, one: Any, scope: dict[str, Any]) -> Any:
        own = dict(scope)
        returned = self._block(one.block_items or [], own)
        scope |= {name: own[name] for name in scope}
        return returned

    def _do_Return(self, one: Any, scope: dict[str, Any]) -> Any:
        return self.value(one.expr, scope)

    def _do_For(self, one: Any, scope: dict[str, Any]) -> Any:
        own = dict(scope)
        if one.init:
            self._block([one.init], own)
        while True:
            condition = self.truth(one.cond, own)
            if not t.is_const(condition):
                raise NotWhole("has a loop whose end depends on data")
            if not condition.low:
                break
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise NotWhole("takes too many steps")
            if (returned := self._block([one.stmt], own)) is not None:
                return returned
            if one.next:
                self._do_expression(one.next, own)
        scope |= {name: own[name] for name in scope}
        return None

    def _do_DeclList(self, one: Any, scope: dict[str, Any]) -> None:
        for declared in one.decls:
            self._do_Decl(declared, scope)

    def _do_Decl(self, one: Any, scope: dict[str, Any]) -> None:
        kind, init = self._kind(one), one.init
        if type(one.type).__name__ == "ArrayDecl":
            count = self.value(one.type.dim, scope).term.low
            cells: list[Term | None] = [None] * count
            if init is not None:
                given = [self.value(x, scope).term for x in init.exprs]
                cells = [*given, *[t.const(0)] * (count - len(given))]
            scope[one.name] = Pointer(Array(kind, cells), t.const(0))
        elif init is None:
            scope[one.name] = kind  # not set yet
        else:
            value = self.value(init, scope)
            scope[one.name] = value if isinstance(value, Pointer) else self.held(kind, value.term, one)

    def _do_expression(self, one: Any, scope: dict[str, Any]) -> None:
        if type(one).__name__ == "ExprList":
            for part in one.exprs:
                self.value(part, scope)
        else:
            self.value(one, scope)

    # Expressions

    def truth(self, one: Any, scope: dict[str, Any]) -> Term:
        value = self.value(one, scope).term
        return value if value.truth or t.is_const(value) else t.no(t.eq(value, t.const(0)))

    def value(self, one: Any, scope: dict[str, Any]) -> Any:
        from svmcompile.proofs.expressions import EXPRESSIONS

        kind = type(one).__name__
        if kind not in EXPRESSIONS:
            raise NotWhole(f"holds {kind}, which is not known here")
        return EXPRESSIONS[kind](self, one, scope)


def _merged(condition: Term, x: Term | None, y: Term | None) -> Term | None:
    """A cell after two branches; nothing where one of them did not write it."""
    return x if x is y else None if x is None or y is None else t.ite(condition, x, y)


def _returns(one: Any) -> bool:
    """Whether a statement may return."""
    return type(one).__name__ == "Return" or any(_returns(child) for _, child in one.children())
