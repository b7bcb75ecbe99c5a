"""The function that makes whole numbers of floats: whatever it is given, the numbers are within range.

Its one loop body is taken as it stands, in the theory of floating point. What is subtracted and multiplied
may be any float at all, NaN too, so the proof covers every table and every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmcompile.proofs.run import NotWhole
from svmcompile.proofs.solver import TIME_LIMIT, Verdicts, load_bitwuzla

ORDERS = {"<": "LT", ">": "GT", "<=": "LE", ">=": "GE"}
BITS = 32  # of whole numbers
INT_BITS = 16  # that an `int` has at least


@dataclass(frozen=True, slots=True)
class _Value:
    """A term of the solver: a float, a whole number with or without a sign, or whether something holds."""

    kind: str  # "float", "signed", "unsigned", "truth"
    term: Any


class _Loop:
    """The body of a loop as terms of the solver, and what is claimed of them.

    A union of a float and its bits is kept as its bits, of which more than one pattern is NaN.
    """

    def __init__(self, manager: Any, limit: int) -> None:
        self.b, self.manager, self.limit = load_bitwuzla(), manager, limit
        self.float, self.whole = manager.mk_fp_sort(8, 24), manager.mk_bv_sort(BITS)
        self.nearest, self.to_zero = (
            manager.mk_rm_value(mode) for mode in (self.b.RoundingMode.RNE, self.b.RoundingMode.RTZ)
        )
        self.scope: dict[str, Any] = {}  # values of variables, and bits of unions
        self.when: list[Any] = []  # the conditions of this place
        self.claims: list[Any] = []
        self.writes = self.count = 0

    def term(self, kind: str, *args: Any, indices: tuple[int, ...] = ()) -> Any:
        return self.manager.mk_term(getattr(self.b.Kind, kind), list(args), list(indices))

    def any_bits(self) -> Any:
        self.count += 1
        return self.manager.mk_const(self.whole, f"any {self.count}")

    def of_bits(self, bits: Any) -> _Value:
        return _Value("float", self.term("FP_TO_FP_FROM_BV", bits, indices=(8, 24)))

    def any_float(self) -> _Value:
        return self.of_bits(self.any_bits())

    def real(self, text: str) -> Any:
        return self.manager.mk_fp_value(self.float, self.nearest, text)

    def number(self, value: int) -> Any:
        return self.manager.mk_bv_value(self.whole, value)

    def claim(self, *what: Any) -> None:
        """That these hold here."""
        for one in what:
            for condition in reversed(self.when):
                one = self.term("IMPLIES", condition, one)
            self.claims.append(one)

    # Statements

    def block(self, one: Any) -> None:
        for statement in getattr(one, "block_items", None) or [one]:
            self.statement(statement)

    def statement(self, one: Any) -> None:
        kind = type(one).__name__
        if kind == "Decl":
            self.declaration(one)
        elif kind == "If":
            condition = self.value(one.cond).term
            for branch, holds in ((one.iftrue, condition), (one.iffalse, self.term("NOT", condition))):
                before = dict(self.scope)
                self.when.append(holds)
                self.block(branch)
                self.when.pop()
                self.scope = before
        elif kind == "Assignment":
            self.assignment(one)
        else:
            raise NotWhole(f"holds {kind}, which is not known here")

    def declaration(self, one: Any) -> None:
        if type(one.type.type).__name__ == "Union":
            self.scope[one.name] = self.any_bits()
        elif one.init is not None:
            self.scope[one.name] = self.value(one.init)

    def assignment(self, one: Any) -> None:
        left, kind = one.lvalue, type(one.lvalue).__name__
        if kind == "StructRef" and left.field.name == "value" and one.op == "=":
            self.value(one.rvalue)
            self.scope[left.name.name] = self.any_bits()  # of what the caller gives
        elif kind == "StructRef" and left.field.name == "bits" and one.op == "+=":
            name = left.name.name
            self.scope[name] = self.term("BV_ADD", self.scope[name], self.value(one.rvalue).term)
        elif kind == "ID" and one.op == "=":
            self.scope[left.name] = self.value(one.rvalue)
        elif kind == "ArrayRef" and one.op == "=":
            self.within(self.value(one.rvalue).term, self.limit)
            self.writes += 1
        else:
            raise NotWhole(f"holds {kind} {one.op}, which is not known here")

    def within(self, whole: Any, limit: int) -> None:
        self.claim(
            self.term("BV_SLE", whole, self.number(limit)), self.term("BV_SLE", self.number(-limit), whole)
        )

    # Expressions

    def value(self, one: Any) -> _Value:
        kind = type(one).__name__
        if kind == "Constant":
            return self.constant(one)
        if kind == "ID":
            found: _Value = self.scope[one.name]
            return found
        if kind == "ArrayRef":
            return self.any_float()
        if kind == "StructRef":
            bits = self.scope[one.name.name]
            return _Value("unsigned", bits) if one.field.name == "bits" else self.of_bits(bits)
        if kind == "Cast":
            return self.cast(one)
        if kind == "UnaryOp" and one.op == "-":
            inner = self.value(one.expr)
            negative = "FP_NEG" if inner.kind == "float" else "BV_NEG"
            return _Value(inner.kind, self.term(negative, inner.term))
        if kind == "TernaryOp":
            condition, *ends = map(self.value, (one.cond, one.iftrue, one.iffalse))
            return _Value(ends[0].kind, self.term("ITE", condition.term, *(end.term for end in ends)))
        if kind == "BinaryOp":
            return self.operation(one.op, self.value(one.left), self.value(one.right))
        raise NotWhole(f"holds {kind}, which is not known here")

    def constant(self, one: Any) -> _Value:
        if one.type in ("float", "double"):
            return _Value("float", self.real(one.value.rstrip("f")))
        sign = "unsigned" if one.value.endswith("u") else "signed"
        return _Value(sign, self.number(int(one.value.rstrip("u"), 0)))

    def cast(self, one: Any) -> _Value:
        """A float that becomes whole fits; of a whole number the range is claimed where it is written."""
        inner, name = self.value(one.expr), " ".join(one.to_type.type.type.names)
        if inner.kind != "float":
            return inner
        end = self.real(f"{2 ** ((INT_BITS if name == 'int' else BITS) - 1)}.0")
        self.claim(
            self.term("FP_LT", inner.term, end), self.term("FP_LT", self.term("FP_NEG", end), inner.term)
        )
        return _Value("signed", self.term("FP_TO_SBV", self.to_zero, inner.term, indices=(BITS,)))

    def operation(self, op: str, left: _Value, right: _Value) -> _Value:
        kinds = {left.kind, right.kind}
        if "float" in kinds:
            if op in ORDERS:
                order = {"LE": "LEQ", "GE": "GEQ"}.get(ORDERS[op], ORDERS[op])
                return _Value("truth", self.term(f"FP_{order}", left.term, right.term))
            return self.any_float()  # of what the caller gives
        sign = "unsigned" if "unsigned" in kinds else "signed"
        if op in ORDERS:
            term = self.term(f"BV_{sign[0].upper()}{ORDERS[op]}", left.term, right.term)
            return _Value("truth", term)
        known = {"&": "BV_AND", "+": "BV_ADD", ">>": "BV_ASHR" if sign == "signed" else "BV_SHR"}
        if op not in known:
            raise NotWhole(f"holds {op}, which is not known here")
        found = self.term(known[op], left.term, right.term)
        if op == "+" and sign == "signed":  # of what is twice a number, in an int where that is a byte
            self.within(found, 2 ** ((INT_BITS if self.limit < 2**7 else BITS) - 2))
        return _Value(sign, found)


def prove_range(function: Any, limit: int, name: str) -> Verdicts:
    """The numbers that the function writes are within the limit, and no conversion is undefined."""
    b, verdicts = load_bitwuzla(), Verdicts()
    manager, options = b.TermManager(), b.Options()
    options.set(b.Option.TIME_LIMIT_PER, TIME_LIMIT)
    solver, body = b.Bitwuzla(manager, options), _Loop(manager, limit)
    body.block(next(one for one in function.body.block_items if type(one).__name__ == "For").stmt)
    if not body.writes:
        raise NotWhole("writes no number")
    solver.assert_formula(body.term("NOT", body.term("AND", *body.claims)))
    if solver.check_sat() == b.Result.UNSAT:
        verdicts.ways["solver"] += 1
    else:
        verdicts.failures.append(f"{name}: a number may be beyond {limit}, or NaN")
    return verdicts
