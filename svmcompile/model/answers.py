"""The answers of a model as features of another: a front that ends in scores, probabilities or labels."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.program import OutputName
from svmcompile.model.front import ROW, Front, join, kernel_map, nodes_front
from svmcompile.model.head import SUMS, Head, own_head, renamed

if TYPE_CHECKING:
    from svmcompile.model.svm import SVM


def answer_front(svm: SVM, output: OutputName, columns: int) -> Front:
    """What a model gives, as so many features: the last columns of more; a label is its number."""
    sums = [
        machine.front.then(
            kernel_map(machine.vectors, machine.weights_by_sum, machine.kernel, machine.intercepts)
        )
        for machine in svm.machines
    ]
    whole = sums[0] if len(sums) == 1 else join(sums, svm.n_features)
    head = svm.head or own_head(svm)
    value = head.value(output)
    assert value, f"the model gives no {output}"
    if value == SUMS:
        return whole
    width = sum(machine.n_sums for machine in svm.machines)
    return whole.then(_behind(head, output, value, width, columns, len(svm.labels or ())))


def _behind(head: Head, output: OutputName, value: str, width: int, columns: int, classes: int) -> Front:
    """The nodes of a head, from a row of sums to a row of features."""
    tables: dict[str, NDArray[Any]] = {
        "sums_weights": np.eye(width), "sums_bias": np.zeros(width), "sums_centre": np.zeros(width),
    }  # fmt: skip
    nodes: list[ir.Node] = [ir.Affine(SUMS, ROW, *tables), *head.leading_to(output)]
    tables |= {name: head.tables[name] for node in nodes[1:] for name in ir.table_names(node)}
    if output == "label":
        nodes.append(ir.OneHot("hot", value, classes))
        tables["feature_weights"] = np.arange(classes, dtype=np.float64)[np.newaxis]
        value = "hot"
    elif output == "probabilities":
        tables["feature_weights"] = np.eye(classes)[classes - columns :]
    if "feature_weights" in tables:
        tables["feature_bias"] = np.zeros(columns)
        nodes.append(ir.Blend("features", value, "feature_weights", "feature_bias", False))
        value = "features"
    nodes.append(ir.AsFeatures("z", value))
    names = {name: f"{name}0" if name == "z" else f"answer_{_letters(at)}0" for at, name in enumerate(
        [*(node.out for node in nodes), *tables]
    )}  # fmt: skip
    placed = [renamed(node, names) for node in nodes]
    return nodes_front(placed, {names[name]: table for name, table in tables.items()}, width, columns)


def _letters(number: int) -> str:
    """A name without digits."""
    digits = string.ascii_lowercase
    return digits[number] if number < 26 else _letters(number // 26 - 1) + digits[number % 26]
