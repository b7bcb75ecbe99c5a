"""A new kind of node must reach every dispatcher; this finds the one that was missed."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from svmcompile.ir.node import field_kinds
from svmcompile.ir.nodes import NODES, Level, Node, operands, table_names
from svmcompile.ir.store import FIELD_READERS
from svmcompile.targets.c import nodes as c_nodes
from svmcompile.targets.onnx.nodes import build
from svmcompile.targets.templating import template_folder

MATH = [node for node in NODES if node.level is not Level.MACHINE]
MACHINE = [node for node in NODES if node.level is not Level.MATH]


def handles(dispatcher: Any, node: type[Node]) -> bool:
    """Has the dispatcher a case of its own for the node, beside the one that raises?"""
    return dispatcher.dispatch(node) is not dispatcher.dispatch(object)


def declares(node: type[Node], facet: str) -> bool:
    """Does the node class say it itself, or the class of layouts?"""
    return getattr(node, facet) is not getattr(Node, facet)


@pytest.mark.parametrize("node", NODES)
def test_every_node_has_a_type_and_a_meaning(node: type[Node]) -> None:
    assert declares(node, "result") and declares(node, "run")


@pytest.mark.parametrize("node", MATH)
def test_every_math_node_has_an_error_bound_and_an_onnx_form(node: type[Node]) -> None:
    assert declares(node, "error") and handles(build, node)


@pytest.mark.parametrize("node", NODES)
def test_lazy_operands_have_rows_that_need_them(node: type[Node]) -> None:
    lazy = "Lazy" in field_kinds(node).values()
    assert lazy == declares(node, "needs_lazy")


@pytest.mark.parametrize("node", MACHINE)
def test_every_machine_node_has_c_code(node: type[Node]) -> None:
    assert c_nodes.CLASSES[node.__name__].__module__.startswith("svmcompile.targets.c.nodes.")
    source = "".join(path.read_text() for path in sorted((template_folder() / "c").rglob("*.j2")))
    assert re.search(rf"{{%-? *macro {node.__name__}\(", source)


@pytest.mark.parametrize("node", NODES)
def test_every_field_can_be_stored(node: type[Node]) -> None:
    assert all(str(field.type) in FIELD_READERS for field in fields(node))


@pytest.mark.parametrize("node", NODES)
def test_every_node_is_documented_and_names_what_it_reads(node: type[Node]) -> None:
    assert node.__doc__ and not node.__doc__.startswith(node.__name__ + "(")
    names = {field.name: f"name_{field.name}" for field in fields(node)}
    item: Any = node(**names)  # type: ignore[arg-type]
    assert operands(item), "a node reads at least one value"
    assert item.out not in operands(item)
    assert all(name.startswith("name_") for name in table_names(item))


def test_nodes_are_values() -> None:
    """Equal by content and usable as keys."""
    for node in NODES:
        names: Any = {field.name: "n" for field in fields(node)}
        assert node(**names) == node(**names)
        assert len({node(**names), node(**names)}) == 1
