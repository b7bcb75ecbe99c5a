"""LIBLINEAR: its text models become linear machines, and its own library runs them for comparison."""
