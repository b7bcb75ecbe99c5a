"""Stacks of scikit-learn: the answers of some models are the features of the last."""

from __future__ import annotations

from dataclasses import replace

from svmcompile.errors import UnsupportedError
from svmcompile.ir.program import OutputName
from svmcompile.model.answers import answer_front
from svmcompile.model.front import IDENTITY, Front, join
from svmcompile.model.svm import SVM
from svmcompile.read.sklearn.assembly import Answer, Assembly
from svmcompile.read.sklearn.ensembles import members
from svmcompile.read.sklearn.fitted import Fitted

METHODS: dict[str, OutputName] = {
    "predict_proba": "probabilities", "decision_function": "scores", "predict": "label",
}  # fmt: skip


def stack(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """StackingClassifier and StackingRegressor."""
    estimators, methods = members(fitted), members(fitted, "stack_method_")
    if len(methods) != len(estimators):
        raise fitted.damaged("stack_method_ does not name a method for each estimator")
    machines = [assembly.whole(one) for one in estimators]
    fronts = [_answers(fitted, *one) for one in zip(machines, methods, strict=True)]
    width = machines[0].n_features
    if fitted.flag("passthrough"):
        fronts.append(IDENTITY)
    stacked = fronts[0] if len(fronts) == 1 else join(fronts, width)
    last = assembly.read(fitted.get("final_estimator_"), front.then(stacked))
    kind = f"{fitted.role}({last.kind})"
    if last.labels is None:
        return replace(last, kind=kind)
    labels = fitted.labels()  # the last model knows them by their numbers
    if list(last.labels.values) != list(range(len(labels))):
        raise UnsupportedError(
            f"{fitted.place}: its last estimator was trained with other classes; fit it again"
        )
    return replace(last, kind=kind, labels=labels, label=assembly.label(last))


def _answers(fitted: Fitted, svm: SVM, method: object) -> Front:
    if not isinstance(method, str) or method not in METHODS:
        raise fitted.damaged(f"stack_method_ has {method!r:.40}")
    output: OutputName = "value" if svm.labels is None else METHODS[method]
    if svm.deviation is not None and output == "probabilities":
        raise UnsupportedError(
            f"{fitted.place}: probabilities of a Gaussian process cannot be compiled in a stack"
        )
    if any(machine.kernel.kind == "precomputed" for machine in svm.machines):
        raise UnsupportedError(f"{fitted.place}: a precomputed kernel in a stack cannot be compiled")
    classes = len(svm.labels or ())
    if output == "probabilities":
        if not svm.has_probabilities:
            raise fitted.damaged("an estimator in it gives no probabilities")
        return answer_front(svm, output, classes if classes > 2 else 1)
    if output == "scores":
        count = classes if svm.one_vs_rest_scores else svm.n_sums
        return answer_front(svm, output, count if svm.head is None else (classes if classes > 2 else 1))
    return answer_front(svm, output, 1 if output == "label" else svm.n_values)
