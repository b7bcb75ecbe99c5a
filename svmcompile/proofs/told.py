"""Files with the proof of their functions: the header and the report name functions, tools and versions."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import PurePosixPath
from typing import Any

from svmcompile.errors import OptionError, VerifyError
from svmcompile.files.plain import json_text
from svmcompile.ir.store import from_bytes
from svmcompile.proofs.report import ProofReport, prove_functions

PROMISE = re.compile(r"Nothing overflows;.*?\.proof\.json\.", re.DOTALL)  # of the header, before the proof
WIDTH = 88


def with_proof(files: dict[str, str | bytes], name: str) -> dict[str, str | bytes]:
    """The files of a program in whole numbers, with NAME.proof.json; an error if a claim fails."""
    if f"{name}.c" not in files:
        raise OptionError("only C is proven; add target c")
    stored: Any = files[f"{name}.svmc"]
    report = prove_functions(from_bytes(stored), str(files[f"{name}.c"]), name)
    if not report.ok:
        first = next(text for one in report.functions for text in one.failures)
        raise VerifyError(f"{name}.c: a claim fails, and nothing is written: {first}")
    told = json.loads(files[f"{name}.json"]) | {"proof": _summary(report)}
    changed = {path: _marked(text, name, report) for path, text in files.items() if _is_header(path, name)}
    new = {f"{name}.json": json_text(told), f"{name}.proof.json": json_text(report.as_dict())}
    return {**files, **changed, **new}


def _summary(report: ProofReport) -> dict[str, Any]:
    return {
        "tools": list(report.tools),
        "int_bits": list(report.int_bits),
        "proven": {one.name: one.inputs for one in report.functions if one.proven},
        "not_proven": {one.name: one.left_out for one in report.functions if not one.proven},
    }


def _is_header(path: str, name: str) -> bool:
    """NAME.h, beside the code and in kits."""
    return PurePosixPath(path).name == f"{name}.h"


def _marked(header: str | bytes, name: str, report: ProofReport) -> str:
    """The header, with what is proven in place of how to prove it."""
    proven = ", ".join(one.name for one in report.functions if one.proven)
    others = ", ".join(one.name for one in report.functions if not one.proven)
    words = f"Nothing overflows. Proven for all inputs by {', '.join(report.tools)}: {proven}."
    words += f" Not proven: {others}." * bool(others) + f" Inputs and claims: {name}.proof.json."
    lines = textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False)
    return PROMISE.sub(lambda _: "\n * ".join(lines), str(header))
