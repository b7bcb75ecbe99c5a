"""LIBSVM: its text models become SVMs, and its own library runs them for comparison."""
