"""Search: sizes are tried with short trainings and judged by held-out rows, the best trained at length."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.proto.options import DEFAULT_BYTES, ProtoOptions
from svmcompile.accelerate.proto.rows import Known
from svmcompile.accelerate.proto.sizes import Sizes, Tables, candidates
from svmcompile.accelerate.proto.teacher import Teacher
from svmcompile.accelerate.proto.training import (
    FINALS,
    FINALS_WORK,
    Lesson,
    Trained,
    affordable,
    steps_within,
    train,
    train_once,
    usual_steps,
)
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import FIXED, Array
from svmcompile.ir.whole_numbers import fit_strides, share_a_range

# Of a training that only chooses sizes: steps, as a share and at most, rows, and products.
TRIAL_SHARE, TRIAL_STEPS, TRIAL_ROWS, TRIAL_WORK = 4, 1500, 80_000, 8e9
SMALL = 2048  # bytes: up to here nibbles and a short curve gain, in q7
UNLIKE = (
    "proto: projection=nibbles asks for features that share a range, as weights of four bits have one "
    "unit, and these do not; scale the features before training, or leave the option out"
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What a training does on held-out rows."""

    loss: float  # which chance moves less than the share
    held_out_agreement: float  # the share that it gets right


@dataclass(frozen=True, slots=True)
class Found:
    """What was trained, of which sizes, and what else was tried."""

    trained: Trained
    sizes: Sizes
    tables: Tables
    tried: dict[Sizes, Trial]

    def details(self) -> dict[str, Any]:
        return {
            "rank": self.sizes.rank,
            "vectors": self.sizes.vectors,
            "features_read": self.sizes.columns,
            "most_table_bytes": self.tables.of(self.sizes),
            "held_out_agreement": self.tried[self.sizes].held_out_agreement,
            "tried": [{**asdict(sizes), **asdict(trial)} for sizes, trial in self.tried.items()],
        }


@dataclass(frozen=True, eq=False)
class Search:
    """Sizes and trainings for one SVM and its rows."""

    known: Known
    taught: Teacher
    centre: Array
    options: ProtoOptions

    def best(self, tables: Tables, ranges: tuple[Array, Array]) -> Found:
        """What was trained within the limit; ranges are those of the features that are read."""
        low, high = ranges
        shared, precision, asked = share_a_range(low, high), self.options.precision, self.options.projection
        tables = replace(tables, small=precision == "q7" and 0 < self.options.max_bytes <= SMALL)
        nibbles = asked == "nibbles" or (tables.small and asked == "auto")
        found, told = None, replace(tables, one_range=shared, four_bits=nibbles and shared)
        while found is None or (precision in FIXED and told != found.tables):
            found = self._found(told)
            read = found.trained.columns  # what these need may be known only now
            shared = shared and share_a_range(low[read], high[read])
            strides = told.strides and (not told.small or fit_strides(read))
            told = replace(told, one_range=shared, four_bits=nibbles and shared, strides=strides)
        if self.options.projection == "nibbles" and not found.sizes.four_bits:
            raise OptionError(UNLIKE)
        return found

    def _found(self, tables: Tables) -> Found:
        tried = {sizes: self._tried(sizes) for sizes in self._sizes(tables)}
        ranked = sorted(tried, key=lambda sizes: tried[sizes].loss)
        best = ranked[0]
        finalists = ranked[: affordable(FINALS, FINALS_WORK, self.lesson, best, self._steps(best))]
        if len(finalists) > 1:  # a short training favours what learns fast
            finals = {sizes: self._judged(sizes, self._steps(sizes)) for sizes in finalists}
            tried |= finals
            best = min(finals, key=lambda sizes: finals[sizes].loss)
        return Found(train(self.lesson, best, self._steps(best), self.options.seed), best, tables, tried)

    def _steps(self, sizes: Sizes) -> int:
        return self.options.steps or usual_steps(self.lesson, sizes)

    def _tried(self, sizes: Sizes) -> Trial:
        """What a short training does."""
        steps = min(-(-self._steps(sizes) // TRIAL_SHARE), TRIAL_STEPS)
        return self._judged(sizes, min(steps, steps_within(TRIAL_WORK, self.lesson, sizes)))

    def _sizes(self, tables: Tables) -> list[Sizes]:
        options = self.options
        if options.rank > tables.features:
            raise OptionError(
                f"proto: rank is {options.rank}, and the kernel sees {tables.features} features; "
                "give at most as many"
            )
        if options.rank and options.vectors and options.density and not options.max_bytes:
            columns = max(1, round(options.density * tables.features))
            return [Sizes(options.rank, options.vectors, columns, tables.four_bits)]
        limit = options.max_bytes or DEFAULT_BYTES
        return candidates(tables, options, limit, len(self.known.kept))

    @cached_property
    def lesson(self) -> Lesson:
        """All rows."""
        known, share = self.known, self.options.labels
        targets = self.taught.targets(known.sums)
        if share:
            assert known.given is not None
            own = self.taught.with_labels(targets[: known.n_data], known.given, share)
            targets = np.concatenate([own, targets[known.n_data :]])
        rows = (known.z - self.centre).astype(np.float32)
        return Lesson(rows, targets.astype(np.float32), self.taught.loss)

    @cached_property
    def seen(self) -> Lesson:
        """Rows that sizes are tried on: none of those held out."""
        rows: NDArray[np.intp] = np.concatenate([self.known.kept, self.known.made_up])
        order = np.random.default_rng(self.options.seed).permutation(rows)
        return self.lesson.some(np.sort(order[:TRIAL_ROWS]))

    def _judged(self, sizes: Sizes, steps: int) -> Trial:
        """A training without held-out rows, judged by these, or by those kept where there are none."""
        known = self.known
        short = train_once(self.seen, sizes, steps, self.options.seed)
        others = known.held if len(known.held) else known.kept
        held = self.lesson.some(others)
        agreed = self.taught.likeness(known.sums[others], short.scores(held.rows))
        return Trial(short.loss(held), agreed)
