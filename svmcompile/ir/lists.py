"""Nodes of lists of half-spaces: the first half-space of a list that holds the row answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import IndexTable, Level, Order, Table, Value


@dataclass(frozen=True, slots=True)
class PlaneLists:
    """Lists of half-spaces, one list per score: the first that holds the row answers, else the list's rest.

    For list p, j from starts[p] to starts[p + 1] - 1: the first j with
    planes[j] . (x - centre) > thresholds[j] gives out[p] = answers[j]; none: out[p] = rest[p].
    NaN compares false, so such a row gets the rest.

    Order "all" looks at every list. With "dag" the lists are the pairs (a, b) of k classes and
    only k - 1 are looked at: from classes 0 and k - 1 on, the loser of a pair leaves (above zero the
    first has won, below the second). The pairs of the winner get 1 or -1 in its favour, all others 0;
    where a list on the way says 0, every pair is 0.
    """

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    planes: Table  # [m, d]; may be float16 or int8
    thresholds: Table  # [m], in units of the stored planes
    starts: IndexTable  # [lists + 1]
    answers: Table  # [m], float32 numbers
    rest: Table  # [lists], float32 numbers
    centre: Table  # [d]
    order: Order


@dataclass(frozen=True, slots=True)
class TiledLists:
    """`PlaneLists` with its planes in groups of lanes, whose dot products are taken at once.

    Planes that fill up the last group belong to no list.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    planes: Table  # [groups, d, lanes]
    thresholds: Table  # [m]
    starts: IndexTable
    answers: Table
    rest: Table
    centre: Table
    order: Order
