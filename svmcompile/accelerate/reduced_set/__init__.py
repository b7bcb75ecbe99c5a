"""reduced-set: few vectors in place of the support vectors, coefficients refitted.

Vectors are chosen greedily (kernel matching pursuit), by least squares on fitting rows and in the
SVM's feature space; where data is given they may then move (Burges, "Simplified support vector decision
rules", 1996). What agrees best with the SVM on held-out rows is kept. All sums of a
multi-class SVM share one set of vectors, and many classes may have one score each in place of one
for each pair.
"""
