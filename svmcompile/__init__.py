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

from svmcompile.errors import *  # noqa: F403

__version__ = "0.1.0"

if TYPE_CHECKING:
    from svmcompile.api import *  # noqa: F403
    from svmcompile.device.cost import device_cost
    from svmcompile.estimator import DTSVMClassifier

# What is not an error is imported on first use, so that `svmcompile --help` does not wait for numpy.
__all__ = [  # noqa: F405
    "CheckError", "Claim", "DTSVMClassifier", "EmitError", "OptionError", "Program", "ReadError",
    "SvmCompileError", "ToolchainError", "UnsupportedError", "VerifyError", "__version__",
    "check_certificate", "compile", "device_cost", "emit", "explore",
    "load", "quantise", "train", "verify", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'svmcompile' has no attribute {name!r}")
    home = {"DTSVMClassifier": "estimator", "device_cost": "device.cost"}.get(name, "api")
    return getattr(importlib.import_module(f"svmcompile.{home}"), name)
