"""A trained SVM: kernel, vectors, coefficients, labels; preprocessing before it, a head behind it."""
