"""Sums that stop as soon as their sign is certain: the toolkit of `anytime` and `certified`.

`order` picks the vectors one by one, `stages` embeds the weights in their span and makes the tables,
`margins` bounds what float32 adds, `choose` picks the cheapest form on sample rows; `program` puts
programs together, of one sum or of votes.
"""
