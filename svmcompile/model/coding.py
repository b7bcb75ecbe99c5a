"""Coding: fronts whose tables hold text become fronts over rows of numbers, with a code for each text.

Encoders and imputers of text are read with the texts in their tables. Every number on the way to them comes
from one feature of the row, so the texts that any step tells apart there are the categories of this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import (
    MISSING,
    NAN,
    Categories,
    MissingKind,
    TextColumn,
    is_nan,
)
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.model.front import ROW, Front
from svmcompile.model.svm import SVM

NOT_OF_ONE = -1  # what is made of numbers, and no feature itself
Features = NDArray[np.int64]


@dataclass
class Found:
    """What steps tell apart in one feature."""

    names: dict[str, bool] = field(default_factory=dict)  # each text, and whether an encoder is strict
    missing: set[tuple[MissingKind, str]] = field(
        default_factory=set
    )  # kinds, and texts of the kind "text"
    has_numbers: bool = False

    def add(self, value: Any) -> None:
        """A value that some step knows."""
        if isinstance(value, str):
            self.names[str(value)] = self.names.get(value, False) or getattr(value, "strict", False)
        elif value is None or is_nan(value):
            self.missing.add(("NaN" if is_nan(value) else "None", ""))
        else:
            self.has_numbers = True

    def column(self, feature: int, told: str) -> TextColumn:
        """The categories, in the order of their characters."""
        if self.has_numbers:
            raise UnsupportedError(
                f"{told} is text to one step and a number to another; give each of them a column of its own"
            )
        if len(self.missing) > 1:
            kinds = ", ".join(sorted(repr(text) if text else kind for kind, text in self.missing))
            raise UnsupportedError(
                f"{told} is missing in several ways ({kinds}), and code knows one; replace the others by "
                "it before training"
            )
        kind, marker = next(iter(self.missing), ("", ""))
        names = tuple(sorted(name for name in self.names if kind != "text" or name != marker))
        return TextColumn(feature, names, kind, marker, any(self.names.values()))


def coded(svm: SVM) -> SVM:
    """The same over rows of numbers; unchanged where no step reads text."""
    fronts = {id(part.front): part.front for part in (svm, *svm.parts)}
    if not any(map(_reads_text, fronts.values())):
        return svm
    found: dict[int, Found] = {}
    flows = {key: Flow(front, svm.n_features) for key, front in fronts.items()}
    for flow in flows.values():
        flow.note(found)
    known = svm.feature_names
    columns = [
        found.get(at, Found()).column(at, f"feature {known[at]!r}" if known else f"feature {at} (from 0)")
        for at in range(svm.n_features)
        if at not in found or found[at].names
    ]
    categories = Categories(tuple(columns))
    made = {key: flow.coded(categories) for key, flow in flows.items()}
    parts = tuple(replace(part, front=made[id(part.front)]) for part in svm.parts)
    return replace(svm, front=made[id(svm.front)], parts=parts, categories=categories)


def _reads_text(front: Front) -> bool:
    marked = any(not isinstance(node.marker, float) for node in front.of_kind(ir.Fill))
    marked |= any(not isinstance(node.marker, float) for node in front.of_kind(ir.Missing))
    return marked or any(table.dtype == object for table in front.tables.values())


class Flow:
    """Which feature each number of a front comes from."""

    def __init__(self, front: Front, width: int) -> None:
        self.front = front
        plain = {name: _stand_in(table) for name, table in front.tables.items()}
        nodes = tuple(_with_number(node) for node in front.nodes)
        self.types = replace(front, nodes=nodes, tables=plain).in_float32().types(width)
        self.features: dict[str, Features] = {ROW: np.arange(width)}
        for node in front.nodes:
            self.features[node.out] = self._after(node)

    def _after(self, node: ir.Node) -> Features:
        before = [self.features[name] for name in ir.operands(node)]
        if isinstance(node, ir.Pick):
            return before[0][self.front.tables[node.columns]]
        if isinstance(node, (ir.Join, ir.Fill)):
            return np.concatenate(before)
        return np.full(self.types[node.out].width, NOT_OF_ONE)

    def note(self, found: dict[int, Found]) -> None:
        """Add what the steps know of each feature; numbers that they compute with are no text."""
        for node in self.front.nodes:
            for feature, value in self._known(node):
                if feature != NOT_OF_ONE:
                    found.setdefault(int(feature), Found()).add(value)
                elif isinstance(value, str):
                    raise ReadError("a category of text is compared with a number; the object is damaged")
            if isinstance(node, (ir.Fill, ir.Missing)):
                self._note_marker(node, found)
        for feature in self.features[self.front.out]:
            if feature != NOT_OF_ONE:
                found.setdefault(int(feature), Found()).has_numbers = True

    def _note_marker(self, node: ir.Fill | ir.Missing, found: dict[int, Found]) -> None:
        """What the node takes for missing."""
        marker: Any = NAN if node.nan else node.marker
        for feature in self.features[node.x]:
            one = found.setdefault(int(feature), Found())
            if isinstance(marker, str):
                one.missing.add(("text", str(marker)))
            else:
                one.add(marker)

    def _known(self, node: ir.Node) -> Iterator[tuple[int, Any]]:
        """Features, each with a value that the node tells apart, or any number where it computes."""
        tables, features = self.front.tables, self.features[ir.operands(node)[0]]
        if isinstance(node, ir.Matches):
            yield from zip(features[tables[node.columns]], tables[node.values].tolist(), strict=True)
        elif isinstance(node, ir.Pieces):
            at = np.repeat(features, np.diff(tables[node.starts]))
            yield from zip(at, tables[node.knots].tolist(), strict=True)
        elif isinstance(node, ir.Fill):
            yield from zip(features, tables[node.values].tolist(), strict=True)
        elif not isinstance(node, (ir.Pick, ir.Join, ir.Missing)):
            yield from ((one, 0.0) for name in ir.operands(node) for one in self.features[name])

    def coded(self, categories: Categories) -> Front:
        """The front with codes in place of texts."""
        tables, nodes = dict(self.front.tables), list[ir.Node]()
        for node in self.front.nodes:
            if isinstance(node, ir.Matches) and tables[node.values].dtype == object:
                features = self.features[node.x][tables[node.columns]]
                tables[node.values] = _codes(categories, features, tables[node.values])
            elif isinstance(node, ir.Pieces) and tables[node.knots].dtype == object:
                starts = tables[node.starts]
                features = np.repeat(self.features[node.x], np.diff(starts))
                knots = _codes(categories, features, tables[node.knots])
                order = np.concatenate([at + np.argsort(knots[at:to]) for at, to in pairwise(starts)])
                tables[node.knots], tables[node.levels] = knots[order], tables[node.levels][order]
            elif isinstance(node, (ir.Fill, ir.Missing)):
                node = self._marked(node, categories, tables)
            nodes.append(node)
        return replace(self.front, nodes=tuple(nodes), tables=tables)

    def _marked(
        self, node: ir.Fill | ir.Missing, categories: Categories, tables: dict[str, NDArray[Any]]
    ) -> ir.Node:
        """The node with what is missing by its code among texts, and by NaN among numbers."""
        features = self.features[node.x]
        text = np.isin(features, list(categories.by_feature))
        if text.any() and not text.all():
            raise UnsupportedError(
                "a step marks missing values of text and of numbers at once; give it text or numbers alone"
            )
        if isinstance(node, ir.Fill) and tables[node.values].dtype == object:
            tables[node.values] = _codes(categories, features, tables[node.values])
        if text.any():
            return replace(node, nan=False, marker=float(MISSING))
        return _with_number(node)


def _codes(categories: Categories, features: Features, values: NDArray[Any]) -> NDArray[np.float64]:
    """The code of each value of some feature; numbers stay what they are."""
    columns = categories.by_feature
    return np.array(
        [
            columns[at].code(value) if at in columns else float(value)
            for at, value in zip(features.tolist(), values.tolist(), strict=True)
        ],
        dtype=np.float64,
    )


def _stand_in(table: NDArray[Any]) -> NDArray[Any]:
    """Rising numbers in place of texts."""
    return np.arange(table.size, dtype=np.float64).reshape(table.shape) if table.dtype == object else table


def _with_number(node: ir.Node) -> ir.Node:
    """With NaN for a marker that is text or None, which columns of numbers cannot hold."""
    marker: Any = getattr(node, "marker", 0.0)
    return node if isinstance(marker, float) else replace(cast(Any, node), nan=True, marker=0.0)
