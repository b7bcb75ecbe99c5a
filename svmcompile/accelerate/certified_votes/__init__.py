"""Votes certified by Taylor polynomials: pairs of a champion, expanded about centres of its own class."""

from svmcompile.accelerate.certified_votes.votes import certified_votes as certified_votes
