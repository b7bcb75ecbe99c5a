"""SupportVectorMachineModel: kernel, vectors and the sums of each SupportVectorMachine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.grouping import grouped_by_class
from svmcompile.read.kernels import UNKNOWN, check_dense_size, make_kernel
from svmcompile.read.pmml.features import Fields, Sum, category_of, front_of
from svmcompile.read.xml import Element, numbers

KERNELS = {
    "LinearKernelType": "linear", "PolynomialKernelType": "poly", "RadialBasisKernelType": "rbf",
    "SigmoidKernelType": "sigmoid",
}  # fmt: skip
BOOLEANS = ("false", "true", "0", "1")


@dataclass(frozen=True, slots=True)
class Machine:
    """One sum: the vectors that it has, by their places, their coefficients, and a constant."""

    element: Element
    indices: list[int]
    coefficients: list[float]
    constant: float


def read_vectors(model: Element, fields: Fields, labels: Labels | None, limit: int) -> SVM:
    """All machines of a model as one."""
    dictionary = model.one("VectorDictionary")
    sums = _vector_fields(dictionary.one("VectorFields"), fields)
    form = model.choice("svmRepresentation", ("SupportVectors", "Coefficients"), "SupportVectors")
    instances = dictionary.all("VectorInstance") if form == "SupportVectors" else []
    check_dense_size(len(instances) or len(sums), len(sums), dictionary.place, limit)
    vectors = np.zeros((len(instances), len(sums)))
    for row, one in zip(vectors, instances, strict=True):
        _fill(row, one)
    places: dict[str, int] | None = {one.get("id"): at for at, one in enumerate(instances)}
    if form == "Coefficients":  # of the fields themselves, each of which is a vector then
        vectors, places = np.eye(len(sums)), None
    machines = [_machine(one, places, len(vectors)) for one in model.all("SupportVectorMachine")]
    front = front_of(*fields.table(sums, dictionary, limit))
    empty = np.empty((1, 0))
    svm = SVM(_kernel(model), vectors, empty, empty, LabelRule.NONE, UNKNOWN, labels, front=front)
    return _decided(model, svm, machines, fields, limit)


def _kernel(model: Element) -> Kernel:
    found = [child for child in model.children if child.tag.endswith("KernelType")]
    if len(found) != 1 or found[0].tag not in KERNELS:
        tags = ", ".join(one.tag[:40] for one in found) or "none"
        raise model.error(f"expected one kernel of {', '.join(KERNELS)}, found {tags}")
    kind, element = KERNELS[found[0].tag], found[0]
    gamma = element.number("gamma", "1") if kind != "linear" else 1.0
    coef0 = element.number("coef0", "1") if kind in ("poly", "sigmoid") else 0.0
    degree = element.number("degree", "1") if kind == "poly" else 1.0
    if not degree.is_integer():
        raise element.refuse(f"degree {degree} is not a whole number; retrain with one")
    return make_kernel(kind, gamma, coef0, int(degree), element.place)


def _vector_fields(element: Element, fields: Fields) -> list[Sum]:
    """What the kernel sees, one number after the other."""
    found = []
    for child in element.all("FieldRef", "CategoricalPredictor"):
        if child.tag == "FieldRef":
            found.append(fields.named(child.get("field"), child))
        else:
            own = fields.indicator(child.get("name"), child.get("value"), child)
            found.append(own.times(child.number("coefficient", "1")))
    if not found:
        raise element.error("there are no <VectorFields>")
    return found


def _fill(row: Array, element: Element) -> None:
    """A vector, dense or sparse, into a row of zeros."""
    arrays, width = element.all("Array", "REAL-SparseArray"), len(row)
    if len(arrays) != 1:
        raise element.error(f"<VectorInstance> has {len(arrays)} arrays, expected one")
    array = arrays[0]
    if array.tag == "Array":
        row[:] = numbers(array, array.text, width)
        return
    row[:] = array.number("defaultValue", "0")
    if array.number("n", str(width)) != width:
        raise array.error(f"n is {array.get('n')[:20]}, expected {width}")
    if not array.children:
        return
    at = numbers(array, array.one("Indices").text)
    if any(not (1 <= one <= width and one.is_integer()) for one in at) or len(set(at)) < len(at):
        raise array.error(f"indices must be among 1..{width}, without repeats")
    row[np.array(at, dtype=np.int64) - 1] = numbers(array, array.one("REAL-Entries").text, len(at))


def _machine(element: Element, places: dict[str, int] | None, count: int) -> Machine:
    stored = element.one("Coefficients")
    coefficients = [one.number("value", "0") for one in stored.all("Coefficient")]
    if places is None:
        indices = list(range(count))
    else:
        named = [one.get("vectorId") for one in element.one("SupportVectors").all("SupportVector")]
        unknown = [name for name in named if name not in places]
        if unknown:
            raise element.error(f"there is no <VectorInstance> {unknown[0][:40]!r}")
        indices = [places[name] for name in named]
    if len(coefficients) != len(indices):
        raise stored.error(f"{len(coefficients)} coefficients for {len(indices)} vectors")
    return Machine(element, indices, coefficients, stored.number("absoluteValue", "0"))


def _decided(model: Element, svm: SVM, machines: list[Machine], fields: Fields, limit: int) -> SVM:
    """With the rule that makes a value or a label of the sums."""
    method = model.choice("classificationMethod", ("OneAgainstAll", "OneAgainstOne"), "OneAgainstAll")
    largest = model.choice("maxWins", BOOLEANS, "false") in ("true", "1")
    if svm.labels is None:
        if len(machines) != 1:
            raise model.error(f"{len(machines)} machines of a regression model, expected one")
        return _summed(svm, machines, [(1.0, 0.0)], LabelRule.NONE, limit)
    values = fields.target_values(model)[1]
    if len(machines) == 1 or method == "OneAgainstOne":
        return _pairs(model, svm, machines, values, largest, limit)
    order = [category_of(machine.element, values) for machine in machines]
    if sorted(order) != list(range(len(values))):
        raise model.error(f"{len(machines)} machines do not stand for {len(values)} classes, one each")
    sign = 1.0 if largest else -1.0
    ordered = [machines[order.index(at)] for at in range(len(values))]
    return _summed(svm, ordered, [(sign, 0.0)] * len(values), LabelRule.ARGMAX, limit)


def _pairs(
    model: Element, svm: SVM, machines: list[Machine], values: list[str], largest: bool, limit: int
) -> SVM:
    """One sum per pair of classes: on its own side of the threshold, it is for the target category."""
    wanted = {pair: at for at, pair in enumerate(pair_indices(len(values)))}
    if len(machines) != len(wanted):
        raise model.error(f"{len(machines)} machines for {len(values)} classes, expected {len(wanted)}")
    found: dict[int, tuple[Machine, tuple[float, float]]] = {}
    for machine in machines:
        element = machine.element
        target = category_of(element, values)
        name = "alternateTargetCategory"
        place = element if name in element.attributes else model
        other = category_of(place, values, name if place is element else "alternateBinaryTargetCategory")
        at = wanted.get((min(target, other), max(target, other)))
        if at is None or at in found:
            raise element.error(
                f"{values[target][:40]!r} and {values[other][:40]!r} are not a pair of their own"
            )
        threshold = element.number("threshold", model.get("threshold", "0"))
        sign = 1.0 if (target < other) == largest else -1.0
        found[at] = machine, (sign, threshold)
    ordered = [found[at] for at in range(len(wanted))]
    if len(values) == 2:
        return _summed(svm, [ordered[0][0]], [ordered[0][1]], LabelRule.POSITIVE_FIRST, limit)
    return _vote(svm, ordered, model, limit)


def _summed(
    svm: SVM, machines: list[Machine], turned: list[tuple[float, float]], rule: LabelRule, limit: int
) -> SVM:
    """One row of coefficients for each machine, times a sign, less a threshold."""
    check_dense_size(len(machines), svm.n_vectors, machines[0].element.place, limit)
    coefficients = np.zeros((len(machines), svm.n_vectors))
    intercepts = np.zeros(len(machines))
    for row, (machine, (sign, threshold)) in enumerate(zip(machines, turned, strict=True)):
        np.add.at(coefficients[row], machine.indices, sign * np.array(machine.coefficients))
        intercepts[row] = sign * (machine.constant - threshold)
    return replace(svm, coefficients=coefficients, intercepts=intercepts, label_rule=rule)


def _vote(svm: SVM, ordered: list[tuple[Machine, tuple[float, float]]], model: Element, limit: int) -> SVM:
    signs, lengths = [sign for _, (sign, _) in ordered], [len(machine.indices) for machine, _ in ordered]
    alphas = np.concatenate([sign * np.array(one.coefficients) for one, (sign, _) in ordered])
    indices = np.array([at for machine, _ in ordered for at in machine.indices], dtype=np.int64)
    intercepts = np.array([sign * (machine.constant - level) for machine, (sign, level) in ordered])
    pair = np.repeat(np.arange(len(signs)), lengths)
    return grouped_by_class(replace(svm, intercepts=intercepts), alphas, indices, pair, model.place, limit)
