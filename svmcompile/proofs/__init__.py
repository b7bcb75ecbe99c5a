"""Proofs about emitted C in whole numbers: for all inputs, by ranges and by an SMT solver."""
