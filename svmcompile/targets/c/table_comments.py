"""What the comment above a table says: what its numbers are, and their shape."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from numpy.typing import NDArray

from svmcompile.ir.nodes import table_names
from svmcompile.ir.program import Program

# By the field of the node that reads the table.
MEANINGS = {
    "answers": "the class that a plane decides for", "axes": "directions in which a leaf is curved",
    "basis": "directions that bounds look along", "bias": "what each sum begins with",
    "bias_firsts": "where the biases of each leaf begin", "by": "what is added to each column",
    "centre": "what is subtracted from a row", "centres": "the centre of each leaf",
    "children": "the two children of each node; leaves are below zero", "closer": "closer bounds, by pair",
    "columns": "the features that are read", "constants": "the value at the centre of each leaf",
    "coordinates": "vectors along the directions of the bounds", "counts": "how many vectors a member has",
    "cubes": "third derivatives of each leaf", "curve": "points of the kernel's curve",
    "ends": "where each group of vectors ends", "entries": "the numbers of vectors that are not zero",
    "estimates": "kernel values that are estimated",
    "factor": "what each feature is multiplied by", "factors": "the features of each product",
    "far": "scores of rows far from all vectors", "features": "the feature that each node tests",
    "firsts": "where the vectors of each leaf begin", "gaps": "bounds on what steps leave out",
    "guess_bias": "what the guess of each class begins with", "guess_weights": "weights of this guess",
    "indices": "the vectors that have each feature", "knots": "where the levels of a calibration change",
    "levels": "the levels of a calibration", "loose": "bounds that hold for a whole leaf",
    "margins": "scores beyond which the label is certain", "marks": "a bit for each feature that occurs",
    "members": "the vectors of each leaf", "middles": "the value in the middle of each leaf",
    "norms": "squared norms of vectors", "offset": "what is added to each feature",
    "offsets": "what belongs to each vector alone", "origins": "where periods are counted from",
    "periods": "after how much features begin anew; 0: never", "picks": "what each node looks at",
    "pieces": "the polynomial of each piece", "places": "where the weights of each leaf begin",
    "planes": "the normal of each plane", "powers": "the power of each feature",
    "projection": "the direction that bounds look along", "projections": "vectors along these directions",
    "ranks": "features that occur before a word of marks", "residuals": "what bounds leave open, by stage",
    "rest": "the class where no plane decides", "roots": "where the tree of each class begins",
    "rounding": "bounds on what rounding does", "shift": "what is subtracted from each feature",
    "shifts": "by how many bits each sum is shifted", "sides": "on which side of a plane a leaf lies",
    "slacks": "what bounds add for rounding, by stage", "slopes": "first derivatives of each leaf",
    "squares": "second derivatives of each leaf", "starts": "where each group begins",
    "steps": "bounds on derivatives", "strides": "how far each feature that is read is behind the last",
    "sums": "the sum that each function adds to",
    "thresholds": "what each node compares with", "units": "the unit of each function",
    "values": "the numbers that are stored", "vector_starts": "where the numbers of each vector begin",
    "vectors": "support vectors, or the vectors in their place",
    "weights": "weights of vectors or features", "widths": "bounds on the error of each term",
}  # fmt: skip


def table_comments(program: Program) -> dict[str, str]:
    """By table: the meaning it has for the first node that reads it, and its shape."""
    found: dict[str, str] = {}
    for node in reversed(program.body):
        names = {*table_names(node)}
        for one in fields(node):
            name = getattr(node, one.name)
            if one.type in ("Table", "IndexTable") and name in names:
                found[name] = (
                    f"{node.out}: {MEANINGS.get(one.name, one.name)}, {_shape(program.tables[name])}"
                )
    return found


def _shape(table: NDArray[Any]) -> str:
    return " x ".join(map(str, table.shape)) or "one"
