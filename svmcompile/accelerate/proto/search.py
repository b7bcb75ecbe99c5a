"""Search: sizes are tried with short trainings and judged by held-out rows, the best trained at length."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.proto.options import DEFAULT_BYTES, ProtoOptions
from svmcompile.accelerate.proto.rows import Known
from svmcompile.accelerate.proto.sizes import Sizes, Tables, candidates
from svmcompile.accelerate.proto.teacher import Teacher
from svmcompile.accelerate.proto.training import Lesson, Trained, train
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import FIXED, Array
from svmcompile.ir.whole_numbers import share_a_range

TRIAL_SHARE, TRIAL_ROWS = 4, 8000  # of the steps, and rows, of a training that only chooses sizes


@dataclass(frozen=True, slots=True)
class Found:
    """What was trained, of which sizes, and what else was tried."""

    trained: Trained
    sizes: Sizes
    tables: Tables
    tried: dict[Sizes, float]  # with the share of held-out rows that each gets right

    def details(self) -> dict[str, Any]:
        return {
            "rank": self.sizes.rank,
            "vectors": self.sizes.vectors,
            "features_read": self.sizes.columns,
            "most_table_bytes": self.tables.of(self.sizes),
            "held_out_agreement": self.tried[self.sizes],
            "tried": [
                {**asdict(sizes), "held_out_agreement": share} for sizes, share in self.tried.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class Search:
    """Sizes and trainings for one SVM and its rows."""

    known: Known
    taught: Teacher
    centre: Array
    options: ProtoOptions

    def best(self, tables: Tables, ranges: tuple[Array, Array]) -> Found:
        """What was trained within the limit; ranges are those of the features that are read."""
        low, high = ranges
        tables = replace(tables, one_range=share_a_range(low, high))
        found = self._found(tables)
        read = found.trained.columns
        if (
            tables.one_range
            and self.options.precision in FIXED
            and not share_a_range(low[read], high[read])
        ):
            found = self._found(replace(tables, one_range=False))  # whole numbers need a scale for each
        return found

    def _found(self, tables: Tables) -> Found:
        lesson = self._lesson()
        parts = self._sizes(tables)
        tried = {sizes: self._judged(lesson, sizes) for sizes in parts}
        best = self._chosen(tried, parts)
        return Found(train(lesson, best, self.options.steps, self.options.seed), best, tables, tried)

    def _chosen(self, tried: dict[Sizes, float], parts: dict[Sizes, int]) -> Sizes:
        """The best of the smallest that are as good as the best of all, within one standard error."""
        best = max(tried.values())
        chance = np.sqrt(max(best * (1 - best), 0.0) / max(len(self.known.held), 1))
        smallest = max(parts[sizes] for sizes, share in tried.items() if share >= best - chance)
        return max((sizes for sizes in tried if parts[sizes] == smallest), key=lambda sizes: tried[sizes])

    def _sizes(self, tables: Tables) -> dict[Sizes, int]:
        options = self.options
        if options.rank > tables.features:
            raise OptionError(
                f"proto: rank is {options.rank}, and the kernel sees {tables.features} features; "
                "give at most as many"
            )
        if options.rank and options.vectors and options.density and not options.max_bytes:
            columns = max(1, round(options.density * tables.features))
            return {Sizes(options.rank, options.vectors, columns): 1}
        limit = options.max_bytes or DEFAULT_BYTES
        return candidates(tables, options, limit, len(self.known.kept))

    def _lesson(self) -> Lesson:
        known, share = self.known, self.options.labels
        targets = self.taught.targets(known.sums)
        if share:
            assert known.given is not None
            own = self.taught.with_labels(targets[: known.n_data], known.given, share)
            targets = np.concatenate([own, targets[known.n_data :]])
        rows = (known.z - self.centre).astype(np.float32)
        return Lesson(rows, targets.astype(np.float32), self.taught.loss)

    def _judged(self, lesson: Lesson, sizes: Sizes) -> float:
        """What a short training gets right on held-out rows, or on those kept where there are none."""
        known, options = self.known, self.options
        seen: NDArray[np.intp] = np.concatenate([known.kept, known.made_up])
        seen = np.sort(np.random.default_rng(options.seed).permutation(seen)[:TRIAL_ROWS])
        steps = -(-options.steps // TRIAL_SHARE)
        short = train(lesson.some(seen), sizes, steps, options.seed, fine=False)
        held = known.held if len(known.held) else known.kept
        return self.taught.likeness(known.sums[held], short.scores(lesson.rows[held]))
