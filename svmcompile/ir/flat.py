"""Flat tables: a program enters; tables leave whose length says nothing of what a row needs."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program

FIELDS: dict[type[ir.Node], tuple[str, ...]] = {
    ir.LeafSums: ("weights",),
    ir.PackedLeaves: ("weights",),
    ir.BoundedSum: ("coordinates", "estimates"),
    ir.StagedSum: ("coordinates", "estimates"),
    ir.BoundedVote: ("coordinates", "projections", "picks"),
    ir.StagedVote: ("coordinates", "projections", "picks"),
}


def flat_tables(program: Program) -> set[str]:
    """Names of tables that rows are not multiplied with as a whole."""
    return {getattr(node, field) for node in program.body for field in FIELDS.get(type(node), ())}
