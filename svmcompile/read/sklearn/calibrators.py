"""Calibrators of scikit-learn's CalibratedClassifierCV: those of all members in, nodes of a head out."""

from __future__ import annotations

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.model.head import HeadMaker
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.roles import role

SIGMOID, ISOTONIC = "_SigmoidCalibration", "IsotonicRegression"


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
    if member.optional("method") == "temperature":
        raise UnsupportedError(
            f"{member.where}: calibration by temperature cannot be compiled; "
            "use method='sigmoid' or 'isotonic'"
        )
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
    return maker.add(
        ir.Isotonic(
            maker.name("calibrated"),
            responses,
            maker.indices("starts", starts),
            maker.table("knots", np.concatenate([knots for knots, _ in lines])),
            maker.table("levels", np.concatenate([levels for _, levels in lines])),
        )
    )


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
