"""Parts of the method `sv-tree` (Ukkonen, "The support vector tree"); one idea per file.

`grow` builds a `Tree` from kernel values alone: a matrix K[rows, vectors] and targets. How a node is
split is `split` (every threshold and column, exactly) or `grow.alternating_split` (as published). `method`
puts it together: fitting rows, linear term, several classes, fallback, program.
"""
