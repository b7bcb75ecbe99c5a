"""Class labels: plain Python values plus the numpy type `predict` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError

Scalar = bool | int | float | str
LabelKind = Literal["bool", "int", "float", "str"]


@dataclass(frozen=True, slots=True)
class Labels:
    """The classes in the original's order."""

    values: tuple[Scalar, ...]
    dtype: str

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> LabelKind:
        """What sort of value a label is; never mixed."""
        first = self.values[0]
        if isinstance(first, bool):
            return "bool"
        if isinstance(first, int):
            return "int"
        return "float" if isinstance(first, float) else "str"

    def array(self) -> NDArray[Any]:
        """The labels as the original's `classes_`."""
        return np.array(self.values, dtype=np.dtype(self.dtype))

    @classmethod
    def of(cls, classes: NDArray[Any], where: str) -> Labels:
        """Labels from `classes_`; refuses what no generated code can hold."""
        array = np.asarray(classes)
        if array.ndim != 1 or not array.size:
            raise UnsupportedError(f"{where}: labels must be a list of one or more classes")
        # An object array may hold numpy's own scalars, such as np.str_.
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in array.tolist())
        kinds = {type(value) for value in values}
        if len(kinds) != 1 or not kinds <= {bool, int, float, str}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise UnsupportedError(
                f"{where}: labels of type {names} cannot be compiled; "
                "retrain with labels that are all int, all float, all bool or all str"
            )
        if len(set(values)) != len(values):
            raise UnsupportedError(f"{where}: a label appears twice")
        if kinds == {float} and not np.isfinite(array.astype(np.float64)).all():
            raise UnsupportedError(f"{where}: labels must be finite")
        return cls(values, "object" if array.dtype == object else array.dtype.str)
