"""Estimators of scikit-learn: one that compiles what it fits, and the trained tree of local SVMs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.api import build, train
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.program import Program

_DEFAULT = TrainOptions()


def _if_given(name: str) -> Callable[[Any], bool]:
    """Whether the compiled model, or before `fit` the estimator, has a method."""
    return lambda own: hasattr(getattr(own, "model_", own.estimator), name)


class Compiled(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that fits an SVM, compiles it, and predicts with the compiled code.

    Cross-validate it to score what you will run:
    `cross_val_score(sc.Compiled(SVC(), method="linear"), X, y)`. `estimator` is an SVM, or a pipeline that
    ends in one; `options` are those of the `method`, as a dictionary. `fit` passes its rows to the
    method, if that needs data. Then `estimator_` is the SVM, `model_` what `build` makes of it, `program_`
    the program, for `emit`.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "exact",
        options: Mapping[str, Any] | None = None,
        precision: str | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.estimator, self.method, self.options = estimator, method, options
        self.precision, self.n_jobs = precision, n_jobs

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Compiled:
        """Fit a clone of the estimator and compile it."""
        self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        self.model_ = build(
            self.estimator_, X, y, method=self.method, precision=self.precision, n_jobs=self.n_jobs,
            **(self.options or {}),
        )  # fmt: skip
        return self

    @property
    def program_(self) -> Program:
        """The program that was compiled."""
        return self._fitted().form.program

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self._fitted().classes_

    @property
    def n_features_in_(self) -> int:
        """How many features a row has."""
        return self._fitted().n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, where `fit` was given a frame."""
        return self._fitted().feature_names_in_

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or values of a regressor."""
        return self._fitted().predict(self._rows(X))

    @available_if(_if_given("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores in the original's shape."""
        return self._fitted().decision_function(self._rows(X))

    @available_if(_if_given("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes."""
        return self._fitted().predict_proba(self._rows(X))

    @available_if(_if_given("predict_proba"))
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        return self._fitted().predict_log_proba(self._rows(X))

    @available_if(_if_given("score_samples"))
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Raw scores of a one-class SVM."""
        return self._fitted().score_samples(self._rows(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor."""
        return self._fitted().score(self._rows(X), y, sample_weight)

    def _rows(self, X: Any) -> Any:
        """Rows by scikit-learn's own checks: features as in `fit`, no NaN that nothing fills in.

        Columns of text are checked by the model.
        """
        if self.program_.categories:
            return X
        fills = any(node.fills and getattr(node, "nan", False) for node in self.program_.body)
        return _validated(self, X, accept_sparse="csr", finite="allow-nan" if fills else True)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def _estimator_type(self) -> Any:  # for scikit-learn before 1.6
        return getattr(self.estimator, "_estimator_type", None)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        own, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        own.estimator_type, own.classifier_tags = inner.estimator_type, inner.classifier_tags
        own.regressor_tags, own.target_tags = inner.regressor_tags, inner.target_tags
        own.input_tags = inner.input_tags
        return own


class DTSVMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A tree with an SVM in every mixed leaf, after Chang, Guo, Lin and Lu.

    Parameters are the training options of the method `dtsvm` (`svmcompile methods`). `C` and `gamma` are a
    number, several, or text such as "0.1..1e5"; where there are several, held-out rows choose. After `fit`,
    `program_` is the compiled form, of which `svmcompile.emit` makes C or ONNX.
    """

    def __init__(
        self,
        *,
        mode: str = _DEFAULT.mode,
        kernel: str = _DEFAULT.kernel,
        C: Any = str(_DEFAULT.C),  # scikit-learn wants plain defaults
        gamma: Any = str(_DEFAULT.gamma),
        coef0: float = _DEFAULT.coef0,
        degree: int = _DEFAULT.degree,
        ceiling: int = _DEFAULT.ceiling,
        growth: int = _DEFAULT.growth,
        max_ceiling: int = _DEFAULT.max_ceiling,
        top: int = _DEFAULT.top,
        gain: float = _DEFAULT.gain,
        validation: float = _DEFAULT.validation,
        refit: bool = _DEFAULT.refit,
        scale: bool = _DEFAULT.scale,
        min_leaf: int = _DEFAULT.min_leaf,
        iterations: int = _DEFAULT.iterations,
        risk: bool = _DEFAULT.risk,
        seed: int = _DEFAULT.seed,
        jobs: int = _DEFAULT.jobs,
        checkpoint: str = _DEFAULT.checkpoint,
    ) -> None:
        self.mode, self.kernel, self.C, self.gamma = mode, kernel, C, gamma
        self.coef0, self.degree = coef0, degree
        self.ceiling, self.growth, self.max_ceiling = ceiling, growth, max_ceiling
        self.top, self.gain, self.validation, self.refit = top, gain, validation, refit
        self.scale, self.min_leaf, self.iterations = scale, min_leaf, iterations
        self.risk, self.seed, self.jobs, self.checkpoint = risk, seed, jobs, checkpoint

    def fit(self, X: Any, y: Any) -> DTSVMClassifier:
        """Search, train and compile."""
        X, y = _validated(self, X, y, accept_sparse="csr")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        try:
            self.program_ = train(X, y, method="dtsvm", **self.get_params())
        except (OptionError, UnsupportedError) as error:
            raise ValueError(str(error)) from error
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row."""
        check_is_fitted(self)
        return self.program_.predict(_validated(self, X, accept_sparse="csr"))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """One score for two classes, above zero is the second; else one per class, the largest wins.

        With pairs that vote, scores are votes within the leaf, -1 for classes the leaf has never seen.
        """
        check_is_fitted(self)
        return self.program_.decision_function(_validated(self, X, accept_sparse="csr"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _validated(estimator: Any, X: Any, *y: Any, accept_sparse: Any = False, finite: Any = True) -> Any:
    """scikit-learn's own checks, under their name before and after release 1.6."""
    options = {"reset": bool(y), "accept_sparse": accept_sparse}
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(X, *y, force_all_finite=finite, **options)
    return validate_data(estimator, X, *y, ensure_all_finite=finite, **options)
