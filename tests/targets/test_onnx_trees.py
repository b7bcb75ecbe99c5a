"""Trees in ONNX: the interpreter's leaf, and its scores up to rounding."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from programs.trees import (
    axis_route,
    full_children,
    leaf_affine,
    plane_route,
    program_of,
    random_children,
    random_rows,
    spoilt,
)
from targets.onnx_cases import NUMBERS, PRECISIONS, agree, content, outputs, value_in_onnx

from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Program
from svmcompile.ir.walks import leaf_depths, walk
from svmcompile.targets.onnx.nodes import trees as onnx_leaves
from svmcompile.targets.onnx.nodes.trees import UPPER_NODES, cut

ROWS = 10_000
FEW = 5  # rows that rounding may decide; about one in a hundred thousand, so usually none
D = 6
SHAPES: dict[str, tuple[int, int]] = {  # nodes, chain
    "one": (1, 0),
    "two": (2, 0),
    "upper": (UPPER_NODES, 0),
    "just-lower": (UPPER_NODES + 1, 0),
    "bushy": (400, 0),
    "chain": (60, 60),
    "deep": (300, 60),
    "deepest": (500, 200),
}
each_precision = pytest.mark.parametrize("precision", PRECISIONS)
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_route = pytest.mark.parametrize("route", [axis_route, plane_route], ids=["axis", "plane"])


def random_of(*key: Any) -> np.random.Generator:
    return np.random.default_rng([sum(map(ord, str(part))) for part in key])


def routed(
    route: Any, children: Any, seed: Any, d: int = D, m: int = 1, chain: int = 0, **leaves: Any
) -> Program:
    """A route and the affine functions of its leaves; two classes, or the largest of m."""
    random = random_of(seed)
    way, tables = route(random, children, d, chain)
    out, more = leaf_affine(random, len(children) + 1, d, m, **leaves)
    head = ir.ArgMax("label", "out") if m > 1 else ir.Threshold("label", "out", True, 1, 0)
    return program_of([way, out, head], tables | more, d, max(m, 2))


def only_route(node: Any, tables: Any, d: int) -> Program:
    """A program around a route whose leaf alone is of interest."""
    leaves = len(tables["children"]) + 1
    out, more = leaf_affine(random_of("any"), leaves, d, 1)
    return program_of([node, out], tables | more, d)


# the leaf and its scores


@each_precision
@each_shape
@each_route
def test_scores_of_leaves(route: Any, shape: str, precision: str) -> None:
    random = random_of("rows", shape)
    nodes, chain = SHAPES[shape]
    program = routed(route, random_children(random, nodes, chain), shape, chain=chain)
    rows = random_rows(random, ROWS, D)
    leaf = interpret_values(program, rows, ["leaf"])["leaf"]
    assert leaf_depths(program.tables["children"])[leaf].max() >= chain
    assert agree(program, rows, precision) <= FEW
    assert agree(program, rows[:1000], precision, onnx_form="plain") <= FEW


@each_precision
def test_rows_on_a_plane_may_go_either_way_and_are_marked(precision: str) -> None:
    """Otherwise the test above would prove little: rounding does decide here, and the bounds say so."""
    random = random_of("plane")
    program = routed(plane_route, random_children(random, 400), "plane")
    plane, threshold = program.tables["planes"][0], program.tables["thresholds"][0]
    rows = random_rows(random, ROWS, D)
    distance = (rows - program.tables["route_centre"]) @ plane - threshold
    rows = rows - (distance / (plane @ plane))[:, None] * plane
    rows = rows.astype(NUMBERS[precision]).astype(np.float64)
    wanted = interpret_values(program, rows, ["leaf"])["leaf"]
    other = value_in_onnx(program, "leaf", rows, precision) != wanted
    marked = error_bounds(program, rows, precision).unstable
    assert other.any()
    assert marked[other].all()
    assert marked.mean() > 0.9


@each_precision
@each_shape
@each_route
def test_any_number_of_rows(route: Any, shape: str, precision: str) -> None:
    random = random_of("few", shape)
    nodes, chain = SHAPES[shape]
    program = routed(route, random_children(random, nodes, chain), shape, chain=chain)
    rows = random_rows(random, 100, D)
    for count in (0, 1, 3):
        agree(program, rows[:count], precision)


@each_precision
@each_shape
def test_axis_routes_are_exact(shape: str, precision: str) -> None:
    """On a threshold, one number above it or below it; NaN and infinities: never another leaf."""
    random, number = random_of("exact", shape), NUMBERS[precision]
    nodes, chain = SHAPES[shape]
    node, tables = axis_route(random, random_children(random, nodes, chain), D, chain)
    rows = random_rows(random, ROWS, D).astype(number)
    at = random.integers(0, len(tables["features"]), (4, ROWS))
    for step, tests in zip((0, 0, np.inf, -np.inf), at, strict=True):
        threshold = tables["thresholds"][tests].astype(number)
        moved = np.nextafter(threshold, number(step)) if step else threshold
        places = random.random(ROWS) < 0.5
        rows[np.flatnonzero(places), tables["features"][tests][places]] = moved[places]
    rows[::3] = spoilt(random, rows[::3])
    program = only_route(node, tables, D)
    wanted = interpret_values(program, rows, ["leaf"])["leaf"]
    assert (value_in_onnx(program, "leaf", rows, precision) == wanted).all()
    assert (value_in_onnx(program, "leaf", rows[:50], precision, reference=True) == wanted[:50]).all()


def test_double_rows_are_not_rounded_to_float() -> None:
    """One double above a float threshold goes right."""
    tables = {"f": [0], "t": [1.5], "c": [[~0, ~1]]}
    more = {"s": [0, 1, 1], "n": [0], "w": [[0.0]], "u": [1.0], "b": [[10.0], [20.0]], "z": [0.0]}
    body = [ir.AxisRoute("leaf", "x", "f", "t", "c"), ir.LeafAffine("out", "x", "leaf", *"snwubz")]
    rows = np.array([[1.5], [np.nextafter(1.5, 2)], [np.nextafter(1.5, 1)]])
    found = outputs(program_of(body, tables | more, 1), rows, "f64")["value"]
    assert found.tolist() == [10.0, 20.0, 10.0]


@each_precision
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float64])
@pytest.mark.parametrize("shape", ["upper", "bushy", "deep"])
def test_planes_are_exact_where_arithmetic_is(shape: str, dtype: Any, precision: str) -> None:
    """Small whole numbers: a third of the tests are ties, which go left, and so does NaN."""
    random = random_of("ties", shape)
    nodes, chain = SHAPES[shape]
    node, tables = plane_route(random, random_children(random, nodes, chain), 3)
    tables["planes"] = random.integers(-2, 3, (nodes, 3)).astype(dtype)
    tables["thresholds"] = np.where(np.arange(nodes) < chain, -9.0, random.integers(-1, 2, nodes))
    tables["route_centre"] = np.array([1.0, -2.0, 0.0])
    rows = random.integers(-3, 4, (3000, 3)).astype(float)
    rows[::3] = spoilt(random, rows[::3])
    program = only_route(node, tables, 3)
    wanted = interpret_values(program, rows, ["leaf"])["leaf"]
    assert leaf_depths(tables["children"])[wanted].max() >= chain
    assert (value_in_onnx(program, "leaf", rows, precision) == wanted).all()
    assert (value_in_onnx(program, "leaf", rows[:50], precision, reference=True) == wanted[:50]).all()


@each_precision
@pytest.mark.parametrize("dtype", [np.int8, np.float16])
def test_small_planes_and_weights(dtype: Any, precision: str) -> None:
    random = random_of("small")
    children = random_children(random, 300)

    program = routed(partial(plane_route, dtype=dtype), children, "small", dtype=dtype)
    assert agree(program, random_rows(random, ROWS, D), precision) <= FEW


def test_small_tables_stay_small_in_the_file() -> None:
    sizes = {}
    for dtype in (np.float64, np.float16, np.int8):
        program = routed(partial(plane_route, dtype=dtype), full_children(9), "size", 64, dtype=dtype)
        sizes[dtype] = len(content(program, "f32"))
    weights = 1023 * 64
    assert sizes[np.float64] - sizes[np.float16] > 1.9 * weights
    assert sizes[np.float64] - sizes[np.int8] > 2.9 * weights


# functions of leaves


@each_precision
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8])
@pytest.mark.parametrize("m, most", [(1, 1), (1, 3), (3, None), (3, 1), (3, 4), (10, 7)])
def test_leaves_with_several_functions(m: int, most: int | None, dtype: Any, precision: str) -> None:
    random = random_of("functions", m)
    program = routed(axis_route, random_children(random, 70), m, m=m, most=most, dtype=dtype)
    agree(program, random_rows(random, ROWS, D), precision)
    agree(program, random_rows(random, 1, D), precision)
    agree(program, random_rows(random, 0, D), precision)


@each_precision
@pytest.mark.parametrize("portion", [1, 13])
def test_functions_are_taken_in_portions(
    portion: int, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = random_of("portions")
    program = routed(axis_route, random_children(random, 20), 0, m=5, most=7, dtype=np.int8)
    whole = content(program, precision)
    monkeypatch.setattr(onnx_leaves, "PORTION", portion)
    assert b"Concat" not in whole
    assert b"Concat" in content(program, precision)
    agree(program, random_rows(random, 1000, D), precision)


@each_precision
@each_route
def test_rows_that_are_not_finite_have_no_score(route: Any, precision: str) -> None:
    random = random_of("odd")
    program = routed(route, random_children(random, 100), "odd", m=3, most=2)
    rows = spoilt(random, random_rows(random, 1000, D))
    odd = ~np.isfinite(rows).all(axis=1)
    found = outputs(program, rows, precision)
    assert np.isnan(found["scores"][odd]).all()
    assert (found["label"][odd] == 0).all()
    assert not np.isnan(found["scores"][~odd]).any()


@each_precision
@pytest.mark.parametrize("d", [1, 5])
def test_products(d: int, precision: str) -> None:
    """Quadratic leaves, and an affine function of the same products."""
    random = random_of("products", d)
    width = d + d * (d + 1) // 2
    way, tables = axis_route(random, random_children(random, 30), d)
    leaves, more = leaf_affine(random, 31, width, 1, x="products")
    tables |= more | {
        "c": np.ones(d),
        "w": random.normal(size=(1, width)),
        "b": [0.5],
        "z": np.zeros(width),
    }
    body = [
        way,
        ir.Products("products", "x", "c"),
        ir.LeafAffine("of_leaf", *[getattr(leaves, name) for name in leaves.__slots__[1:]]),
        ir.Affine("of_all", "products", "w", "b", "z"),
        ir.Add("out", "of_leaf", "of_all"),
    ]
    program = program_of(body, tables, d)
    for rows in (random_rows(random, ROWS, d), random_rows(random, 1, d), random_rows(random, 0, d)):
        agree(program, rows, precision)
    found = outputs(program, spoilt(random, random_rows(random, 5, d), 1.0), precision)["value"]
    assert np.isnan(found).tolist() == [True] * 5


@each_precision
def test_trees_of_scaled_rows(precision: str) -> None:
    """Scaling is in double, the routes take it up; a plane route and an axis route add up."""
    random = random_of("scaled")
    tables = {"s": np.ones(D), "f": random.uniform(0.5, 2, D), "o": random.normal(size=D)}
    body: list[ir.Node] = [ir.Scale("y", "x", "s", "f", "o")]
    for prefix, route in (("a_", axis_route), ("p_", plane_route)):
        way, own = route(random, random_children(random, 100), D)
        leaves, more = leaf_affine(random, 101, D, 1, x="y")
        tables |= {prefix + name: table for name, table in (own | more).items()}
        names = [prefix + name for name in ir.table_names(way)]
        body.append(type(way)(prefix + "leaf", "y", *names))
        names = [prefix + name for name in ir.table_names(leaves)]
        body.append(ir.LeafAffine(prefix + "out", "y", prefix + "leaf", *names))
    body.append(ir.Add("out", "a_out", "p_out"))
    agree(program_of(body, tables, D), random_rows(random, ROWS, D), precision)


# how a tree is cut, and what the file says


@each_shape
def test_cutting_keeps_every_way(shape: str) -> None:
    """The two parts, walked one after the other, end where the tree ends."""
    random = random_of("cut", shape)
    children = random_children(random, *SHAPES[shape])
    tree = cut(children, UPPER_NODES)
    nodes = len(children)
    right = random.random((500, nodes)) < 0.5
    wanted = walk(500, children, lambda rows, at: right[rows, at])
    upper = walk(500, tree.children, lambda rows, at: right[rows, tree.upper[at]])
    place = tree.ends[upper]
    for _ in range(tree.levels):
        inner = np.minimum(place, len(tree.lower) - 1)
        place = tree.next[place, right[np.arange(500), tree.lower[inner]].astype(int)]
    assert (place - len(tree.lower) == wanted).all()
    assert len(tree.upper) == min(nodes, UPPER_NODES)
    assert tree.levels <= leaf_depths(children).max()
    assert (tree.levels == 0) == (nodes <= UPPER_NODES)


def test_the_upper_part_of_a_full_tree_is_six_levels() -> None:
    tree = cut(full_children(9), UPPER_NODES)
    assert tree.upper.tolist() == list(range(63))
    assert tree.levels == 3


def operators(program: Program) -> list[str]:
    return [node.op_type for node in onnx.load_from_string(content(program, "f32")).graph.node]


def test_deep_trees_loop_and_others_do_not() -> None:
    random = random_of("loop")
    deep = routed(plane_route, random_children(random, 300, 200), "loop", chain=200)
    assert operators(deep).count("Loop") == 1
    assert "Loop" not in operators(routed(plane_route, full_children(9), "loop"))
    shallow = operators(routed(plane_route, full_children(6), "loop"))
    assert shallow.count("Gather") == 2  # bias, weights


def test_trees_import_the_domain_they_need() -> None:
    program = routed(axis_route, full_children(3), "domain")
    model = onnx.load_from_string(content(program, "f64"))
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17), ("ai.onnx.ml", 3)]
    plain = onnx.load_from_string(content(program, "f64", onnx_form="plain"))
    assert [(entry.domain, entry.version) for entry in plain.opset_import] == [("", 17)]


@each_precision
def test_equal_programs_give_equal_bytes(precision: str) -> None:
    children = random_children(random_of("bytes"), 300, 60)
    first, second = (content(routed(plane_route, children, "bytes"), precision) for _ in range(2))
    assert first == second


@each_precision
def test_a_tree_of_many_leaves(precision: str) -> None:
    random = random_of("many")
    program = routed(axis_route, random_children(random, 49_999, 200), "many", 3, chain=200)
    agree(program, random_rows(random, ROWS, 3), precision)
