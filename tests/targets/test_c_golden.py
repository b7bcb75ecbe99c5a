"""The generated files, to be read by people; a refactoring leaves them untouched.

The models are written out here, so that the files do not depend on a library's training.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import svmcompile as sc
from svmcompile.flow.program import compile_svm
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import SVM, LabelRule, Source

FLOWERS = np.array(
    [
        [5.1, 3.3, 1.7, 0.5], [4.5, 2.3, 1.3, 0.3],
        [6.7, 3.0, 5.0, 1.7], [5.6, 3.0, 4.5, 1.5], [5.1, 2.5, 3.0, 1.1],
        [6.0, 2.2, 5.0, 1.5], [6.3, 2.8, 5.1, 1.5], [7.9, 3.8, 6.4, 2.0],
    ]
)  # fmt: skip


def iris() -> Program:
    """Three kinds of flowers, RBF kernel, one-vs-rest scores."""
    svm = SVM(
        Kernel("rbf", 0.25),
        FLOWERS,
        np.array(
            [[4.0, 1.5, 0.0, -2.5, -3.0, 0.0, -1.0, -1.5], [1.0, 2.0, 5.0, 5.0, 0.5, -5.0, -5.0, -0.5]]
        ),
        np.array([0.0625, -0.125, -0.25]),
        LabelRule.VOTE,
        Source("scikit-learn SVC", "1" * 64),
        Labels(("setosa", "versicolor", "virginica"), "<U10"),
        counts=(2, 3, 3),
        one_vs_rest_scores=True,
        feature_names=("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"),
    )
    return compile_svm(svm.check("iris"), "exact", None, {})


def coin() -> Program:
    """Two classes, linear kernel; all numbers are short binary fractions, so that sums are exact."""
    vectors = np.array([[1.5, -0.25, 2.0], [0.5, 1.0, -1.0], [-2.0, 0.75, 0.125], [0.25, -1.5, 1.0]])
    svm = SVM(
        Kernel("linear"),
        vectors,
        np.array([[0.5, -1.0, -0.25, 0.75]]),
        np.array([0.375]),
        LabelRule.NEGATIVE_FIRST,
        Source("LIBSVM c_svc", "2" * 64),
        Labels((-1, 1), "<i8"),
    )
    return compile_svm(svm.check("coin"), "exact", None, {})


@pytest.mark.golden
@pytest.mark.parametrize(("make", "precision"), [(iris, "f32"), (coin, "f64")])
def test_files(make: Callable[[], Program], precision: str, golden: Callable[[str, str], None]) -> None:
    name = make.__name__
    files = sc.emit(make(), "c", name, precision, "portable")
    for suffix in (".h", ".c"):
        golden(f"c/{name}{suffix}", str(files[name + suffix]))


@pytest.mark.golden
def test_files_for_a_device(golden: Callable[[str, str], None]) -> None:
    files = sc.emit(iris(), "c", "iris", "f32", "device")
    for suffix in (".h", ".c"):
        golden(f"c/iris_device{suffix}", str(files["iris" + suffix]))
