"""PMML documents: SupportVectorMachineModel and RegressionModel become machines.

Scores of a vote have the sign that is ours: above zero is the first class of a pair, in the order of the
target's values. A document says which class a value below the threshold means.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.program import Labels, Scalar
from svmcompile.model.svm import SVM, Source
from svmcompile.read.kernels import entries_limit
from svmcompile.read.pmml.chain import read_chain
from svmcompile.read.pmml.features import Fields
from svmcompile.read.pmml.regression import read_regression
from svmcompile.read.pmml.vectors import read_vectors
from svmcompile.read.xml import Element, numbers, parse_xml

MODELS: dict[str, Callable[[Element, Fields, Labels | None, int], SVM]] = {
    "SupportVectorMachineModel": read_vectors,
    "RegressionModel": read_regression,
    "MiningModel": read_chain,
}
NOT_MODELS = ("Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary", "Extension")
BOOLEANS: dict[str, Scalar] = {"false": False, "true": True}


def read_pmml(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The machine in a document; an error with its place for any other bytes."""
    document = parse_xml(content, where)
    if document.tag != "PMML":
        raise document.error(f"the root is <{document.tag[:40]}>, not <PMML>: this is no PMML document")
    models = [child for child in document.children if child.tag not in NOT_MODELS]
    if len(models) != 1:
        raise document.error(f"the document has {len(models)} models, expected one")
    model = models[0]
    if model.tag not in MODELS:
        raise UnsupportedError(
            f"{model.place}: <{model.tag[:40]}> is not supported; export a model that becomes one of "
            f"{', '.join(MODELS)}, such as an SVC, an SVR or a linear regression"
        )
    fields = Fields(document, model)
    function = model.choice("functionName", ("classification", "regression"))
    labels = _labels(model, fields) if function == "classification" else None
    found = MODELS[model.tag](model, fields, labels, entries_limit(len(content)))
    source = Source(f"PMML {model.tag}", hashlib.sha256(content).hexdigest())
    found = replace(found, source=source, feature_names=fields.names, categories=fields.texts)
    return (found if labels else _rescaled(model, found)).check(where)


def _labels(model: Element, fields: Fields) -> Labels:
    """The target's values as they are typed."""
    kind, values = fields.target_values(model)
    if len(values) < 2:
        raise model.error(
            f"the target has {len(values)} values in the <DataDictionary>, expected two or more"
        )
    if len(set(values)) < len(values):
        raise model.error("a value of the target appears twice")
    if kind == "string":
        return Labels(tuple(values), np.array(values).dtype.str)
    if kind == "boolean" and set(values) == set(BOOLEANS):
        return Labels(tuple(BOOLEANS[value] for value in values), np.dtype(bool).str)
    found = numbers(model, " ".join(values), len(values))
    if kind == "integer" and all(value.is_integer() and abs(value) < 2**53 for value in found):
        return Labels(tuple(map(int, found)), np.dtype(np.int64).str)
    if kind in ("float", "double"):
        return Labels(tuple(found), np.dtype(np.float64).str)
    raise model.refuse(f"a target of type {kind[:40]!r} is not supported")


def _rescaled(model: Element, svm: SVM) -> SVM:
    """With the factor and the constant of the target."""
    for target in [one for place in model.all("Targets") for one in place.all("Target")]:
        for name in ("min", "max", "castInteger"):
            if name in target.attributes:
                raise target.refuse(f"{name} of a <Target> is not supported; apply it to what is predicted")
        factor, constant = target.number("rescaleFactor", "1"), target.number("rescaleConstant", "0")
        svm = replace(
            svm, coefficients=svm.coefficients * factor, intercepts=svm.intercepts * factor + constant
        )
    return svm
