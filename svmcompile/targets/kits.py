"""Kits: NAME.h and NAME.c laid out as other build systems expect them, with an example that runs.

A kit is one line of the table and a folder of templates; every template there becomes a file of the kit.
No text of a model goes into them but its name, which is a C identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile import __version__
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import FIXED, INPUT_LIMITS, Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.plugins.entries import find_plugged
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.interface import MODEL_VERSION
from svmcompile.targets.c.literals import LOWEST, real, wrap
from svmcompile.targets.c.self_test import SelfTest
from svmcompile.targets.micropython import MICROPYTHON as MICROPYTHON
from svmcompile.targets.onnx.triton import TRITON as TRITON
from svmcompile.targets.packages import PACKAGES, check_package
from svmcompile.targets.templating import render_folder
from svmcompile.targets.wheel import check_package_name, pack

WHEEL = "wheel"  # a file of its own, made in `wheel`
PROFILE = "device"  # of C for devices
MOST_ROWS, MOST_NUMBERS = 4, 512  # of an example: 2 KB of floats
SPECIAL = (0.0, -0.0, 1e-42, 1.0, -1.0, 255.0, 1e6, -1e6, 1e18, -1e18, 3e38, -3e38)
FUNCTION = re.compile(r"^\w[\w *]*?\b(\w+)\(", re.MULTILINE)
WHOLE_ROW = re.compile(r"_quantise\(.*, (int\d+_t) ")
CONSTANT = re.compile(r"^ {4}([A-Z]\w*) = ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Kit:
    """Where the two files go, how an example begins and ends, and whether it is for this machine too."""

    header: str = "include"
    source: str = "src"
    entry: str = "int main(void)"
    returns: str = "wrong"
    host: bool = False
    zipped: bool = False  # a copy as one file, which is how some are installed


KITS = {
    "arduino": Kit(header="src", zipped=True),
    "platformio": Kit(),
    "cmake": Kit(host=True),
    "zephyr": Kit(returns="0"),
    "esp-idf": Kit(entry="void app_main(void)", returns=""),
    MICROPYTHON: Kit(header="native", source="native"),
}


KIT_NAMES = (*KITS, WHEEL, TRITON, *PACKAGES)


def check_kit(kit: str, profile: str, name: str) -> str:
    """The name of the kit, if there is such a one and the profile is for its devices."""
    kit = find_plugged(kit, KIT_NAMES, "kit")
    if kit in (WHEEL, MICROPYTHON):
        check_package_name(name)
    check_package(kit, name)
    if kit not in KITS:
        return kit
    if profile == "host" and not KITS[kit].host:
        raise OptionError(
            f"kit {kit} is for devices, profile host is not; add --profile {PROFILE} (profile={PROFILE!r})"
        )
    return kit


def default_profile(kits: Iterable[str]) -> str:
    """The profile of C that goes into these kits, unless the user says another."""
    return PROFILE if any(kit in KITS and not KITS[kit].host for kit in kits) else "host"


def emit_kit(
    kit: str, program: Program, name: str, number: Number, profile: str, files: Mapping[str, Any],
    test: SelfTest,
) -> dict[str, str | bytes]:  # fmt: skip
    """The files of a kit by their path, KIT/NAME/..., around NAME.h and NAME.c among `files`."""
    layout = KITS[kit]
    header, source = str(files[f"{name}.h"]), str(files[f"{name}.c"])
    headers = [file for file in (f"{name}.h", f"{name}.hpp") if file in files]
    context = _context(layout, program, name, "f32" if number in FIXED else number, header, test)
    context |= {"made": _made_rows(program, context["number"], header, test, profile)}
    context["python"] = f"{name}.py" in files
    context["headers"] = " ".join(f"include/{file}" for file in (*headers, "svmcompile_model.h"))
    found = render_folder(f"kits/{kit}", context)
    found |= {f"{layout.header}/{file}": str(files[file]) for file in headers}
    found[f"{layout.source}/{name}.c"] = source
    found |= {file: str(text) for file, text in files.items() if file.endswith((".misra.md", ".py"))}
    placed: dict[str, str | bytes] = {f"{kit}/{name}/{path}": text for path, text in found.items()}
    if layout.zipped:
        inside = {f"{name}/{path}": text.encode() for path, text in found.items()}
        placed[f"{kit}/{name}.zip"] = pack(inside)
    return placed


def _context(
    kit: Kit, program: Program, name: str, number: Number, header: str, test: SelfTest
) -> dict[str, Any]:
    classes = f"{program.n_classes} classes" if program.labels else "one value"
    official = name.lower().startswith("arduino")  # such names are kept for Arduino's own libraries
    return {
        "kit": kit,
        "name": name,
        "NAME": name.upper(),
        "arduino_name": f"SVM_{name}" if official else name,
        "version": MODEL_VERSION,
        "short_version": MODEL_VERSION.rpartition(".")[0],
        "compiler": __version__,
        "sentence": f"A support vector machine: {program.n_features} features, {classes}.",
        "features": program.n_features,
        "widths": {one.name: infer_types(program)[one.value].width for one in program.outputs},
        "label_kind": program.labels and program.labels.kind,
        "number": number,
        "real": c_real(number),
        "row_type": c_real(program.input.number or number),
        "answer": "label" if program.labels else "value",
        "labels": program.labels is not None,
        "rows": _rows(program, number, test),
        "functions": [one for one in FUNCTION.findall(header) if one.startswith(name)],
        "constants": CONSTANT.findall(header),
    }


def _rows(program: Program, number: Number, test: SelfTest) -> dict[str, Any]:
    """Rows of the self-test, plain ones first; a row of zeros where there are none."""
    count = min(MOST_ROWS, max(1, MOST_NUMBERS // program.n_features))
    rows = test.rows[::-1][:count] if len(test.rows) else np.zeros((1, program.n_features))
    found = interpret(program, rows)
    expected = found["label"] if program.labels else found["value"][:, 0]
    told = [str(value) if program.labels else real(value, number) for value in expected.ravel()]
    tolerances = test.tolerances[::-1][:count] if len(test.rows) else np.full(1, np.inf)
    limits = [real(min(value, 1e30), number) for value in tolerances]
    given = program.input.number or number
    inputs = [wrap([real(value, given) for value in row], " " * 6).strip() for row in rows]
    return {
        "plain": (rows.astype(int) if program.input.number in INPUT_LIMITS else rows).tolist(),
        "answers": expected.ravel().tolist(),
        "limits": np.minimum(tolerances, 1e30).tolist(),
        "count": len(rows),
        "inputs": ",\n".join(f"    {{ {text} }}" for text in inputs),
        "expected": ", ".join(told),
        "tolerances": ", ".join(limits),
    }


def _made_rows(
    program: Program, number: Number, header: str, test: SelfTest, profile: str
) -> dict[str, Any]:
    """Of rows that a test on this machine makes: between which numbers they are, and what may differ."""
    given, d = program.input.number or number, program.n_features
    floats = given not in INPUT_LIMITS
    stored = test.rows if len(test.rows) else np.zeros((1, d))
    low, high = (wrap(real(value, given) for value in end(axis=0)) for end in (stored.min, stored.max))
    special = [real(value, given) for value in (SPECIAL if floats else INPUT_LIMITS[given])]
    least = 1e-3 if program.output("probabilities") else 0.0
    whole = WHOLE_ROW.search(header)
    with np.errstate(all="ignore"):
        of_nan = interpret(program, np.full((1, d), np.nan)).get("scores") if floats else None
    return {
        "floats": floats,
        "rounds": max(8, min(200, 50_000 // d)),
        "low": low,
        "high": high,
        "special": wrap(special + ["INFINITY", "-INFINITY", "NAN"] * floats),
        "step": c_real(number) if floats else "int",
        "tolerance": real(min(max(100 * test.tolerances.max(initial=0.0), least), 1e30), number),
        "same_labels": profile != "host",  # whose many rows may round otherwise
        "quantised": whole and whole[1],
        "most": LOWEST[number].lstrip("-"),
        "poisoned": of_nan is not None and bool(np.isnan(of_nan).all()),
    }
