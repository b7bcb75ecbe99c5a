"""emit: a program in, the files of every target asked for out, with the report that tells of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from svmcompile.data.rows import as_rows
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import FIXED, INPUT_LIMITS, Number
from svmcompile.ir.check import check
from svmcompile.ir.program import Program
from svmcompile.ir.store import to_bytes
from svmcompile.lower import lower
from svmcompile.lower.sums import round_vectors
from svmcompile.optimise.centre import uncentre
from svmcompile.outputs import Files, emit_kits, emit_wasm
from svmcompile.report import describe, rounding_notes, stored_vectors
from svmcompile.targets.names import check_name, name_from

Watcher = Callable[[str, Program], None]

TARGETS = ("c", "onnx", "wasm")
PRECISIONS = ("f32", "f64")
PROFILES = ("portable", "host", "device")
STORAGES = ("dense", "sparse")  # how C may be told to store support vectors


def emit(
    program: Program,
    target: str | Iterable[str] = "c",
    name: str | None = None,
    precision: str = "f32",
    profile: str = "host",
    tables: str | None = None,
    figures: Mapping[str, Any] | None = None,
    watch: Watcher | None = None,
    X: Any = None,
    kit: str | Iterable[str] = (),
    *,
    ranges: Any = None,
    given: str | None = None,
    soft_double: bool = False,
) -> Files:
    """The files of a program, as {file name: content}, for one target or several.

    The profile matters for C: "host" is fast on processors with vector instructions and needs GCC
    or clang, "portable" is plain C99, "device" is for microcontrollers: no double, unless `soft_double`
    allows what a claim rests on, and as little stack as can be.
    C stores support vectors by feature, without their zeros, where that pays (never for devices);
    `tables="dense"` or `"sparse"` decides it beforehand. `tables="f16"` keeps support vectors in half
    precision, for host code in f32; the claim is then APPROXIMATE and the report states the error.
    `figures` are added to the report, such as the agreement on data. `X` are rows like those to come: they
    tell the page of target wasm the range of each feature. A `kit` (arduino, platformio, cmake, zephyr,
    esp-idf; one or several) adds the C files once more in the layout of that system, under KIT/NAME/.
    Precisions q15 and q7 need rows `X` or `ranges`, and take rows as they are `given`; see `quantise`.
    """
    targets = (target,) if isinstance(target, str) else tuple(target)
    name = name_from(program.origin.source.split()[-1].split("(")[0].lower()) if name is None else name
    name, number = check_name(name), checked_precision(precision)
    program, profile = _prepared(program, targets, number, profile, tables, X, ranges, given)
    makers: dict[str, Callable[[], tuple[Files, Program | None]]] = {
        "c": lambda: _emit_c(program, name, number, profile, tables, watch, soft_double),
        "onnx": lambda: (_emit_onnx(program, name, number), None),
        "wasm": lambda: emit_wasm(program, name, number, X, watch),
    }
    files: Files = {}
    emitted = program
    for one in dict.fromkeys(targets):
        made, machine = makers[_choice(one, TARGETS, "target")]()
        emitted = machine if machine and (one == "c" or emitted is program) else emitted
        files.update(made)
    files.update(emit_kits(kit, program, name, number, profile, files))
    files[f"{name}.svmc"] = to_bytes(program)
    report = describe(program, emitted, name, targets, number, profile) | dict(figures or {})
    report |= _details(program, emitted, number, tables, report["notes"])
    files[f"{name}.json"] = json.dumps(report, indent=2, sort_keys=True) + "\n"
    return files


def _prepared(
    program: Program, targets: tuple[str, ...], number: Number, profile: str, tables: str | None,
    X: Any, ranges: Any, given: str | None,
) -> tuple[Program, str]:  # fmt: skip
    """The program as the number type, the profile and the tables want it, and the profile of its C."""
    _choice(profile, PROFILES, "profile")
    if number in FIXED or program.number:
        program = quantise(program, number, X, ranges, given)
        _only_c(targets, tables)
        profile = "device" if profile == "device" else "portable"
    elif profile == "device":
        program = _for_device(program, tables)
    if tables is not None and _choice(tables, ("f16", *STORAGES), "table type") == "f16":
        program = _with_halves(program, targets, number, profile)
    return program, profile


def _details(
    program: Program, emitted: Program, number: Number, tables: str | None, notes: list[str]
) -> dict[str, Any]:
    """What the report says beside the description: notes on rounding, and what C stores."""
    fixed = number in FIXED
    found: dict[str, Any] = {
        "notes": notes + ([] if fixed else rounding_notes(program, number)),
        "tables": "f16" if tables == "f16" else number,
        "vectors": stored_vectors(emitted),
    }
    return found | ({"fixed_error": program.origin.details["fixed"]["error"]} if fixed else {})


def quantise(
    program: Program, precision: str, X: Any = None, ranges: Any = None, given: str | None = None
) -> Program:
    """The program in whole numbers: "q15" has features of 16 bits, "q7" of 8.

    The range of each feature is that of the rows `X`, which also serve to choose scales; or `ranges`: a
    pair of numbers (low, high) or of rows. Features beyond their range count as its nearest end. Rows are
    of floats, or `given` as whole numbers, "u8" or "i16". A program in whole numbers already is returned
    as it is.
    """
    from svmcompile.lower.fixed.program import fix, given_range, range_of_rows, widened

    number = checked_precision(precision)
    if program.number == number:
        return program
    if program.number or number not in FIXED:
        raise OptionError(
            f"the program is in {program.number or 'real'} numbers; {number} cannot be had of it"
        )
    if given is not None and given not in INPUT_LIMITS:
        raise OptionError(f"no rows of {given!r}; whole numbers are given as: {', '.join(INPUT_LIMITS)}")
    if X is None and ranges is None and given == "u8":
        ranges = INPUT_LIMITS[given]
    if X is None and ranges is None:
        raise OptionError(
            f"precision {number} needs the range of each feature: give data (--data FILE, or X=) or ranges "
            "(--ranges LOW:HIGH or a file of rows whose extremes count, or ranges=(low, high))"
        )
    span = None if X is None else range_of_rows(as_rows(X, program.n_features, program.feature_names))
    if ranges is not None:
        low, high = ranges
        span = given_range(low, high, program.n_features, None if span is None else span.rows)
    elif span is not None:
        span = widened(span, number)
    assert span is not None
    whole: Any = given or ""
    return fix(program, number, span, whole)


def _only_c(targets: tuple[str, ...], tables: str | None) -> None:
    if set(targets) != {"c"} or tables is not None:
        raise OptionError("precisions q15 and q7 are for target c, with tables of their own")


def _for_device(program: Program, tables: str | None) -> Program:
    """The program with rows read as they come, without copies, where accuracy allows it."""
    if tables == "sparse":
        raise OptionError(
            "vectors stored by feature need scratch that devices lack; leave out --tables sparse"
        )
    return check(uncentre(program))


def _with_halves(program: Program, targets: tuple[str, ...], number: Number, profile: str) -> Program:
    """The program with its support vectors rounded to float16, where that can be emitted."""
    if number != "f32" or profile != "host" or set(targets) != {"c"}:
        raise OptionError("tables in f16 need target c, precision f32 and profile host")
    return round_vectors(program)


def checked_precision(precision: str) -> Number:
    """The precision, if there is such a one."""
    number: Number = _choice(precision, (*PRECISIONS, *FIXED), "precision")
    return number


def _choice(value: str, known: tuple[str, ...], what: str) -> Any:
    if value not in known:
        raise OptionError(f"unknown {what} {value!r}; known: {', '.join(known)}")
    return value


def _emit_c(
    program: Program,
    name: str,
    number: Number,
    profile: Any,
    tables: str | None,
    watch: Watcher | None,
    soft_double: bool,
) -> tuple[Files, Program]:
    from svmcompile.targets.c.model import emit as emit_c
    from svmcompile.targets.c.self_test import SelfTest

    storage: Any = tables if tables in STORAGES else "auto"
    machine = program if program.number else lower(program, number, profile, tables == "f16", storage)
    if watch:
        watch(f"lower-{number}", machine)
    return dict(emit_c(machine, name, SelfTest.of(program, number), profile, soft_double)), machine


def _emit_onnx(program: Program, name: str, number: Number) -> Files:
    from svmcompile.targets.onnx.model import emit as emit_onnx

    return dict(emit_onnx(program, name, number))
