"""Fitted: careful access to an estimator's attributes; role: which scikit-learn class it is.

Estimators come from anywhere (old pickles, hand-made objects), so nothing about
an attribute is taken for granted; every misfit is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from svmcompile.data.sparse import is_sparse, stays_sparse
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Labels
from svmcompile.read.kernels import MAX_FEATURES, check_dense_size, check_width

_ABSENT = object()


class Fitted:
    """One estimator, the name of the scikit-learn class it is read as, and a place for messages."""

    def __init__(self, estimator: object, role: str, where: str) -> None:
        self.estimator = estimator
        self.role = role
        self.where = where

    @property
    def place(self) -> str:
        """How a message begins: the file, then the class, unless they are the same."""
        name = type(self.estimator).__name__
        return name if self.where == name else f"{self.where}: {name}"

    def damaged(self, text: str) -> ReadError:
        return ReadError(f"{self.place}: {text}; the object is damaged, fit it again")

    def get(self, name: str) -> Any:
        """An attribute that every fitted estimator of this class has."""
        value = self._find(name)
        if value is _ABSENT:
            raise self.damaged(f"{name} is missing")
        return value

    def optional(self, name: str) -> Any:
        """An attribute, or None."""
        value = self._find(name)
        return None if value is _ABSENT else value

    def _find(self, name: str) -> Any:
        try:
            return getattr(self.estimator, name, _ABSENT)
        except Exception as error:  # a property may run any code
            raise self.damaged(f"{name} cannot be read ({error})") from None

    def require(self, name: str) -> None:
        """Refuse an estimator that was never fitted: `name` is what fit leaves behind."""
        if self._find(name) is _ABSENT:
            raise UnsupportedError(f"{self.place}: is not fitted; call fit first")

    def numbers(self, name: str, *ndims: int) -> Array:
        """An attribute as a fresh float64 array of one of `ndims` dimensions; sparse becomes dense."""
        value = self.get(name)
        try:
            array = np.asarray(self._dense(value))
        except UnsupportedError:
            raise
        except Exception as error:  # conversion may run any code
            raise self.damaged(f"{name} is not an array ({error})") from None
        if array.dtype.kind not in "fiu":
            raise self.damaged(f"{name} holds {array.dtype}, not numbers")
        if array.ndim not in ndims:
            raise self.damaged(f"{name} has {array.ndim} dimension(s), expected {ndims[-1]}")
        with np.errstate(over="ignore"):  # an infinity is reported by the caller's check
            return np.array(array, dtype=np.float64, order="C")

    def vectors(self, name: str) -> Any:
        """The same for [vectors, features], which stay sparse where they are large and mostly zeros."""
        value = self.get(name)
        if not is_sparse(value):
            return self.numbers(name, 2)
        try:
            if value.dtype.kind in "fiu" and stays_sparse(value.shape, value.nnz):
                from svmcompile.data.csr import canonical

                check_width(value.shape[1], self.place)
                return canonical(_checked(value), np.float64)
        except UnsupportedError:
            raise
        except Exception as error:  # conversion may run any code
            raise self.damaged(f"{name} is not an array ({error})") from None
        return self.numbers(name, 2)

    def _dense(self, value: Any) -> Any:
        if not is_sparse(value):
            return value
        n_vectors, n_features = value.shape
        check_dense_size(n_vectors, n_features, self.place)
        return _checked(value).toarray()

    def labels(self) -> Labels:
        """`classes_` of a classifier: two or more."""
        classes = self.get("classes_")
        try:
            array = np.asarray(classes)
        except Exception as error:  # conversion may run any code
            raise self.damaged(f"classes_ is not an array ({error})") from None
        labels = Labels.of(array, self.place)
        if len(labels) < 2:
            raise self.damaged("classes_ has fewer than two classes")
        return labels

    def number(self, name: str) -> float:
        """An attribute that is one real number."""
        value = self.get(name)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            raise self.damaged(f"{name} is {value!r:.40}, not a number")
        try:
            return float(value)
        except (TypeError, OverflowError):  # complex, or too large
            raise self.damaged(f"{name} is {value!r:.40}, not a real number") from None

    def count(self, name: str) -> int:
        """An attribute that is a whole number above zero."""
        value = self.get(name)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
            raise self.damaged(f"{name} is {value!r:.40}, not a whole number above zero")
        if value > MAX_FEATURES:
            raise UnsupportedError(f"{self.place}: {name} is {value}, above the limit of {MAX_FEATURES}")
        return int(value)

    def flag(self, name: str) -> bool:
        """An attribute that is true or false."""
        value = self.get(name)
        if not isinstance(value, (bool, int, np.bool_, np.integer)):
            raise self.damaged(f"{name} is {value!r:.40}, not true or false")
        return bool(value)


def _checked(value: Any) -> Any:
    """A copy of a sparse matrix whose indices lie within it; a wrong one would be written outside."""
    matrix = value.copy()
    matrix.check_format(full_check=True)
    return matrix


def role(estimator: object, names: Iterable[str]) -> str | None:
    """The scikit-learn class, among `names`, that the estimator is or derives from."""
    known = set(names)
    for base in type(estimator).__mro__:
        if base.__name__ in known and from_sklearn(base):
            return base.__name__
    return None


def from_sklearn(base: type) -> bool:
    """Other libraries have an SVC too, and it need not mean the same."""
    return str(base.__module__).split(".")[0] == "sklearn"
