"""DTSVM, after Chang, Guo, Lin and Lu: an axis-parallel tree with an SVM in every mixed leaf.

"Tree Decomposition for Large-Scale SVM Problems": few large leaves, so that training takes a fraction of
the time and a row meets only the vectors of its own leaf.
"""
