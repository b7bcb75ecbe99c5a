"""choose: what a person wants of a model in, candidates tried and figures compared, the one to take out."""
