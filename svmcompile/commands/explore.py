"""explore: what could be had of a model, with figures, as a file and as a page."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from svmcompile import api
from svmcompile.choose.explore import explore
from svmcompile.commands.auto import read_rows, wishes_of
from svmcompile.commands.options import ExploreOptions
from svmcompile.files.atomic import check_output_folder
from svmcompile.progress import say


def run(options: ExploreOptions) -> dict[str, Any]:
    """The record that explore.json holds, and where the page is."""
    check_output_folder(options.output)
    wishes = wishes_of(options, targets=options.targets)
    subjects = []
    for path in (options.model, *(options.others or ())):
        model = api.open_model(path, trust_pickle=options.trust_pickle, n_features=options.features)
        subjects.append((model, read_rows(model, options.data, options.test, options)))
    say(f"explore: searches for up to {wishes.budget_seconds:g} s (--budget)")
    with _cluster(options.cluster) as client:
        record, files = explore(subjects, wishes, options.checkpoint, client)
    api.write(files, options.output)
    return {**record, "page": str(options.output / "explore.html")}


def _cluster(where: str | None) -> Any:
    if where is None:
        return nullcontext(None)
    from svmcompile.cluster import connected

    return connected(where)
