"""Metric tree with local affine leaves, after Pham and Smeulders.

"Metric tree partitioning and Taylor approximation for fast support vector
classification": a binary tree over rows like those to come; each leaf holds
the Taylor expansion of the decision function at its row. An evaluation walks
down the tree and takes one dot product; no kernel is met. `paper=true` builds
that tree; the default is a smaller one, chosen by a holdout.
"""

from __future__ import annotations

from svmcompile.accelerate.metric_tree.method import metric_tree
from svmcompile.accelerate.metric_tree.options import MetricTreeOptions
from svmcompile.accelerate.registry import Method
from svmcompile.ir.program import Claim

METHOD = Method(metric_tree, MetricTreeOptions, Claim.APPROXIMATE, needs_data=True, takes_heads=True)
