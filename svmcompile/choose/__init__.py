"""Choosing a method: candidates, their figures, the rule of choice, and the page that shows them."""
