"""The function that makes whole numbers of floats: whatever it is given, the numbers are within range.

Its one loop body is taken as it stands, in the theories of floating point and of bits. What is subtracted
and multiplied may be any float at all, NaN too, so the proof covers every table and every row. The union of
a float and its bits is kept as bits, of which more than one pattern is NaN.
"""

from __future__ import annotations

from typing import Any

from svmcompile.proofs.run import NotWhole
from svmcompile.proofs.solver import TIME_LIMIT, Verdicts, load_bitwuzla

FLOATS = {"<": "FP_LT", ">": "FP_GT", "<=": "FP_LEQ", ">=": "FP_GEQ"}
WHOLE = {"<": "BV_SLT", ">": "BV_SGT", "<=": "BV_SLE", ">=": "BV_SGE"}
WHOLE |= {"&": "BV_AND", "+": "BV_ADD", ">>": "BV_ASHR"}
BITS, INT_BITS = 32, 16  # of whole numbers, and those that an `int` has at least


class _Loop:
    """The body of a loop as terms of the solver, and what is claimed of them."""

    def __init__(self, manager: Any, limit: int) -> None:
        self.b, self.manager, self.limit = load_bitwuzla(), manager, limit
        self.float, self.whole = manager.mk_fp_sort(8, 24), manager.mk_bv_sort(BITS)
        self.nearest, self.to_zero = (
            manager.mk_rm_value(mode) for mode in (self.b.RoundingMode.RNE, self.b.RoundingMode.RTZ)
        )
        self.scope: dict[str, Any] = {}
        self.claims: list[Any] = []
        self.writes = self.count = 0

    def term(self, kind: str, *args: Any, indices: tuple[int, ...] = ()) -> Any:
        return self.manager.mk_term(getattr(self.b.Kind, kind), list(args), list(indices))

    def any_bits(self) -> Any:
        self.count += 1
        return self.manager.mk_const(self.whole, f"any {self.count}")

    def of_bits(self, bits: Any) -> Any:
        return self.term("FP_TO_FP_FROM_BV", bits, indices=(8, 24))

    def real(self, text: str) -> Any:
        return self.manager.mk_fp_value(self.float, self.nearest, text)

    def claim(self, when: Any, least: str, one: Any, end: Any) -> None:
        """Where a condition holds, something lies between an end and its negative."""
        order, minus = (f"FP_{least}", "FP_NEG") if least == "LT" else (f"BV_{least}", "BV_NEG")
        inside = self.term("AND", self.term(order, one, end), self.term(order, self.term(minus, end), one))
        self.claims.append(self.term("IMPLIES", when, inside))

    def run(self, one: Any, when: Any) -> None:
        """A statement, or some, where a condition holds."""
        kind = type(one).__name__
        if kind == "Compound":
            for statement in one.block_items:
                self.run(statement, when)
        elif kind == "If":
            condition, before = self.value(one.cond, when), dict(self.scope)
            self.run(one.iftrue, self.term("AND", when, condition))
            self.scope = before
            self.run(one.iffalse, self.term("AND", when, self.term("NOT", condition)))
        elif kind == "Assignment":
            self.assign(one.lvalue, one.op, self.value(one.rvalue, when), when)
        elif kind != "Decl" or one.init is not None:
            raise NotWhole(f"holds {kind}, which is not known here")

    def assign(self, left: Any, op: str, found: Any, when: Any) -> None:
        kind = type(left).__name__
        if kind == "StructRef" and left.field.name == "value":
            self.scope[left.name.name] = self.any_bits()  # of what the caller gives
        elif kind == "StructRef" and op == "+=":
            self.scope[left.name.name] = self.term("BV_ADD", self.scope[left.name.name], found)
        elif kind == "ID" and op == "=":
            self.scope[left.name] = found
        else:  # what is written
            self.claim(when, "SLE", found, self.manager.mk_bv_value(self.whole, self.limit))
            self.writes += 1

    def value(self, one: Any, when: Any) -> Any:
        kind = type(one).__name__
        if kind == "Constant" and one.type in ("float", "double"):
            return self.real(one.value.rstrip("f"))
        if kind == "Constant":
            return self.manager.mk_bv_value(self.whole, self.constant(one.value.rstrip("u")))
        if kind == "ID":
            return self.scope[one.name]
        if kind == "StructRef":
            bits = self.scope[one.name.name]
            return bits if one.field.name == "bits" else self.of_bits(bits)
        if kind == "UnaryOp" and one.op == "-":
            inner = self.value(one.expr, when)
            return self.term("FP_NEG" if inner.sort().is_fp() else "BV_NEG", inner)
        if kind == "TernaryOp":
            return self.term(
                "ITE", *(self.value(part, when) for part in (one.cond, one.iftrue, one.iffalse))
            )
        if kind == "Cast":
            return self.cast(self.value(one.expr, when), one.to_type.type.type.names, when)
        if kind == "BinaryOp" and one.op in FLOATS | WHOLE:
            left, right = self.value(one.left, when), self.value(one.right, when)
            return self.term((FLOATS if left.sort().is_fp() else WHOLE)[one.op], left, right)
        if kind in ("BinaryOp", "ArrayRef"):  # of what the caller gives
            return self.of_bits(self.any_bits())
        raise NotWhole(f"holds {kind}, which is not known here")

    def constant(self, text: str) -> int:
        if int(text, 0) >= 1 << (BITS - 1):
            raise NotWhole(f"holds {text}, which has a sign here")
        return int(text, 0)

    def cast(self, found: Any, names: list[str], when: Any) -> Any:
        """A float that becomes whole fits; of a whole number the range is claimed where it is written."""
        if not found.sort().is_fp():
            return found
        self.claim(when, "LT", found, self.real(f"{1 << (INT_BITS if names == ['int'] else BITS) - 2}.0"))
        return self.term("FP_TO_SBV", self.to_zero, found, indices=(BITS,))


def prove_range(function: Any, limit: int, name: str) -> Verdicts:
    """The numbers that the function writes are within the limit, and no conversion is undefined."""
    b, verdicts = load_bitwuzla(), Verdicts()
    manager, options = b.TermManager(), b.Options()
    options.set(b.Option.TIME_LIMIT_PER, TIME_LIMIT)
    solver, loop = b.Bitwuzla(manager, options), _Loop(manager, limit)
    body = next(one for one in function.body.block_items if type(one).__name__ == "For").stmt
    loop.run(body, manager.mk_true())
    if not loop.writes:
        raise NotWhole("writes no number")
    solver.assert_formula(loop.term("NOT", loop.term("AND", *loop.claims)))
    if solver.check_sat() == b.Result.UNSAT:
        verdicts.ways["solver"] += 1
    else:
        verdicts.failures.append(f"{name}: a number may be beyond {limit}, or NaN")
    return verdicts
