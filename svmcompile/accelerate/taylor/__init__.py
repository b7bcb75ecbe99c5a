"""Taylor polynomials of a kernel sum about centres, with a proven bound on what they leave out.

`expansion` has those of RBF sums, `poly` those of polynomial kernels, `about` what both share.
"""
