"""Prototypes in a learned projection that reads few features.

After Gupta et al., "ProtoNN: Compressed and Accurate kNN for Resource-scarce Devices" (ICML 2017), with
the SVM for a teacher: scores_c(x) = bias_c + sum_j weights[c, j] exp(-|W (x - centre) - b_j|^2).
"""
