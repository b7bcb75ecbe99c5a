"""Parts of the method `reduced-set`: which vectors, where they move to, with which coefficients."""
