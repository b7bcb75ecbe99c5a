"""Nodes of lists of half-spaces: the first half-space of a list that holds the row answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import chunks
from svmcompile.ir.kinds import IndexTable, Kind, Level, Order, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, need, rising
from svmcompile.ir.pairs import classes_of
from svmcompile.ir.walks import most_tests, walk_hits, walk_lists
from svmcompile.ir.whole_numbers import INT32, fits, sizes, whole, whole_dots


@dataclass(frozen=True, slots=True)
class PlaneLists(Node):
    """Lists of half-spaces, one list per score: the first that holds the row answers, else the list's rest.

    For list p, j from starts[p] to starts[p + 1] - 1: the first j with
    planes[j] . (x - centre) > thresholds[j] gives out[p] = answers[j]; none: out[p] = rest[p].
    NaN compares false, so such a row gets the rest.

    Order "all" looks at every list. With "dag" the lists are the pairs (a, b) of k classes and
    only k - 1 are looked at: from classes 0 and k - 1 on, the loser of a pair leaves (above zero the
    first has won, below the second). The pairs of the winner get 1 or -1 in its favour, all others 0;
    where a list on the way says 0, every pair is 0.

    In groups of lanes, several dot products are taken at once; planes that fill up the last group
    belong to no list.
    """

    may_be_whole: ClassVar = True
    small_tables: ClassVar = {"planes": ("float16", "int8")}
    takes_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    planes: Table  # [planes, d], or in machine programs [groups, d, lanes]; may be float16 or int8
    thresholds: Table = field(metadata=dims("n"))  # in units of the stored planes
    starts: IndexTable = field(metadata=dims("lists+1"))
    answers: Table = field(metadata=dims("n", "float32"))
    rest: Table = field(metadata=dims("lists", "float32"))
    centre: Table = field(metadata=dims("d", "float32"))
    order: Order

    def stands_on(self, at: At) -> Level:
        return Level.MACHINE if at.planes.ndim == 3 else self.level

    def result(self, at: At) -> Type:
        planes, lists = len(at.answers), len(at.rest)
        need(planes > 0 and lists > 0, "there is no plane or no list")
        if at.planes.ndim == 3:
            groups, d, lanes = at.planes.shape
            need(d == at.d and 0 <= groups * lanes - planes < lanes, "groups and answers do not fit")
            need(not at.x.whole, "groups of planes are for floats")
        at.fit(n=planes, planes=at.planes.shape if at.planes.ndim == 3 else (planes, at.d))
        rising(at.starts, planes)
        need(at.order == "all" or classes_of(lists) > 1, "order dag needs one list per pair of classes")
        return Type(Kind.SCORES, lists)

    def run(self, at: At) -> NDArray[Any]:
        return walk_lists(at, at.x - at.centre).scores

    def work(self, at: At, rows: At | None) -> Work:
        d = at.x.width
        tests = float(most_tests(at) if rows is None else _mean_tests(at, rows.x))
        return Work(0, d + tests * (2 * d + 1))

    def whole_limit(self, at: At) -> int:
        fits(int((at.x.limit * sizes(whole(at.planes))).max(initial=0)), INT32, "a dot product")
        fits(int(np.abs(whole(at.thresholds)).max(initial=0)), INT32, "a threshold")
        return max(int(np.abs(whole(end)).max()) for end in (at.answers, at.rest))

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        x = at.x.astype(np.int64)
        close = np.abs(whole_dots(x, whole(at.planes)) - whole(at.thresholds)) <= slack
        return np.asarray((close & walk_lists(at, x).tested).any(axis=1))

    def error(self, at: At, a: Arithmetic) -> Result:
        x, planes, thresholds = at.x, at.planes.astype(np.float64), at.thresholds
        h = x.value - at.centre
        values, size, d = h @ planes.T, np.abs(planes.T), h.shape[1]
        products = np.abs(h) @ size
        error = x.error @ size + a.u * (d + 4) * products + a.u * np.abs(thresholds)
        error = a.held(products, error)
        error += a.tiny * (np.abs(h).sum(axis=1, keepdims=True) + d + 2)
        walk = walk_hits(at, values > thresholds, np.float64)
        near = ~(np.abs(values - thresholds) > error)
        return walk.scores, np.zeros(walk.scores.shape), (walk.tested & near).any(axis=1)


def _mean_tests(at: At, x: NDArray[Any]) -> float:
    parts = [walk_lists(at, x[part] - at.centre).tests for part in chunks(len(x), len(at.answers))]
    return float(np.concatenate(parts).mean())
