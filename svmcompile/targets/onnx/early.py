"""Stages that no row is left for are not run: what works on some rows only goes into an `If`.

A graph takes rows that are not decided yet (`NonZero`), works on them, and puts the results back
(`ScatterND`). Where it finds none, as with most calls of one row, all between the two can be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

LEAST = 16  # operators between the two: a choice costs a call as much as four or five of them
ZERO = "no_rows"


def stop_early(model: Any) -> None:
    """Put what some rows need alone into branches, the stages after it into branches of those."""
    graph = model.graph
    if not any(node.op_type == "ScatterND" for node in graph.node):
        return
    from onnx import numpy_helper, shape_inference

    known = shape_inference.infer_shapes(model).graph.value_info
    elements = {one.name: one.type.tensor_type.elem_type for one in known}
    elements |= {one.name: one.type.tensor_type.elem_type for one in graph.output}
    kept = {one.name for one in graph.output} | _constants(graph)
    nodes = _branched(list(graph.node), kept, elements)
    if len(nodes) < len(graph.node):
        graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), ZERO))
        del graph.node[:]
        graph.node.extend(nodes)


def described(nodes: Any) -> dict[str, Any]:
    """For the report: how many operators there are, which of them are of ai.onnx.ml, and what rows skip."""
    found = list(_all(nodes))
    kinds = Counter(node.op_type for node in found)
    leave, skipped = kinds["ScatterND"], kinds["If"]
    early = (
        f"rows leave at {leave} places, once they are decided; {skipped} of the stages behind are not run "
    )
    return {
        "operators": len(found),
        "ai.onnx.ml": sorted({node.op_type for node in found if node.domain}),
        "early": f"{early}when no row is left" if leave else "every row takes every operator",
    }


def _all(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _all(attribute.g.node)


def reads(node: Any) -> list[str]:
    """What a node reads, itself and in the bodies of its loops and branches."""
    inside = (inner for attribute in node.attribute for inner in attribute.g.node)
    return [*node.input, *(name for inner in inside for name in reads(inner))]


def _constants(graph: Any) -> set[str]:
    """What is the same for all rows: run times compute it once, where it is not in a branch."""
    varying = {one.name for one in graph.input}
    for node in graph.node:
        if varying.intersection(reads(node)):
            varying.update(node.output)
    return {name for node in graph.node for name in node.output} - varying


def _branched(nodes: list[Any], kept: set[str], elements: dict[str, int]) -> list[Any]:
    """The nodes in their order, regions of some rows replaced by branches, the outermost first."""
    makers = {name: node for node in nodes for name in node.output}
    found: list[Any] = []
    taken: set[int] = set()
    for node in reversed(nodes):
        if id(node) in taken:
            continue
        places = _places(node, makers)
        region = _region(nodes, node, places, kept) if places and node.output[0] in elements else []
        if len(region) < LEAST:
            found.append(node)
            continue
        taken.update(map(id, region))
        found += reversed(_choice(region, node, places, elements))
    return found[::-1]


def _places(node: Any, makers: dict[str, Any]) -> str:
    """Where a node puts some rows back: the tensor [1, some] of their numbers."""
    before = makers.get(node.input[1]) if node.op_type == "ScatterND" else None
    return str(before.input[0]) if before is not None and before.op_type == "Transpose" else ""


def _region(nodes: list[Any], end: Any, places: str, kept: set[str]) -> list[Any]:
    """What leads to the node and to nothing else, but for what tells places and the other rows."""
    outside = {places, end.input[0]}
    for node in reversed(nodes):
        if outside.intersection(node.output):
            outside.update(reads(node))
    users: dict[str, list[str]] = {}
    region, inside = [], {end.output[0]}
    for node in nodes:
        for name in reads(node):
            users.setdefault(name, []).append(node.output[0])
    for node in reversed(nodes):
        used = [user for name in node.output for user in users.get(name, ())]
        shared = {*node.output} & (outside | kept) or not inside.issuperset(used)
        if node is end or (used and not shared):
            region.append(node)
            inside.add(node.output[0])
    return region[::-1]


def _choice(region: list[Any], end: Any, places: str, elements: dict[str, int]) -> list[Any]:
    """The region if there are rows, else what they would have changed."""
    from onnx import helper

    name, element = end.output[0], elements[end.output[0]]
    stem, before = f"{name}_some", end.input[0]
    end.output[0] = stem
    some = helper.make_tensor_value_info(stem, element, None)
    none = helper.make_tensor_value_info(f"{name}_none", element, None)
    inner = _branched(region, {stem}, elements)
    branches = {
        "then_branch": helper.make_graph(inner, f"{name}_rows", [], [some]),
        "else_branch": helper.make_graph(
            [helper.make_node("Identity", [before], [none.name], name=none.name)],
            f"{name}_no_rows",
            [],
            [none],
        ),
    }
    return [
        helper.make_node("Size", [places], [f"{name}_count"], name=f"{name}_count"),
        helper.make_node("Greater", [f"{name}_count", ZERO], [f"{name}_any"], name=f"{name}_any"),
        helper.make_node("If", [f"{name}_any"], [name], name=name, **branches),
    ]
