"""The intermediate representation: nodes, programs, and what can be asked of them."""
