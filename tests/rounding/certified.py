"""Certified errors of functions of generated C, and of curves: python -m tests.rounding.certified

Maxima are enclosed over whole intervals, in balls of python-flint; nothing is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import flint
import numpy as np
from flint import arb, arb_series

from svmcompile.ir.arithmetic import ARITHMETIC, Number
from svmcompile.ir.nodes.normals import DENOMINATOR, LEAST, NUMERATOR
from svmcompile.ir.whole_numbers import UNIT_BITS
from svmcompile.lower.fixed.sums import CELLS, TOP, Curve, falling, rising
from svmcompile.targets.c.literals import (
    EXP2_COEFFICIENTS,
    EXP2_FROM_FLOOR,
    EXP2_FROM_NEAREST,
    NUMBERS,
    cosine_terms,
)
from svmcompile.verification.balls import FADE_ERROR
from tests.rounding.stranger import UNIT, Pair, computed

KINDS = {"f32": "float", "f64": "double"}
HELD: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
NUMBERS_OF_C: tuple[Number, ...] = ("f32", "f64")
BEYOND = 2.0**-15  # by which rounding may take the fraction beyond its interval
LEAST_SLOPE = 0.79  # of -ln(share above x), for x of zero and above, where it is the root of 2 / pi
PARTS, ORDER = 64, 14  # of an interval, and of Taylor series in each
POLYNOMIALS = {
    "exp2": (EXP2_COEFFICIENTS, -0.5, 0.5),
    "exp2, nearest": (EXP2_FROM_NEAREST, -0.5, 0.5),
    "exp2, floor": (EXP2_FROM_FLOOR, 0.0, 1.0),
}


def polynomial_error(number: str, coefficients: Any, low: float, high: float) -> float:
    """The largest |p(f) / 2^f - 1| between low and high."""
    held = [arb(float(HELD[number](one))) for one in coefficients]
    return max(_taylor(held, *part) for part in _parts(low - BEYOND, high + BEYOND))


def _parts(low: float, high: float, count: int = PARTS) -> list[tuple[arb, arb]]:
    half = (arb(high) - arb(low)) / (2 * count)
    return [(arb(low) + half * (2 * k + 1), half) for k in range(count)]


def _taylor(held: list[arb], middle: arb, half: arb) -> float:
    """A bound on |p(f) 2^-f - 1| by its series about the middle, the rest by that about the whole part."""
    whole = arb(middle.mid(), (half + arb(0, middle.rad())).abs_upper())
    found = arb(0)
    for centre, orders in ((middle, range(ORDER)), (whole, [ORDER])):
        f = arb_series([centre, 1], ORDER + 1)
        value = arb_series([0], ORDER + 1)
        for one in reversed(held):
            value = value * f + one
        value = value * (f * -arb.const_log2()).exp() - 1
        found += sum((abs(value[k]) * half**k for k in orders), arb(0))
    return float(found.abs_upper())


def rounding_error(number: str, coefficients: Any, low: float, high: float, short: bool = False) -> float:
    """The largest share by which rounding moves p(f) from 2^f, product by product and sum by sum."""
    kind, worst = KINDS[number], 0.0
    held = [Pair(arb(float(HELD[number](one))), 0.0, kind) for one in coefficients]
    for middle, half in _parts(low, high):
        f = Pair(arb(middle.mid(), half.abs_upper()), 0.0, kind)
        value = _in_pairs(held, f) if short else _horner(held, f)
        worst = max(worst, value.error / float((arb(2) ** f.value).lower()))
    return worst


def short_chains_error(step: int) -> float:
    """The largest error of exp2 by short chains in f32, tried for every float (or each `step`th) up to 1/2.

    The model of rounding gives 2.9e-7, as roundings never are all at their worst at once. Below 2^-11 a
    result is one, rounded twice, and what the polynomial is off by there.
    """
    held, worst = [np.float32(one) for one in EXP2_FROM_NEAREST["f32"]], 0.0
    for exponent in range(-11, -1):
        digits = np.arange(1 << 23, 1 << 24, step, dtype=np.uint32).astype(np.float32)
        for f in (np.ldexp(digits, exponent - 23), -np.ldexp(digits, exponent - 23)):
            terms, power = held, f
            while len(terms) > 1:
                pairs = [terms[at : at + 2] for at in range(0, len(terms), 2)]
                terms = [pair[1] * power + pair[0] if len(pair) == 2 else pair[0] for pair in pairs]
                power = power * power
            worst = max(
                worst, float(np.abs(terms[0].astype(np.float64) / np.exp2(f.astype(np.float64)) - 1).max())
            )
    return worst


def _horner(held: list[Pair], f: Pair) -> Pair:
    value = held[-1]
    for one in reversed(held[:-1]):
        value = computed("+", computed("*", value, f), one)
    return value


def _in_pairs(held: list[Pair], f: Pair) -> Pair:
    """As the host profile does, by fewer steps that wait for each other."""
    power = f
    while len(held) > 1:
        pairs = [held[at : at + 2] for at in range(0, len(held), 2)]
        held = [
            computed("+", computed("*", pair[1], power), pair[0]) if len(pair) == 2 else pair[0]
            for pair in pairs
        ]
        power = computed("*", power, power)
    return held[0]


def tanh_error(number: Number) -> float:
    """The largest error of 1 - 2 / (1 + 2^(t c)), all roundings counted, with any of the polynomials."""
    u = UNIT[KINDS[number]]
    given = [(number, table[number], low, high) for table, low, high in POLYNOMIALS.values()]
    own = max(polynomial_error(*one) + rounding_error(*one) for one in given)
    limit = float(NUMBERS[number]["tanh_limit"].rstrip("f"))
    worst = float((1 - arb(limit).tanh()).abs_upper())  # beyond the limit
    for middle, half in _parts(0.0, limit, 4096):
        t = arb(middle.mid(), half.abs_upper())
        power = (2 * t).exp()
        part = 2 / (1 + power)
        off = 2 * t * 2 * u + own  # of the power, as a share: its argument and the constant are rounded
        moved = part * (power / (1 + power)) * off
        found = (moved + u * part + _last(part) * u) * (1 + 8 * u) + u / 2  # the result is below one
        worst = max(worst, float(found.abs_upper()))
    return worst


def cosine_error(number: Number) -> float:
    """The largest error of the polynomial in f^2 for f up to a quarter of a turn, all roundings counted.

    Taking off whole turns, and the other half of a turn, is exact.
    """
    kind, worst = KINDS[number], 0.0
    held = [Pair(arb(float(HELD[number](one))), 0.0, kind) for one in cosine_terms(number)]
    turn, quarter = 2 * arb.pi(), arb(0.25)
    # The series of the cosine ends early, by less than its next term, and its terms are rounded.
    own = (turn * quarter) ** (2 * len(held)) / arb(2 * len(held)).gamma() / (2 * len(held))
    for k, one in enumerate(held):
        term = (-1) ** k * turn ** (2 * k) / arb(2 * k + 1).gamma()
        own += abs(one.value - term) * quarter ** (2 * k)
    for middle, half in _parts(0.0, 0.25):
        f = Pair(arb(middle.mid(), half.abs_upper()), 0.0, kind)
        worst = max(worst, _horner(held, computed("*", f, f)).error)
    return worst + float(own.abs_upper())


def log_error(number: Number) -> float:
    """The largest error of ln x = k ln 2 + 2 artanh s, as a share of 1 + |ln x|; s = (m - 1) / (m + 1).

    x = 2^k m, and m is up to a root of two away from one, so that m - 1 is exact.
    """
    kind, worst, literals = KINDS[number], 0.0, NUMBERS[number]
    u, ln2 = UNIT[kind], arb.const_log2()
    held = [_held(one, number) for one in literals["log"]]
    for middle, half in _parts(2**-0.5, 2**0.5):
        m = arb(middle.mid(), half.abs_upper())
        exact = (m - 1) / (m + 1)
        s = Pair(exact, float((abs(exact) * 2.01 * u).abs_upper()), kind)
        found = computed("*", _horner(held, computed("*", s, s)), s)
        top = abs(exact).max(arb(0))
        # The series ends early, by less than a geometric one from its next term on; its terms are rounded.
        own = 2 * top ** (2 * len(held) + 1) / (2 * len(held) + 1) / (1 - top * top)
        own += sum(
            (abs(one.value - arb(2) / (2 * k + 1)) * top ** (2 * k + 1) for k, one in enumerate(held)),
            arb(0),
        )
        worst = max(worst, found.error + float(own.abs_upper()))
    off = abs(_held(literals["ln2"], number).value - ln2) + u * ln2  # of k ln 2, for each k
    shares = []
    for k in range(1100 if number == "f64" else 160):
        least = (k * ln2 - ln2 / 2).max(arb(0))
        shares.append(float(((worst + k * off + u * (k * ln2 + ln2 / 2)) / (1 + least)).abs_upper()))
    return max(shares)


def normal_error(number: Number) -> float:
    """The largest error of (t - ln 2) N(t) / D(t) for shares e^-t, of t without error.

    The logarithm of the share above the result is nearly t; its slope there is at least LEAST_SLOPE.
    """
    kind, u, worst = KINDS[number], UNIT[KINDS[number]], 0.0
    ln2 = _held(NUMBERS[number]["ln2"], number).value
    above, below = ([_held(one, number) for one in part[number]] for part in (NUMERATOR, DENOMINATOR))
    end = -arb(LEAST).log()
    ends = [arb.const_log2() * (end / arb.const_log2()) ** (arb(k) / 256) for k in range(257)]
    for low, high in pairwise(ends):
        middle, half = (low + high) / 2, (high - low) / 2
        off = _by_series(
            lambda t: _log_share((t - ln2) * _sum(above, t) / _sum(below, t)) + t, middle, half
        )
        t = Pair(arb(middle.mid(), half.abs_upper()), 0.0, kind)
        parts = [_horner(part, t) for part in (above, below)]
        relative = sum(one.error / float(one.value.abs_lower()) for one in parts) + 4 * u
        size = (t.value - ln2) * parts[0].value / parts[1].value
        worst = max(worst, off / LEAST_SLOPE + relative * float(size.abs_upper()))
    return worst


def _held(text: float | str, number: Number) -> Pair:
    """A constant as the code has it."""
    return Pair(arb(float(HELD[number](str(text).rstrip("f")))), 0.0, KINDS[number])


def _sum(held: list[Pair], t: Any) -> Any:
    value = t * 0
    for one in reversed(held):
        value = value * t + one.value
    return value


def _log_share(x: Any) -> Any:
    return ((x / arb(2).sqrt()).erfc() / 2).log()


def _by_series(function: Callable[[Any], Any], middle: arb, half: arb) -> float:
    """A bound on a function by its series about the middle, the rest by that about the whole part."""
    whole, found = arb(middle.mid(), (half + arb(0, middle.rad())).abs_upper()), arb(0)
    for centre, orders in ((middle, range(ORDER)), (whole, [ORDER])):
        value = function(arb_series([centre, 1], ORDER + 1))
        found += sum((abs(value[k]) * half**k for k in orders), arb(0))
    return float(found.abs_upper())


def _last(value: arb) -> float:
    """The power of two that rounds a value: half a unit in the last place is u times this."""
    return 2.0 ** math.floor(math.log2(float(value.abs_upper())))


def curve_error(curve: Curve, rate: float, reach: int) -> float:
    """How far exp(-rate t) and a curve that is rounded as its code does can be apart, for t up to reach."""
    width, points = 1 << curve.cell_bits, [int(one) for one in curve.points]
    last, worst = len(points) - 1, arb(0)
    for c in range(min(last, (reach >> curve.cell_bits) + 1)):
        a, b = arb(points[c]) / TOP, arb(points[c + 1]) / TOP
        start, slope, speed = arb(c * width), (b - a) / width, arb(rate)
        ends = [arb(0), arb(min(width, reach + 1 - c * width))]
        if slope < 0:  # line minus function is concave: largest where slopes are equal
            ends.append((-(-slope / speed).log() / speed - start).max(ends[0]).min(ends[1]))
        for t in ends:
            worst = worst.max(abs(a + slope * t - (-speed * (start + t)).exp()))
    if reach >= last * width:
        worst = worst.max((-arb(rate) * last * width).exp())
    return float((worst + code_error(curve)).abs_upper())


def rising_error(unit: float, cells: int, low: int, reach: int) -> tuple[float, float]:
    """The same for tanh(unit (low + t)): what is certified, and what is stated."""
    made = rising(unit, cells, low, reach)
    width, points, worst, fine = 1 << made.curve.cell_bits, made.curve.points, arb(0), 32
    last = len(points) - 1
    for c in range(min(last, (reach >> made.curve.cell_bits) + 1)):
        a, b = (arb(int(one)) / TOP for one in points[c : c + 2])
        slope, half = (b - a) / width, arb(width) / (2 * fine)
        for k in range(fine):
            t = half * (2 * k + 1)
            at = arb(unit) * (arb(low + c * width) + arb(t.mid(), half.abs_upper()))
            exact = (arb(unit) * (arb(low + c * width) + t)).tanh()
            steep = abs(arb(made.amplitude) * slope - arb(unit) * (1 - at.tanh() * at.tanh())) * half
            value = arb(made.middle) + arb(made.amplitude) * (a + slope * t) - exact
            worst = worst.max(abs(value) + steep)
    if reach >= last * width:
        worst = worst.max(
            abs(
                arb(made.middle)
                + arb(made.amplitude) * int(points[-1]) / TOP
                - (arb(unit) * (low + reach)).tanh()
            )
        )
    certified = worst + arb(made.amplitude) * code_error(made.curve)
    return float(certified.abs_upper()), made.amplitude * made.curve.error


def code_error(curve: Curve) -> arb:
    """What code loses beside the straight line: it rounds up, and drops digits of the place in a cell."""
    steps = np.abs(np.diff(curve.points.astype(np.int64))).max(initial=0)
    dropped = arb(int(steps)) / (1 << UNIT_BITS) if curve.cell_bits > UNIT_BITS else arb(0)
    return (1 + dropped) / TOP


def table(step: int = 1) -> list[tuple[str, float, float]]:
    """What is certified, the certified error, and the stated one."""
    rows: list[tuple[str, float, float]] = []
    for number in NUMBERS_OF_C:
        for name, (coefficients, low, high) in POLYNOMIALS.items():
            given = number, coefficients[number], low, high
            error = polynomial_error(*given) + rounding_error(*given)
            rows.append((f"{name}, {number}", error, ARITHMETIC[number].exp_error))
        rows.append((f"tanh, {number}", tanh_error(number), ARITHMETIC[number].tanh_error))
        rows.append((f"cosine, {number}", cosine_error(number), ARITHMETIC[number].cos_error))
        rows.append((f"ln, {number}", log_error(number), ARITHMETIC[number].log_error))
        rows.append((f"normal quantile, {number}", normal_error(number), ARITHMETIC[number].normal_error))
    rows.append(("exp2, short chains, f32, every float", short_chains_error(step), FADE_ERROR["f32"]))
    given = "f64", EXP2_FROM_NEAREST["f64"], -0.5, 0.5
    error = polynomial_error(*given) + rounding_error(*given, short=True)
    rows.append(("exp2, short chains, f64", error, FADE_ERROR["f64"]))
    for precision, cells in CELLS.items():
        reach = 4 * 10 * (127 if precision == "q7" else 11584) ** 2
        for rate in (1e-6, 3.1e-4, 0.02):
            curve = falling(rate, cells, reach)
            rows.append(
                (f"exp curve, {precision}, rate {rate:g}", curve_error(curve, rate, reach), curve.error)
            )
        for unit in (1e-5, 1e-7):
            found = rising_error(unit, cells, -300_000, 500_000)
            rows.append((f"tanh curve, {precision}, unit {unit:g}", *found))
    return rows


def main() -> None:
    flint.ctx.prec = 200
    print("| function | certified | stated | share |")
    print("|---|---|---|---|")
    for name, certified, stated in table():
        print(f"| {name} | {certified:.3g} | {stated:.3g} | {certified / stated:.2f} |")


if __name__ == "__main__":
    main()
