"""svmcompile: trained support vector machines become small, fast, checked C and ONNX.

import svmcompile as sc

fast = sc.build(estimator)                            # or a path to a model file
fast.predict(X)

program = sc.compile(estimator)                       # the same in steps, with files that C can use
sc.write(sc.emit(program, name="digits"), "out/digits")
fast = sc.load("out/digits")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from svmcompile.errors import *  # noqa: F403

__version__ = "0.1.0"

if TYPE_CHECKING:
    from svmcompile.api import *  # noqa: F403
    from svmcompile.device.cost import device_cost
    from svmcompile.estimator import Compiled, DTSVMClassifier

# What is not an error is imported on first use, so that `svmcompile --help` does not wait for numpy.
__all__ = [  # noqa: F405
    "CheckError", "Claim", "Compiled", "DTSVMClassifier", "EmitError", "OptionError", "PluginError",
    "Program", "ReadError", "SvmCompileError", "ToolchainError", "UnsupportedError", "VerifyError",
    "__version__", "build", "check_certificate", "compile", "device_cost", "emit", "explore",
    "load", "prove", "quantise", "train", "verify", "write",
]  # fmt: skip

HOMES = {"Compiled": "estimator", "DTSVMClassifier": "estimator", "device_cost": "device.cost"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'svmcompile' has no attribute {name!r}")
    home = HOMES.get(name, "api")
    return getattr(importlib.import_module(f"svmcompile.{home}"), name)


def __dir__() -> list[str]:
    return __all__
