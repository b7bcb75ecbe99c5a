"""explore: what could be had of a model, with figures, as a file and as a page."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from svmcompile import api
from svmcompile.choose.choice import Choice, Rows, choose, overlay
from svmcompile.choose.page import explore_page
from svmcompile.commands.auto import read_rows, wishes_of
from svmcompile.commands.options import ExploreOptions
from svmcompile.errors import SvmCompileError
from svmcompile.flow.program import Opened
from svmcompile.ir.program import Program
from svmcompile.lower import lower


def run(options: ExploreOptions) -> dict[str, Any]:
    """The record that explore.json holds, and where the page is."""
    wishes = wishes_of(options, targets=options.targets)
    paths = [options.model, *(options.others or ())]
    wishes = replace(wishes, budget_seconds=wishes.budget_seconds / len(paths))
    choices, first = [], None
    with _cluster(options.cluster) as client:
        for path in paths:
            model = api.open_model(path, trust_pickle=options.trust_pickle, n_features=options.features)
            rows = read_rows(model, options.data, options.report_data, options.label)
            choice = choose(model, rows, wishes, thorough=True, folder=options.checkpoint, client=client)
            choices.append(choice)
            first = first or (model, rows)
    record = overlay(choices)
    assert first
    page = explore_page(record, *_to_try(choices[0], *first))
    files: dict[str, str | bytes] = {
        "explore.json": json.dumps(record, indent=1, sort_keys=True) + "\n",
        "explore.html": page,
    }
    api.write(files, options.output)
    return {**record, "page": str(options.output / "explore.html")}


def _to_try(choice: Choice, model: Opened, rows: Rows) -> tuple[Program | None, bytes | None, Any]:
    """The program to take as WebAssembly, where the tools are there, and rows that tell its ranges."""
    winner = choice.decision.winner
    if winner is None or winner["precision"] not in ("f32", "f64"):
        return None, None, None
    X = rows.data.X[choice.parts.fit]
    try:
        program = choice.program(model, rows)
        files = api.emit(program, "wasm", "explore", winner["precision"], X=X)
    except SvmCompileError:
        return None, None, None
    module = files["explore.wasm"]
    assert isinstance(module, bytes)
    return lower(program, winner["precision"]), module, X


def _cluster(where: str | None) -> Any:
    if where is None:
        return nullcontext(None)
    from svmcompile.cluster import connected

    return connected(where)
