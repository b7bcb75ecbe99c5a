"""The node of a vote of Taylor polynomials: places and trees go in, a `TaylorVote` comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.bounds.guess import Guess
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.certified.votes.pairs import Pairs
from svmcompile.accelerate.certified.votes.places import Expanded, Form, Placed, slack_of
from svmcompile.accelerate.taylor.centres import Centres
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array

FLOAT = 4  # bytes


@dataclass(frozen=True, eq=False)
class Layout:
    """Trees of all classes, one after the other, and the places at their leaves with their tables."""

    trees: Sequence[Centres]  # by class
    places: Sequence[Placed]
    form: Form

    @property
    def expanded(self) -> list[Expanded]:
        return [one.expanded[self.form] for one in self.places]

    @property
    def bytes(self) -> int:
        """Of its float32 tables; vectors come on top."""
        d = len(self.places[0].centre)
        tests = sum(len(tree.planes) for tree in self.trees)
        pairs = len(self.places[0].constants)
        own = sum(one.numbers for one in self.expanded) + len(self.places) * (d + 1 + pairs * (d + 1))
        return FLOAT * (own + tests * (d + 1))

    def routes(self) -> tuple[list[int], Array, Array, list[list[int]]]:
        """Roots, planes, thresholds and children, numbered through all classes."""
        roots: list[int] = []
        planes: list[Array] = []
        thresholds: list[float] = []
        children: list[list[int]] = []
        centres = 0
        for tree in self.trees:
            first = len(planes)
            moved = [[_moved(child, first, centres) for child in pair] for pair in tree.children]
            roots.append(first if tree.planes else ~centres)
            planes += tree.planes
            thresholds += tree.thresholds
            children += moved
            centres += len(tree.parts)
        if not planes:
            return roots, np.zeros(1), np.zeros(1), [[-1, -1]]
        return roots, np.stack(planes), np.array(thresholds), children


def _moved(child: int, tests: int, centres: int) -> int:
    return child + tests if child >= 0 else ~(~child + centres)


def vote_node(
    builder: Builder,
    pairs: Pairs,
    guess: Guess,
    rounding: tuple[Array, Array],
    layout: Layout,
    x: str,
    exact: str,
) -> ir.TaylorVote:
    """The vote, with its tables."""
    own, places, found = pairs.own, layout.places, layout.expanded
    roots, planes, thresholds, children = layout.routes()
    none = np.zeros(1)
    second, rank = layout.form.order > 1, layout.form.rank if layout.form.order > 1 else 0
    table, indices = builder.table, builder.indices
    offsets = [[one.bias for one in pairs.against(own_class)] for own_class in range(pairs.classes)]
    return ir.TaylorVote(
        out="label",
        x=x,
        exact=exact,
        guess_weights=table("guess_weights", guess.weights),
        guess_bias=table("guess_bias", guess.bias - guess.weights @ guess.centre),
        roots=indices("roots", np.array(roots)),
        planes=table("planes", planes),
        thresholds=table("thresholds", thresholds),
        children=indices("children", np.array(children)),
        centres=table("centres", np.stack([one.centre for one in places])),
        steps=table("steps", np.array([one.step for one in places])),
        offsets=table("offsets", np.array(offsets)),
        constants=table("constants", np.stack([one.constants for one in places])),
        slopes=table("slopes", np.stack([one.slopes for one in places])),
        axes=table("axes", np.stack([one.axes for one in found]) if rank else none),
        squares=table("squares", np.stack([one.squares for one in found]) if second else none),
        middles=table("middles", np.stack([one.middles for one in found]) if rank else none),
        loose=table("loose", np.stack([one.loose for one in found]) if rank else none),
        gaps=table("gaps", np.stack([one.gaps for one in found], axis=1)),
        margins=table("margins", np.stack([one.margins for one in found], axis=1)),
        vectors=table("vectors", own.vectors[:, :, None]),
        weights=table("weights", own.coefficients),
        bias=table("bias", own.intercepts),
        rounding=table("rounding", rounding[0]),
        closer=table("closer", rounding[1]),
        norms=table("norms", np.square(pairs.own.vectors).sum(axis=1) if pairs.sparse else np.zeros(1)),
        starts=table("starts", _starts(layout) if pairs.sparse else np.zeros(1)),
        rank=rank,
        counts=own.counts,
        kernel=own.kernel,
        slack=slack_of(own.vectors.shape[1], rank),
    )


def _starts(layout: Layout) -> Array:
    """What the centres themselves bring to slopes and axes, [centres, k - 1 + r]."""
    pairs = zip(layout.places, layout.expanded, strict=True)
    return np.stack([np.concatenate([one.slopes, more.axes]) @ one.centre for one, more in pairs])
