"""Csr: compressed rows as arrays are used. Importing this loads scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from svmcompile.data.sparse import check_dense


class Csr(csr_array):
    """Compressed rows that have a length, and that numpy turns into an array only where it is small."""

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        check_dense(self.shape, "these rows")
        found: NDArray[Any] = self.toarray()
        return found if dtype is None else found.astype(dtype, copy=False)

    def finite_rows(self) -> NDArray[np.bool_]:
        """Which rows hold no NaN and no infinity."""
        found = np.ones(len(self), dtype=bool)
        found[np.repeat(np.arange(len(self)), np.diff(self.indptr))[~np.isfinite(self.data)]] = False
        return found


def canonical(data: Any, dtype: Any = None) -> Csr:
    """Compressed rows with ascending columns, each at most once, and without zeros; the input is kept."""
    found = Csr(data.tocsr(copy=True), dtype=dtype)
    found.sum_duplicates()
    found.eliminate_zeros()
    if max(found.nnz, *found.shape) < 2**31:  # as scikit-learn wants them
        found.indices, found.indptr = (part.astype(np.int32) for part in (found.indices, found.indptr))
    return found


def stacked(parts: list[Any]) -> Csr:
    """Rows below each other."""
    return Csr(vstack([csr_array(part) for part in parts], format="csr"))
