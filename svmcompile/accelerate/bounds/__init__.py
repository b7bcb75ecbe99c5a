"""Sums that stop as soon as their sign is certain: the toolkit of `anytime` and `certified`.

`greedy` and `orderings` order the vectors, `basis` embeds the weights in their span, `margins`
bounds what float32 adds, `stages` makes the tables, `costs` and `choose` pick the cheapest form
on sample rows; `single` and `votes` put programs together.
"""
