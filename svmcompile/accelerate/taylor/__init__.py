"""Taylor polynomials of a kernel sum about centres, with a proven bound on what they leave out.

`sums` has those of RBF sums and of polynomial kernels, `expansion` what both share, `spectra` the bounds,
`rounding` what float32 adds; `front` makes the nodes.
"""
