"""Guards in ONNX: who falls back is who should, and only they cost. Also reach and add."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from programs.trees import leaf_affine, plane_route, program_of, random_children, random_rows, spoilt
from targets.onnx_cases import NUMBERS, PRECISIONS, agree, content, outputs

from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Program

ROWS = 10_000
D = 5
WIDTHS = {"never": 0.0, "some": 0.5, "always": 1e300}
RULES: dict[str, int] = {"sign": 1, "vote": 3, "argmax": 4}  # scores
each_precision = pytest.mark.parametrize("precision", PRECISIONS)
each_rule = pytest.mark.parametrize("rule", RULES)


def head(rule: str) -> tuple[ir.Node, int]:
    """What makes a label of scores, and how many classes there are."""
    if rule == "sign":
        return ir.Threshold("label", "out", True, 1, 0), 2
    return (ir.Vote("label", "out", 3), 3) if rule == "vote" else (ir.ArgMax("label", "out"), 4)


def guarded(rule: Any, width: float, n: int = 40) -> Program:
    """A tree guards kernel sums; both read scaled rows, the kernel sums clipped ones as well."""
    random, m = np.random.default_rng(5), RULES[rule]
    way, tables = plane_route(random, random_children(random, 90), D)
    leaves, more = leaf_affine(random, 91, D, m)
    tables |= more | {
        "shift": np.ones(D),
        "factor": random.uniform(0.5, 2, D),
        "offset": np.zeros(D),
        "s": random.normal(size=(n, D)),
        "w": random.normal(size=(m, n)),
        "b": random.normal(size=m),
    }
    last, classes = head(rule)
    body = [
        ir.Scale("y", "x", "shift", "factor", "offset"),
        ir.PlaneRoute("leaf", "y", *ir.table_names(way)),
        ir.LeafAffine("tree", "y", "leaf", *ir.table_names(leaves)),
        ir.Clip("z", "y", -3.0, 3.0),
        ir.KernelSum("sums", "z", "s", "w", "b", Kernel("rbf", 0.2)),
        ir.Guard("out", "tree", "sums", width, rule),
        last,
    ]
    return program_of(body, tables, D, classes)


@each_precision
@each_rule
@pytest.mark.parametrize("width", WIDTHS)
def test_guards(rule: str, width: str, precision: str) -> None:
    program = guarded(rule, WIDTHS[width])
    random = np.random.default_rng(6)
    assert agree(program, random_rows(random, ROWS, D), precision) <= 5  # usually none
    for count in (0, 1, 2):
        agree(program, random_rows(random, count, D), precision)


@each_precision
@each_rule
def test_only_rows_near_the_boundary_fall_back(rule: str, precision: str) -> None:
    """The exact side is replaced by other numbers: rows that change are those with a small margin."""
    program = guarded(rule, 0.5)
    other = program.replace(tables={**program.tables, "b": program.tables["b"] + 1000})
    rows = random_rows(np.random.default_rng(7), ROWS, D)
    found, changed = (outputs(p, rows, precision)["scores"] for p in (program, other))
    fell = np.abs(found - changed).max(axis=1) > 100
    margin = margins(interpret_values(program, rows, ["tree"])["tree"], rule)
    clear = ~error_bounds(program, rows, "f32").unstable
    assert 0.05 < fell.mean() < 0.95
    assert (fell == (margin < 0.5))[clear].all()
    assert clear.mean() > 0.99


@each_precision
@each_rule
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_that_are_not_finite(rule: str, width: str, precision: str) -> None:
    """They fall back whatever the width; clipping gave the exact side finite numbers, but for NaN."""
    program = guarded(rule, WIDTHS[width])
    rows = spoilt(np.random.default_rng(8), random_rows(np.random.default_rng(8), 300, D))
    odd = ~np.isfinite(rows).all(axis=1)
    found, wanted = outputs(program, rows, precision), interpret(program, rows)
    np.testing.assert_allclose(found["scores"][odd], wanted["scores"][odd], atol=1e-4)
    assert (found["label"][odd] == wanted["label"][odd]).all()
    assert np.isfinite(wanted["scores"][odd]).any()


def unknown_scores(rule: Any, order: Any, width: float) -> Program:
    """At 1e35 the powers overflow and the scores are NaN, infinity, minus infinity, in some order."""
    weights = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])[list(order)]
    tables = {"s": [[1.0], [2.0]], "w": weights, "b": np.zeros(3)}
    tables |= {"a": np.zeros((3, 1)), "c": [5.0, 6.0, 7.0], "z": [0.0]}
    body = [
        ir.KernelSum("sums", "x", "s", "w", "b", Kernel("poly", 1.0, 0.0, 10)),
        ir.Affine("other", "x", "a", "c", "z"),
        ir.Guard("out", "sums", "other", width, rule),
        ir.ArgMax("label", "out"),
    ]
    return program_of(body, tables, 1, 3)


@each_precision
@pytest.mark.parametrize("rule", ["vote", "argmax"])
def test_single_scores_that_are_unknown_or_infinite(rule: str, precision: str) -> None:
    fell = set()
    for order in itertools.product(range(3), repeat=3):
        program = unknown_scores(rule, order, 1.0)
        rows = np.array([[1e35], [0.5]], NUMBERS[precision])
        found, wanted = outputs(program, rows, precision), interpret(program, rows)
        np.testing.assert_allclose(found["scores"], wanted["scores"], rtol=1e-6)
        assert found["label"].tolist() == wanted["label"].tolist()
        fell.add(bool(wanted["scores"][0, 0] == 5))
    assert fell == {True, False}


@each_precision
def test_a_margin_of_the_very_width_is_enough(precision: str) -> None:
    tables = {"a": [[1.0]], "c": [0.0], "z": [0.0], "e": [[0.0]], "f": [9.0]}
    body = [
        ir.Affine("score", "x", "a", "c", "z"),
        ir.Affine("exact", "x", "e", "f", "z"),
        ir.Guard("out", "score", "exact", 0.5, "sign"),
    ]
    below = np.nextafter(NUMBERS[precision](0.5), NUMBERS[precision](0))
    rows = np.array([[0.5], [-0.5], [below], [-below], [0.0]])
    found = outputs(program_of(body, tables, 1), rows, precision)["value"]
    assert found.tolist() == [0.5, -0.5, 9.0, 9.0, 9.0]


@each_precision
def test_guards_within_guards(precision: str) -> None:
    """A third score where the second is unsure too; the scaled rows are shared by all."""
    random = np.random.default_rng(9)
    tables = {"shift": np.zeros(D), "factor": np.full(D, 0.3), "offset": np.zeros(D), "z": np.zeros(D)}
    body: list[ir.Node] = [ir.Scale("y", "x", "shift", "factor", "offset")]
    for name in ("first", "second", "third"):
        tables |= {f"{name}_w": random.normal(size=(1, D)), f"{name}_b": random.normal(size=1)}
        body.append(ir.Affine(name, "y", f"{name}_w", f"{name}_b", "z"))
    body += [
        ir.Guard("inner", "second", "third", 0.6, "sign"),
        ir.Guard("out", "first", "inner", 0.6, "sign"),
    ]
    program = program_of(body, tables, D)
    agree(program, random_rows(random, ROWS, D), precision)
    agree(program, random_rows(random, 0, D), precision)
    graph = onnx.load_from_string(content(program, precision)).graph
    assert [node.op_type for node in every(graph.node)].count("NonZero") == 2


@each_precision
def test_an_exact_score_that_all_rows_need_is_computed_once(precision: str) -> None:
    program = guarded("sign", 0.5)
    body = (*program.body[:5], ir.Add("both", "tree", "sums"), *program.body[5:6])
    body += (ir.Add("total", "out", "both"), ir.Threshold("label", "total", True, 1, 0))
    program = program.replace(body=body)
    agree(program, random_rows(np.random.default_rng(4), 1000, D), precision)
    assert operators_above(program, precision, *KERNELS) == [False]


KERNELS = ("Exp", "SVMClassifier")  # one or the other has the kernel values of a sum


def every(nodes: Any) -> list[Any]:
    """Nodes, and before each those in its branches."""
    found: list[Any] = []
    for node in nodes:
        for attribute in node.attribute:
            found += every(attribute.g.node)
        found.append(node)
    return found


def operators_above(program: Program, precision: str, *kinds: str) -> list[bool]:
    """For each operator of some kinds: does it work on chosen rows?"""
    nodes = every(onnx.load_from_string(content(program, precision)).graph.node)
    chosen: set[str] = set()
    for node in nodes:
        if node.op_type == "NonZero" or chosen.intersection(node.input):
            chosen.update(node.output)
    return [node.output[0] in chosen for node in nodes if node.op_type in kinds]


@each_precision
@each_rule
def test_the_exact_side_sees_chosen_rows_only(rule: str, precision: str) -> None:
    program = guarded(rule, 0.5)
    assert operators_above(program, precision, *KERNELS) == [True]
    assert operators_above(program, precision, "TreeEnsembleRegressor") == [False]


@each_precision
@each_rule
def test_the_reference_evaluator_agrees(rule: str, precision: str) -> None:
    program = guarded(rule, 0.5)
    rows = random_rows(np.random.default_rng(3), 37, D).astype(NUMBERS[precision])
    reference = ReferenceEvaluator(onnx.load_from_string(content(program, precision)))
    found = outputs(program, rows, precision)
    for name, value in zip(reference.output_names, reference.run(None, {"X": rows}), strict=True):
        np.testing.assert_allclose(found[name], value, atol=1e-5 if precision == "f32" else 1e-12)


# reach


@each_precision
def test_reach(precision: str) -> None:
    random = np.random.default_rng(2)
    tables = {"c": np.full(3, 2.0), "far": [7.0, 8.0, 9.0]}
    tables |= {"a": random.normal(size=(3, 3)), "b": random.normal(size=3), "z": np.zeros(3)}
    body = [
        ir.Affine("score", "x", "a", "b", "z"),
        ir.Reach("out", "x", "score", "c", "far", 5.0),
        ir.ArgMax("label", "out"),
    ]
    program = program_of(body, tables, 3, 3)
    rows = 3 * random_rows(random, ROWS, 3) + 2
    assert agree(program, rows, precision) < 20
    agree(program, rows[:0], precision)
    # On the radius counts as within; far out and beyond all numbers are different things.
    edge = np.array(
        [[2, 5, 6], [2, 5, np.nextafter(np.float32(6), np.float32(7))], [1e38, 0, 0], [np.inf, 0, 0]]
    )
    found = outputs(program, edge, precision)["scores"]
    score = interpret_values(program, edge, ["score"])["score"]
    np.testing.assert_allclose(found[0], score[0], rtol=1e-6)
    assert found[1:3].tolist() == [[7.0, 8.0, 9.0]] * 2
    assert np.isnan(found[3]).all()
