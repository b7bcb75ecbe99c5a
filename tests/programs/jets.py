"""Programs of a sum in blocks with jets before an exact sum in double, for sums made up or trained."""

from __future__ import annotations

from programs.taylor import Sum

from svmcompile.accelerate.bounds.margins import RowError, kernel_error
from svmcompile.accelerate.certified.fallback import CELLS, jet_program
from svmcompile.accelerate.taylor.jets import Jets, jets
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Program
from svmcompile.ir.stages import longest_chain


def jets_of(given: Sum, parts: int, cells: int = CELLS) -> Jets:
    """Jets about the mean of the rows."""
    kernel = Kernel("rbf", given.gamma)
    chain = longest_chain(kernel, given.vectors.shape[1])
    error = kernel_error(kernel, given.vectors, RowError(0.0, 0.0), chain)
    found = jets(given.whole, given.rows, parts, cells, FEW_PRODUCTS, error)
    assert found is not None
    return found


def jets_program(given: Sum, parts: int = 4) -> Program:
    svm = given.svm()
    return check(jet_program(svm, svm, jets_of(given, parts)))


def jet_sum(program: Program) -> ir.JetSum:
    return next(node for node in program.body if isinstance(node, ir.JetSum))
