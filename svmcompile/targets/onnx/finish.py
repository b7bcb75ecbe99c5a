"""The last steps of a graph, after which it has fewer operators; each costs a call of one row 0.3 us."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from svmcompile.targets.onnx.early import reads, stop_early

INTS, TEXT = "classlabels_ints", "classlabels_strings"


def finish(model: Any) -> None:
    """What makes an output takes its name; what decides on a class gives its label."""
    _fold_identities(model.graph)
    _fold_labels(model.graph)
    stop_early(model)


def _fold_identities(graph: Any) -> None:
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
    _keep(graph, kept)


def _fold_labels(graph: Any) -> None:
    """No `Gather` of labels where `SVMClassifier` or `Where` can give the label itself."""
    from onnx import helper, numpy_helper

    makers, once, tables = _facts(graph)
    for node in [node for node in graph.node if node.op_type == "Gather"]:
        maker, table = makers.get(node.input[1]), tables.get(node.input[0])
        if maker is None or table is None or node.input[1] not in once or table.data_type not in (7, 8):
            continue
        labels = numpy_helper.to_array(table)
        if maker.op_type == "SVMClassifier":
            kept = [one for one in maker.attribute if one.name != INTS]
            key, values = (TEXT, [*table.string_data]) if table.data_type == 8 else (INTS, labels.tolist())
            del maker.attribute[:]
            maker.attribute.extend([*kept, helper.make_attribute(key, values)])
        elif maker.op_type == "Where" and {*maker.input[1:]} <= tables.keys():
            for place in (1, 2):
                index = int(numpy_helper.to_array(tables[maker.input[place]]))
                maker.input[place] = _constant(graph, labels[index : index + 1])
        else:
            continue
        maker.name = maker.output[0] = node.output[0]
        graph.node.remove(node)
    _sweep(graph)


def _facts(graph: Any) -> tuple[dict[str, Any], set[str], dict[str, Any]]:
    """Who makes each tensor, those that one operator reads and no one else, and the constants."""
    users = Counter(name for node in graph.node for name in reads(node))
    users.update(output.name for output in graph.output)
    once = {name for name, count in users.items() if count == 1}
    makers = {name: node for node in graph.node for name in node.output}
    return makers, once, {table.name: table for table in graph.initializer}


def _constant(graph: Any, value: Any) -> str:
    from onnx import numpy_helper

    name = f"constant_{len(graph.initializer)}_folded"
    graph.initializer.append(numpy_helper.from_array(value, name))
    return name


def _sweep(graph: Any) -> None:
    """Remove constants that nothing reads."""
    wanted = {name for node in graph.node for name in reads(node)}
    kept = [table for table in graph.initializer if table.name in wanted]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _keep(graph: Any, nodes: list[Any]) -> None:
    del graph.node[:]
    graph.node.extend(nodes)


def _rename(node: Any, public: Mapping[str, str]) -> None:
    """New names in a node and in the bodies of its loops."""
    for names in (node.input, node.output):
        names[:] = [public.get(name, name) for name in names]
    for attribute in node.attribute:
        for inner in attribute.g.node:
            _rename(inner, public)
