"""DTSVMClassifier: the trained tree of local SVMs as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.api import train
from svmcompile.errors import OptionError, UnsupportedError

_DEFAULT = TrainOptions()


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
        X, y = _validated(self, X, y)
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
        return self.program_.predict(_validated(self, X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """One score for two classes, above zero is the second; else one per class, the largest wins.

        With pairs that vote, scores are votes within the leaf, -1 for classes the leaf has never seen.
        """
        check_is_fitted(self)
        return self.program_.decision_function(_validated(self, X))


def _validated(estimator: Any, X: Any, *y: Any) -> Any:
    """scikit-learn's own checks, under their name before and after release 1.6."""
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(X, *y, reset=bool(y))
    return validate_data(estimator, X, *y, reset=bool(y))
