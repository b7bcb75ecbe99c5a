"""Data: rows and, where known, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of features with optional labels."""

    X: NDArray[np.floating[Any]]
    y: NDArray[Any] | None = None
    feature_names: tuple[str, ...] = ()
