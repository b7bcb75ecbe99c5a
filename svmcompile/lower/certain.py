"""Widths: what the float32 sums of a program may be off by, for every row, from its tables alone.

u = 2^-24; the row x that a sum reads is off by |dx| <= A |x| + B after its preprocessing (`row_error`);
c_i is how many numbers of vector i are not zero: no more additions round a product on its way to the sum.

RBF: `svmcompile.ir.widths`.
Others, of v.x + r (the kernel's gamma in v): e = |v| ((u (c + 8) + A) |x| + B) + 4 u |r|, then
    linear e, sigmoid e + 5e-7, degree p: p e (|v| |x| + |r| + e)^(p - 1) + 2 p u (|v| |x| + |r| + e)^p
which are polynomials in |x|. Odd powers become even ones by |x| <= (a + |x|^2 / a) / 2, a being typical.
Adding up: (BLOCK + 8) u of each |w_i k_i|, and of the bias. docs/certified-proof.md, section 13.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BLOCK, Array, Number
from svmcompile.ir.graph import Tables, expands_far, fresh, maker
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At, RowError, standing_for
from svmcompile.ir.pairs import pair_weights
from svmcompile.ir.program import Output, Program
from svmcompile.ir.widths import ADDING, F32, SAFE, TINY, U64, additions, rbf_width

TANH_ERROR = 5e-7  # in any form of code
MOST_FEATURES = 1 << 17  # the length of a longer row is rounded too often for SAFE
MOST_DEGREE = 8
LARGEST = 1e30  # of a width's terms; float32 holds them and what they add up to


@dataclass(frozen=True, slots=True)
class Widths:
    """Errors of scores: terms[k] |x - centre|^(2 k), added up; `x` and `centre` where there are several."""

    terms: Array
    x: str = ""
    centre: str = ""

    def or_larger(self, other: Widths | None) -> Widths | None:
        """What holds for scores of both; None where their lengths are not those of one row."""
        if other is None or (self.x, self.centre) != (other.x, other.centre):
            return None
        size = max(len(self.terms), len(other.terms))
        padded = [np.pad(one.terms, (0, size - len(one.terms))) for one in (self, other)]
        return replace(self, terms=np.maximum(*padded))


def settle(program: Program, number: Number) -> Program:
    """The program with labels as this number type can be sure of them.

    In double nothing stands behind the scores, or a sum by differences decides all labels. Where nothing
    is known of float32's rounding, double decides all labels.
    """
    for node in program.body:
        if isinstance(node, ir.Certain):
            program = _settle_one(program, node, number)
    return program


def _settle_one(program: Program, node: ir.Certain, number: Number) -> Program:
    if number == "f64" and not expands_far(program.body, program.tables, node.scores):
        return _put(program, node, node.plain(program.n_classes))
    plane = maker(program, node.scores)
    plane = plane if isinstance(plane, ir.Affine) else None
    found = None if number == "f64" else widths(program, node.scores)
    if found is None:
        instead = {node.out: node.exact}
        outputs = [Output(out.name, instead.get(out.value, out.value)) for out in program.outputs]
        return program.replace(outputs=tuple(outputs))
    name = fresh(node.out, "widths", program.tables)
    tables: Tables = {**program.tables, name: found.terms}
    if plane:  # one pass over the row gives its length as well
        sized = standing_for(
            ir.SizedAffine, plane, out=fresh(plane.out, "sized", {one.out for one in program.body})
        )
        new = replace(node, x=sized.out, scores=sized.out, widths=name)
        return _put(program.replace(tables=tables), node, [sized, new])
    centre = found.centre and fresh(node.out, "centre", tables)
    if centre:
        tables[centre] = program.tables[found.centre]
    new = replace(node, x=found.x or node.x, centre=centre, widths=name)
    return _put(program.replace(tables=tables), node, [new])


def _put(program: Program, node: ir.Node, nodes: list[ir.Node]) -> Program:
    """The program with nodes in the place of one."""
    body = [one for item in program.body for one in (nodes if item is node else [item])]
    return program.replace(body=tuple(body))


def widths(program: Program, scores: str) -> Widths | None:
    """Of scores in float32; None where nothing is known."""
    node = maker(program, scores)
    if isinstance(node, ir.Join):
        left, right = widths(program, node.left), widths(program, node.right)
        return left and left.or_larger(right)
    if not isinstance(node, (ir.KernelSum, ir.PairSum, ir.Affine, ir.Quadratic)):
        return None
    row = row_error(program, node.x)
    if row is None or len(row[1]) > MOST_FEATURES:
        return None
    with np.errstate(all="ignore"):
        found = _OF[type(node)](program, node, row)
    usable = found is not None and bool((found.terms <= LARGEST).all())
    return found if usable else None


def row_error(program: Program, value: str) -> RowError | None:
    """What float32 preprocessing does to a row, feature by feature."""
    if value == program.input.name:
        return 0.0, np.zeros(program.n_features)
    node = maker(program, value)
    if node is None:
        return None
    errors = {name: row_error(program, name) for name in ir.operands(node)}
    if any(error is None for error in errors.values()):
        return None
    return node.row_error(At(node, program.tables, errors), F32)


def _of_sum(program: Program, node: ir.KernelSum | ir.PairSum, row: RowError) -> Widths | None:
    tables, kernel = program.tables, node.kernel
    vectors, bias = tables[node.vectors], float(np.abs(tables[node.bias]).max())
    weights = tables[node.weights]
    weights = np.abs(pair_weights(weights, node.counts) if isinstance(node, ir.PairSum) else weights)
    if kernel.kind == "precomputed":
        return None
    relative, constant = row[0], 2 * float(np.linalg.norm(row[1])) + TINY
    if kernel.kind == "rbf":
        return Widths(np.array([rbf_width(kernel, vectors, weights, bias, (relative, constant))]))
    if kernel.kind == "poly" and not 1 <= kernel.degree <= MOST_DEGREE:
        return None
    sizes = np.linalg.norm(vectors, axis=1)
    found = _by_length(kernel, sizes, additions(vectors), relative, constant, weights) + 4 * F32.u * bias
    return _about(program, node.x, "", found)


def _by_length(
    kernel: Kernel, sizes: Array, chain: Array, relative: float, constant: float, weights: Array
) -> Polynomial:
    """The error as a polynomial in the length of the row: of each sum, then the largest of each term."""
    gamma, offset = (1.0, 0.0) if kernel.kind == "linear" else (abs(kernel.gamma), abs(kernel.coef0))
    p, sizes = kernel.degree if kernel.kind == "poly" else 1, gamma * sizes
    terms = np.zeros((len(sizes), p + 1))
    adding = ADDING + (len(sizes) / BLOCK + 8) * U64
    for i, (size, c) in enumerate(zip(sizes.tolist(), chain.tolist(), strict=True)):
        off = Polynomial([size * constant + 4 * F32.u * offset + TINY, size * (F32.u * c + relative)])
        if kernel.kind == "sigmoid":
            error = off + TANH_ERROR + adding
        else:
            value = Polynomial([offset, size])
            error = p * off * (value + off) ** (p - 1) + (2 * p * F32.u + adding) * (value + off) ** p
        terms[i, : len(error.coef)] = error.coef
    return Polynomial((weights @ terms).max(axis=0))


def _of_affine(program: Program, node: ir.Affine, row: RowError) -> Widths:
    tables = program.tables
    centre, weights = tables[node.centre], tables[node.weights]
    chain = additions(weights)
    size, bias = np.linalg.norm(weights, axis=1), float(np.abs(tables[node.bias]).max())
    constant = 2 * float(np.linalg.norm(row[1] + row[0] * np.abs(centre))) + TINY
    slope, flat = float((size * (F32.u * chain + row[0])).max()), float(size.max()) * constant
    found = Polynomial([flat + 4 * F32.u * bias, slope])
    return _about(program, node.x, node.centre, found)


def _of_quadratic(program: Program, node: ir.Quadratic, row: RowError) -> Widths:
    tables, d = program.tables, len(row[1])
    square = float(np.linalg.norm(tables[node.squares], axis=1).max())
    slope = float(np.linalg.norm(tables[node.weights], axis=1).max())
    constant = 2 * float(np.linalg.norm(row[1] + row[0] * np.abs(tables[node.centre]))) + TINY
    moved, length = Polynomial([constant, row[0]]), Polynomial([0.0, 1.0])
    found = F32.u * (2 * d + 16) * (square * length**2 + slope * length)
    found += square * moved * (2 * length + moved) + slope * moved
    found += 4 * F32.u * float(np.abs(tables[node.bias]).max())
    return _about(program, node.x, node.centre, found)


def _about(program: Program, x: str, centre: str, found: Polynomial) -> Widths:
    """In lengths of rows about a centre; those of the probes are typical."""
    origin = program.tables[centre] if centre else np.zeros(1)
    rows = program.probes.reshape(-1, program.n_features)
    lengths = np.ones(1)
    if len(rows):
        seen = rows if x == program.input.name else interpret_values(program, rows, {x})[x]
        lengths = np.linalg.norm(seen - origin, axis=1)
    typical = float(np.median(lengths[np.isfinite(lengths)])) if np.isfinite(lengths).any() else 1.0
    return Widths(_even(found, typical or 1.0), x, centre if origin.any() else "")


def _even(found: Polynomial, typical: float) -> NDArray[np.float64]:
    """Terms of the square of a length; an odd power is at most the mean of its neighbours."""
    coefficients, a = np.asarray(found.coef, dtype=np.float64).tolist(), typical
    terms = np.zeros(len(coefficients) // 2 + 1)
    for power, coefficient in enumerate(coefficients):
        if power % 2:
            terms[power // 2] += coefficient * a / 2
            terms[power // 2 + 1] += coefficient / a / 2
        else:
            terms[power // 2] += coefficient
    terms[0] += TINY
    return SAFE * terms


_OF: dict[type[ir.Node], Any] = {
    ir.KernelSum: _of_sum,
    ir.PairSum: _of_sum,
    ir.Affine: _of_affine,
    ir.Quadratic: _of_quadratic,
}
