"""MiningModel: one against rest as a chain of regressions, the last of which takes the largest.

So sklearn2pmml writes LinearSVC, SGDClassifier and OneVsRestClassifier of three classes or more.
"""

from __future__ import annotations

from dataclasses import replace

from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.liblinear.model import logistic_head
from svmcompile.read.pmml.features import Fields, Sum, category_of
from svmcompile.read.pmml.regression import machine_of, read_table
from svmcompile.read.xml import Element


def read_chain(model: Element, fields: Fields, labels: Labels | None, limit: int) -> SVM:
    """A linear function for each class, and where they are logistic, probabilities."""
    if labels is None:
        raise model.refuse("a <MiningModel> for regression is not supported; export its parts")
    segmentation = model.one("Segmentation")
    segmentation.choice("multipleModelMethod", ("modelChain",))
    *parts, last = [_step(one) for one in segmentation.all("Segment")] or [model]
    norms = {part.choice("normalizationMethod", ("none", "logit"), "none") for part in parts}
    if len(norms) != 1:
        raise segmentation.refuse("a chain of regressions that are normalised differently is not supported")
    scores: dict[str, Sum] = {}
    for part in parts:
        part.choice("functionName", ("regression",))
        fields.derive(part.all("LocalTransformations"))
        name = part.one("Output").one("OutputField").get("name")
        scores[name] = read_table(part.one("RegressionTable"), fields)
    by_class = _ordered(last, scores, fields.target_values(model)[1])
    machine = machine_of(model, by_class, fields, LabelRule.ARGMAX, labels, limit)
    head = logistic_head(len(by_class), LabelRule.ARGMAX) if norms == {"logit"} else None
    return replace(machine, head=head)


def _step(segment: Element) -> Element:
    """The regression in a segment that is always taken."""
    segment.one("True")
    return segment.one("RegressionModel")


def _ordered(last: Element, scores: dict[str, Sum], values: list[str]) -> list[Sum]:
    """The score of each class: the last step names one for each, as it is."""
    last.choice("functionName", ("classification",))
    last.choice("normalizationMethod", ("simplemax",))
    found: dict[int, Sum] = {}
    for table in last.all("RegressionTable"):
        only = table.one("NumericPredictor")
        plain = table.number("intercept", "0") == 0 and only.number("coefficient") == 1
        if not plain or len(table.children) > 1 or only.get("name") not in scores:
            raise table.refuse("the last step of a chain must take one score for each class as it is")
        found[category_of(table, values)] = scores[only.get("name")]
    if len(found) != len(values) or len(values) < 3:
        raise last.error(f"the last step of the chain has {len(found)} classes, the target {len(values)}")
    return [found[at] for at in range(len(values))]
