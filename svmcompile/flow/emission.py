"""A program in, the files of every target asked for out, with what C was lowered to for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svmcompile.data import Data
from svmcompile.data.text import NO_TEXT
from svmcompile.errors import EmitError, OptionError, find_name
from svmcompile.files import write_files
from svmcompile.files.plain import json_text
from svmcompile.flow.dense import with_dense_sums
from svmcompile.flow.evaluation import TARGETS, evaluate, rows_or_texts
from svmcompile.flow.plugged import kit_files, kit_target, target_emitter
from svmcompile.flow.precision import checked_precision, quantise
from svmcompile.flow.program import Opened, Watcher, some_rows
from svmcompile.flow.seal import sealed
from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.check import check
from svmcompile.ir.program import Claim, Code, Program
from svmcompile.ir.store import to_bytes
from svmcompile.lower import lower
from svmcompile.lower.device import adapt
from svmcompile.lower.sums import round_vectors
from svmcompile.optimise.centre import uncentre
from svmcompile.plugins.entries import find_plugged
from svmcompile.runtime.libraries import PLATFORMS, build_shared, find_platform
from svmcompile.targets.c.model import emit as emit_c
from svmcompile.targets.c.parts import read_parts
from svmcompile.targets.c.self_test import SelfTest
from svmcompile.targets.c.steady import check_targets, is_steady
from svmcompile.targets.onnx.options import USUAL, OnnxOptions, read_options
from svmcompile.targets.report import describe
from svmcompile.targets.templating import check_name, name_from

Files = dict[str, str | bytes]
PROFILES = ("portable", "host", "device")
STORAGES = ("dense", "sparse")  # how C may be told to store support vectors
TABLES = ("f16", *STORAGES)


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be emitted, under which name, for which numbers, processors and tables."""

    name: str
    targets: tuple[str, ...]
    number: Number
    profile: str
    tables: str | None = None
    soft_double: bool = False
    platform: str | None = None
    onnx: OnnxOptions = USUAL
    api: tuple[str, ...] = ()  # parts of the C interface to add or leave out

    @classmethod
    def of(
        cls, program: Program | None, target: str | Iterable[str], name: str | None, precision: str,
        profile: str, tables: str | None, soft_double: bool, platform: str | None = None,
        onnx: Mapping[str, Any] | None = None, api: str | Iterable[str] = (),
    ) -> Request:  # fmt: skip
        """From what users write; an error where there is no such thing. Without a name, the program's."""
        targets = (target,) if isinstance(target, str) else tuple(target)
        if name is None:
            assert program
            name = name_from(program.origin.source.split()[-1].split("(")[0].lower())
        name, number = check_name(name), checked_precision(precision)
        profile = find_name(profile, PROFILES, "profile")
        targets = tuple(find_plugged(one, TARGETS, "target") for one in targets)
        if tables is not None:
            tables = find_name(tables, TABLES, "table type")
        if platform is not None:
            platform = find_name(platform, PLATFORMS, "platform")
        written = read_options(onnx or {}, targets)
        parts = (api,) if isinstance(api, str) else tuple(api)
        read_parts(parts, profile)
        if parts and not {"c", "shared"} & {*targets}:
            raise OptionError("api names parts of C; add --target c (target='c')")
        return cls(name, targets, number, profile, tables, soft_double, platform, written, parts)


FOR_SEVERAL = ("c", "shared", "onnx", "wasm")  # targets that give several labels or values per row


@dataclass(frozen=True, slots=True)
class Emitted:
    """Files, what C was written from (the first of C and WebAssembly), and the rows of its self-test."""

    files: Files
    c: Mapping[str, str]  # NAME.h and NAME.c, asked for or not
    code: Code | None
    test: SelfTest | None
    meaning: Program  # what the interpreter runs for the files: the code, or for ONNX its like in C


def emit_files(
    program: Program, target: str | Iterable[str], name: str | None, precision: str, profile: str,
    tables: str | None = None, figures: Mapping[str, Any] | None = None, watch: Watcher | None = None,
    X: Any = None, kit: str | Iterable[str] = (), *, y: Any = None, model: Opened | None = None,
    ranges: Any = None, given: str | None = None, soft_double: bool = False, held_out: Data | None = None,
    platform: str | None = None, onnx: Mapping[str, Any] | None = None, api: str | Iterable[str] = (),
) -> Files:  # fmt: skip
    """The files of a program, its report and the program itself, as `api.emit` describes them."""
    request = Request.of(
        program, target, name, precision, profile, tables, soft_double, platform, onnx, api
    )
    kits = checked_kits(kit, request)
    check_model(program, request, kits)
    if "cmake" in kits:
        request = replace(request, api=("cpp", *request.api))
    ready, request = prepare(program, request, X, ranges, given)
    emitted = emit_targets(ready, request, X, watch)
    files = emitted.files
    report = describe(
        ready, emitted.code, emitted.meaning, name=request.name, targets=request.targets,
        number=request.number, profile=request.profile, tables=request.tables,
    )  # fmt: skip
    fitted = ready if request.number in FIXED else program  # rounding to f16 fits nothing to rows
    if model is not None and (X is not None or held_out is not None):
        rows = None if X is None else Data(X, y)
        report |= _figures(ready, emitted.meaning, request.number, model, rows, held_out, fitted.claim)
    if "onnx" in request.targets:
        from svmcompile.targets.onnx.model import annotated, graph_facts

        graph: Any = files[f"{request.name}.onnx"]
        report["graph"] = graph_facts(graph)
        files[f"{request.name}.onnx"] = annotated(graph, report)
    report |= dict(figures or {})
    files[f"{request.name}.svmc"] = to_bytes(ready)
    text = files[f"{request.name}.json"] = json_text(report)
    return sealed(files | emit_kits(kits, ready, request, emitted, text), request.name)


def _figures(
    program: Program, meaning: Program, number: Number, model: Opened, data: Data | None,
    held_out: Data | None, claim: Claim,
) -> dict[str, Any]:  # fmt: skip
    """How the code does on rows held out, else on the data, which flatter a program fitted to them."""
    test, fitted = held_out or data, claim is Claim.APPROXIMATE
    assert test
    figures = evaluate(program, meaning, number, model, test.X, test.y)
    figures["fitted_to_these_rows"] = held_out is None and fitted
    if held_out is not None and data is not None and fitted:
        known = some_rows(data)
        on_known = evaluate(program, meaning, number, model, known.X, known.y)
        figures["fitted"] = {key: on_known[key] for key in ("rows", "agreement", "max_decision_error")}
    return figures


def prepare(
    program: Program, request: Request, X: Any, ranges: Any, given: str | None
) -> tuple[Program, Request]:
    """The program as the number type, the profile and the tables want it; whole numbers have no host."""
    program = with_dense_sums(program, request.number, request.profile, request.tables, request.targets)
    if request.number in FIXED or program.number:
        program = quantise(program, request.number, X, ranges, given)
        check_together(request, True, given)
        profile = "device" if request.profile == "device" else "portable"
        return program, replace(request, profile=profile)
    check_together(request, False, given)
    if request.profile == "device":  # rows are read as they come, without copies, where accuracy allows it
        program = check(uncentre(program))
    return round_vectors(program) if request.tables == "f16" else program, request


def check_together(request: Request, fixed: bool, given: str | None) -> None:
    """Refuse what does not go together, whatever the program is."""
    in_c = set(request.targets) <= {"c", "shared"}
    if fixed:
        if not in_c or request.tables is not None:
            raise OptionError("precisions q15 and q7 are for target c or shared, with tables of their own")
        return
    if given is not None:
        raise OptionError(f"rows of {given} (given, --input) are for precisions q15 and q7")
    if request.profile == "device" and request.tables == "sparse":
        raise OptionError(
            "vectors stored by feature need scratch memory, which devices lack; leave out --tables sparse"
        )
    if request.tables == "f16" and (request.number != "f32" or request.profile != "host" or not in_c):
        raise OptionError("tables in f16 need target c or shared, precision f32 and profile host")


def check_model(program: Program, request: Request, kits: Sequence[str]) -> None:
    """Refuse kits of numbers where a model takes text, and what gives one answer where it gives several."""
    if kits and program.input.text:
        raise OptionError(
            f"kit {kits[0]}: its examples have rows of numbers, and the model takes text; leave the kit "
            "out and add NAME.c and NAME.h to your project"
        )
    others = [f"target {one}" for one in request.targets if one not in FOR_SEVERAL]
    others += [f"kit {one}" for one in kits]
    others += ["part model of the C interface"] * ("model" in ",".join(request.api).split(","))
    if program.several and others:
        raise EmitError(
            f"{others[0]} is for one label or value, and this model gives {program.several} per row; "
            f"use target {', '.join(FOR_SEVERAL)}"
        )


def emit_targets(
    program: Program, request: Request, X: Any = None, watch: Watcher | None = None
) -> Emitted:
    """The files of a program that was prepared; C and WebAssembly are lowered once each."""
    check_targets(program, request.targets)
    files: Files = {}
    codes: dict[str, Code] = {}
    c: dict[str, str] = {}
    name, number = request.name, request.number
    test = SelfTest.of(program, number) if {*request.targets} & {*BUILT_OF_C} else None
    for target in dict.fromkeys(request.targets):
        if target not in BUILT_OF_C:
            emitter = EMITTERS.get(target) or target_emitter(target)
            files |= emitter(program, request)
            continue
        assert test
        kind = "wasm" if target == "wasm" else "c"
        if kind not in codes:
            codes[kind] = lower_for(kind, program, request, watch)
        parts = read_parts(request.api, codes[kind].profile) if kind == "c" else frozenset()
        made = c if c and kind == "c" else emit_c(codes[kind], name, test, request.soft_double, parts)
        if target == "wasm":
            files |= _build_page(codes[kind], name, made, X)
            continue
        c = made
        if target == "c":
            files |= made
        else:
            headers = {file: text for file, text in c.items() if not file.endswith(".c")}
            files |= {**headers, **dict([_library(program, request, c)])}
    told = codes.get("c") or codes.get("wasm")
    return Emitted(files, c, told, test, told.meaning if told else lower(program, number))


def _emit_onnx(program: Program, request: Request) -> Mapping[str, str | bytes]:
    from svmcompile.targets.onnx.model import emit

    return emit(program, request.name, request.number, request.onnx)


def _emit_sql(program: Program, request: Request) -> Mapping[str, str | bytes]:
    from svmcompile.targets.sql.model import emit

    return emit(program, request.name)


def _emit_blob(program: Program, request: Request) -> Mapping[str, str | bytes]:
    from svmcompile.targets.blob.model import emit

    numbers = program.replace(input=replace(program.input, text=NO_TEXT))  # a blob takes counts of terms
    return emit(lower(numbers, request.number, storage="dense"), request.name)


BUILT_OF_C = ("c", "shared", "wasm")
# What is not written in C, and needs neither a self-test nor a compiler.
EMITTERS: dict[str, Callable[[Program, Request], Mapping[str, str | bytes]]] = {
    "onnx": _emit_onnx,
    "blob": _emit_blob,
    "sql": _emit_sql,
}


def _library(program: Program, request: Request, c: Mapping[str, str]) -> tuple[str, bytes]:
    """Name and content of the shared library, for this machine or the platform asked for."""
    platform = find_platform(request.platform)
    library = build_shared(request.name, c, program.digest, platform)
    return f"{request.name}.{platform.suffix}", library


def lower_for(target: str, program: Program, request: Request, watch: Watcher | None) -> Code:
    """What C of a target is written from."""
    number, profile = request.number, request.profile if target == "c" else "portable"
    machine = program
    if not program.number:
        storage: Any = request.tables if target == "c" and request.tables in STORAGES else "auto"
        kind: Any = profile
        machine = lower(program, number, kind, target == "c" and request.tables == "f16", storage)
    if watch:
        watch(f"lower-{number}" if target == "c" else f"lower-{number}-wasm", machine)
    return adapt(machine) if profile == "device" else Code(machine, machine, profile)


def _build_page(code: Code, name: str, files: Mapping[str, str], X: Any) -> Files:
    """NAME.wasm and its page, from C; rows `X` tell what range features have, or the stored test rows."""
    from svmcompile.runtime.wasm import build_wasm
    from svmcompile.targets.wasm.page import page, wasm_source

    program = code.program
    source = wasm_source(program, name)
    main = f"{name}_exports.c"
    module = build_wasm(main, {**files, main: source.text}, source.stack_bytes)
    given = X is not None and not program.input.text  # text has no ranges
    rows = rows_or_texts(program, X) if given else None
    return {f"{name}.wasm": module, f"{name}.html": page(program, name, module, rows)}


def checked_kits(kit: str | Iterable[str], request: Request) -> list[str]:
    """The names of kits, if there are such and they can be made of what is asked for."""
    from svmcompile.targets.kits import KIT_NAMES, TRITON, WHEEL, check_kit
    from svmcompile.targets.packages import PACKAGES

    names = (kit,) if isinstance(kit, str) else dict.fromkeys(kit)
    kits = [check_kit(name, request.profile, request.name) for name in names]
    needed = {TRITON: "onnx"} | {one: package.target for one, package in PACKAGES.items()}
    needed |= {one: target for one in {*kits} - {*KIT_NAMES} if (target := kit_target(one)) != "c"}
    if {*kits} - {*needed} and not {"c", "shared"} & {*request.targets}:
        raise OptionError("a kit needs C; add target c")
    for one in kits:
        if needed.get(one, request.targets[0]) not in request.targets:
            raise OptionError(f"kit {one} is made of target {needed[one]}; add target {needed[one]}")
    if request.platform and "shared" not in request.targets and WHEEL not in kits:
        raise OptionError(
            "a platform is for target shared and kit wheel; add --target shared or --kit wheel"
        )
    return kits


def emit_kits(
    kits: Iterable[str], program: Program, request: Request, emitted: Emitted, report: str
) -> Files:
    """The files of each kit around the C or the graph that was emitted."""
    from svmcompile.targets.kits import KITS, MICROPYTHON, TRITON, WHEEL, emit_kit
    from svmcompile.targets.onnx.triton import emit_triton
    from svmcompile.targets.packages import PACKAGES, emit_package
    from svmcompile.targets.wheel import emit_wheel

    found: Files = {}
    for kit in kits:
        if kit == WHEEL:
            tag, header = find_platform(request.platform).tag, emitted.c[f"{request.name}.h"]
            library = _library(program, request, emitted.c)
            found |= emit_wheel(program, request.number, request.name, library, header, report, tag)
        elif kit == TRITON:
            graph: Any = emitted.files[f"{request.name}.onnx"]
            found |= emit_triton(request.name, graph)
        elif kit in PACKAGES:
            found |= emit_package(kit, program, request.name, request.number, emitted.files)
        elif kit not in KITS:
            found |= kit_files(kit, program, request, {**emitted.c, **emitted.files})
        else:
            assert emitted.test
            files = {**emitted.c} | (_python_module(program, request) if kit == MICROPYTHON else {})
            found |= emit_kit(
                kit, program, request.name, request.number, request.profile, files, emitted.test
            )
    return found


def _python_module(program: Program, request: Request) -> dict[str, str]:
    """NAME.py of kit micropython, where the program can be written as a blob."""
    from svmcompile.targets.micropython import emit_module

    if program.number or is_steady(program):  # whole numbers and constant time are for C
        return {}
    try:
        return {f"{request.name}.py": emit_module(lower(program, request.number, storage="dense"))}
    except EmitError:  # the kit says that there is none
        return {}


def write(files: Mapping[str, str | bytes], folder: str | Path) -> None:
    """Write files to a folder, all or none, those of kits among them."""
    write_files(files, Path(folder))
