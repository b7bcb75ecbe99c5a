"""bench: a compiled model and its rivals on the same rows, timed in turn; figures and charts come out."""
