"""Rows to learn from: data rows, some of them held out, and rows made up between the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import hold_out, made_up_rows, sums_at
from svmcompile.accelerate.proto.options import ProtoOptions
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.model.svm import SVM

DATA_ROWS = 60_000  # data rows used at most
LEAST_ROWS = 2000  # and however slow the SVM is
WORK = 2e11  # products of features that making up rows and asking the SVM may take
NEAR = 8192  # rows among which neighbours are looked for
HELD_SHARE, HELD_ROWS = 5, 4000  # one row in so many is held out, and no more than this


@dataclass(frozen=True, eq=False)
class Known:
    """Rows as the kernel sees them, with the SVM's sums; data rows first, then those made up."""

    z: Array
    sums: Array
    given: NDArray[Any] | None  # labels of the data rows
    kept: NDArray[np.intp]  # data rows that choices are not judged by
    held: NDArray[np.intp]
    n_data: int

    @property
    def made_up(self) -> NDArray[np.intp]:
        return np.arange(self.n_data, len(self.z))


def known_rows(svm: SVM, data: Data, options: ProtoOptions) -> Known:
    """At most DATA_ROWS of the data, and rows between those that are kept."""
    random = np.random.default_rng(options.seed)
    with np.errstate(all="ignore"):
        z = svm.prepared(np.asarray(data.X, dtype=np.float64))
    finite = np.flatnonzero(np.isfinite(z).all(axis=1))
    if not len(finite):
        raise OptionError("proto: the data has no row whose values are all finite; give rows to fit to")
    by_teacher = svm.n_vectors * z.shape[1]
    most = min(DATA_ROWS, max(LEAST_ROWS, int(WORK / by_teacher)))
    order = finite[random.permutation(len(finite))[:most]]
    z, given = z[order], None if data.y is None else np.asarray(data.y)[order]
    kept, held = hold_out(len(z), min(HELD_ROWS, len(z) // HELD_SHARE), random)
    pool = z[kept[:NEAR]]
    room = (WORK - len(z) * by_teacher - len(pool) ** 2 * z.shape[1]) / by_teacher
    wanted = 0 if options.labels == 1 else options.synthetic_rows  # the SVM alone knows about others
    made = made_up_rows(pool, min(wanted, max(0, int(room))), random)
    z = np.concatenate([z, made])
    return Known(z, sums_at(svm, z), given, kept, held, len(order))
