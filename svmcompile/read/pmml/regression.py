"""RegressionModel: linear functions of the row, and what makes labels and probabilities of them."""

from __future__ import annotations

from dataclasses import replace

from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Link
from svmcompile.read.kernels import linear_machine
from svmcompile.read.liblinear.model import logistic_head
from svmcompile.read.pmml.features import Fields, Sum, category_of
from svmcompile.read.xml import Element

NORMS = ("none", "simplemax", "softmax", "logit")


def read_regression(model: Element, fields: Fields, labels: Labels | None, limit: int) -> SVM:
    """Tables of coefficients as linear functions."""
    tables = model.all("RegressionTable")
    sums = [read_table(one, fields) for one in tables]
    if labels is None:
        model.choice("normalizationMethod", ("none",), "none")
        if len(sums) != 1:
            raise model.error(f"{len(sums)} tables of a regression, expected one")
        return machine_of(model, sums, fields, LabelRule.NONE, None, limit)
    values = fields.target_values(model)[1]
    order = [category_of(one, values) for one in tables]
    if sorted(order) != list(range(len(values))):
        raise model.error(f"{len(tables)} tables do not stand for {len(values)} classes, one each")
    norm = model.choice("normalizationMethod", NORMS, "none")
    if norm == "none":  # the last is what the others leave of one
        sums[-1] = Sum.of([Sum(1.0), *(one.times(-1.0) for one in sums[:-1])])
    by_class = [sums[order.index(at)] for at in range(len(values))]
    if len(values) > 2:
        if norm == "logit":
            raise model.refuse("normalizationMethod logit is not supported for three classes or more")
        machine = machine_of(model, by_class, fields, LabelRule.ARGMAX, labels, limit)
        return replace(machine, link=Link.SOFTMAX) if norm == "softmax" else machine
    return _two_classes(model, fields, labels, limit, by_class, sums[0], order[0], norm)


def _two_classes(
    model: Element, fields: Fields, labels: Labels, limit: int, by_class: list[Sum], first: Sum, own: int,
    norm: str,
) -> SVM:  # fmt: skip
    """One score, above zero for the class that the first table stands for."""
    score = first if norm == "logit" else by_class[own].plus(by_class[1 - own].times(-1.0))
    rule = LabelRule.POSITIVE_FIRST if own == 0 else LabelRule.POSITIVE_SECOND
    machine = machine_of(model, [score], fields, rule, labels, limit)
    return replace(machine, head=logistic_head(1, rule)) if norm in ("softmax", "logit") else machine


def read_table(table: Element, fields: Fields) -> Sum:
    """A linear function of fields."""
    parts = [Sum(table.number("intercept", "0"))]
    for one in table.children:
        if one.tag == "NumericPredictor":
            if one.number("exponent", "1") != 1:
                raise one.refuse("an exponent other than 1 is not supported; derive the power before")
            parts.append(fields.named(one.get("name"), one).times(one.number("coefficient")))
        elif one.tag == "CategoricalPredictor":
            own = fields.indicator(one.get("name"), one.get("value"), one)
            parts.append(own.times(one.number("coefficient")))
        elif one.tag != "Extension":
            raise one.refuse(f"<{one.tag[:40]}> is not supported")
    return Sum.of(parts)


def machine_of(
    model: Element, sums: list[Sum], fields: Fields, rule: LabelRule, labels: Labels | None, limit: int
) -> SVM:
    """Linear functions as a machine."""
    columns, weights, bias = fields.table(sums, model, limit)
    return replace(linear_machine(weights, bias, rule, labels), front=columns)
