"""reduced-set: its options, the search for a reduced set of some size, and the program."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.linear import boundary_weights
from svmcompile.accelerate.fitting.rows import FittingRows, fitting_rows, labels_of, likeness, spread
from svmcompile.accelerate.options import check_options, option
from svmcompile.accelerate.reduced_set.classes import SCORES, class_margins, class_program, kinds_of
from svmcompile.accelerate.reduced_set.fit import RIDGE, Fit, Rows, feature_fit, moved, ridge_fit
from svmcompile.accelerate.reduced_set.select import Order, select_by_features, select_by_rows
from svmcompile.accelerate.reduced_set.shared import (
    add_sums,
    directions,
    least_rank,
    most_shared,
    shared_fit,
)
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

DATA_ROWS = 8000  # data rows used at most
SELECT_ROWS = 3000  # of these, to choose vectors by
CANDIDATES = 5000  # vectors to choose from at most
MOVES = 50  # steps of the vectors; more gains nothing on held-out rows
POOLS = ("vectors", "rows")
KEPT = 0.01  # share of labels that scores of classes may lose against those of pairs,
KEPT_SHARED = 0.001  # and that shared weights may, which are to be the same sums


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedSetOptions:
    """A few vectors replace all support vectors, with refitted coefficients."""

    budget: float = option(
        0.1, "How many vectors to keep: a number of them or, below 1, a share of the support vectors.",
        words="a whole number, or a share between 0 and 1",
    )  # fmt: skip
    target: float = option(
        0.0, "If above 0, ignore the budget and keep as few vectors as agree this much on held-out rows.",
        least=0, most=1,
    )  # fmt: skip
    max_error: float = option(
        0.0, "If above 0, ignore the budget and keep as few vectors as have every decision value within "
        "this of the SVM's on held-out rows.",
        least=0,
    )  # fmt: skip
    scores: str = option(
        "auto", "Of many classes: one score for each pair, as the SVM has them (pairs); the same, with "
        "weights made of as few as keep the labels (shared); or one score for each class, taught by the "
        "least of its pairs (classes). Where pairs take more numbers than the vectors, auto takes what "
        "has fewest and keeps the labels.",
        among=SCORES,
    )  # fmt: skip
    candidates: str = option(
        "rows", "Where data is given: choose among the support vectors only, or among data rows too.",
        among=POOLS,
    )  # fmt: skip
    move: bool = option(True, "Where data is given: move the chosen vectors to where they fit best.")
    synthetic_rows: int = option(
        4000, "How many fitting rows to make up between neighbouring data rows.", least=0
    )
    seed: int = option(0, "Seed of the rows that are made up and held out.", least=0)

    def __post_init__(self) -> None:
        whole = self.budget < 1 or float(self.budget).is_integer()
        if not (self.budget > 0 and whole and np.isfinite(self.budget)):
            raise OptionError(f"budget {self.budget} is neither a number of vectors nor a share below 1")
        check_options("reduced-set", self)
        if self.target > 0 and self.max_error > 0:
            raise OptionError("reduced-set: give target or max_error, not both; each says when to stop")


@dataclass(frozen=True, eq=False)
class Reduced:
    """Vectors with their coefficients, how they were found and how well they do."""

    vectors: Array
    fit: Fit
    how: str
    scores: str = "pairs"  # what the coefficients sum up to, and how
    mixing: Array | None = None  # [sums, rank] of shared weights
    weighting: str = "even"  # of the rows they are fitted to
    agreement: float = 0.0  # on held-out rows
    error: float = 0.0  # mean squared, there
    worst: float = 0.0  # the largest error of a decision value, there

    def numbers(self) -> int:
        """How many numbers its weights take."""
        sums, vectors = map(int, self.fit.weights.shape)
        return sums * vectors if self.mixing is None else self.mixing.shape[1] * (sums + vectors)


def reduced_set(svm: SVM, data: Data | None, options: ReducedSetOptions) -> Program:
    """f(x) ~ sum_i beta_i k(x, z_i) + b over few vectors z_i."""
    if data is None and (options.target > 0 or options.max_error > 0):
        word = "a target agreement is" if options.target > 0 else "max_error is"
        raise OptionError(f"{word} measured on data; pass X (Python) or --data FILE")
    search, count = Search(svm, data, options), int(options.budget)
    if options.budget < 1:
        count = max(1, round(options.budget * svm.n_vectors))
    found = search.to_target() if options.target > 0 or options.max_error > 0 else search.of(count)
    builder = Builder(svm)
    x = builder.preprocess()
    add_sums(builder, x, svm.kernel, found.vectors, found.fit, found.mixing)
    details = {
        "vectors": len(found.vectors),
        "support_vectors": svm.n_vectors,
        "chosen": found.how,
        "scores": found.scores,
        "rank": None if found.mixing is None else found.mixing.shape[1],
        "held_out_agreement": found.agreement if search.rows or found.agreement else None,
        "held_out_error": found.worst,
        "tried": [
            {"vectors": len(one.vectors), "how": one.how, "held_out_agreement": one.agreement}
            for one in search.tried
        ],
    }
    if found.scores == "classes":
        return class_program(builder, "sums", details)
    return builder.finish("sums", "reduced-set", Claim.APPROXIMATE, details=details)


class Search:
    """Reduced sets of any size for one SVM."""

    def __init__(self, svm: SVM, data: Data | None, options: ReducedSetOptions) -> None:
        self.svm, self.options = svm, options
        self.rows: FittingRows | None = None
        if data is not None:
            self.rows = fitting_rows(svm, data, options.synthetic_rows, DATA_ROWS, options.seed)
        self.kinds = kinds_of(svm, options.scores, data is not None)
        self.pool = self._pool(data)
        self.tried: list[Reduced] = []

    def of(self, count: int) -> Reduced:
        """The best reduced set of so many vectors; all support vectors, as they are, from there on."""
        svm = self.svm
        if count >= svm.n_vectors and "pairs" in self.kinds:
            fit = Fit(svm.weights_by_sum, svm.intercepts)
            return Reduced(svm.vectors, fit, "all of them, as they are", agreement=1.0)
        if self.rows is None:
            return self._without_data(count)
        best = [
            max(self._attempts(kind, count), key=self._merit) for kind in self.kinds if kind != "shared"
        ]
        if "shared" in self.kinds:
            best.insert(1, self._shared(best[0]))
        if self.options.scores == "shared":
            return self._with_all_rows(best[1])
        kept = [one for one in best if self._is_as_good(one, best[0])]
        return self._with_all_rows(min(kept, key=Reduced.numbers))

    def _shared(self, found: Reduced) -> Reduced:
        """The same with weights that are made of as few as keep the labels, if that takes fewer numbers."""
        assert self.rows is not None
        rows, most = self.rows, most_shared(*found.fit.weights.shape)
        mixing = directions(found.fit.predict(self._values(rows.z[~rows.held], found.vectors)))
        values = self._values(rows.z[self._judging], found.vectors)

        def of(rank: int) -> Reduced:
            kept = mixing[:, :rank]
            fit, how = shared_fit(found.fit, kept), f"{found.how}, shared by {rank}"
            return self._judged(replace(found, fit=fit, how=how, scores="shared", mixing=kept), values)

        return of(least_rank(most, lambda rank: self._is_as_good(of(rank), found))) if most else found

    def _is_as_good(self, found: Reduced, best: Reduced) -> bool:
        """Whether what takes fewer numbers does for what is best."""
        if self.options.max_error > 0 and found.scores != "classes":
            return found.worst <= max(best.worst, self.options.max_error)
        least = min(best.agreement, self.options.target)
        lost = KEPT if found.scores == "classes" else KEPT_SHARED
        return found.agreement >= max(least, best.agreement - lost)

    def _merit(self, found: Reduced) -> tuple[float, float]:
        if self.options.max_error > 0:
            return -found.worst, -found.error
        return found.agreement, -found.error

    def _enough(self, found: Reduced) -> bool:
        if self.options.max_error > 0:
            return found.worst <= self.options.max_error
        return found.agreement >= self.options.target

    def to_target(self) -> Reduced:
        """The smallest reduced set found that is close enough, by doubling and bisection."""
        low, high = 0, 1
        found = self.of(high)
        while not self._enough(found) and high < self.svm.n_vectors:
            low, high = high, min(2 * high, self.svm.n_vectors)
            found = self.of(high)
        while high - low > 1:
            middle = (low + high) // 2
            smaller = self.of(middle)
            if self._enough(smaller):
                high, found = middle, smaller
            else:
                low = middle
        return found

    def _pool(self, data: Data | None) -> Array:
        """The candidates: support vectors, heaviest first, and data rows."""
        svm = self.svm
        weight = np.abs(svm.weights_by_sum).sum(axis=0)
        pool: Array = svm.vectors[np.sort(np.argsort(-weight, kind="stable")[:CANDIDATES])]
        if data is None or self.options.candidates == "vectors":
            return pool
        rows = svm.prepared(np.asarray(data.X, dtype=np.float64))
        rows = np.unique(rows[np.isfinite(rows).all(axis=1)], axis=0)
        room = CANDIDATES - len(pool)
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(room, len(rows))).astype(int))]
        return np.concatenate([pool, rows]) if room > 0 else pool

    def _targets(self, kind: str, held: bool) -> Array:
        """What sums are to come to on the rows held out, or on the others."""
        assert self.rows is not None
        sums = self.rows.sums[self.rows.held == held]
        return class_margins(self.svm, sums) if kind == "classes" else sums

    def _by_rows(self, kind: str, count: int) -> Order:
        """So many candidates, chosen by rows."""
        assert self.rows is not None
        some = spread(np.flatnonzero(~self.rows.held), SELECT_ROWS)
        space = Rows(self.svm.kernel, self.rows.z[some])
        targets = self._targets(kind, held=False)[np.isin(np.flatnonzero(~self.rows.held), some)]
        return select_by_rows(space.values(space.places(self.pool)), targets, count)

    def _by_features(self, count: int) -> Order:
        """So many candidates, chosen in the SVM's feature space."""
        kernel, pool = self.svm.kernel, self.pool
        targets, space = Field(self.svm).values(pool) - self.svm.intercepts, Rows(kernel, pool, exact=True)
        diagonal = np.concatenate([kernel.values(v[None], v[None])[0] for v in pool])
        places = space.places(pool)
        return select_by_features(lambda i: space.values(places[i : i + 1])[:, 0], diagonal, targets, count)

    def _attempts(self, kind: str, count: int) -> list[Reduced]:
        """Candidates in place, with even and boundary weights; those that do best are moved as well."""
        orders = {"chosen by rows": self._by_rows(kind, count)}
        if kind == "pairs":
            orders["chosen in feature space"] = self._by_features(count)
        tried = [
            self._fitted(kind, self.pool[order], f"{how}, in place", weighting)
            for how, order in orders.items()
            for weighting in WEIGHTINGS
        ]
        if self.options.move:
            best = max(tried, key=self._merit)
            how = f"{best.how.split(',')[0]}, moved"
            vectors = self._moved(kind, best.vectors)
            tried += [self._fitted(kind, vectors, how, weighting) for weighting in WEIGHTINGS]
        self.tried += tried
        return tried

    def _without_data(self, count: int) -> Reduced:
        vectors = self.pool[self._by_features(count)]
        targets = Field(self.svm).values(vectors) - self.svm.intercepts
        gram = self.svm.kernel.values(vectors, vectors)
        fit = feature_fit(gram, targets, self.svm.intercepts)
        return Reduced(vectors, fit, "chosen in feature space, projected")

    def _moved(self, kind: str, vectors: Array) -> Array:
        """The vectors where they fit best with even weights; others are for the coefficients alone."""
        assert self.rows is not None
        z, targets = self.rows.z[~self.rows.held], self._targets(kind, held=False)
        given = self.rows.z[~self.rows.made_up]
        return moved(self.svm.kernel, vectors, z, targets, np.ones(len(z)), MOVES, given)

    def _fitted(self, kind: str, vectors: Array, how: str, weighting: str) -> Reduced:
        """Coefficients for vectors, and how well they do on held-out rows."""
        assert self.rows is not None
        rows = self.rows
        weights = WEIGHTINGS[weighting](rows.sums[~rows.held])
        values = self._values(rows.z[~rows.held], vectors)
        fit = ridge_fit(values, self._targets(kind, held=False), weights, RIDGE)
        found = Reduced(vectors, fit, f"{how}, {weighting} weights", kind, None, weighting)
        return self._judged(found, self._values(rows.z[self._judging], vectors))

    @property
    def _judging(self) -> NDArray[np.bool_]:
        """Rows that sets are judged by: those held out, all where there are too few to hold any out."""
        assert self.rows is not None
        return self.rows.held if self.rows.held.any() else ~self.rows.held

    def _judged(self, found: Reduced, values: Array) -> Reduced:
        """How well it does on those rows, whose kernel values these are."""
        assert self.rows is not None
        sums = self.rows.sums[self._judging]
        wanted = self._targets(found.scores, bool(self.rows.held.any()))
        miss = found.fit.predict(values) - wanted
        return replace(
            found, agreement=self._agreement(found.scores, sums, wanted + miss),
            error=float(np.square(miss).mean()), worst=float(np.abs(miss).max()),
        )  # fmt: skip

    def _agreement(self, kind: str, sums: Array, found: Array) -> float:
        if kind == "classes":
            return float(np.mean(labels_of(self.svm, sums) == found.argmax(axis=1)))
        return likeness(self.svm, sums, found)

    def _values(self, z: Array, vectors: Array) -> Array:
        space = Rows(self.svm.kernel, z, exact=True)
        return np.asarray(space.values(space.places(vectors)))

    def _with_all_rows(self, found: Reduced) -> Reduced:
        """The same vectors, coefficients fitted to held-out rows as well."""
        rows = self.rows
        assert rows is not None
        targets = class_margins(self.svm, rows.sums) if found.scores == "classes" else rows.sums
        weights = WEIGHTINGS[found.weighting](rows.sums)
        fit = ridge_fit(self._values(rows.z, found.vectors), targets, weights, RIDGE)
        return replace(found, fit=fit if found.mixing is None else shared_fit(fit, found.mixing))


def _even(sums: Array) -> Array:
    return np.ones(len(sums))


WEIGHTINGS = {"even": _even, "boundary": boundary_weights}
METHOD = Method(
    reduced_set, ReducedSetOptions, Claim.APPROXIMATE, needs_data=False, takes_heads=True,
    quicker=("move=false", "budget=32"),
)  # fmt: skip
