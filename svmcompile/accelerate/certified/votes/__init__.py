"""Votes certified by Taylor polynomials: pairs of a champion, expanded about centres of its own class."""
