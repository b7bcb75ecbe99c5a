"""scikit-learn: fitted estimators, wrappers and transformers become SVMs."""
