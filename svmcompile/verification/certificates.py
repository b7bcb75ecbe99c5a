"""The certificates of a program, and those that a row meets: polynomials about one centre each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.vote_walk import Votes, in_rows

Tables = Mapping[str, NDArray[Any]]


class Certificate(NamedTuple):
    """A leaf of Taylor polynomials, and the two classes whose pair they are about, if there are several."""

    node: ir.TaylorSum
    tables: Tables
    leaf: int
    pair: tuple[int, int] | None = None  # above zero for the first
    apart: bool = False  # products with h are those with x less those with the centre


class JetCertificate(NamedTuple):
    """Jets of what is left of the original's sum, block by block."""

    node: ir.JetSum
    tables: Tables
    pair: tuple[int, int] | None = None


Held = Certificate | JetCertificate


class OfSum:
    """Certificates of one decision value."""

    def __init__(self, program: Program, nodes: list[ir.TaylorSum]) -> None:
        self.program, self.x, self.nodes = program, nodes[0].x, nodes

    def met(self, rows: NDArray[Any], every_leaf: bool) -> Iterator[list[Held]]:
        """Those of each row: about the centre it is taken to, or about every one; and of jets behind."""
        tables = self.program.tables
        known = interpret_values(self.program, rows, {node.leaf for node in self.nodes})
        body: tuple[Any, ...] = self.program.body
        jets = [JetCertificate(node, tables) for node in body if node.certificate == "jets"]
        assert all(node.x == self.x for node in self.nodes), "polynomials read one row"
        assert all(one.node.x == self.x for one in jets), "jets read the row as polynomials do"
        for at in range(len(rows)):
            found: list[Held] = []
            for node in self.nodes:
                every = range(len(tables[node.steps]))
                chosen = every if every_leaf else [int(known[node.leaf][at])]
                found += [Certificate(node, tables, leaf) for leaf in chosen]
            yield [*found, *jets]


class OfVote:
    """Certificates of pairs of classes, about centres of the first of the two."""

    def __init__(self, program: Program, node: ir.TaylorVote) -> None:
        self.program, self.x, self.node = program, node.x, node

    def met(self, rows: NDArray[Any], every_leaf: bool) -> Iterator[list[Held]]:
        """Those of each row with every class as champion: about its centre for the row, or about all."""
        x = interpret_values(self.program, rows, {self.x})[self.x]
        votes = Votes(At(self.node, self.program.tables), np.asarray(x))
        every, classes = np.arange(len(rows)), range(len(self.node.counts))
        centres = np.stack([votes.centre_of(every, own) for own in classes], axis=1)
        for row in centres:
            chosen = {(own, int(row[own])) for own in classes}
            yield [one for key, ones in self._about.items() if every_leaf or key in chosen for one in ones]

    @cached_property
    def _about(self) -> dict[tuple[int, int], list[Held]]:
        """Certificates by class and centre."""
        tables = in_rows(At(self.node, self.program.tables))
        owners = _owners(tables["roots"], tables["children"])
        return {(own, at): self._pairs(tables, own, at) for at, own in sorted(owners.items())}

    def _pairs(self, tables: Tables, own: int, centre: int) -> list[Held]:
        others = [other for other in range(len(self.node.counts)) if other != own]
        apart = self.program.tables[self.node.starts].ndim > 1
        return [
            Certificate(*_pair(self.node, tables, own, centre, q), 0, (own, other), apart)
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
        slack=node.slack, sparse=False, fades=True, **names,
    )  # fmt: skip
    return one, made


def certified(program: Program) -> OfSum | OfVote:
    """The certificates of a program."""
    sums: list[Any] = [node for node in program.body if node.certificate == "polynomials"]
    if sums:
        return OfSum(program, sums)
    node: Any
    for node in program.body:
        if node.certificate == "vote":
            return OfVote(program, node)
    raise UnsupportedError(
        f"a program of method {program.origin.method} holds no Taylor certificates; "
        "methods certified and h1-tree (proven=true) make them"
    )
