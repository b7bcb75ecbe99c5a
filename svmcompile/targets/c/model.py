"""The C backend: a machine program becomes NAME.h and NAME.c."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import __version__
from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import float_number
from svmcompile.ir.program import Code, Program
from svmcompile.targets.c import extra_functions as extra
from svmcompile.targets.c import literals
from svmcompile.targets.c.api import Function, c_real, functions, public_functions, results, row_type
from svmcompile.targets.c.categories import (
    CategoryTables,
    category_bytes,
    category_constants,
    category_lines,
    category_tables,
)
from svmcompile.targets.c.interface import ABI_VERSION, MODEL_VERSION, model_struct, target_lines
from svmcompile.targets.c.labels import MAX_STRING, label_table
from svmcompile.targets.c.misra import deviation_record
from svmcompile.targets.c.node import emitted_tables, fixed_dots, helpers, scratch_bytes, stack_bytes
from svmcompile.targets.c.nodes import CFile
from svmcompile.targets.c.parts import read_parts
from svmcompile.targets.c.profiles import FAR, VECTOR_SYMBOLS, Style, plain_instruction_sets
from svmcompile.targets.c.profiles import RESERVED as OF_DEVICES
from svmcompile.targets.c.read_back import check_tables
from svmcompile.targets.c.self_test import SelfTest
from svmcompile.targets.c.steady import check_steady, is_steady
from svmcompile.targets.c.strict import strict
from svmcompile.targets.c.table_comments import table_comments
from svmcompile.targets.c.text import TextRows, text_rows, text_table_bytes
from svmcompile.targets.templating import Names, check_name, comment, render

TABLE_TYPES = {"float16": "uint16_t", "float32": "float", "float64": "double"}
ARITHMETIC = {"f32": "float", "f64": "double", "q15": "16 bit", "q7": "8 bit"}
MOST_STACK = 4 << 20  # half of what a main thread usually has
# Helper functions that round by adding a constant, where any row takes the same instructions and elsewhere.
STEADY_ROUNDING = {False: {"fade", "raise"}, True: {"fade", "raise", "exp2"}}


def emit(
    code: Code, name: str, self_test: SelfTest, soft_double: bool = False,
    parts: frozenset[str] | None = None,
) -> dict[str, str]:  # fmt: skip
    """The files of a machine program; `self_test` holds rows with their expected results.

    Code for a device has no double unless the program is in double, or `soft_double` allows it. `parts` of
    the interface are those of the profile, unless they are named.
    """
    check_name(name)
    program = code.program
    parts = read_parts((), code.profile) if parts is None else parts
    if not results(program, infer_types(program), name)[0].alone:
        parts -= {"model"}  # which does not tell how many there are
    assert program.number, "lower the program first"
    if (stack := scratch_bytes(program)) > MOST_STACK:
        widest = max(types.width for types in infer_types(program).values())
        raise EmitError(
            f"a row would take {stack:,} bytes of the stack, and {MOST_STACK:,} are the most: "
            f"preprocessing makes {widest:,} features. Use fewer features, a kernel in place of their "
            "products (kernel='poly' for PolynomialFeatures), or target onnx"
        )
    if is_steady(program):
        check_steady(program, code.profile, CFile.of(program).nodes.values())
    reserved = RESERVED | VECTOR_SYMBOLS | (ASKING if extra.points(program) else frozenset())
    if code.profile == "device":
        _check_double(program, soft_double)
        reserved |= OF_DEVICES
    symbols = Names(reserved, prefix=f"{name}_")
    context = _context(code, name, symbols, self_test, parts)
    context["declarations"] = render("c/api.j2", context)
    files = {
        f"{name}.h": render("c/model.h.j2", context),
        f"{name}.c": render("c/model.c.j2", context),
        **({f"{name}.hpp": render("c/model.hpp.j2", context)} if "cpp" in parts else {}),
    }
    if code.profile == "device":
        files[f"{name}.c"] = text = strict(files[f"{name}.c"])
        files[f"{name}.misra.md"] = deviation_record(name, text)
    tables = {symbols(f"@{one}"): _held(program, one) for one in _emitted(program, code.folded)}
    for brought in filter(None, (context["text"], context["categories"])):
        tables |= brought.tables
    if asked := extra.points(program):
        tables[f"{name}_vectors"] = np.array(asked, np.int32)
    check_tables(files[f"{name}.c"], tables, program.labels, f"{name}_labels", context["parts"])
    return files


# Symbols the templates use themselves; tables and nodes stay clear of them.
RESERVED = frozenset(
    "labels label_name self_test quantise predict_q "
    "decision_function_q exp2 tanh power root cosine log dot kernel pick "
    "wide_exp2 wide_tanh wide_power wide_root wide_cosine wide_log wide_pick wide_dot wide_dot_i8 "
    "wide_dot_f16 "
    "category category_n category_order "
    "distance wide_distance needs_double_constants needs_signed_shifts get model fill".split()
) | {
    f"{any_}{function}{sparse}"
    for any_ in ("", "any_")
    for function in "predict decision_function predict_proba score_samples".split()
    for sparse in ("", "_batch", "_sparse", "_sparse_batch")
}
ASKING = frozenset(
    "row_kernel vectors predict_with decision_function_with predict_proba_with score_samples_with".split()
)  # of a caller's kernel


def sizes(code: Code) -> dict[str, int]:
    """Bytes of tables and of arrays on the stack; for devices a bound on the whole stack as well."""
    program, style = code.program, Style("", code.profile == "device")
    names = _emitted(program, code.folded)
    known = {
        "scratch_bytes": scratch_bytes(program),
        "table_bytes": sum(program.tables[name].nbytes for name in names)
        + text_table_bytes(program)
        + category_bytes(program),
    }
    if style.device:
        file = CFile(program, infer_types(program), style=style)
        known["stack_bytes"] = stack_bytes(file, has_double(file))
    return known


def _context(
    code: Code, name: str, symbols: Names, self_test: SelfTest, parts: frozenset[str]
) -> dict[str, Any]:
    program, profile = code.program, code.profile
    style = Style(name, profile == "device", is_steady(program))
    types = infer_types(program)
    file = CFile(program, types, name, symbols, style, code.units, code.folded, parts)
    tables, nodes = _tables(file, profile == "host"), file.nodes.values()
    around = extra.tiled(file)
    asked = extra.points(program)
    quantised = extra.quantised_functions(file)
    sparse = None if asked or "sparse" not in parts else extra.sparse_rows(file, around)
    text, categories = text_rows(file), category_tables(program, name)
    brought = {**(text.tables if text else {}), **(categories.tables if categories else {})}
    told = "Text." if text else "Names of categories."
    api = _api(file, sparse, quantised, text, categories)
    labels = label_table(program.labels)
    struct = model_struct(program, types, name, labels) if "model" in parts else None
    bodies_of = extra.functions_with_kernel if asked else functions
    has_bulk = any(table["bulk"] for table in tables) or any(map(literals.is_bulk, brought.values()))
    by_feature = bool(sparse and sparse.native) and any(node.by_feature for node in nodes)
    return {
        **_names(program, name, profile),
        "sparse": sparse,
        "text": text,
        "categories": categories,
        "terms": next((node.context() for node in nodes if node.takes_terms), None) if text else None,
        "results": results(program, types, name),
        "has_model": struct,
        "constants": _constants(program, asked),
        "points": _points(program, asked) if asked else None,
        "labels": labels,
        "api": api,
        "tables": tables + [_table(*one, told, profile == "host") for one in brought.items()],
        "has_bulk": has_bulk,
        "has_long_strings": has_bulk
        or bool(labels and labels["long"])
        or bool(struct and struct["longest"] > MAX_STRING),
        **_arithmetic(file, profile == "host"),
        **_device_fields(file),
        "nodes": [node.context() for node in nodes],
        "parts": {node.part(part) for node in nodes for part in node.parts},
        "aligned": profile == "host" and any(node.in_vectors for node in nodes),
        "tiled": around,
        "labeller": next((node for node in nodes if node.gives_labels and node.chunk), None),
        "functions": bodies_of(program, types, name, symbols) + [calls for _, calls in quantised],
        "fixed_dots": fixed_dots(file),
        "batches": [function for function in api if function.call],
        "self_test": self_test.context(program, name, by_feature, "x" if style.device else ""),
    }


def _names(program: Program, name: str, profile: str) -> dict[str, Any]:
    """What the files are called, what made them, and the types of a row and a result."""
    return {
        "name": name,
        "NAME": name.upper(),
        "version": __version__,
        "profile": profile,
        "banner": _banner(program),
        "features": [comment(feature) for feature in program.input.feature_names],
        "texts": category_lines(program),
        "real": c_real(program.number or "f64"),
        "row_type": row_type(program),
        "targets": target_lines(program),
        "abi_version": ABI_VERSION,
        "model_version": MODEL_VERSION,
    }


def _arithmetic(file: CFile, host: bool) -> dict[str, Any]:
    """The helpers that nodes call, and what they ask of compiler and processor."""
    called, steady = helpers(file), file.style.steady
    return {
        "helpers": called,
        "steady": steady,
        "has_intrinsics": any(node.has_intrinsics for node in file.nodes.values()),
        "rounds_by_adding": host or any(STEADY_ROUNDING[steady] & {*one["uses"]} for one in called),
        "vectors": [
            one
            | {"isas": plain_instruction_sets(4 if one["real"] == "float" else 8, one["prefix"], file.name)}
            for one in called
            if host
        ],
    }


def _points(program: Program, asked: list[int]) -> dict[str, Any]:
    """What is said of a caller's kernel."""
    return {
        "count": len(asked),
        "text": literals.wrap(map(str, asked)),
        "itself": extra.asks_itself(program),
        "most": literals.LOWEST[float_number(program)].lstrip("-"),
    }


def _device_fields(file: CFile) -> dict[str, Any]:
    """What the two files read of the profile, beside their nodes."""
    style, in_double = file.style, has_double(file)
    return {
        "has_double": in_double,
        "flash": style.flash,
        "placement": f" {style.name.upper()}_TABLE" if style.device else "",
        "far": literals.real(FAR, float_number(file.program)),
        "no_avr": in_double or any(node.reads_two_tables for node in file.nodes.values()),
        "stack": stack_bytes(file, in_double) if style.device else 0,
        "scratch": scratch_bytes(file.program),
    }


def has_double(file: CFile) -> bool:
    """Whether some code computes in double."""
    if file.program.number == "f64" or any(known.wide for known in file.types.values()):
        return True
    return file.style.device and needs_double(file)


def needs_double(file: CFile) -> bool:
    """Whether a float program computes something in double all the same."""
    wide = any(known.wide for known in file.types.values())
    return file.program.number == "f32" and (wide or any(node.in_double for node in file.nodes.values()))


def _check_double(program: Program, soft_double: bool) -> None:
    """A device program in float has no double, unless it was asked for."""
    file, origin = CFile.of(program), program.origin
    if soft_double or not needs_double(file):
        return
    reasons = {node.in_double for node in file.nodes.values()}
    if "variance" in reasons:
        raise EmitError(
            "what is left of a variance needs double precision, which small processors compute in "
            "software: allow it with --soft-double (soft_double=True), or leave it out "
            "(--set uncertainty=false)"
        )
    couples = "coupling" in reasons
    claim = f"the claim {origin.claim.value} of {origin.method}"
    what = "the coupling of probabilities" if couples else claim
    raise EmitError(
        f"{what} needs double precision, which small processors compute in software: allow it with "
        "--soft-double (soft_double=True), or compile "
        + ("the model without probabilities" if couples else "with method exact, or for profile portable")
    )


def _api(
    file: CFile,
    sparse: extra.SparseRows | None,
    quantised: list[extra.Both],
    text: TextRows | None,
    categories: CategoryTables | None,
) -> list[Function]:
    """All functions of the header, the self-test last."""
    api = public_functions(file.program, file.types, file.name)
    self_test = file.style.self_test(api.pop())
    if extra.points(file.program):
        api += extra.kernel_functions(file.program, file.types, file.name)
    if sparse:
        api += [function for one in sparse.functions for function in (one.single, one.batch)]
    if text:
        api += [function for one in text.functions for function in (one.single, one.sized)]
    api += categories.functions if categories else ()
    return [*api, *(function for function, _ in quantised), self_test]


def _banner(program: Program) -> list[str]:
    """What a file says of itself."""
    origin = program.origin
    options = "".join(f", {key}={value}" for key, value in origin.options)
    noise = origin.details.get("noise_scale")
    told = f"Errors follow a Laplace distribution of scale {noise!r}." if noise is not None else ""
    return [
        f"Source: {comment(origin.source)}, sha256 {comment(origin.sha256)}.",
        f"Method: {comment(origin.method + options)}. Claim: {origin.claim.value}.",
        f"{origin.n_support_vectors} support vectors, {program.n_features} features, "
        f"{ARITHMETIC[program.number or 'f64']} arithmetic.",
        *filter(None, [told]),
        *extra.fixed_banner(program),
    ]


def _constants(program: Program, asked: list[int]) -> dict[str, int]:
    types, labels = infer_types(program), program.labels
    width = {output.name: types[output.value].width for output in program.outputs}
    targets, values = len(labels.targets) if labels else 0, program.n_values
    known = {
        "N_FEATURES": program.n_features,
        "N_VECTORS": len(asked),
        "SELF": -1 if extra.asks_itself(program) else 0,
        "N_CLASSES": program.n_classes,
        "N_TARGETS": targets,
        "N_SCORES": width.get("scores", 0),
        "N_PROBABILITIES": width.get("probabilities", 0) if targets else 0,
        "N_VALUES": values if values > 1 else 0,
    }
    return {name: value for name, value in known.items() if value} | category_constants(program)


def _table_text(table: NDArray[Any], bulk: bool, is_host: bool) -> str:
    """Of half precision, the integers that hold its bits."""
    if bulk:
        return literals.octets(table, literals.HOST_LINE_BYTES if is_host else literals.LINE_BYTES)
    numbers = table.ravel().view(np.uint16) if table.dtype == np.float16 else table.ravel()
    if numbers.dtype.kind in "iu":
        return literals.wrap(map(str, numbers.tolist()))
    return literals.decimals(table, "f32" if table.dtype == np.float32 else "f64")


def _emitted(program: Program, folded: frozenset[str]) -> list[str]:
    """The tables that C holds."""
    return [name for name in emitted_tables(program) if name not in folded]


def _held(program: Program, name: str) -> NDArray[Any]:
    """A table as C holds it: leaves without vectors have one number, since C has no empty tables."""
    table = program.tables[name]
    return np.zeros(1, table.dtype) if not table.size and program.number in FIXED else table


def _tables(file: CFile, is_host: bool) -> list[dict[str, Any]]:
    tables, program, symbols = [], file.program, file.symbols
    comments = table_comments(program)
    for name in _emitted(program, file.folded):
        table = _held(program, name)
        if not table.size:
            raise EmitError(f"table {name!r} is empty, which C does not allow; optimise the program first")
        bulk = symbols(f"@{name} bulk", f"{name}_bulk") if literals.is_bulk(table) else ""
        tables.append(_table(symbols(f"@{name}", name), table, comments[name], is_host, bulk))
    return tables


def _table(
    name: str, table: NDArray[Any], comment: str, is_host: bool, bulk_name: str = ""
) -> dict[str, Any]:
    """What the template needs of a table."""
    bulk = literals.is_bulk(table)
    return {
        "name": name,
        "comment": comment,
        "bulk_name": bulk_name or f"{name}_bulk",
        "count": table.size,
        "bytes": table.nbytes,
        "bulk": bulk,
        "type": TABLE_TYPES.get(str(table.dtype), f"{table.dtype}_t"),
        "text": _table_text(table, bulk, is_host),
    }
