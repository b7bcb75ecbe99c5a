"""Votes certified by Taylor polynomials: pairs of a champion, expanded about centres of its own class."""

from svmcompile.accelerate.certified.votes.rest import as_pairs as as_pairs
from svmcompile.accelerate.certified.votes.rest import is_one_vs_rest as is_one_vs_rest
from svmcompile.accelerate.certified.votes.rest import joined as joined
from svmcompile.accelerate.certified.votes.votes import certified_votes as certified_votes
