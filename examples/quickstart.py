"""Ten lines: train, compile to C, load back, compare."""

from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc

X, y = load_iris(return_X_y=True)
model = SVC().fit(X, y)
sc.write(sc.emit(sc.compile(model), target="c", name="iris"), "out/iris")
fast = sc.load("out/iris")
print("labels that differ:", (fast.predict(X) != model.predict(X)).sum())
print("rows in the self-test that fail:", fast.self_test())
