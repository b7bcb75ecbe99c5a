"""The certificates of a program, and those that a row meets: polynomials about one centre each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.champions import pair_table
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Program
from svmcompile.ir.taylor_vote_meaning import Votes, in_rows

Tables = Mapping[str, NDArray[Any]]


class Certificate(NamedTuple):
    """A leaf of Taylor polynomials, and the sum they are about: one of the original's, or its negative."""

    node: ir.TaylorSum
    tables: Tables
    leaf: int
    sum: int = 0
    sign: int = 1


class OfSum:
    """Certificates of one decision value."""

    def __init__(self, program: Program, node: ir.TaylorSum) -> None:
        self.program, self.x, self.node = program, node.x, node

    def met(self, rows: NDArray[Any], every_leaf: bool) -> Iterator[list[Certificate]]:
        """Those of each row: about the centre it is taken to, or about every one."""
        leaves = interpret_values(self.program, rows, {self.node.leaf})[self.node.leaf]
        every = range(len(self.program.tables[self.node.steps]))
        for leaf in leaves:
            chosen = every if every_leaf else [int(leaf)]
            yield [Certificate(self.node, self.program.tables, one) for one in chosen]


class OfVote:
    """Certificates of pairs of classes, about centres of the first of the two."""

    def __init__(self, program: Program, node: ir.TaylorVote) -> None:
        self.program, self.x, self.node = program, node.x, node

    def met(self, rows: NDArray[Any], every_leaf: bool) -> Iterator[list[Certificate]]:
        """Those of each row with every class as champion: about its centre for the row, or about all."""
        x = interpret_values(self.program, rows, {self.x})[self.x]
        votes = Votes(self.node, np.asarray(x), self.program.tables)
        every, classes = np.arange(len(rows)), range(len(self.node.counts))
        centres = np.stack([votes.centre_of(every, own) for own in classes], axis=1)
        for row in centres:
            chosen = {(own, int(row[own])) for own in classes}
            yield [one for key, ones in self._about.items() if every_leaf or key in chosen for one in ones]

    @cached_property
    def _about(self) -> dict[tuple[int, int], list[Certificate]]:
        """Certificates by class and centre."""
        tables = in_rows(self.node, self.program.tables)
        owners = _owners(tables["roots"], tables["children"])
        return {(own, at): self._pairs(tables, own, at) for at, own in sorted(owners.items())}

    def _pairs(self, tables: Tables, own: int, centre: int) -> list[Certificate]:
        classes = len(self.node.counts)
        pairs = pair_table(classes)
        others = [other for other in range(classes) if other != own]
        return [
            Certificate(
                *_pair(self.node, tables, own, centre, q),
                0,
                int(pairs[own, other]),
                1 if own < other else -1,
            )
            for q, other in enumerate(others)
        ]


def _owners(roots: NDArray[Any], children: NDArray[Any]) -> dict[int, int]:
    """The class of every centre."""
    found = {}
    for own, root in enumerate(roots.tolist()):
        ways = [root]
        while ways:
            at = ways.pop()
            if at >= 0:
                ways += children[at].tolist()
            else:
                found[~at] = own
    return found


def _pair(
    node: ir.TaylorVote, tables: Tables, own: int, centre: int, q: int
) -> tuple[ir.TaylorSum, dict[str, NDArray[Any]]]:
    """The polynomials of one pair as a node of its own."""
    orders, none = len(tables["margins"]), np.zeros(1)
    loose = np.zeros((1, 1, 4))
    if node.rank:
        loose[0, 0, :2] = tables["loose"][centre, :, q]
    made = {
        "centres": tables["centres"][centre][None],
        "constants": tables["constants"][centre, q][None],
        "slopes": tables["slopes"][centre, q][None],
        "axes": tables["axes"][centre][None] if node.rank else none,
        "squares": tables["squares"][centre, q][None] if orders > 1 else none,
        "cubes": none,
        "middles": tables["middles"][centre, q][None] if node.rank else none,
        "loose": loose if node.rank else none,
        "steps": tables["steps"][centre][None],
        "gaps": tables["gaps"][:, centre, None, :, :, q],
        "margins": tables["margins"][:, centre, q][:, None],
        "bias": tables["offsets"][own, q][None],
    }
    names = {name: name for name in made}
    gates = (0.0,) * (orders - 1)
    one = ir.TaylorSum(
        out=node.out, x=node.x, leaf="", exact=node.exact, gates=gates, gamma=node.kernel.gamma,
        slack=node.slack, sparse=False, **names,
    )  # fmt: skip
    return one, made


def certified(program: Program) -> OfSum | OfVote:
    """The certificates of a program."""
    for node in program.body:
        if isinstance(node, ir.TaylorSum):
            return OfSum(program, node)
        if isinstance(node, ir.TaylorVote):
            return OfVote(program, node)
    raise UnsupportedError(
        f"a program of method {program.origin.method} holds no Taylor certificates; "
        "methods certified and h1-tree (proven=true) make them"
    )
