"""stub"""
from svmcompile.accelerate.anytime.single import Instead
def votes(svm, own, rows, sample, options):
    return Instead("todo")
