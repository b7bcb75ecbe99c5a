"""PMML: support vector machines and regression models, with the transformations in front of them."""
