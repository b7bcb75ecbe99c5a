"""Ends: who answers rows that no half-space holds, and after how many nodes; rows held out choose.

The report (section 3.3) grows lists for the labels, sets an RBF machine that was trained on all rows behind
the last node, and moves it up: accuracy against depth. Here linear machines may stand there as well. Of
the forms that are as accurate as the best one, the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import fit_anyway
from svmcompile.accelerate.h1_tree.exits import WIDTH
from svmcompile.accelerate.h1_tree.forest import ALL, LAST, OUT, Lists, as_stored, grown, growth_of
from svmcompile.accelerate.h1_tree.grow import Flags, Growth, HalfSpace, How, PlaneList, projected
from svmcompile.accelerate.h1_tree.options import DTYPES, H1TrainOptions
from svmcompile.accelerate.h1_tree.rows import Classes, Pair, Rows
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import kernel_sum_flops, run
from svmcompile.ir.nodes.decisions import margins

FEW, FOLDS = 4000, 4  # up to so many rows, every row is held out once, in one of so many folds
SHARE, MOST_HELD = 0.2, 20_000  # of more rows are held out
PLANE_ROWS = 100_000  # that a linear machine is trained on
FIRST = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)  # nodes before the end that are tried
UP = (0, 1, 2, 3, 4, 6, 8)  # steps up from the last node
SPARE = 0.5  # standard errors that a form may be less accurate than the best
ALONE = {"label": "lists alone", "plane": "linear SVMs alone", "svm": "the RBF machine alone"}
ENDED = {"label": "lists alone", "plane": "lists with linear SVMs", "svm": "lists with an RBF machine"}


@dataclass(frozen=True, slots=True)
class Form:
    """Lists that let some noise pass, and what follows after so many nodes of each."""

    end: str  # label, plane, svm
    noise: float = 0.0
    nodes: int = ALL  # before the end

    @property
    def is_alone(self) -> bool:
        """Whether lists or machines are all there is."""
        return self.end == "label" or self.nodes == 0

    def as_dict(self) -> dict[str, Any]:
        names = {ALL: "all and a closing one", LAST: "all"}
        nodes = f"all but {-self.nodes}" if self.nodes < 0 else names.get(self.nodes, self.nodes)
        return {"end": self.end, "noise": self.noise, "nodes_before": nodes}


@dataclass(frozen=True, eq=False)
class Trial:
    """What a form does on rows held out."""

    right: Flags
    flops: float

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())


@dataclass(frozen=True, eq=False)
class Choice:
    """The form that is taken, and all that were tried."""

    form: Form
    tried: dict[Form, Trial]

    def best_by(self, key: Any) -> dict[Any, Form]:
        """The most accurate form of each kind, of equal ones the cheapest."""
        ordered = sorted(self.tried, key=lambda form: (self.tried[form].accuracy, -self.tried[form].flops))
        return {key(form): form for form in ordered}

    def as_dict(self) -> dict[str, Any]:
        kinds = self.best_by(lambda form: (form.end, form.noise, form.is_alone))
        tried = [form.as_dict() | self._figures(form) for _, form in sorted(kinds.items())]
        found = self.form.as_dict() | self._figures(self.form)
        return found | {"rows": len(self.tried[self.form].right), "tried": tried}

    def _figures(self, form: Form) -> dict[str, Any]:
        trial = self.tried[form]
        return {"accuracy": round(trial.accuracy, 6), "flops": round(trial.flops)}

    def note(self) -> str:
        chosen = self.tried[self.form]
        alone = self.best_by(lambda form: form.end if form.is_alone else "")
        alone.pop("", None)
        told = [f"{ALONE[end]} {self.tried[form].accuracy:.1%}" for end, form in sorted(alone.items())]
        what = (ALONE if self.form.is_alone else ENDED)[self.form.end]
        return (
            f"{what}: {chosen.accuracy:.1%} of {len(chosen.right)} held-out rows are right "
            f"({', '.join(told)})"
        )


def growth_for(options: H1TrainOptions, noise: float, end: str, several: bool) -> Growth:
    """How lists grow that an end is behind, or may be: those need not be complete."""
    growth = growth_of(replace(options, noise=noise), several)
    return replace(growth, closing=end == "svm" and not options.paper, gives_up=options.ends != ("label",))


def splits(classes: Classes, options: H1TrainOptions) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(kept, held out) row numbers. One row of each class is never held out: lists must know them all."""
    n = len(classes)
    order = np.random.default_rng(options.seed).permutation(n)
    free = np.delete(order, np.unique(classes[order], return_index=True)[1])
    if options.validation:
        held = [free[: round(options.validation * n)]]
    elif n > FEW:
        held = [free[: min(int(SHARE * n), MOST_HELD)]]
    else:
        held = [free[fold::FOLDS] for fold in range(FOLDS)]
    return [(np.setdiff1d(order, one), np.sort(one)) for one in held if len(one)]


def choose(rows: Rows, pairs: list[Pair], options: H1TrainOptions) -> Choice:
    """The cheapest of the forms that are as accurate as the best, on rows held out; points are scaled."""
    parts = [
        dict(_trials(rows.some(kept), rows.some(held), pairs, options))
        for kept, held in splits(rows.classes, options)
    ]
    if not parts:
        raise OptionError(
            f"h1-tree: {len(rows)} rows are too few to hold some out; give more, or end=label"
        )
    tried = {}
    for form in parts[0]:
        if all(form in part for part in parts):
            right = np.concatenate([part[form].right for part in parts])
            tried[form] = Trial(right, float(np.mean([part[form].flops for part in parts])))
    best = max(tried.values(), key=lambda one: int(one.right.sum())).right
    good = [form for form, trial in tried.items() if is_as_good(trial.right, best)]
    return Choice(min(good, key=lambda form: tried[form].flops), tried)


def is_as_good(right: Flags, best: Flags) -> bool:
    """Whether what a form loses against the best is small, by the standard error on the same rows."""
    lost = int(best.sum()) - int(right.sum())
    return bool(lost <= SPARE * np.sqrt(int((right != best).sum())))


def _trials(
    kept: Rows, held: Rows, pairs: list[Pair], options: H1TrainOptions
) -> Iterator[tuple[Form, Trial]]:
    """Every form, grown from some rows, on others."""
    ends, several = options.ends, len(pairs) > 1
    machine = Machine.fitted(kept, held, options) if "svm" in ends else None
    planes = linear_planes(kept, pairs, options) if "plane" in ends else []
    for noise in options.noises:
        growth = growth_for(options, noise, ends[-1], several)
        lists = grown(kept, pairs, growth, options, 0.0, None).lists()
        longest = lists.whole().longest
        if "label" in ends:
            yield Form("label", noise, LAST), _trial(lists.whole(), held)
        for place in places(longest, machines_alone=noise == options.noises[0]):
            if planes:
                yield Form("plane", noise, place), _trial(ended(lists.first(place), planes), held)
            if machine:
                yield Form("svm", noise, place), _trial(lists.first(place), held, machine)
        if machine and growth.closing:
            yield Form("svm", noise), _trial(lists.first(ALL), held, machine)
        if longest <= 1:  # a plane parts every two classes: there is no noise
            return


def places(longest: int, machines_alone: bool) -> list[int]:
    """Where an end may stand: after the last node and up from there, after the first ones and down."""
    first = [count for count in FIRST if 0 < count < longest]
    return [*([0] if machines_alone else []), *first, *(-steps or LAST for steps in UP if steps < longest)]


@dataclass(frozen=True, eq=False)
class Machine:
    """What an RBF machine says of the rows held out, and what it takes."""

    said: NDArray[np.int64]
    flops: int

    @classmethod
    def fitted(cls, kept: Rows, held: Rows, options: H1TrainOptions) -> Machine:
        from sklearn.svm import SVC

        some = some_rows(len(kept), options.svm_rows, options.seed)
        kernel = Kernel("rbf", options.gamma or 1 / kept.points.shape[1])
        model = SVC(C=options.C, gamma=kernel.gamma, cache_size=500)
        model.fit(kept.points[some], kept.classes[some])
        work = kernel_sum_flops(kernel, len(model.support_), kept.points.shape[1], len(model.dual_coef_))
        return cls(model.predict(held.points).astype(np.int64), work)


def _trial(lists: Lists, held: Rows, machine: Machine | None = None) -> Trial:
    """Lists on rows held out, with a machine for those they do not answer."""
    d, scores = held.points.shape[1], np.zeros((len(held), len(lists.lists)))
    flops = 0.0
    if lists.nodes:
        walk = lists.walk(projected(held.points, lists.planes) > lists.thresholds)
        scores, flops = walk.scores.astype(np.float64), float(walk.tests.mean()) * (2 * d + 1)
    said = decided(scores)
    if machine:
        reach = ~(margins(scores, "vote" if scores.shape[1] > 1 else "sign") >= WIDTH)
        said = np.where(reach, machine.said, said)
        flops += float(reach.mean()) * machine.flops
    return Trial(np.asarray(said == held.classes), flops)


def decided(scores: NDArray[Any]) -> NDArray[np.int64]:
    """The class numbers that scores of lists come to."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    classes = (1 + int(np.sqrt(1 + 8 * scores.shape[1]))) // 2
    return np.asarray(run(ir.Vote("label", OUT, classes), {OUT: scores}, {}), dtype=np.int64)


def some_rows(n: int, most: int, seed: int) -> NDArray[np.intp]:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def linear_planes(
    rows: Rows, pairs: list[Pair], options: H1TrainOptions, factor: Array | None = None
) -> list[HalfSpace]:
    """A linear SVM for every pair, of points times `factor` about their mean, as one half-space."""
    from sklearn.svm import LinearSVC

    middle = rows.points.mean(axis=0)
    factor = np.ones(len(middle)) if factor is None else factor
    found = []
    for column, pair in enumerate(pairs):
        sample = rows.sample(pair, column, 0.0)
        some = some_rows(len(sample), PLANE_ROWS, options.seed)
        model = LinearSVC(C=options.C, dual="auto", random_state=options.seed)
        fit_anyway(model, (sample.points[some] - middle) * factor, sample.signs[some])
        plane = model.coef_[0] * factor
        size = float(np.sqrt(plane @ plane)) or 1.0
        plane = as_stored(plane[None] / size, DTYPES[options.planes])[0] if plane.any() else plane
        at = float(plane @ middle - model.intercept_[0] / size)
        found.append(HalfSpace(plane, at, 1, at, How("linear SVM")))
    return found


def ended(lists: Lists, planes: list[HalfSpace]) -> Lists:
    """Lists, behind each of which a linear machine answers all that is left."""
    both = zip(lists.lists, planes, strict=True)
    return Lists(tuple(PlaneList((*one.nodes, plane), -1) for one, plane in both), lists.order)
