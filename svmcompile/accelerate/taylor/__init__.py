"""Taylor polynomials of an RBF sum about centres, with a proven bound on what they leave out."""
