"""The function that makes whole numbers of floats: whatever it is given, the numbers are within range.

Its one loop body is taken as it stands, in the theory of floating point. What is subtracted and multiplied
may be any float at all, NaN too, so the proof covers every table and every row.
"""

from __future__ import annotations

from typing import Any

from svmcompile.proofs.run import NotWhole
from svmcompile.proofs.solver import TIME_LIMIT, Verdicts, load_bitwuzla

COMPARED = {"<": "FP_LT", ">": "FP_GT", "<=": "FP_LEQ", ">=": "FP_GEQ"}
SUMS = {"+": "FP_ADD", "-": "FP_SUB"}
BITS = 32  # of the whole number that a float is converted to


class _Floats:
    """Expressions of float as terms of the solver."""

    def __init__(self, manager: Any) -> None:
        self.b, self.manager = load_bitwuzla(), manager
        self.float = manager.mk_fp_sort(8, 24)
        self.nearest, self.to_zero = (
            manager.mk_rm_value(mode) for mode in (self.b.RoundingMode.RNE, self.b.RoundingMode.RTZ)
        )
        self.scope: dict[str, Any] = {}
        self.count = 0

    def term(self, kind: str, *args: Any, indices: tuple[int, ...] = ()) -> Any:
        return self.manager.mk_term(getattr(self.b.Kind, kind), list(args), list(indices))

    def any(self) -> Any:
        self.count += 1
        return self.manager.mk_const(self.float, f"any {self.count}")

    def number(self, text: str) -> Any:
        return self.manager.mk_fp_value(self.float, self.nearest, text.rstrip("f"))

    def value(self, one: Any) -> Any:
        kind = type(one).__name__
        if kind == "Constant":
            return self.number(one.value)
        if kind == "ID":
            return self.scope[one.name]
        if kind == "ArrayRef":
            return self.any()
        if kind == "UnaryOp" and one.op == "-":
            return self.term("FP_NEG", self.value(one.expr))
        if kind == "TernaryOp":
            return self.term("ITE", *map(self.value, (one.cond, one.iftrue, one.iffalse)))
        if kind == "BinaryOp" and one.op in COMPARED:
            return self.term(COMPARED[one.op], self.value(one.left), self.value(one.right))
        if kind == "BinaryOp" and one.op in SUMS and type(one.right).__name__ == "Constant":
            return self.term(SUMS[one.op], self.nearest, self.value(one.left), self.value(one.right))
        if kind == "BinaryOp":  # of what the caller gives
            return self.any()
        raise NotWhole(f"holds {kind}, which is not known here")

    def body(self, loop: Any) -> Any:
        """What the loop converts to a whole number."""
        found = None
        for one in loop.stmt.block_items:
            if type(one).__name__ == "Decl":
                self.scope[one.name] = self.value(one.init)
            elif type(one.lvalue).__name__ == "ID":
                self.scope[one.lvalue.name] = self.value(one.rvalue)
            elif type(one.rvalue).__name__ == "Cast":
                found = self.value(one.rvalue.expr)
        if found is None:
            raise NotWhole("writes no number")
        return found


def prove_range(function: Any, limit: int, name: str) -> Verdicts:
    """The numbers that the function writes are within the limit, and no conversion is undefined."""
    b, verdicts = load_bitwuzla(), Verdicts()
    manager, options = b.TermManager(), b.Options()
    options.set(b.Option.TIME_LIMIT_PER, TIME_LIMIT)
    floats, solver = _Floats(manager), b.Bitwuzla(manager, options)
    loop = next(one for one in function.body.block_items if type(one).__name__ == "For")
    value = floats.body(loop)
    whole = floats.term("FP_TO_SBV", floats.to_zero, value, indices=(BITS,))
    sort = manager.mk_bv_sort(BITS)
    # Within limit + 1 the conversion is defined, and within it the whole number is as well.
    top = floats.number(f"{limit + 1}.0")
    inside = floats.term(
        "AND",
        floats.term("FP_LT", value, top),
        floats.term("FP_LT", floats.term("FP_NEG", top), value),
        floats.term("BV_SLE", whole, manager.mk_bv_value(sort, limit)),
        floats.term("BV_SLE", manager.mk_bv_value(sort, -limit), whole),
    )
    solver.assert_formula(floats.term("NOT", inside))
    if solver.check_sat() == b.Result.UNSAT:
        verdicts.ways["solver"] += 1
    else:
        verdicts.failures.append(f"{name}: a number may be beyond {limit}, or NaN")
    return verdicts
