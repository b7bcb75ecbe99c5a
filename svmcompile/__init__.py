"""svmcompile: trained support vector machines become small, fast, checked C and ONNX.

import svmcompile as sc

program = sc.compile(estimator)                       # or a path to a model file
sc.write(sc.emit(program, name="digits"), "out/digits")
fast = sc.load("out/digits")
fast.predict(X)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from svmcompile.api import check_certificate, compile, emit, load, quantise, train, verify, write
    from svmcompile.device.cost import device_cost
    from svmcompile.errors import (
        CheckError,
        EmitError,
        OptionError,
        ReadError,
        SvmCompileError,
        ToolchainError,
        UnsupportedError,
        VerifyError,
    )
    from svmcompile.estimator import DTSVMClassifier
    from svmcompile.ir.program import Claim, Program

# Imported on first use, so that `svmcompile --help` does not wait for numpy.
_HOMES = {
    "svmcompile.api": (
        "check_certificate",
        "compile",
        "emit",
        "load",
        "quantise",
        "train",
        "verify",
        "write",
    ),
    "svmcompile.ir.program": ("Claim", "Program"),
    "svmcompile.device.cost": ("device_cost",),
    "svmcompile.estimator": ("DTSVMClassifier",),
    "svmcompile.errors": (
        "CheckError",
        "EmitError",
        "OptionError",
        "ReadError",
        "SvmCompileError",
        "ToolchainError",
        "UnsupportedError",
        "VerifyError",
    ),
}
__all__ = [
    "CheckError",
    "Claim",
    "DTSVMClassifier",
    "EmitError",
    "OptionError",
    "Program",
    "ReadError",
    "SvmCompileError",
    "ToolchainError",
    "UnsupportedError",
    "VerifyError",
    "__version__",
    "check_certificate",
    "compile",
    "device_cost",
    "emit",
    "load",
    "quantise",
    "train",
    "verify",
    "write",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'svmcompile' has no attribute {name!r}")
