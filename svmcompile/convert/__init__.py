"""convert: an SVM becomes a model of another library: LIBSVM text, or a scikit-learn estimator."""
