"""Head: what a model makes of its sums, as nodes from the value SUMS to its outputs.

`own_head` is that of a single machine; readers of wrappers, such as a calibrated classifier, make
their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.graph import fresh, leading_to
from svmcompile.ir.node import TABLES, VALUES, field_kinds
from svmcompile.ir.program import Output, OutputName

if TYPE_CHECKING:
    from svmcompile.model.svm import SVM

SUMS = "sums"
MIN_PROBABILITY = 1e-7  # LIBSVM holds probabilities of pairs this far from 0 and 1
THRESHOLDS = {  # label rule -> (positive, hit, miss)
    "positive-second": (True, 1, 0),
    "negative-first": (False, 0, 1),
    "positive-first": (True, 0, 1),
}


@dataclass(frozen=True, eq=False)
class Head:
    """Nodes in order, their tables, and the values that leave."""

    nodes: tuple[ir.Node, ...]
    tables: Mapping[str, NDArray[Any]]
    outputs: tuple[Output, ...]

    def value(self, name: str) -> str | None:
        """The value behind a public name."""
        return next((output.value for output in self.outputs if output.name == name), None)

    def reading(self, sums: str) -> Head:
        """The same from sums of another name."""
        nodes = tuple(renamed(node, {SUMS: sums}) for node in self.nodes)
        outputs = (Output(out.name, sums if out.value == SUMS else out.value) for out in self.outputs)
        return Head(nodes, self.tables, tuple(outputs))

    def apart(self, taken: Collection[str]) -> Head:
        """The same; tables whose names are taken get others."""
        names = {name: fresh("head", name, {*taken, *self.tables}) for name in self.tables if name in taken}
        nodes = tuple(renamed(node, names, TABLES) for node in self.nodes)
        return Head(nodes, {names.get(name, name): self.tables[name] for name in self.tables}, self.outputs)

    def by_probability(self) -> Head:
        """The same head, with the most probable class for its label."""
        probabilities = self.value("probabilities")
        assert probabilities, "the head has no probabilities"
        label = ir.ArgMax("most_probable", probabilities)
        outputs = [
            Output(out.name, label.out if out.name == "label" else out.value) for out in self.outputs
        ]
        return Head((*self.nodes, label), self.tables, tuple(outputs)).pruned()

    def pruned(self) -> Head:
        """Without what no output needs."""
        nodes = self.leading_to(*(output.name for output in self.outputs))
        used = {name for node in nodes for name in ir.table_names(node)}
        tables = {name: table for name, table in self.tables.items() if name in used}
        return Head(nodes, tables, self.outputs)

    def leading_to(self, *names: str) -> tuple[ir.Node, ...]:
        """The nodes that some outputs need."""
        return leading_to(self.nodes, (self.value(name) for name in names))


def renamed(node: ir.Node, names: Mapping[str, str], kinds: tuple[str, ...] = VALUES + TABLES) -> ir.Node:
    """A node with other names for its value, those it reads and its tables, or for some kinds of them."""
    fields = [name for name, kind in field_kinds(type(node)).items() if kind in kinds]
    old = {name: getattr(node, name) for name in fields}
    changes: dict[str, Any] = {name: names[value] for name, value in old.items() if value in names}
    return replace(node, **changes) if changes else node


class HeadMaker:
    """Collects the nodes and tables of a head; values and tables are numbered where a name is taken."""

    def __init__(self) -> None:
        self.nodes: list[ir.Node] = []
        self.tables: dict[str, NDArray[Any]] = {}
        self._taken: set[str] = {SUMS, "x"}
        self._last: dict[str, int] = {}  # number of each stem

    def name(self, stem: str) -> str:
        """A name that nothing has yet."""
        name, number = stem, self._last.get(stem, 1)
        while name in self._taken:
            number += 1
            name = f"{stem}{number}"
        self._taken.add(name)
        self._last[stem] = number
        return name

    def add(self, node: ir.Node) -> str:
        self.nodes.append(node)
        return node.out

    def table(self, stem: str, array: Any) -> str:
        name = self.name(stem)
        self.tables[name] = np.asarray(array, dtype=np.float64)
        return name

    def indices(self, stem: str, array: Any) -> str:
        name = self.name(stem)
        self.tables[name] = np.asarray(array, dtype=np.int32)
        return name

    def columns(self, stem: str, values: str, columns: Any) -> str:
        return self.add(ir.Pick(self.name(stem), values, self.indices("columns", columns)))

    def beside(self, stem: str, values: list[str]) -> str:
        """Values one after the other."""
        left = values[0]
        for right in values[1:]:
            left = self.add(ir.Join(self.name(stem), left, right))
        return left

    def total(self, values: list[str]) -> str:
        """The sum of values."""
        left = values[0]
        for right in values[1:]:
            left = self.add(ir.Add(self.name("total"), left, right))
        return left

    def largest(self, scores: str) -> str:
        return self.add(ir.ArgMax(self.name("label"), scores))

    def logistic(self, name: str, scores: str, count: int) -> str:
        """1 / (1 + exp(-score)) of each score."""
        slopes, offsets = self.table("slopes", np.full(count, -1.0)), self.table("offsets", np.zeros(count))
        return self.add(ir.Sigmoid(name, scores, slopes, offsets, 0.0))

    def above(self, values: str, limit: float = 0.0, reached: bool = False) -> str:
        """A label for each value: whether it is above a limit, or at it where that is enough."""
        return self.add(ir.Above(self.name("labels"), values, limit, reached))

    def label_rows(self, labels: Sequence[str], places: Sequence[Sequence[int]]) -> str:
        """Labels of several targets side by side; each is one of the places that are its target's."""
        row = labels[0]
        for label, own in zip(labels[1:], places[1:], strict=True):
            row = self.add(ir.LabelRow(self.name("labels"), row, label, self.indices("places", own)))
        return row

    def pair_probabilities(self, platt: tuple[Any, Any], sums: str, sign: int) -> str:
        """Platt's probabilities of pairs, from values of LIBSVM's sign or, with -1, of the other."""
        a, b = platt
        slopes, offsets = self.table("platt_a", sign * a), self.table("platt_b", b)
        return self.add(ir.Sigmoid(self.name("pair_chances"), sums, slopes, offsets, MIN_PROBABILITY))

    def head(self, outputs: Mapping[OutputName, str | None]) -> Head:
        """What was collected, with the outputs that there are."""
        found = (Output(name, value) for name, value in outputs.items() if value is not None)
        return Head(tuple(self.nodes), self.tables, tuple(found))


def own_head(svm: SVM) -> Head:
    """What the original makes of the sums of one machine."""
    maker, rule = HeadMaker(), svm.label_rule.value
    sums = added_parts(svm, maker) if svm.adds_parts else SUMS
    if rule == "none":
        return maker.head({"value": sums})
    scores = machine_scores(svm, maker, sums)
    probabilities = machine_probabilities(svm, maker, sums)
    if rule == "vote":
        assert svm.labels
        label = maker.add(ir.Vote(maker.name("label"), sums, len(svm.labels)))
    elif rule == "argmax":
        label = maker.largest(scores)
    elif rule == "each":
        label = maker.above(sums)
    else:
        label = maker.add(ir.Threshold(maker.name("label"), sums, *THRESHOLDS[rule]))
    samples = None
    if svm.sample_offset is not None:
        offset = maker.table("sample_offset", [svm.sample_offset])
        samples = maker.add(ir.Shifted(maker.name("samples"), SUMS, offset))
    return maker.head(
        {"scores": scores, "label": label, "samples": samples, "probabilities": probabilities}
    )


def added_parts(svm: SVM, maker: HeadMaker) -> str:
    """The sums of parts, which stand one after the other, added up."""
    ends = [
        maker.columns("part", SUMS, np.arange(svm.n_sums) + at * svm.n_sums) for at in range(len(svm.parts))
    ]
    return maker.total(ends)


def machine_scores(svm: SVM, maker: HeadMaker, sums: str) -> str:
    """Sums of one machine as its decision function shows them."""
    if not svm.one_vs_rest_scores:
        return sums
    assert svm.labels
    return maker.add(ir.OvrScores(maker.name("scores"), sums, len(svm.labels)))


def machine_probabilities(svm: SVM, maker: HeadMaker, sums: str) -> str | None:
    """Probabilities of the classes of one machine, where it was trained with them."""
    if svm.density_marks is not None:
        return maker.add(
            ir.Density(maker.name("probabilities"), sums, maker.table("marks", svm.density_marks))
        )
    if svm.link.value == "gaussian":
        return None  # whoever makes the sums of the deviation makes them
    if svm.link:
        return _linked(svm, maker, sums)
    if svm.platt is None:
        return None
    assert svm.labels
    turned = svm.label_rule.value == "negative-first"  # scikit-learn's sign of two classes
    pairs = maker.pair_probabilities(svm.platt, sums, -1 if turned else 1)
    if len(svm.labels) == 2 and not turned:  # LIBSVM itself couples three classes or more
        both = maker.add(ir.Complement(maker.name("both_chances"), pairs))
        return maker.columns("probabilities", both, [1, 0])
    return maker.add(ir.Couple(maker.name("probabilities"), pairs, len(svm.labels)))


def _linked(svm: SVM, maker: HeadMaker, sums: str) -> str:
    """Probabilities of the classes by the machine's link."""
    n = svm.n_sums
    if svm.link.value == "softmax" and n > 1:
        return maker.add(ir.Softmax(maker.name("probabilities"), sums, 1.0))
    name = maker.name("chances")
    if svm.link.value == "clipped":
        starts, knots = maker.indices("starts", np.arange(0, 2 * n + 1, 2)), np.tile([-1.0, 1.0], n)
        lines = maker.table("knots", knots), maker.table("levels", (knots + 1) / 2)
        chances = maker.add(ir.Isotonic(name, sums, starts, *lines))
    else:
        chances = maker.logistic(name, sums, n)
    if n == 1:
        return maker.add(ir.Complement(maker.name("probabilities"), chances))
    return maker.add(ir.Shares(maker.name("probabilities"), chances, 1, 1 / n))
