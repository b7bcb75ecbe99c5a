"""explore: all candidates of one or several models, as a record and as a page to look at."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from svmcompile.choose.build import Record
from svmcompile.choose.choice import Choice, Rows, choose
from svmcompile.choose.page import explore_page
from svmcompile.choose.wishes import Wishes
from svmcompile.errors import SvmCompileError
from svmcompile.files.plain import json_text
from svmcompile.flow.emission import Files, emit_files
from svmcompile.flow.program import Opened
from svmcompile.lower import lower

Subject = tuple[Opened, Rows]


def explore(
    subjects: Sequence[Subject], wishes: Wishes, folder: Path | None = None, client: Any = None
) -> tuple[Record, Files]:
    """The record, and explore.json and explore.html; the budget is shared out among the models."""
    each = replace(wishes, budget_seconds=wishes.budget_seconds / len(subjects))
    choices = [
        choose(model, rows, each, thorough=True, folder=folder, client=client) for model, rows in subjects
    ]
    record = overlay(choices)
    page = explore_page(record, *_to_try(choices[0], subjects[0][1]))
    text = json_text(record, indent=1)
    return record, {"explore.json": text, "explore.html": page}


def overlay(choices: Sequence[Choice]) -> Record:
    """The record of several models on the same rows: the first one's, with the others' candidates."""
    record = choices[0].record
    for choice in choices[1:]:
        start, about = len(record["candidates"]), choice.record["models"][0]
        taken = {one["name"] for one in record["models"]}
        names = (about["name"], *(f"{about['name']} {n}" for n in range(2, 2 + len(choices))))
        about["name"] = next(name for name in names if name not in taken)
        record["models"].append(about)
        for one in choice.record["candidates"]:
            record["candidates"].append(one | {"number": one["number"] + start, "model": about["name"]})
        record["seconds"] += choice.record["seconds"]
    return record


def _to_try(choice: Choice, rows: Rows) -> tuple[Any, ...]:
    """The program to take, its WebAssembly where the tools are there, and rows that tell its ranges."""
    winner, program = choice.decision.winner, choice.built
    if winner is None or program is None or winner["precision"] not in ("f32", "f64"):
        return ()
    number, X = winner["precision"], rows.data.X[choice.parts.fit]
    with suppress(SvmCompileError):  # WebAssembly needs tools that may be missing
        module = emit_files(program, "wasm", "explore", number, "portable", X=X)["explore.wasm"]
        return lower(program, number), module, X
    return ()
