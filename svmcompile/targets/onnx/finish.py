"""The last step of a graph: what makes an output takes its name, so that no operator only renames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fold_identities(graph: Any) -> None:
    """Remove `Identity` before outputs, unless it gives a constant, a row or another output once more."""
    outputs = {output.name for output in graph.output}
    made = {name for node in graph.node for name in node.output} - outputs
    public: dict[str, str] = {}
    kept = []
    for node in graph.node:
        if node.op_type == "Identity" and node.input[0] in made - public.keys():
            public[node.input[0]] = node.output[0]
        else:
            kept.append(node)
    for node in kept:
        _rename(node, public)
    del graph.node[:]
    graph.node.extend(kept)


def _rename(node: Any, public: Mapping[str, str]) -> None:
    """New names in a node and in the bodies of its loops."""
    for names in (node.input, node.output):
        names[:] = [public.get(name, name) for name in names]
    for attribute in node.attribute:
        for inner in attribute.g.node:
            _rename(inner, public)
