"""What scikit-learn expects of a fitted estimator, for models that are compiled.

A compiled model is frozen, as in scikit-learn's FrozenEstimator: `fit` leaves it as it is and `clone` gives
it back. Pickles and copies carry the program it was made of, never code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.program import Labels

Method = TypeVar("Method", bound=Callable[..., Any])
Self = TypeVar("Self", bound="FrozenModel")


class NotGivenError(UnsupportedError, AttributeError):
    """A model lacks a method; `hasattr` says so too, which scikit-learn asks before it scores."""


class Given:
    """A method that a model has only if its code gives what the method returns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__func__ = function
        update_wrapper(cast(Any, self), function)

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self.__func__
        if lack := model._lack(self.__func__.__name__):
            raise NotGivenError(f"this model has no {lack}")
        return MethodType(self.__func__, model)


def given(function: Method) -> Method:
    """Marks a method that only some models have."""
    return cast(Method, Given(function))


class FrozenModel(ABC):
    """A compiled model as scikit-learn sees it. What runs it, `predict` and the like are a subclass's."""

    name: str
    labels: Labels | None
    n_features: int
    feature_names: tuple[str, ...]
    n_jobs: int = 1
    form: Any = None  # the program and how it was emitted; set by what builds the model

    @abstractmethod
    def predict(self, data: Any) -> NDArray[Any]:
        """Labels of the original dtype, or values for a regressor."""

    @abstractmethod
    def _has(self, function: str) -> bool:
        """Whether the model gives this beside labels."""

    def _lack(self, function: str) -> str:
        """What to tell where the model does not have a method; empty where it has it."""
        if self._has(function) and not (self._targets and function == "predict_log_proba"):
            return ""
        if function == "predict_log_proba" and self._targets:
            return "predict_log_proba; take the logarithm of predict_proba"
        if function == "decision_function":
            return f"decision function; {'use predict' if self.labels else 'its value comes from predict'}"
        if function == "predict_std":
            return "standard deviations; only Gaussian processes with a stationary kernel do"
        if function == "score_samples":
            return "raw scores; only one-class SVMs of scikit-learn do"
        return "probabilities; use predict or decision_function"

    @property
    def _targets(self) -> tuple[tuple[int, ...], ...]:
        """The classes of each target, where a row gets several labels."""
        return self.labels.targets if self.labels else ()

    @property
    def classes_(self) -> Any:
        """The labels, in the order of scores and probabilities, a list of them for several targets."""
        if self.labels is None:
            raise NotGivenError("a regressor has no classes")
        return self.labels.of_targets() if self._targets else self.labels.array()

    @property
    def n_features_in_(self) -> int:
        """How many features a row has."""
        return self.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, where the model was trained on a frame."""
        if not self.feature_names:
            raise NotGivenError("the model was trained on rows without feature names")
        return np.array(self.feature_names, dtype=object)

    @given
    def predict_log_proba(self, data: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return cast("NDArray[np.float64]", np.log(cast(Any, self).predict_proba(data)))

    def score(self, data: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier (of several labels: all of a row's), R² of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        if self._targets:
            right = (np.asarray(y) == self.predict(data)).all(axis=1)
            return float(np.average(right, weights=sample_weight))
        rate = accuracy_score if self.labels else r2_score
        return float(rate(y, self.predict(data), sample_weight=sample_weight))

    def fit(self: Self, data: Any = None, y: Any = None, **_: Any) -> Self:
        """Change nothing: the model is trained. `Compiled` is an estimator that fits and compiles."""
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What can be set on a compiled model: the number of threads."""
        return {"n_jobs": self.n_jobs}

    def set_params(self: Self, **params: Any) -> Self:
        """Set the number of threads."""
        unknown = sorted(set(params) - {"n_jobs"})
        if unknown:
            raise OptionError(f"a compiled model has no parameter {unknown[0]!r}; it has: n_jobs")
        if "n_jobs" in params:
            self._set_jobs(params["n_jobs"])
        return self

    def _set_jobs(self, n_jobs: int) -> None:
        if n_jobs != 1:
            raise OptionError(f"n_jobs is {n_jobs}; only C runs in several threads")

    @property
    def _estimator_type(self) -> str:
        """What kind of estimator it is, for scikit-learn before 1.6."""
        if self.labels is None:
            return "regressor"
        return "outlier_detector" if self._has("score_samples") else "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind, several = self._estimator_type, bool(self._targets)
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=False, multi_output=several),
            transformer_tags=None,
            classifier_tags=ClassifierTags(multi_label=several) if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self: Self) -> Self:
        return self

    def __repr__(self) -> str:
        gives = f"{len(self.labels)} classes" if self.labels else "regression"
        gives = f"{len(self._targets)} labels" if self._targets else gives
        about = [repr(self.name), f"{self.n_features} features", gives]
        if self.form is not None:
            origin = self.form.program.origin
            about[1:1] = [origin.source, f"method {origin.method}", origin.claim.value, self.form.text]
        return f"{type(self).__name__}({', '.join(about)})"

    def __reduce__(self) -> Any:
        if self.form is None:
            raise TypeError(
                f"{self!r} does not know its program and cannot be pickled; use sc.load or sc.build"
            )
        return self.form.reduce(self.n_jobs)

    def __copy__(self: Self) -> Self:
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self.__copy__()  # all but the number of threads never changes
