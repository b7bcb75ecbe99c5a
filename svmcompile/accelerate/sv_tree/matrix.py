"""Matrix: kernel values of all fitting rows and vectors, computed in blocks."""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.fitting.rows import BLOCK_VALUES
from svmcompile.accelerate.sv_tree.split import Matrix
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.progress import steps

MOST_DOUBLES = 1 << 26  # kernel values kept in float64; more are kept in float32


def kernel_matrix(kernel: Kernel, rows: Array, vectors: Array) -> Matrix:
    """K[rows, vectors]; 50,000 rows by 5,000 vectors take one gigabyte."""
    size = len(rows) * len(vectors)
    K = np.empty((len(rows), len(vectors)), dtype=np.float64 if size <= MOST_DOUBLES else np.float32)
    step = max(1, BLOCK_VALUES // max(1, len(vectors)))
    with steps("kernel values", len(rows)) as advance:
        for at in range(0, len(rows), step):
            K[at : at + step] = kernel.values(rows[at : at + step], vectors)
            advance(min(step, len(rows) - at))
    return K
