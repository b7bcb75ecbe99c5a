"""Lists of half-spaces, after Zapien Arreola, Fehr and Burkhardt.

"Fast Support Vector Machine Classification of very large Datasets": half-spaces that hold rows of one
class only are cut off one after the other, so that a row is classified by a few dot products; a
kernel SVM may stand at the end for rows that none of them answers.
"""
