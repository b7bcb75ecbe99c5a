"""Metric tree with local affine leaves, after Pham and Smeulders.

"Metric tree partitioning and Taylor approximation for fast support vector
classification": a binary tree over rows like those to come; each leaf holds
the Taylor expansion of the decision function at its row. An evaluation walks
down the tree and takes one dot product; no kernel is met. `paper=true` builds
that tree; the default is a smaller one, chosen by a holdout.
"""
