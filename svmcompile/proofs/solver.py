"""Claims about terms, decided: by form where two terms are one, by ranges, or by bitwuzla."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from svmcompile.errors import UnsupportedError
from svmcompile.extras import install
from svmcompile.proofs import terms as t
from svmcompile.proofs.terms import Term

SMALL = 6  # terms up to this size go to the solver even where ranges decide
MOST_CASES = 1024  # values of an index that are tried one by one
TIME_LIMIT = 20_000  # milliseconds per question


@dataclass(frozen=True, slots=True)
class Claim:
    """Wherever `path` holds, low <= term <= high; or, without a range, term is not 0."""

    what: str
    path: Term
    term: Term
    low: int = 1
    high: int = 1


@dataclass(slots=True)
class Verdicts:
    """How many claims were decided in which way, and what is wrong with the others."""

    ways: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, claim: Claim, way: str, failure: str = "") -> None:
        if failure:
            self.failures.append(f"{claim.what}: {failure}")
        else:
            self.ways[way] += 1


def load_bitwuzla() -> Any:
    try:
        import bitwuzla
    except ImportError:
        raise UnsupportedError(f"proofs need bitwuzla; run: {install('prove')}") from None
    return bitwuzla


class Solver:
    """bitwuzla, asked for counterexamples; equal questions are asked once."""

    def __init__(self) -> None:
        self.bitwuzla = load_bitwuzla()
        self.known: dict[tuple[int, int, int, int], tuple[str, str]] = {}

    @property
    def version(self) -> str:
        return f"bitwuzla {self.bitwuzla.version()}"

    def decide(self, claim: Claim, verdicts: Verdicts) -> None:
        key = (id(claim.path), id(claim.term), claim.low, claim.high)
        if key not in self.known:
            self.known[key] = self._decide(claim)
        verdicts.add(claim, *self.known[key])

    def _decide(self, claim: Claim) -> tuple[str, str]:
        term, path = claim.term, claim.path
        if t.is_const(path) and not path.low:
            return "range", ""
        in_range = claim.low <= term.low and term.high <= claim.high
        if in_range and (t.is_const(term) or term.size + path.size > SMALL or _multiplies(term)):
            return ("form" if t.is_const(term) else "range"), ""
        if (base := _index(term, path)) is not None:
            return self._by_cases(claim, base)
        return self._ask(claim)

    def _by_cases(self, claim: Claim, base: Term) -> tuple[str, str]:
        """Each value of an index by itself, so that tables give constants."""
        for value in range(base.low, base.high + 1):
            instead = {id(base): t.const(value)}
            path, term = t.rebuilt(claim.path, instead), t.rebuilt(claim.term, instead)
            own = Claim(claim.what, t.both(t.eq(base, t.const(value)), path), term, claim.low, claim.high)
            _, failure = self._decide(own)
            if failure:
                return "", failure
        return "solver", ""

    def _ask(self, claim: Claim) -> tuple[str, str]:
        b, every = self.bitwuzla, t.in_order(claim.path, claim.term)
        most = max(abs(end) for one in every for end in (one.low, one.high, claim.low, claim.high))
        options = b.Options()
        options.set(b.Option.TIME_LIMIT_PER, TIME_LIMIT)
        options.set(b.Option.PRODUCE_MODELS, True)
        manager = b.TermManager()
        solver, bits = b.Bitwuzla(manager, options), _Bits(b, manager, most.bit_length() + 2)
        made = bits.of(every)
        for fact in bits.facts:
            solver.assert_formula(fact)
        solver.assert_formula(bits.truth(made[id(claim.path)], claim.path, True))
        solver.assert_formula(bits.outside(made[id(claim.term)], claim.low, claim.high, claim.term))
        answer = solver.check_sat()
        if answer == b.Result.UNSAT:
            return "solver", ""
        if answer != b.Result.SAT:
            return "", "the solver does not know in time"
        model = {name: _signed(solver.get_value(one)) for name, one in bits.variables.items()}
        value = t.evaluate(claim.term, model)
        if t.evaluate(claim.path, model) and not claim.low <= value <= claim.high:
            told = ", ".join(f"{name} = {one}" for name, one in sorted(model.items())[:6])
            return "", f"fails for {told}: {value} is not within {claim.low} and {claim.high}"
        return "", f"not shown; ranges give {claim.term.low} to {claim.term.high}"


def _multiplies(term: Term) -> bool:
    return any(one.op == "mul" and not t.is_const(one.args[1]) for one in t.in_order(term))


def _index(*terms: Term) -> Term | None:
    """What an index into a table depends on, if it has few values."""
    for one in t.in_order(*terms):
        if one.op == "load":
            at = one.args[1]
            base: Term = at.args[0] if at.op == "add" and t.is_const(at.args[1]) else at
            if base.high - base.low < MOST_CASES:
                return base
    return None


def _signed(value: Any) -> int:
    bits = str(value.value(2))
    return int(bits, 2) - (1 << len(bits) if bits[0] == "1" else 0)


class _Bits:
    """Terms as bit vectors wide enough for all of them; conditions as Booleans."""

    def __init__(self, bitwuzla: Any, manager: Any, width: int) -> None:
        self.kinds, self.manager = bitwuzla.Kind, manager
        self.sort = manager.mk_bv_sort(width)
        self.variables: dict[str, Any] = {}
        self.facts: list[Any] = []

    def of(self, every: list[Term]) -> dict[int, Any]:
        made: dict[int, Any] = {}
        for one in every:
            made[id(one)] = self._one(one, made)
        return made

    def outside(self, made: Any, low: int, high: int, term: Term) -> Any:
        if term.truth and low == high == 1:
            return self._term("NOT", made)
        made = self.truth(made, term, False)
        below, above = (
            self._term("BV_SLT", made, self._value(low)),
            self._term("BV_SLT", self._value(high), made),
        )
        return self._term("OR", below, above)

    def _term(self, kind: str, *args: Any) -> Any:
        return self.manager.mk_term(getattr(self.kinds, kind), list(args))

    def _value(self, number: int) -> Any:
        return self.manager.mk_bv_value(self.sort, number)

    def _free(self, name: str, one: Term) -> Any:
        """Any number within the range of a term."""
        made = self.manager.mk_const(self.sort, name)
        self.facts.append(self._term("BV_SLE", self._value(one.low), made))
        self.facts.append(self._term("BV_SLE", made, self._value(one.high)))
        return made

    def _one(self, one: Term, made: dict[int, Any]) -> Any:
        got = [made[id(x)] if isinstance(x, Term) else x for x in one.args]
        if one.op == "const":
            return self._value(one.low)
        if one.op == "var":
            name = str(got[0])
            self.variables[name] = self._free(name, one)
            return self.variables[name]
        if one.op == "load" or (one.op == "mul" and not t.is_const(one.args[1])):
            return self._free(f"{one.op} {id(one)}", one)
        if one.op in ("shr", "mod"):
            by = self._value(got[1] if one.op == "shr" else (1 << got[1]) - 1)
            return self._term("BV_ASHR" if one.op == "shr" else "BV_AND", got[0], by)
        if one.op == "ite":
            condition = one.truth
            got[1:] = [self.truth(x, y, condition) for x, y in zip(got[1:], one.args[1:], strict=True)]
            got[0] = self.truth(got[0], one.args[0], True)
        if one.op == "no":
            got[0] = self.truth(got[0], one.args[0], True)
        if one.op in ("add", "mul", "le", "eq"):
            got = [self.truth(x, y, False) for x, y in zip(got, one.args, strict=True)]
        kinds = {"add": "BV_ADD", "mul": "BV_MUL", "le": "BV_SLE", "eq": "EQUAL", "no": "NOT", "ite": "ITE"}
        return self._term(kinds[one.op], *got)

    def truth(self, made: Any, term: Term, condition: bool) -> Any:
        """A condition as a number, or a number as a condition, if it must be."""
        if term.truth == condition:
            return made
        if condition:
            return self._term("NOT", self._term("EQUAL", made, self._value(0)))
        return self._term("ITE", made, self._value(1), self._value(0))
