"""The tensors of each family of nodes."""
