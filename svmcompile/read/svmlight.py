"""SVM-light models: the bytes of a file in, an SVM out.

SVM-light stores no labels, and not whether it was trained to classify, to rank or to regress. The score is
what svm_classify writes, sum - b, whatever it stands for; above zero the label is 1, else -1.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.read.kernels import MAX_FEATURES, WAY_OUT, make_kernel
from svmcompile.read.libsvm.model import vectors_of
from svmcompile.read.libsvm.text import INT_MAX, INT_MIN, Header, Lines, Rows, read_row, shown

VERSION = re.compile(rb"SVM-light Version (V[\w.]{1,20})\s*")
KERNELS = ("linear", "poly", "rbf", "sigmoid")
KERNEL, WIDTH, COUNT, THRESHOLD = (
    "kernel type", "highest feature index", "number of support vectors plus 1", "threshold b",
)  # fmt: skip
HEADER = (  # what the comment of each line says, in this order
    KERNEL, *(f"kernel parameter -{letter}" for letter in "dgsru"), WIDTH, "number of training documents",
    COUNT, THRESHOLD,
)  # fmt: skip


def read_svmlight(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The SVM in a model file; an error with file and line for any other bytes."""
    lines = Lines(content, where)
    version = VERSION.fullmatch(lines.next() or b"")
    if not version:
        raise lines.error(
            "expected 'SVM-light Version V6.02' or the like, so this is not an SVM-light model"
        )
    header = _header(lines)
    kernel = _kernel(header)
    width = header.wholes(WIDTH, 1, 1, MAX_FEATURES)[0]
    threshold = header.decimals(THRESHOLD, 1)[0]
    rows = _rows(lines, header.wholes(COUNT, 1, 1, INT_MAX)[0] - 1)
    vectors = vectors_of(rows, where, n_features, len(content), width)
    coefficients, intercepts = np.array(rows.coefficients)[None], np.array([0.0 - threshold])
    source = Source("SVM-light", hashlib.sha256(content).hexdigest())
    labels = Labels((-1, 1), np.dtype(np.int64).str)
    rule = LabelRule.POSITIVE_SECOND
    return SVM(kernel, vectors, coefficients, intercepts, rule, source, labels).check(where)


def _header(lines: Lines) -> Header:
    """Lines of a value and a comment, which come in one order alone."""
    header = Header(lines.where)
    for meaning in HEADER:
        text, _, comment = (lines.next() or b"").partition(b"#")
        if not comment.strip().startswith(meaning.encode()):
            raise lines.error(
                f"expected a line that ends with '# {meaning}'; the file is cut off or damaged"
            )
        header.values[meaning], header.lines[meaning] = text.split(), lines.number
    return header


def _kernel(header: Header) -> Kernel:
    """SVM-light stores all parameters, whether the kernel needs them or not."""
    number = header.wholes(KERNEL, 1, 0, INT_MAX)[0]
    if number >= len(KERNELS):
        raise UnsupportedError(
            f"{header.place(KERNEL)}: kernel {number} is one of your own, which a model does not "
            f"describe; {WAY_OUT}"
        )
    kind, parameter = KERNELS[number], "kernel parameter -{}".format
    gamma = header.decimals(parameter("g" if kind == "rbf" else "s"), 1)[0]
    coef0 = header.decimals(parameter("r"), 1)[0]
    degree = header.wholes(parameter("d"), 1, INT_MIN, INT_MAX)[0]
    return make_kernel(kind, gamma, coef0, degree, header.place(KERNEL))


def _rows(lines: Lines, total: int) -> Rows:
    """`total` lines of a coefficient, pairs index:value and a comment."""
    rows = Rows()
    while (line := lines.next()) is not None:
        text = line.partition(b"#")[0]
        if len(rows) == total:
            if line.strip():
                raise lines.error(f"text after the last of {total} support vectors: {shown(line)}")
            continue
        read_row(lines, text, 1, rows)
        if rows.from_zero:
            raise lines.error("feature index 0; SVM-light's start at 1")
    if len(rows) < total:
        raise lines.error(f"the file ends after {len(rows)} support vectors, the header says {total}")
    return rows
