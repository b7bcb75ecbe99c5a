"""Compiled models under scikit-learn's names: rows in, labels, scores and probabilities out.

What runs them differs; it fills arrays that are laid out here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import NO_CATEGORIES, Categories
from svmcompile.data.rows import as_rows, check_complete
from svmcompile.data.text import NO_TEXT, Text, Texts, is_text
from svmcompile.ir.program import Labels
from svmcompile.runtime.scikit import FrozenModel, given


class BatchModel(FrozenModel):
    """A model whose functions take rows of one number type and fill an array row by row.

    Rows with NaN or an infinity are refused, as scikit-learn refuses them, unless `allow_nan` is set or the
    model fills the feature in.
    """

    n_scores: int
    n_values: int = 1  # of a regressor
    n_chances: int = 0  # probabilities, where they are not one for each class
    may_miss: NDArray[np.bool_] | None = None  # features that the model fills in where they are NaN
    text: Text = NO_TEXT  # how text becomes rows, where the model takes text
    categories: Categories = NO_CATEGORIES  # of features that are text

    def __init__(
        self, name: str, labels: Labels | None, feature_names: tuple[str, ...], real: np.dtype[Any]
    ) -> None:
        self.name = name
        self.labels = labels
        self.feature_names = feature_names
        self._real = real
        self._classes = None if labels is None else labels.array()

    @abstractmethod
    def _holds(self, function: str) -> bool:
        """Whether the code has this function."""

    def _has(self, function: str) -> bool:
        if function == "decision_function":
            return self.n_scores > 0
        return self._holds("predict_proba" if function == "predict_log_proba" else function)

    @abstractmethod
    def _call(self, name: str, rows: Any, out: NDArray[Any]) -> None:
        """Fill `out` from the rows."""

    @property
    def precision(self) -> str:
        return "f32" if self._real == np.float32 else "f64"

    def predict(self, data: Any, allow_nan: bool = False) -> NDArray[Any]:
        """Labels of the original dtype, or values for a regressor."""
        if self._classes is None:
            return self._values("predict", data, allow_nan, *([self.n_values] if self.n_values > 1 else []))
        rows = self._rows(data, allow_nan)
        each = [len(self._targets)] * bool(self._targets)
        indices = np.empty((len(rows), *each), dtype=np.int32)
        self._fill("predict", rows, indices)
        return np.asarray(self._classes[indices])

    @given
    def decision_function(self, data: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Scores in the original's shape."""
        scores = self._values("decision_function", data, allow_nan, self.n_scores)
        return scores[:, 0] if self.n_scores == 1 else scores

    @given
    def predict_proba(self, data: Any, allow_nan: bool = False) -> Any:
        """Probabilities of the classes, in the order of the labels; of several targets a list of such."""
        found = self._values("predict_proba", data, allow_nan, self.n_chances or len(self.labels or ()))
        return self.labels.by_target(found) if self.labels else found

    @given
    def score_samples(self, data: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Raw scores of a one-class SVM: its decision values without their offset."""
        return self._values("score_samples", data, allow_nan)

    @given
    def predict_std(self, data: Any, allow_nan: bool = False) -> NDArray[np.float64]:
        """Standard deviations of the values of a Gaussian process."""
        return self._values("predict_std", data, allow_nan)

    def _values(self, function: str, data: Any, allow_nan: bool, *width: int) -> NDArray[np.float64]:
        rows = self._rows(data, allow_nan)
        values = np.empty((len(rows), *width), dtype=self._real)
        self._fill(function, rows, values)
        return values.astype(np.float64)

    def _fill(self, name: str, rows: Any, out: NDArray[Any]) -> None:
        (self._call_texts if isinstance(rows, Texts) else self._call)(name, rows, out)

    def _call_texts(self, name: str, texts: Texts, out: NDArray[Any]) -> None:
        """Fill `out` from texts; where the code takes numbers alone, from what is counted in them."""
        for part in self.text.chunks(texts.contents):
            rows = self._rows(self.text.rows(texts.contents[part]), True)
            self._call(name, rows, out[part])

    def _rows(self, data: Any, allow_nan: bool) -> Any:
        if isinstance(data, Texts) or (self.text and is_text(data)):
            return data if isinstance(data, Texts) else Texts.of(data)
        rows = np.asarray(as_rows(data, self.n_features, self.feature_names, self.categories))
        if not allow_nan:
            check_complete(rows, self.feature_names, self.may_miss)
        if rows.dtype == self._real:
            return rows if rows.flags.c_contiguous else np.ascontiguousarray(rows)
        with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, which is defined
            return np.ascontiguousarray(rows, dtype=self._real)
