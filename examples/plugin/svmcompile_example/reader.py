"""A format of our own: a regressor with an RBF kernel as JSON.

{"format": "json-svm", "gamma": 0.5, "bias": 1.0, "vectors": [[0, 1], [2, 3]], "weights": [1.5, -0.5]}
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from svmcompile.errors import ReadError
from svmcompile.ir.kernel import Kernel
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.plugins import Reader


def read(content: bytes, where: str, n_features: int | None) -> SVM:
    """The SVM in a file; whatever the bytes are, a model or an error that says what is wrong."""
    try:
        found = json.loads(content)
        vectors, weights = (np.array(found[key], dtype=float) for key in ("vectors", "weights"))
        kernel, bias = Kernel("rbf", gamma=float(found["gamma"])), np.array([float(found["bias"])])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReadError(f"{where}: is not a json-svm file ({type(error).__name__}: {error})") from None
    if vectors.ndim != 2 or weights.shape != vectors.shape[:1] or not kernel.gamma >= 0:
        raise ReadError(f"{where}: vectors must be rows, with one weight each, and gamma zero or more")
    source = Source("json-svm", hashlib.sha256(content).hexdigest())
    return SVM(kernel, vectors, weights[None], bias, LabelRule.NONE, source)


READER = Reader(read=read, recognises=lambda content: b'"json-svm"' in content[:200], suffixes=(".jsvm",))
