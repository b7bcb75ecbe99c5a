"""Fields of a PMML document: what the machine sees, as sums of columns of the row and of indicators.

An expression is a sum of columns with factors, and a constant. A column is a field of the row, or 1 where
a field has a certain value, else 0. A field of text is given as the number of its category, from 0 on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from svmcompile.data.categories import Categories, TextColumn
from svmcompile.ir.arithmetic import Array
from svmcompile.model.front import IDENTITY, Front, chain, join, missing, pick, project, scale
from svmcompile.read.kernels import check_dense_size
from svmcompile.read.xml import Element, numbers

NUMBERS = ("integer", "float", "double")
MOST_DEPTH = 50
MOST_INDICATORS = 1024


class Column(NamedTuple):
    """A field of the row, or whether it has a value."""

    field: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """Columns times factors, and a constant."""

    constant: float = 0.0
    factors: dict[Column, float] = field(default_factory=dict)

    def times(self, factor: float) -> Sum:
        return Sum(self.constant * factor, {key: value * factor for key, value in self.factors.items()})

    def plus(self, other: Sum) -> Sum:
        return Sum.of([self, other])

    @staticmethod
    def of(parts: Sequence[Sum]) -> Sum:
        """All added up."""
        total: dict[Column, float] = {}
        for part in parts:
            for key, value in part.factors.items():
                total[key] = total.get(key, 0.0) + value
        return Sum(sum(part.constant for part in parts), total)


class Fields:
    """The fields of a document: those that are given, and those derived from them."""

    def __init__(self, document: Element, model: Element) -> None:
        dictionary = {one.get("name"): one for one in document.one("DataDictionary").all("DataField")}
        schema = model.one("MiningSchema").all("MiningField")
        self.targets = [one for one in schema if one.get("usageType", "active") in ("target", "predicted")]
        active = [one for one in schema if one.get("usageType", "active") == "active"]
        self.names = tuple(one.get("name") for one in active)
        if len(set(self.names)) < len(self.names):
            raise model.error("a field is named twice in the <MiningSchema>")
        for one in active:
            if one.get("name") not in dictionary:
                raise one.error(f"field {one.get('name')[:40]!r} is not in the <DataDictionary>")
            one.choice("outliers", ("asIs",), "asIs")
        self.dictionary = dictionary
        self.categories = {name: _categories(dictionary[name]) for name in self.names}
        self.derived: dict[str, Element] = {}
        self._known: dict[str, Sum] = {}
        self.derive([*document.all("TransformationDictionary"), *model.all("LocalTransformations")])

    def derive(self, places: Sequence[Element]) -> None:
        """Take in fields that are derived; each name stands for one."""
        for one in (one for place in places for one in place.all("DerivedField")):
            name = one.get("name")
            if name in self.derived or name in self.names:
                raise one.error(f"field {name[:40]!r} is there already; rename one of them")
            self.derived[name] = one

    @property
    def texts(self) -> Categories:
        """The fields of text, whose codes are the places of their values in the document."""
        return Categories(
            tuple(
                TextColumn(at, tuple(self.categories[name]))
                for at, name in enumerate(self.names)
                if self.categories[name]
            )
        )

    def target_values(self, model: Element) -> tuple[str, list[str]]:
        """The type of the target and its categories, in the order of the document."""
        if len(self.targets) != 1:
            raise model.error(f"the model has {len(self.targets)} targets, expected one")
        name = self.targets[0].get("name")
        if name not in self.dictionary:
            raise self.targets[0].error(f"target {name[:40]!r} is not in the <DataDictionary>")
        target = self.dictionary[name]
        return target.get("dataType"), [one.get("value") for one in target.all("Value")]

    def named(self, name: str, place: Element, depth: int = 0) -> Sum:
        """What a field stands for."""
        if depth > MOST_DEPTH:
            raise place.error("fields are derived from one another without end")
        if name not in self._known:
            if name in self.derived:
                self._known[name] = self._derived(self.derived[name], depth)
            elif name not in self.names:
                raise place.error(f"field {name[:40]!r} is neither given nor derived")
            elif self.categories[name]:
                raise place.refuse(f"field {name[:40]!r} is text and has no number; use a <NormDiscrete>")
            else:
                self._known[name] = Sum(0.0, {Column(name): 1.0})
        return self._known[name]

    def indicator(self, name: str, value: str, place: Element) -> Sum:
        """1 where a field has a value, else 0."""
        if name not in self.names:
            raise place.refuse(f"field {name[:40]!r} is derived; indicators of such are not supported")
        codes = self.categories[name]
        if not codes:
            return Sum(0.0, {Column(name, numbers(place, value, 1)[0]): 1.0})
        if value not in codes:
            raise place.error(f"{value[:40]!r} is no value of field {name[:40]!r}")
        return Sum(0.0, {Column(name, float(codes[value])): 1.0})

    def _derived(self, element: Element, depth: int) -> Sum:
        known = [child for child in element.children if child.tag not in ("Extension", "Value", "Interval")]
        if len(known) != 1:
            raise element.error(f"<DerivedField> has {len(known)} expressions, expected one")
        return self._expression(known[0], depth + 1)

    def _expression(self, element: Element, depth: int) -> Sum:
        if depth > MOST_DEPTH:
            raise element.error("expressions within one another without end")
        if element.tag not in EXPRESSIONS:
            known = ", ".join(EXPRESSIONS)
            raise element.refuse(f"<{element.tag[:40]}> is not supported; supported: {known}")
        return EXPRESSIONS[element.tag](self, element, depth)

    def _constant(self, element: Element, depth: int) -> Sum:
        return Sum(numbers(element, element.text, 1)[0])

    def _reference(self, element: Element, depth: int) -> Sum:
        return self.named(element.get("field"), element, depth + 1)

    def _normed(self, element: Element, depth: int) -> Sum:
        """The straight line through two points."""
        element.choice("outliers", ("asIs",), "asIs")
        points = [(one.number("orig"), one.number("norm")) for one in element.all("LinearNorm")]
        if len(points) != 2:
            raise element.refuse(
                f"a <NormContinuous> of {len(points)} points is not supported, only of two"
            )
        (first, low), (second, high) = points
        if first == second:
            raise element.error("two points of a <NormContinuous> are in one place")
        slope = (high - low) / (second - first)
        line = self.named(element.get("field"), element, depth + 1).times(slope)
        return line.plus(Sum(low - first * slope))

    def _discrete(self, element: Element, depth: int) -> Sum:
        return self.indicator(element.get("field"), element.get("value"), element)

    def _applied(self, element: Element, depth: int) -> Sum:
        function = element.choice("function", ("+", "-", "*", "/"))
        children = [child for child in element.children if child.tag != "Extension"]
        if len(children) != 2:
            raise element.error(f"<Apply> of {function} has {len(children)} arguments, expected two")
        left, right = (self._expression(child, depth + 1) for child in children)
        if function in "+-":
            return left.plus(right.times(1.0 if function == "+" else -1.0))
        if function == "*" and not left.factors:
            left, right = right, left
        if right.factors:
            raise element.refuse(f"fields are combined by {function}, which is not supported")
        if function == "/" and right.constant == 0:
            raise element.error("a division by zero")
        return left.times(right.constant if function == "*" else 1 / right.constant)

    def table(self, sums: Sequence[Sum], place: Element, limit: int) -> tuple[Front, Array, Array]:
        """The columns that occur, and all sums as a product with them: weights [m, columns], and a bias."""
        place_of = {Column(name): at for at, name in enumerate(self.names)}
        for one in sums:
            for column in one.factors:
                place_of.setdefault(column, len(place_of))
        if len(place_of) - len(self.names) > MOST_INDICATORS:
            raise place.refuse(f"more than {MOST_INDICATORS} indicators of categories; encode them before")
        check_dense_size(len(sums), len(place_of), place.place, limit)
        weights = np.zeros((len(sums), len(place_of)))
        for row, one in enumerate(sums):
            for column, factor in one.factors.items():
                weights[row, place_of[column]] = factor
        return self._columns(list(place_of)), weights, np.array([one.constant for one in sums])

    def _columns(self, columns: list[Column]) -> Front:
        """The row, with indicators behind it."""
        width = len(self.names)
        own = [
            pick(np.array([self.names.index(one.field)]), width).then(missing(False, one.value))
            for one in columns[width:]
            if one.value is not None
        ]
        return join([pick(np.arange(width), width), *own], width) if own else IDENTITY


EXPRESSIONS: dict[str, Callable[[Fields, Element, int], Sum]] = {
    "FieldRef": Fields._reference,
    "Constant": Fields._constant,
    "NormContinuous": Fields._normed,
    "NormDiscrete": Fields._discrete,
    "Apply": Fields._applied,
}


def _categories(element: Element) -> dict[str, int]:
    """The numbers of the categories of a field of text; empty for a field of numbers."""
    kind = element.choice("dataType", (*NUMBERS, "string"))
    if kind in NUMBERS:
        return {}
    values = [one.get("value") for one in element.all("Value")]
    if not values or len(set(values)) < len(values):
        raise element.refuse(f"field {element.get('name')[:40]!r} is text without a list of its values")
    return {value: number for number, value in enumerate(values)}


def category_of(element: Element, values: list[str], name: str = "targetCategory") -> int:
    """The place of the category that an attribute names among the target's values."""
    category = element.get(name)
    if category not in values:
        raise element.error(f"{category[:40]!r} is no value of the target")
    return values.index(category)


def front_of(columns: Front, weights: Array, bias: Array) -> Front:
    """Weights times the columns, plus a bias; each column by itself where no sum has two."""
    if len(weights) and ((weights != 0).sum(axis=1) == 1).all():
        chosen = np.abs(weights).argmax(axis=1)
        factors = weights[np.arange(len(weights)), chosen]
        parts = [columns, pick(chosen, weights.shape[1])]
        if (factors != 1).any() or bias.any():
            parts.append(scale(0.0 - bias / factors, factors))
        return chain(parts)
    return columns.then(project(weights, np.zeros(weights.shape[1]), bias))
