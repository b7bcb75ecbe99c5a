"""Training through the common door: sc.train, `svmcompile train`, and what they refuse."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
from accelerate_cases import moons
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.exact import ExactOptions, exact
from svmcompile.accelerate.registry import METHODS, Method
from svmcompile.read import read


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainOptions:
    """One SVM over all rows."""

    C: float = 1.0


def train_plain(data, options):
    return exact(read(SVC(C=options.C).fit(data.X, data.y)), None, ExactOptions())


@pytest.fixture
def plain(monkeypatch):
    """A method that trains: an SVM over all rows."""
    module = ModuleType("plain_method")
    module.METHOD = Method(
        exact, PlainOptions, sc.Claim.EXACT, False, train=train_plain, train_options=PlainOptions
    )
    monkeypatch.setitem(sys.modules, "plain_method", module)
    monkeypatch.setitem(METHODS, "plain", "plain_method")


def test_train_gives_a_program_with_probes_and_its_options(plain):
    X, y, _ = moons()
    program = sc.train(X, y, method="plain", C="3")
    assert program.origin.options == (("C", 3.0),)
    assert len(program.probes) and program.probes.shape[1] == X.shape[1]
    np.testing.assert_array_equal(program.predict(X), SVC(C=3.0).fit(X, y).predict(X))


def test_methods_that_need_an_svm_name_those_that_train(plain):
    X, y, _ = moons()
    with pytest.raises(sc.OptionError, match=r"'exact' needs a trained SVM; methods that train: .*plain"):
        sc.train(X, y, method="exact")


def test_labels_must_be_there_and_fit(plain):
    X, y, _ = moons()
    with pytest.raises(sc.OptionError, match="trains on labels"):
        sc.train(X, None, method="plain")
    with pytest.raises(sc.OptionError, match="400 rows, y has 399"):
        sc.train(X, y[1:], method="plain")
    with pytest.raises(sc.OptionError, match="no option 'depth'"):
        sc.train(X, y, method="plain", depth=3)
