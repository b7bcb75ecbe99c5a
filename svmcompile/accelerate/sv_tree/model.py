"""Model: an optional linear term and one tree for all sums, or one for each; built and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.decide import labels_of
from svmcompile.accelerate.fitting.rows import FittingRows, likeness
from svmcompile.accelerate.sv_tree.grow import Growth, grow
from svmcompile.accelerate.sv_tree.linear import Linear, fit_linear
from svmcompile.accelerate.sv_tree.options import SvTreeOptions
from svmcompile.accelerate.sv_tree.split import Matrix
from svmcompile.accelerate.sv_tree.tree import Tree
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Indices
from svmcompile.model.svm import SVM, LabelRule

MOST_PAIRS = 15  # with more sums, a tree for each is not tried: it would cost more than it saves
NO_CAP = 100  # depth of the published form, for safety


@dataclass(frozen=True, eq=False)
class Model:
    """sums = linear term (or intercepts) + trees; tree t gives all sums, or sum t alone."""

    linear: Linear | None
    trees: tuple[Tree, ...]
    intercepts: Array

    def sums(self, K: Matrix, z: Array) -> Array:
        base = self.linear.values(z) if self.linear else self.intercepts
        return np.asarray(base + np.hstack([tree.values(K) for tree in self.trees]))

    def evaluations(self, K: Matrix) -> Indices:
        """Kernel values each row needs."""
        return np.asarray(np.sum([tree.evaluations(K) for tree in self.trees], axis=0))


@dataclass(frozen=True, eq=False)
class Judged:
    """A model and how it does on held-out rows."""

    model: Model
    error: float  # mean squared, beside the variance of the sums
    agreement: float
    evaluations: float
    sums: Array

    def report(self) -> dict[str, Any]:
        return {
            "linear": self.model.linear is not None,
            "trees": len(self.model.trees),
            "held_out_error": self.error,
            "held_out_agreement": self.agreement,
            "held_out_evaluations": self.evaluations,
        }


def growth_of(svm: SVM, options: SvTreeOptions, each: bool) -> Growth:
    """How a tree grows under the options; `each`: it gives one sum of several."""
    if options.paper:
        return Growth(
            max_depth=NO_CAP, min_rows=5, affine=False, refit=False, cache=False, alternate=True,
            seed=options.seed,
        )  # fmt: skip
    classes = options.purity_stop and svm.label_rule is not LabelRule.NONE
    return Growth(
        max_depth=options.max_depth,
        min_rows=options.min_rows,
        affine=options.coef != "scale",
        refit=options.coef == "refit",
        ridge=options.ridge,
        cache=options.cache,
        decide=(_is_positive if each else lambda sums: labels_of(svm, sums)) if classes else None,
        seed=options.seed,
    )


def _is_positive(sums: Array) -> NDArray[np.bool_]:
    return np.asarray(sums[:, 0] > 0)


def judged_models(
    svm: SVM, options: SvTreeOptions, K: Matrix, rows: FittingRows, fitted: Indices, held: Indices
) -> Iterator[Judged]:
    """The models that the options leave open, built on fitted rows and judged on held-out ones."""
    linears = {"on": (True,), "off": (False,), "auto": (False, True)}[options.linear]
    layouts = {"shared": (False,), "pairs": (True,), "auto": (False, True)}[options.multiclass]
    if options.paper:
        linears, layouts = (False,), (svm.n_sums > 1,)
    elif options.multiclass == "auto" and not 1 < svm.n_sums <= MOST_PAIRS:
        layouts = (False,)
    K_held = K[held]
    for each in layouts:
        for with_linear in linears:
            model = _built(svm, options, K, rows, fitted, each, with_linear)
            yield _judged(svm, model, K_held, rows.z[held], rows.sums[held])


def _built(
    svm: SVM,
    options: SvTreeOptions,
    K: Matrix,
    rows: FittingRows,
    fitted: Indices,
    each: bool,
    with_linear: bool,
) -> Model:
    linear = fit_linear(rows.z[fitted], rows.sums[fitted]) if with_linear else None
    base = linear.values(rows.z) if linear else np.broadcast_to(svm.intercepts, rows.sums.shape)
    growth = growth_of(svm, options, each and svm.n_sums > 1)
    columns = [slice(at, at + 1) for at in range(svm.n_sums)] if each else [slice(None)]
    trees = tuple(grow(K, rows.sums[:, part], base[:, part], growth, fitted) for part in columns)
    return Model(linear, trees, svm.intercepts)


def _judged(svm: SVM, model: Model, K: Matrix, z: Array, wanted: Array) -> Judged:
    sums = model.sums(K, z)
    spread = float(np.square(wanted - wanted.mean(axis=0)).mean()) or 1.0
    error = float(np.square(sums - wanted).mean()) / spread
    return Judged(model, error, likeness(svm, wanted, sums), float(model.evaluations(K).mean()), sums)
