"""Assembly: the machines that wrappers put together, and what is made of their sums.

Wrappers ask for the answers of the estimators they hold. An answer's scores are columns of the sums of all
machines as long as nothing is made of them, so that many machines become one node and not many.

Machines trained on the same rows share many support vectors: together each is met once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import kernel_sum_flops
from svmcompile.ir.program import Labels, Output, OutputName
from svmcompile.model.front import Front
from svmcompile.model.head import (
    SUMS,
    THRESHOLDS,
    Head,
    HeadMaker,
    machine_probabilities,
    machine_scores,
    renamed,
)
from svmcompile.model.svm import SVM, LabelRule, Link, digest
from svmcompile.read.sklearn.gaussian import GAUSSIAN_CLASSIFIER

Columns = tuple[int, ...]  # of the sums of all machines
Scores = Columns | str  # or a value of the head


@dataclass(frozen=True)
class Answer:
    """What an estimator gives, of rows that were prepared for it."""

    kind: str  # what the estimator is, such as SVC or Pipeline(StandardScaler, SVC)
    labels: Labels | None
    scores: Scores | None  # its decision function
    n_scores: int
    probabilities: str | None  # its probabilities, as a value of the head
    label: str = ""  # a value of the head; not that of single machines
    rule: LabelRule = LabelRule.HEAD  # how scores alone decide, where they do
    zero_is_second: bool = False  # of two classes: what a score of exactly zero means
    sums: Columns = ()  # of a single machine, by which its rule decides
    is_logistic: bool = False  # of two classes: whether probabilities are logistic functions of the score


@dataclass
class Assembly:
    """Machines and the head over them, as wrappers make them."""

    read: Callable[[object, Front], Answer]  # what an estimator gives, behind a front
    whole: Callable[[object], SVM]  # an estimator on its own
    maker: HeadMaker = field(default_factory=HeadMaker)
    machines: list[SVM] = field(default_factory=list)
    picks: dict[Columns, str] = field(default_factory=dict)
    signs: list[int] = field(default_factory=list)

    def machine(self, svm: SVM, kind: str) -> Answer:
        """The answer of a machine on its own."""
        if kind == GAUSSIAN_CLASSIFIER and svm.deviation is None:
            raise UnsupportedError(
                f"GaussianProcessClassifier: {svm.notes[0]}, and labels of several classes are decided by "
                "them; use a stationary kernel such as RBF, or fewer rows"
            )
        if svm.adds_parts or svm.deviation:
            return self._process(svm, kind)
        columns = self._columns(svm)
        sums = self.value(columns)
        scores: Scores = columns if not svm.one_vs_rest_scores else machine_scores(svm, self.maker, sums)
        n_scores = len(svm.labels or ()) if svm.one_vs_rest_scores else svm.n_sums
        probabilities, rule = machine_probabilities(svm, self.maker, sums), svm.label_rule
        zero_is_second = rule is LabelRule.NEGATIVE_FIRST
        answer = Answer(
            kind, svm.labels, scores, n_scores, probabilities, "", rule, zero_is_second, columns
        )
        return replace(answer, is_logistic=svm.link is Link.LOGISTIC and svm.n_sums == 1)

    def _columns(self, svm: SVM) -> Columns:
        """The sums of one more machine."""
        columns = tuple(range(len(self.signs), len(self.signs) + svm.n_sums))
        self.machines.append(replace(svm, deviation=None))
        self.signs += [1] * svm.n_sums
        return columns

    def _process(self, svm: SVM, kind: str) -> Answer:
        """The answer of a Gaussian process, whose sums may be added up."""
        maker = self.maker
        mean = maker.total([self.value(self._columns(one)) for one in svm.machines])
        if svm.deviation is None:
            return Answer(kind, svm.labels, mean, svm.n_sums, None, "", svm.label_rule)
        told, bias = list[str](), svm.deviation.bias
        for one, weights in zip(svm.machines, svm.deviation.weights, strict=True):
            given = bias if not told else np.zeros_like(bias)
            spread = replace(one, coefficients=weights, intercepts=given)
            told.append(self.value(self._columns(spread)))
        if svm.labels is None:  # what is made of values makes none of their deviation
            return Answer(kind, None, mean, svm.n_sums, None, "", svm.label_rule)
        chance = ir.GaussianChance(maker.name("chance"), mean, maker.total(told), svm.deviation.prior)
        both = maker.add(ir.Complement(maker.name("both"), maker.add(chance)))
        label = maker.add(ir.Threshold(maker.name("label"), mean, True, 1, 0))
        return Answer(kind, svm.labels, None, 0, both, label, svm.label_rule)

    def value(self, scores: Scores) -> str:
        """Scores as a value of the head."""
        if isinstance(scores, str):
            return scores
        if scores not in self.picks:
            self.picks[scores] = self.maker.name("picked")
        return self.picks[scores]

    def label(self, answer: Answer) -> str:
        """The label that an answer gives, as a value of the head."""
        if answer.label:
            return answer.label
        assert answer.labels, "a regressor has no label"
        rule, name = answer.rule.value, self.maker.name("label")
        if rule == "vote":
            return self.maker.add(ir.Vote(name, self.value(answer.sums), len(answer.labels)))
        if rule == "argmax":
            assert answer.scores is not None
            return self.maker.add(ir.ArgMax(name, self.value(answer.scores)))
        return self.maker.add(ir.Threshold(name, self.value(answer.sums), *THRESHOLDS[rule]))

    def beside(self, all_scores: Sequence[Scores]) -> Scores:
        """Scores one after the other."""
        if all(isinstance(scores, tuple) for scores in all_scores):
            return tuple(column for scores in all_scores for column in scores)  # type: ignore[misc]
        return self.maker.beside("beside", [self.value(scores) for scores in all_scores])

    def some(self, scores: Scores, columns: Sequence[int]) -> Scores:
        """Some columns of scores."""
        if isinstance(scores, tuple):
            return tuple(scores[column] for column in columns)
        return self.maker.columns("some", scores, columns)

    def turn(self, columns: Columns) -> None:
        """From now on these sums have the opposite sign."""
        for column in columns:
            self.signs[column] *= -1

    def rescale(self, columns: Columns, factor: float, offset: float) -> None:
        """From now on these sums, which nothing else reads, are times a factor, plus an offset."""
        at = 0
        for index, machine in enumerate(self.machines):
            own = np.isin(np.arange(at, at + machine.n_sums), columns)
            factors, at = np.where(own, factor, 1.0), at + machine.n_sums
            weights, bias = machine.coefficients * factors[:, None], machine.intercepts * factors
            changed: Any = {"coefficients": weights, "intercepts": bias + np.where(own, offset, 0.0)}
            self.machines[index] = replace(machine, **changed) if own.any() else machine

    def finish(self, answer: Answer) -> SVM:
        """The SVM that gives the answer."""
        machines, place = merged(self._turned(), bool(answer.labels and answer.labels.targets))
        scores = None if answer.scores is None else self.value(answer.scores)
        picked = {name: [place[column] for column in columns] for columns, name in self.picks.items()}
        head = self._head(answer, scores, picked, len(place))
        alone = machines[0] if len(machines) == 1 else _composite(machines)
        whole = replace(alone, labels=answer.labels, platt=None, link=Link.NONE, one_vs_rest_scores=False)
        plain = head.outputs[0].value == SUMS and answer.probabilities is None and not alone.counts
        if plain and answer.rule is not LabelRule.HEAD:
            return replace(whole, label_rule=answer.rule)
        return replace(whole, label_rule=LabelRule.HEAD if answer.labels else LabelRule.NONE, head=head)

    def _turned(self) -> list[SVM]:
        """The machines with the signs that were asked for."""
        made, at = [], 0
        for machine in self.machines:
            signs = np.array(self.signs[at : at + machine.n_sums], dtype=np.float64)
            at += machine.n_sums
            if (signs < 0).any():
                assert not machine.counts, "sums of pairs are never turned"
                turned = machine.coefficients * signs[:, None]
                machine = replace(machine, coefficients=turned, intercepts=machine.intercepts * signs)
            made.append(machine)
        return made

    def _head(self, answer: Answer, scores: str | None, picked: dict[str, list[int]], width: int) -> Head:
        """The head, without what no output needs."""
        names, maker = dict[str, str](), self.maker
        nodes: list[ir.Node] = []
        for name, columns in picked.items():
            if columns == list(range(width)):
                names[name] = SUMS
            else:
                nodes.append(ir.Pick(name, SUMS, maker.indices("columns", columns)))
        nodes += [renamed(node, names) for node in maker.nodes]
        values: dict[OutputName, str | None] = {"value": scores}
        if answer.labels is not None:
            values = {"scores": scores, "label": answer.label, "probabilities": answer.probabilities}
        outputs = [Output(key, names.get(v, v)) for key, v in values.items() if v is not None]
        return Head(tuple(nodes), maker.tables, tuple(outputs)).pruned()


def _composite(machines: list[SVM]) -> SVM:
    """An SVM of parts: without vectors of its own."""
    intercepts = np.concatenate([part.intercepts for part in machines])
    numbers: Any = {"vectors": machines[0].vectors[:0], "intercepts": intercepts}
    none = np.zeros((len(intercepts), 0))
    return replace(machines[0], **numbers, coefficients=none, counts=(), parts=tuple(machines))


def merged(machines: list[SVM], collapses: bool = False) -> tuple[list[SVM], list[int]]:
    """Fewer machines, and where each sum of the given ones, taken in a row, is among theirs.

    Linear ones may be hundreds; they are put together whatever their vectors, if they are to collapse.
    """
    machines = _with_shared_fronts(machines)
    starts = np.cumsum([0, *(machine.n_sums for machine in machines)])
    made: list[SVM] = []
    order: list[int] = []  # of the given sums, as the new machines have them
    for group in _groups(machines):
        made += _together([machines[index] for index in group], collapses)
        order += [sum_ for index in group for sum_ in range(starts[index], starts[index + 1])]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return made, place.tolist()


def _with_shared_fronts(machines: list[SVM]) -> list[SVM]:
    """Fronts that are alike become one object, which tells that rows need preparing once."""
    known: dict[str, SVM] = {}
    keys = [digest(machine.front.parts()) for machine in machines]
    return [
        replace(machine, front=known.setdefault(key, machine).front)
        for key, machine in zip(keys, machines, strict=True)
    ]


def _groups(machines: list[SVM]) -> list[list[int]]:
    """The machines by what their kernel sees and is, in the order they come in."""
    groups: dict[object, list[int]] = {}
    for index, machine in enumerate(machines):
        key = (machine.kernel, id(machine.front), machine.kernel_width, machine.training_points)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _together(machines: list[SVM], collapses: bool) -> list[SVM]:
    """One machine, unless all of them on their own are cheaper."""
    if len(machines) == 1:
        return machines
    every = [machine.vectors for machine in machines]
    sparse = any(machine.is_sparse for machine in machines)
    vectors, rows = _distinct_sparse(every) if sparse else _distinct(np.concatenate(every))
    n_sums = sum(machine.n_sums for machine in machines)
    is_one_vector = collapses and machines[0].kernel.kind == "linear"
    if not is_one_vector and _flops(machines[0], len(vectors), n_sums) > sum(
        _flops(machine, machine.n_vectors, len(machine.coefficients)) for machine in machines
    ):
        return machines
    coefficients = np.zeros((n_sums, len(vectors)))
    at = first = 0
    for machine in machines:
        own = rows[first : first + machine.n_vectors]
        np.add.at(coefficients[at : at + machine.n_sums].T, own, machine.weights_by_sum.T)
        at, first = at + machine.n_sums, first + machine.n_vectors
    intercepts = np.concatenate([machine.intercepts for machine in machines])
    numbers: Any = {"vectors": vectors, "coefficients": coefficients, "intercepts": intercepts}
    return [replace(machines[0], **numbers, label_rule=LabelRule.HEAD, counts=())]


def _flops(machine: SVM, n_vectors: int, weights: int) -> int:
    return kernel_sum_flops(machine.kernel, n_vectors, machine.kernel_width, weights)


def _distinct_sparse(parts: list[Any]) -> tuple[Any, NDArray[np.intp]]:
    """The same of vectors that are held without their zeros, some perhaps with them."""
    from svmcompile.data.csr import Csr, canonical, stacked

    vectors, known = canonical(stacked([Csr(part) for part in parts])), dict[bytes, int]()
    spans = [slice(*span) for span in pairwise(vectors.indptr.tolist())]
    keys = [vectors.indices[own].tobytes() + vectors.data[own].tobytes() for own in spans]
    place = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)
    _, first = np.unique(place, return_index=True)
    return vectors[first], place


def _distinct(vectors: Array) -> tuple[Array, NDArray[np.intp]]:
    """The vectors, each once and in the order they come in, and where each of the given ones is."""
    _, first, inverse = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vectors[first[order]], rank[inverse.reshape(-1)]
