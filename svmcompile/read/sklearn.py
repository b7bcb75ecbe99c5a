"""scikit-learn: a fitted estimator, alone or at the end of a Pipeline of transformers, becomes an SVM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import kernel_machines, linear_machines
from svmcompile.read.fitted import Fitted
from svmcompile.read.roles import from_sklearn, role
from svmcompile.read.transformers import COMBINED, MAX_DEPTH, PIPELINE, TRANSFORMERS, is_idle, steps_of
from svmcompile.steps import step_parts
from svmcompile.svm import SVM, Source, digest

MACHINES = kernel_machines.MACHINES | linear_machines.MACHINES

SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
WAYS_OUT = {
    **dict.fromkeys(SEARCHES, "compile its best_estimator_"),
    **dict.fromkeys(("dict", "list", "tuple"), "pass the estimator in it"),
    "OneVsRestClassifier": "compile its estimators_ one by one, or train an SVC or LinearSVC",
    "OneVsOneClassifier": "train an SVC, which is one-vs-one by itself",
    "CalibratedClassifierCV": "compile the SVM within it, without its probabilities",
    "SGDClassifier": "train a LinearSVC",
    "SGDOneClassSVM": "train a OneClassSVM with kernel='linear'",
    "svm_model": "save it with svm_save_model and pass the file",
}


def read_estimator(estimator: object, where: str) -> SVM:
    """The SVM an estimator holds; its sha256 is over the parts that decide what it computes."""
    members = _chain(estimator, where, MAX_DEPTH)
    if not members:
        raise UnsupportedError(f"{where}: the pipeline has no steps; {_supported()}")
    machine = _fitted(members[-1], MACHINES, where)
    before = [_transformer(member, where) for member in members[:-1]]
    steps = tuple(step for member in before for step in steps_of(member.estimator, where))
    svm = MACHINES[machine.role](machine)
    svm = replace(
        svm,
        steps=steps,
        feature_names=_feature_names([*before, machine]),
        notes=svm.notes + _overrides(machine),
    ).check(where)
    kind = _kind(estimator, [*before, machine])
    return replace(svm, source=Source(kind, digest(_parts(svm) | {"kind": kind})))


def _chain(estimator: object, where: str, depth: int) -> list[object]:
    """The estimators in the order rows meet them, pipelines opened and idle steps dropped."""
    if role(estimator, (PIPELINE,)) is None:
        return [estimator]
    steps = Fitted(estimator, PIPELINE, where).get("steps")
    if depth == 0 or not isinstance(steps, (list, tuple)):
        raise ReadError(f"{where}: the pipeline's steps are not a list, or nested too deep")
    if not all(isinstance(step, (list, tuple)) and len(step) == 2 for step in steps):
        raise ReadError(f"{where}: the pipeline's steps are not pairs of a name and an estimator")
    active = [step for _, step in steps if not is_idle(step)]
    return [member for step in active for member in _chain(step, where, depth - 1)]


def _transformer(member: object, where: str) -> Fitted:
    """A member that comes before the last, which cannot be an SVM."""
    if role(member, MACHINES):
        raise _unsupported(member, where)
    return Fitted(member, role(member, [*TRANSFORMERS, *COMBINED]) or type(member).__name__, where)


def _fitted(estimator: object, table: Iterable[str], where: str) -> Fitted:
    found = role(estimator, table)
    if found is None:
        raise _unsupported(estimator, where)
    return Fitted(estimator, found, where)


def _unsupported(estimator: object, where: str) -> UnsupportedError:
    name = type(estimator).__name__
    place = "" if where == name else f"{where}: "
    if isinstance(estimator, type):
        return UnsupportedError(f"{place}{estimator.__name__} is a class; pass a fitted estimator")
    if role(estimator, MACHINES):
        return UnsupportedError(f"{place}{name} must be the last step of its pipeline; {_supported()}")
    if role(estimator, [*TRANSFORMERS, *COMBINED]):
        return UnsupportedError(f"{place}{name} is a transformer, with no SVM behind it; {_supported()}")
    way_out = WAYS_OUT.get(name)
    advice = f"{way_out}; " if way_out else ""
    return UnsupportedError(f"{place}{name} cannot be compiled; {advice}{_supported()}")


def _supported() -> str:
    return (
        f"supported are {', '.join(MACHINES)}, alone or in a Pipeline behind {', '.join(TRANSFORMERS)} "
        f"and combinations of these by {', '.join(COMBINED[1:])}; "
        "any other transformation can be applied to the rows before the compiled model"
    )


def _kind(estimator: object, members: list[Fitted]) -> str:
    names = ", ".join(member.role for member in members)
    return f"scikit-learn {f'Pipeline({names})' if role(estimator, (PIPELINE,)) else names}"


def _feature_names(members: list[Fitted]) -> tuple[str, ...]:
    """Column names as the first step that knows them saw them."""
    for member in members:
        names = member.optional("feature_names_in_")
        if names is None:
            continue
        values = names.tolist() if isinstance(names, np.ndarray) else names
        if not isinstance(values, (list, tuple)) or not all(isinstance(name, str) for name in values):
            raise member.damaged("feature_names_in_ is not a list of strings")
        return tuple(str(name) for name in values)
    return ()


def _overrides(machine: Fitted) -> tuple[str, ...]:
    """A note where a subclass has its own idea of what the model computes."""
    own = []
    for base in type(machine.estimator).__mro__:
        if base.__name__ == machine.role and from_sklearn(base):
            break
        own += [name for name in ("predict", "decision_function") if name in vars(base)]
    if not own:
        return ()
    name = type(machine.estimator).__name__
    return (f"{name} overrides {' and '.join(own)}; the compiled model follows {machine.role}",)


def _parts(svm: SVM) -> dict[str, object]:
    """What the digest is over: everything but the origin and the notes."""
    parts: dict[str, object] = {f.name: getattr(svm, f.name) for f in fields(svm)}
    for name in ("source", "notes", "steps", "platt"):
        del parts[name]
    parts |= step_parts(svm.steps)
    if svm.platt:
        parts |= {"platt_a": svm.platt[0], "platt_b": svm.platt[1]}
    return parts
