"""Classifiers of scikit-learn that give a row several labels: a fitted one in, its answer out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Labels
from svmcompile.model.front import Front
from svmcompile.model.svm import LabelRule, Link
from svmcompile.read.sklearn.assembly import Answer, Assembly
from svmcompile.read.sklearn.ensembles import CONSTANT, kind_of, members
from svmcompile.read.sklearn.fitted import Fitted, role

SIGNS = (LabelRule.POSITIVE_SECOND, LabelRule.NEGATIVE_FIRST)


def is_indicator(fitted: Fitted, binarizer: object) -> bool:
    """Whether an estimator's LabelBinarizer was fitted on a matrix of zeros and ones."""
    kind = getattr(binarizer, "y_type_", None)
    if not isinstance(kind, str):
        raise fitted.damaged("its LabelBinarizer does not tell what it was fitted on")
    return kind.startswith("multilabel")


def indicator_labels(count: int) -> Labels:
    """0 or 1 for each target."""
    return Labels((0, 1), np.dtype(np.int64).str, ((0, 1),) * count)


def indicator_rest(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """OneVsRestClassifier of an indicator matrix: every label on its own, by its score or probability."""
    estimators = members(fitted)
    known = [None if role(one, (CONSTANT,)) else assembly.read(one, front) for one in estimators]
    usual = [one for one in known if one is not None]
    for one in usual:
        _check_classifier(fitted, one, 2)
    if not usual:
        raise UnsupportedError(
            f"{fitted.place}: gives every row the same labels; there is nothing to compute"
        )
    pairs = zip(known, estimators, strict=True)
    answers = [one or _constant(fitted, always, usual[0], assembly) for one, always in pairs]
    chances, told = _seconds(answers, assembly), [one.scores for one in answers if one.scores is not None]
    scores = assembly.beside(told) if len(told) == len(answers) else None
    decided = scores if scores is not None else chances
    if decided is None:
        raise fitted.damaged("its estimators give neither scores nor probabilities")
    # The first estimator tells what all are held against, and one that saw a single class is no classifier.
    limit = 0.0 if known[0] and known[0].scores is not None else 0.5
    label = assembly.maker.above(assembly.value(decided), limit)
    rule = LabelRule.HEAD if limit else LabelRule.EACH
    labels, kind = indicator_labels(len(answers)), kind_of(fitted, usual)
    return Answer(kind, labels, scores, len(answers), chances, label, rule)


def _seconds(answers: list[Answer], assembly: Assembly) -> str | None:
    """The probability of the second class of each answer, where all have one."""
    if all(one.is_logistic for one in answers):
        scores = assembly.value(assembly.beside([one.scores or () for one in answers]))
        return assembly.maker.logistic(assembly.maker.name("chances"), scores, len(answers))
    chances = [assembly.some(one.probabilities, [1]) for one in answers if one.probabilities is not None]
    return assembly.value(assembly.beside(chances)) if len(chances) == len(answers) else None


def _constant(fitted: Fitted, always: object, like: Answer, assembly: Assembly) -> Answer:
    """What scikit-learn puts where all rows have a label, or none has: a machine that weighs nothing."""
    said = Fitted(always, CONSTANT, fitted.where).numbers("y_", 1)
    if said.shape != (1,) or said[0] not in (0.0, 1.0):
        raise fitted.damaged(f"an estimator that saw one class says {said!r:.40}")
    maker, machine = assembly.maker, assembly.machines[0]
    numbers: Any = {"coefficients": np.zeros((1, machine.n_vectors)), "intercepts": said}
    answer = assembly.machine(
        replace(
            machine, **numbers, counts=(), platt=None, labels=None, label_rule=LabelRule.POSITIVE_SECOND,
            link=Link.NONE, one_vs_rest_scores=False,
        ),
        CONSTANT,
    )  # fmt: skip
    if like.probabilities is None:
        return answer
    assert answer.scores is not None
    tables = maker.table("constant_weights", [[-1.0], [1.0]]), maker.table("constant_bias", [1.0, 0.0])
    chances = ir.Blend(maker.name("constant"), assembly.value(answer.scores), *tables, True)
    return replace(answer, probabilities=maker.add(chances))


def multi_output_classifier(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """MultiOutputClassifier: a classifier for each target, which has classes of its own."""
    answers = [assembly.read(one, front) for one in members(fitted)]
    for one in answers:
        _check_classifier(fitted, one)
    if len(answers) == 1:
        raise UnsupportedError(f"{fitted.place}: has a single target; compile its estimators_[0]")
    labels = _all_classes(fitted, answers)
    if all(one.probabilities is not None for one in answers):
        chances = assembly.maker.beside("probabilities", [one.probabilities or "" for one in answers])
    else:
        chances = None
    return Answer(kind_of(fitted, answers), labels, None, 0, chances, _labels(answers, labels, assembly))


def _labels(answers: list[Answer], labels: Labels, assembly: Assembly) -> str:
    """The labels of all targets; one comparison where signs of scores decide on the same two classes."""
    rules = {one.rule for one in answers}
    alike = len({*labels.targets}) == 1 == len(rules) and rules <= {*SIGNS}
    if alike and not any(one.label for one in answers):
        sums = assembly.value(assembly.beside([one.sums or one.scores or () for one in answers]))
        return assembly.maker.above(sums, reached=rules == {LabelRule.NEGATIVE_FIRST})
    return assembly.maker.label_rows([assembly.label(one) for one in answers], labels.targets)


def _all_classes(fitted: Fitted, answers: list[Answer]) -> Labels:
    """The classes of all targets, each once, of the type that scikit-learn gives a matrix of them."""
    classes = np.concatenate([one.labels.array() for one in answers if one.labels])
    places = {value: at for at, value in enumerate(dict.fromkeys(classes.tolist()))}
    ends = np.cumsum([len(one.labels or ()) for one in answers])[:-1]
    targets = tuple(tuple(places[value] for value in own.tolist()) for own in np.split(classes, ends))
    return replace(Labels.of(np.array([*places], dtype=classes.dtype), fitted.place), targets=targets)


def _check_classifier(fitted: Fitted, answer: Answer, classes: int = 0) -> None:
    known = 0 if answer.labels is None or answer.rule is LabelRule.NONE else len(answer.labels)
    if known < 2 or (classes and known != classes):
        what = "two classes" if classes else "classes"
        raise UnsupportedError(
            f"{fitted.place}: holds {answer.kind}, which does not tell {what} apart; put a classifier in it"
        )
