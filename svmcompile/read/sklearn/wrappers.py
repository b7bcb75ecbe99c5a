"""Wrappers of scikit-learn: a fitted one in, the answer it makes of those of its estimators out.

A new wrapper is one function and one line in WRAPPERS; one that only holds another estimator, such as a
search, is one line in HOLDERS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Labels
from svmcompile.model.front import Front
from svmcompile.model.head import HeadMaker
from svmcompile.model.svm import LabelRule
from svmcompile.read.sklearn.assembly import Answer, Assembly, Scores
from svmcompile.read.sklearn.ensembles import (
    ada_boost,
    bagging_classifier,
    bagging_regressor,
    multi_output,
    output_code,
    transformed_target,
    voting_classifier,
    voting_regressor,
)
from svmcompile.read.sklearn.fitted import Fitted, role
from svmcompile.read.sklearn.stacking import stack
from svmcompile.read.sklearn.targets import (
    indicator_rest,
    is_indicator,
    multi_output_classifier,
)

SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
HOLDERS = {
    **dict.fromkeys(SEARCHES, "best_estimator_"),
    "FrozenEstimator": "estimator",
    "GaussianProcessClassifier": "base_estimator_",
}
SIGMOID, ISOTONIC, TEMPERATURE = "_SigmoidCalibration", "IsotonicRegression", "_TemperatureScaling"


def held(fitted: Fitted) -> object:
    """The estimator that a holder predicts with."""
    name = HOLDERS[fitted.role]
    if name == "base_estimator_":
        fitted.require(name)
    if fitted.role in SEARCHES and fitted.optional(name) is None:
        raise UnsupportedError(
            f"{fitted.place}: has no best_estimator_; fit it, with refit=True, or fit the estimator itself"
        )
    found: object = fitted.get(name)
    return found


def one_vs_rest(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """Every class against all others: the largest response wins, unless a row may have several labels."""
    fitted.require("estimators_")
    if is_indicator(fitted, fitted.get("label_binarizer_")):
        return indicator_rest(fitted, front, assembly)
    labels = fitted.labels()
    answers = _answers(fitted, front, assembly, 1 if len(labels) == 2 else len(labels))
    kind = _kind(fitted, answers)
    probabilities, response = _rest_probabilities(assembly, answers)
    if any(answer.scores is None for answer in answers):
        if probabilities is None or response is None:
            raise fitted.damaged("its estimators give neither scores nor probabilities")
        return Answer(kind, labels, None, 0, probabilities, assembly.maker.largest(response))
    scores = assembly.beside([answer.scores for answer in answers if answer.scores is not None])
    rule = LabelRule.POSITIVE_SECOND if len(labels) == 2 else LabelRule.ARGMAX
    label = _decided(assembly, scores, rule)
    return Answer(kind, labels, scores, len(answers), probabilities, label, rule)


def _rest_probabilities(assembly: Assembly, answers: list[Answer]) -> tuple[str | None, str | None]:
    """Probabilities of the classes, and those that labels are taken from where there are no scores."""
    maker = assembly.maker
    seconds = [
        assembly.some(answer.probabilities, [1]) for answer in answers if answer.probabilities is not None
    ]
    if len(seconds) < len(answers):
        return None, None
    own = assembly.value(assembly.beside(seconds))
    if len(answers) == 1:
        both = maker.add(ir.Complement(maker.name("both"), own))
        return both, both
    return maker.add(ir.Shares(maker.name("probabilities"), own, 1, 0.0)), own


def _decided(assembly: Assembly, scores: Scores, rule: LabelRule) -> str:
    value, maker = assembly.value(scores), assembly.maker
    if rule is LabelRule.ARGMAX:
        return maker.largest(value)
    return maker.add(ir.Threshold(maker.name("label"), value, True, 1, 0))


def one_vs_one(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """Every pair of classes on its own: votes, and a share below one from the scores."""
    fitted.require("estimators_")
    if fitted.optional("pairwise_indices_") is not None:
        raise UnsupportedError(
            f"{fitted.place}: with a precomputed kernel, each pair sees columns of its own, which cannot "
            "be compiled; train an SVC, which is one-vs-one by itself"
        )
    labels = fitted.labels()
    k = len(labels)
    answers = _answers(fitted, front, assembly, k * (k - 1) // 2)
    if len({answer.zero_is_second for answer in answers}) != 1:
        raise fitted.damaged("its estimators are not of one class")
    columns = [column for answer in answers for column in _raw(fitted, answer)]
    votes = _votes_of_second if answers[0].zero_is_second else _votes_of_first
    by_class: Scores = votes(assembly, columns, k)
    if k == 2:
        score = assembly.some(by_class, [1])
        label = _decided(assembly, score, LabelRule.POSITIVE_SECOND)
        return Answer(_kind(fitted, answers), labels, score, 1, None, label)
    label = _decided(assembly, by_class, LabelRule.ARGMAX)
    return Answer(_kind(fitted, answers), labels, by_class, k, None, label)


def _raw(fitted: Fitted, answer: Answer) -> tuple[int, ...]:
    """The one sum that a pair's estimator decides by."""
    if isinstance(answer.scores, tuple) and answer.n_scores == 1:
        return answer.scores
    raise UnsupportedError(
        f"{fitted.place}: votes of {answer.kind} cannot be compiled; put the OneVsOneClassifier inside "
        "and the other wrapper around it, or train an SVC, which is one-vs-one by itself"
    )


def _votes_of_first(assembly: Assembly, columns: Sequence[int], k: int) -> str:
    """A score of zero votes for the first class: so do sums of the opposite sign in `OvrScores`."""
    assembly.turn(tuple(columns))
    maker = assembly.maker
    return maker.add(ir.OvrScores(maker.name("scores"), assembly.value(tuple(columns)), k))


def _votes_of_second(assembly: Assembly, columns: Sequence[int], k: int) -> str:
    """A score of zero votes for the second class, which is the first if classes are counted backwards."""
    pairs, maker = pair_indices(k), assembly.maker
    backwards = tuple(columns[pairs.index((k - 1 - j, k - 1 - i))] for i, j in pairs)
    scores = maker.add(ir.OvrScores(maker.name("backwards"), assembly.value(backwards), k))
    return maker.columns("scores", scores, np.arange(k)[::-1])


def _answers(fitted: Fitted, front: Front, assembly: Assembly, count: int) -> list[Answer]:
    """The answers of a wrapper's estimators, each of two classes."""
    estimators = fitted.get("estimators_")
    if not isinstance(estimators, (list, tuple)) or len(estimators) != count:
        raise fitted.damaged(f"estimators_ is not a list of {count}")
    answers = [assembly.read(estimator, front) for estimator in estimators]
    for answer in answers:
        if answer.labels is None or len(answer.labels) != 2 or answer.rule is LabelRule.NONE:
            raise UnsupportedError(
                f"{fitted.place}: holds {answer.kind}, which does not tell two classes apart; "
                "use it around a classifier"
            )
    return answers


def _kind(fitted: Fitted, answers: list[Answer]) -> str:
    return f"{fitted.role}({answers[0].kind})"


def calibrated_classifier(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """The mean of calibrated estimators; the most probable class wins."""
    fitted.require("calibrated_classifiers_")
    members = fitted.get("calibrated_classifiers_")
    if not isinstance(members, (list, tuple)) or not members:
        raise fitted.damaged("calibrated_classifiers_ is not a list of estimators")
    labels, maker = fitted.labels(), assembly.maker
    parts = [Fitted(member, "_CalibratedClassifier", fitted.where) for member in members]
    answers = [assembly.read(part.get("estimator"), front) for part in parts]
    if parts[0].optional("method") == "temperature":
        each = [
            _tempered(part, answer, labels, assembly) for part, answer in zip(parts, answers, strict=True)
        ]
        probabilities = maker.beside("members", each)
        if len(each) > 1:
            probabilities = maker.add(ir.Mean(maker.name("probabilities"), probabilities, len(each)))
        return Answer(_kind(fitted, answers), labels, None, 0, probabilities, maker.largest(probabilities))
    responses = [_response(fitted, answer, labels, assembly) for answer in answers]
    probabilities = calibrated(parts, assembly.value(assembly.beside(responses)), len(labels), maker)
    if len(labels) == 2:
        probabilities = maker.add(ir.Complement(maker.name("both"), probabilities))
    else:
        shares = ir.Shares(maker.name("shares"), probabilities, len(parts), 1 / len(labels))
        probabilities = maker.add(shares)
    if len(parts) > 1:
        probabilities = maker.add(ir.Mean(maker.name("probabilities"), probabilities, len(parts)))
    return Answer(_kind(fitted, answers), labels, None, 0, probabilities, maker.largest(probabilities))


def _tempered(part: Fitted, answer: Answer, labels: Labels, assembly: Assembly) -> str:
    """The softmax of a member's scores over a temperature; of two classes these are -x and x."""
    found = part.get("calibrators")
    if not isinstance(found, (list, tuple)) or len(found) != 1 or role(found[0], (TEMPERATURE,)) is None:
        raise part.damaged("calibrators is not a list of one calibration by temperature")
    factor = Fitted(found[0], TEMPERATURE, part.where).number("beta_")
    if not 0 < factor < np.inf:
        raise part.damaged(f"beta_ is {factor}, not above zero")
    if answer.scores is None:
        raise UnsupportedError(
            f"{part.where}: calibration by temperature of {answer.kind}, which gives probabilities alone, "
            "cannot be compiled; use method='sigmoid' or 'isotonic'"
        )
    if answer.labels and list(answer.labels.values) == list(range(len(labels))):
        answer = replace(answer, labels=labels)  # classes of text were numbered
    maker, scores = assembly.maker, assembly.value(_response(part, answer, labels, assembly))
    if len(labels) > 2:
        return maker.add(ir.Softmax(maker.name("tempered"), scores, factor))
    slopes, offsets = maker.table("slopes", [-2 * factor]), maker.table("offsets", [0.0])
    chance = maker.add(ir.Sigmoid(maker.name("tempered"), scores, slopes, offsets, 0.0))
    return maker.add(ir.Complement(maker.name("both"), chance))


def _response(fitted: Fitted, answer: Answer, labels: Labels, assembly: Assembly) -> Scores:
    """What one member is calibrated by: a column for two classes, else as many as there are classes."""
    if answer.labels != labels:
        raise UnsupportedError(
            f"{fitted.place}: an estimator in it was trained without some of the classes, which cannot be "
            "compiled; use a cv that keeps all classes in every fold, such as StratifiedKFold"
        )
    wanted = 1 if len(labels) == 2 else len(labels)
    if answer.scores is not None:
        if answer.n_scores < wanted:
            raise fitted.damaged(f"{answer.kind} gives fewer than {wanted} scores")
        whole = answer.n_scores == wanted
        return answer.scores if whole else assembly.some(answer.scores, range(wanted))
    assert answer.probabilities is not None, "an estimator gives scores or probabilities"
    return assembly.some(answer.probabilities, [1]) if wanted == 1 else answer.probabilities


def calibrated(members: list[Fitted], responses: str, n_classes: int, maker: HeadMaker) -> str:
    """Probabilities of the members' responses, column by column."""
    count = 1 if n_classes == 2 else n_classes
    calibrators = [one for member in members for one in _calibrators(member, count)]
    roles = {calibrator.role for calibrator in calibrators}
    if len(roles) != 1:
        raise members[0].damaged("the calibrators are not all of one class")
    make = _sigmoids if roles == {SIGMOID} else _isotonics
    return make(calibrators, responses, maker)


def _calibrators(member: Fitted, count: int) -> list[Fitted]:
    found = member.get("calibrators")
    if not isinstance(found, (list, tuple)) or len(found) != count:
        raise member.damaged(f"calibrators is not a list of {count}")
    return [_calibrator(one, member.where) for one in found]


def _calibrator(one: object, where: str) -> Fitted:
    name = role(one, (SIGMOID, ISOTONIC))
    if name is None:
        raise UnsupportedError(
            f"{where}: the calibrator {type(one).__name__} cannot be compiled; "
            "use method='sigmoid' or 'isotonic'"
        )
    return Fitted(one, name, where)


def _sigmoids(calibrators: list[Fitted], responses: str, maker: HeadMaker) -> str:
    slopes, offsets = ([one.number(name) for one in calibrators] for name in ("a_", "b_"))
    if not np.isfinite([slopes, offsets]).all():
        raise calibrators[0].damaged("a_ or b_ is not finite")
    a, b = maker.table("sigmoid_a", slopes), maker.table("sigmoid_b", offsets)
    return maker.add(ir.Sigmoid(maker.name("calibrated"), responses, a, b, 0.0))


def _isotonics(calibrators: list[Fitted], responses: str, maker: HeadMaker) -> str:
    lines = [_line(one) for one in calibrators]
    starts = np.cumsum([0, *(len(knots) for knots, _ in lines)])
    name, first = maker.name("calibrated"), maker.indices("starts", starts)
    knots = maker.table("knots", np.concatenate([knots for knots, _ in lines]))
    levels = maker.table("levels", np.concatenate([levels for _, levels in lines]))
    return maker.add(ir.Isotonic(name, responses, first, knots, levels))


def _line(one: Fitted) -> tuple[Array, Array]:
    """Knots and levels; a single knot becomes a short level line."""
    one.require("X_thresholds_")
    if one.optional("out_of_bounds") != "clip":
        raise one.damaged("out_of_bounds is not 'clip'")
    knots, levels = one.numbers("X_thresholds_", 1), one.numbers("y_thresholds_", 1)
    steps = np.diff(levels)
    sound = (
        0 < len(knots) == len(levels)
        and np.isfinite([knots, levels]).all()
        and (np.diff(knots) > 0).all()
        and ((levels >= 0) & (levels <= 1)).all()
        and ((steps >= 0).all() or (steps <= 0).all())
    )
    if not sound:
        raise one.damaged("X_thresholds_ and y_thresholds_ are not knots of a rising or falling line")
    if len(knots) == 1:
        return np.array([knots[0], np.nextafter(knots[0], np.inf)]), np.repeat(levels, 2)
    return knots, levels


WRAPPERS: dict[str, Callable[[Fitted, Front, Assembly], Answer]] = {
    "OneVsRestClassifier": one_vs_rest,
    "OneVsOneClassifier": one_vs_one,
    "CalibratedClassifierCV": calibrated_classifier,
    "VotingClassifier": voting_classifier,
    "BaggingClassifier": bagging_classifier,
    "AdaBoostClassifier": ada_boost,
    "OutputCodeClassifier": output_code,
    "StackingClassifier": stack,
    "StackingRegressor": stack,
    "VotingRegressor": voting_regressor,
    "BaggingRegressor": bagging_regressor,
    "MultiOutputRegressor": multi_output,
    "MultiOutputClassifier": multi_output_classifier,
    "TransformedTargetRegressor": transformed_target,
}
