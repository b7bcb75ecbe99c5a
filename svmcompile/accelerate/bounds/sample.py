"""Sample rows: what the cost of a form is predicted on, and what orderings may look at.

Rows of the data where there are some. A row that is itself a support vector lies in the span
of the basis and stops early; one made up near it stands for it, so that training rows do
not flatter the method. Without data all rows are made up between support vectors.
"""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.fitting.rows import made_up_rows, rows_near
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array
from svmcompile.model.svm import SVM

GUESS_ROWS = 4000
LIMIT = 20_000  # rows looked at for support vectors and neighbours


def prepared_rows(svm: SVM, data: Data | None) -> Array:
    """The data's finite rows as the kernel sees them."""
    if data is None:
        return np.zeros((0, svm.kernel_width))
    rows = svm.prepared(np.asarray(data.X, dtype=np.float64))
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        raise OptionError(
            "anytime: the data has no row whose values are all finite; give rows like those to come"
        )
    return rows


def sample_rows(svm: SVM, rows: Array, count: int, seed: int) -> Array:
    """So many rows in the kernel's space, fewer where the data has fewer."""
    random = np.random.default_rng(seed)
    if not len(rows):
        made = made_up_rows(svm.vectors, count, random)
        return made if len(made) else svm.vectors[:1]
    picks = random.permutation(len(rows))[:LIMIT]
    chosen = rows[np.sort(picks[:count])]
    own = {row.tobytes() for row in svm.vectors}
    known = np.array([row.tobytes() in own for row in chosen])
    others = np.unique(rows[np.sort(picks)], axis=0)
    if not known.any() or len(others) < 2:
        return np.asarray(chosen)
    return np.concatenate([chosen[~known], rows_near(chosen[known], others, random)])


def guess_rows(svm: SVM, rows: Array, sample: Array, seed: int) -> Array:
    """Rows that a guess of the class is fitted to: as many as are cheap, and the support vectors."""
    picks = np.random.default_rng(seed).permutation(len(rows))[:GUESS_ROWS]
    return np.concatenate([sample, rows[np.sort(picks)], svm.vectors])
