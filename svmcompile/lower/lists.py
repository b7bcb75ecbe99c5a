"""tile_lists: planes of lists of half-spaces go into groups, for processors with vector instructions."""

from __future__ import annotations

import numpy as np

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables
from svmcompile.ir.nodes import PlaneLists
from svmcompile.lower.sums import in_lanes

LANES = {"f32": 4, "f64": 2}  # 16 bytes, which every processor with vector instructions has
# A group of planes takes as many instructions as its planes one by one, but no sum across lanes. That
# counts where rows are short, or where all planes are looked at anyway; in long rows of long lists an
# early answer saves more. Measured, the plain form over the tiled one: 1.3 times as long with four
# features, as long with eight, 0.8 times with sixteen; lists of one plane each 1.2 times up to 32.
MOST_FEATURES, MOST_OF_SINGLES = 8, 32


def tile_lists(node: PlaneLists, tables: Tables, number: Number) -> Tables:
    """The tables with planes in groups, or as they are where that would not pay."""
    planes, lanes = tables[node.planes], LANES[number]
    lengths = np.diff(tables[node.starts].astype(np.int64))
    singles = node.order == "all" and len(lengths) > 1 and lengths.max() == 1
    if planes.shape[1] > (MOST_OF_SINGLES if singles else MOST_FEATURES) or planes.dtype == np.float16:
        return tables
    if node.order == "dag" and lengths.mean() < lanes / 2:
        return tables  # of each group, few planes would be looked at
    return tables | {node.planes: in_lanes(planes, lanes)}
