"""What is reported of each node: how it was found, and which classes its region holds.

The first is the report's Table 4.1, the second its picture 3.15: a region gets the share of its class among
rows, here with the interval of Clopper and Pearson.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmcompile.accelerate.fitting.calibration import upper_bound
from svmcompile.accelerate.h1_tree.forest import Lists
from svmcompile.accelerate.h1_tree.grow import Flags, HalfSpace
from svmcompile.accelerate.h1_tree.rows import Pair, Rows

CONFIDENCE = 0.95  # of the intervals
Record = dict[str, Any]


def node_records(lists: Lists, pairs: Sequence[Pair], rows: Rows, names: Sequence[Any]) -> list[Record]:
    """A record for every node in its order, and one for what the nodes of a list leave.

    Only rows of the two classes that a list parts are counted.
    """
    found = list[Record]()
    for (above, below), one in zip(pairs, lists.lists, strict=True):
        own = rows.some(np.flatnonzero(np.isin(rows.classes, (above, below))))
        left = np.ones(len(own), dtype=bool)
        about = {"classes": [str(names[above]), str(names[below])]}
        for node in one.nodes:
            held = left & node.holds(own.points)
            answer, hard = (above, below) if node.answer > 0 else (below, above)
            found.append(about | _origin(node, str(names[hard])) | _shares(own, held, answer, names))
            left &= ~held
        answer = below if one.rest < 0 else above
        end = {"program": "rest" if one.rest else "SVM"}
        found.append(about | end | _shares(own, left, answer, names))
    return found


def _origin(node: HalfSpace, hard: str) -> Record:
    how = node.how
    return {
        "program": how.program,
        "hard_class": hard,
        "sign": how.sign,
        "perpendicular": how.perpendicular,
        "turned": how.turned,
    }


def _shares(rows: Rows, held: Flags, number: int, names: Sequence[Any]) -> Record:
    """The share of a class among the rows of a region; the other class has the rest."""
    n, own = int(held.sum()), int((rows.classes[held] == number).sum())
    share, interval = interval_of(own, n)
    return {"class": str(names[number]), "rows": n, "share": share, "interval": interval}


def interval_of(hits: int, n: int) -> tuple[float | None, list[float]]:
    """A share and its two-sided interval by Clopper and Pearson; of no rows nothing is known."""
    if n == 0:
        return None, [0.0, 1.0]
    one_sided = (1 + CONFIDENCE) / 2
    low, high = 1 - upper_bound(n - hits, n, one_sided), upper_bound(hits, n, one_sided)
    return round(hits / n, 6), [round(low, 6), round(high, 6)]
