"""Terms over unbounded integers, each with the range of its values; equal terms are one object.

C in whole numbers means the same as arithmetic on integers as long as no result leaves its type. So a
C function becomes terms, and that each stays within its type becomes a claim to be proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False, slots=True)
class Term:
    """An operation on terms; conditions are terms with values 0 and 1."""

    op: str
    args: tuple[Any, ...]
    low: int
    high: int
    part: tuple[object, int, int] | None = None  # of a family of summands whose sizes add up to a limit
    size: int = 1  # of the term written out, or a little less than it
    truth: bool = False  # whether it is a condition

    def __repr__(self) -> str:
        if self.op in ("const", "var"):
            return str(self.args[0])
        return f"{self.op}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """Summands of which any selection adds up to at most `limit` in size."""

    limit: int


_KNOWN: dict[tuple[Any, ...], Term] = {}
MOST_SIZE = 1 << 20
CONDITIONS = ("le", "eq", "no")


def _make(op: str, args: tuple[Any, ...], low: int, high: int) -> Term:
    key = (op, *(id(one) if isinstance(one, Term) else one for one in args))
    found = _KNOWN.get(key)
    if found is None:
        size = 1 + sum(one.size for one in args if isinstance(one, Term))
        truth = op in CONDITIONS or (
            op == "ite" and low >= 0 and high <= 1 and (args[1].truth or args[2].truth)
        )
        found = _KNOWN[key] = Term(op, args, low, high, None, min(size, MOST_SIZE), truth)
    return found


def forget() -> None:
    """Drop all terms; those still in use are equal to no new ones."""
    _KNOWN.clear()


def const(value: int) -> Term:
    return _make("const", (int(value),), int(value), int(value))


def var(name: str, low: int, high: int) -> Term:
    return _make("var", (name, low, high), low, high)


def is_const(term: Term) -> bool:
    return term.op == "const"


def add(a: Term, b: Term) -> Term:
    if is_const(a) and is_const(b):
        return const(a.low + b.low)
    if is_const(a) and a.low == 0:
        return b
    if is_const(b) and b.low == 0:
        return a
    made = _make("add", (a, b), a.low + b.low, a.high + b.high)
    if a.part and b.part and a.part[0] is b.part[0] and a.part[2] == b.part[1] and made.part is None:
        family = a.part[0]
        assert isinstance(family, Family)
        made.part = (family, a.part[1], b.part[2])
        made.low, made.high = max(made.low, -family.limit), min(made.high, family.limit)
    return made


def mul(a: Term, b: Term) -> Term:
    if is_const(a) and is_const(b):
        return const(a.low * b.low)
    if is_const(a):
        a, b = b, a
    if is_const(b) and b.low in (0, 1):
        return a if b.low else b
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    if a is b:
        low = 0 if a.low <= 0 <= a.high else min(corners[0], corners[3])
        return _make("mul", (a, b), low, max(corners[0], corners[3]))
    if not is_const(b) and id(a) > id(b):
        a, b = b, a
    return _make("mul", (a, b), min(corners), max(corners))


def summand(term: Term, family: Family, number: int) -> Term:
    """The term as a member of a family, which bounds it too."""
    term.part = (family, number, number + 1)
    term.low, term.high = max(term.low, -family.limit), min(term.high, family.limit)
    return term


def neg(a: Term) -> Term:
    return mul(a, const(-1))


def sub(a: Term, b: Term) -> Term:
    return add(a, neg(b))


def shr(a: Term, bits: int) -> Term:
    """a / 2^bits, rounded down."""
    if bits == 0:
        return a
    if is_const(a):
        return const(a.low >> bits)
    return _make("shr", (a, bits), a.low >> bits, a.high >> bits)


def mod(a: Term, bits: int) -> Term:
    """What is left of a after division by 2^bits, rounded down."""
    top = (1 << bits) - 1
    if is_const(a):
        return const(a.low & top)
    if a.low >= 0 and a.high <= top:
        return a
    return _make("mod", (a, bits), 0, top)


def ite(c: Term, a: Term, b: Term) -> Term:
    if is_const(c):
        return a if c.low else b
    if a is b:
        return a
    if is_const(a) and is_const(b) and c.truth and {a.low, b.low} == {0, 1}:
        return c if a.low else no(c)
    return _make("ite", (c, a, b), min(a.low, b.low), max(a.high, b.high))


def _condition(op: str, args: tuple[Any, ...], sure: bool, never: bool) -> Term:
    return const(1) if sure else const(0) if never else _make(op, args, 0, 1)


def le(a: Term, b: Term) -> Term:
    return _condition("le", (a, b), a.high <= b.low, a.low > b.high)


def lt(a: Term, b: Term) -> Term:
    return le(add(a, const(1)), b)


def eq(a: Term, b: Term) -> Term:
    if a.op == "ite" and is_const(b) and is_const(a.args[1]) and is_const(a.args[2]):
        return ite(a.args[0], const(a.args[1].low == b.low), const(a.args[2].low == b.low))
    if a.truth and is_const(b) and b.low in (0, 1):
        return a if b.low else no(a)
    same = a is b or (is_const(a) and is_const(b) and a.low == b.low)
    return _condition("eq", (a, b), same, a.high < b.low or b.high < a.low)


def no(a: Term) -> Term:
    return const(1 - a.low) if is_const(a) else a.args[0] if a.op == "no" else _make("no", (a,), 0, 1)


def both(a: Term, b: Term) -> Term:
    return ite(a, b, const(0))


def either(a: Term, b: Term) -> Term:
    return ite(a, const(1), b)


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """A table that does not change."""

    name: str
    values: tuple[int, ...]
    low: int
    high: int


def load(table: Numbers, at: Term) -> Term:
    """A number of a table; that `at` is within it is a claim of its own."""
    if is_const(at):
        return const(table.values[at.low] if 0 <= at.low < len(table.values) else 0)
    return _make("load", (table, at), table.low, table.high)


def evaluate(term: Term, values: dict[str, int]) -> int:
    """The value of a term whose variables have these values; 0 for those that are missing."""
    known: dict[int, int] = {}
    for one in in_order(term):
        got = [known[id(x)] if isinstance(x, Term) else x for x in one.args]
        known[id(one)] = _apply(one.op, got, values)
    return known[id(term)]


def _apply(op: str, got: list[Any], values: dict[str, int]) -> int:
    if op == "var":
        return values.get(str(got[0]), max(int(got[1]), min(int(got[2]), 0)))
    if op == "load":
        table, at = got
        return int(table.values[at]) if 0 <= at < len(table.values) else 0
    if op == "ite":
        return int(got[1] if got[0] else got[2])
    by_name: dict[str, Any] = {
        "const": lambda a: a, "add": lambda a, b: a + b, "mul": lambda a, b: a * b,
        "shr": lambda a, k: a >> k, "mod": lambda a, k: a & ((1 << k) - 1),
        "le": lambda a, b: a <= b, "eq": lambda a, b: a == b, "no": lambda a: not a,
    }  # fmt: skip
    return int(by_name[op](*got))


def rebuilt(term: Term, instead: dict[int, Term]) -> Term:
    """The term with others in the place of some, by id; ranges are found anew."""
    made = dict(instead)
    for one in in_order(term):
        if id(one) not in made:
            args = [made[id(x)] if isinstance(x, Term) else x for x in one.args]
            changed = any(x is not y for x, y in zip(args, one.args, strict=True))
            made[id(one)] = MAKERS[one.op](*args) if changed else one
    return made[id(term)]


MAKERS: dict[str, Any] = {
    "add": add, "mul": mul, "shr": shr, "mod": mod, "ite": ite, "le": le, "eq": eq, "no": no, "load": load,
}  # fmt: skip


def in_order(*terms: Term) -> list[Term]:
    """All terms that some are made of, each after its parts."""
    seen: set[int] = set()
    found: list[Term] = []
    stack: list[tuple[Term, bool]] = [(one, False) for one in terms]
    while stack:
        one, done = stack.pop()
        if done:
            found.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            stack.append((one, True))
            stack.extend((x, False) for x in one.args if isinstance(x, Term))
    return found
