"""inspect: what a model, a program or an output folder holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile import api
from svmcompile.commands.options import InspectOptions
from svmcompile.flow.evaluation import find_program
from svmcompile.flow.seal import check_seal, read_key, read_report
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM
from svmcompile.targets.report import by_target

REPORTED = (
    "target", "precision", "profile", "agreement", "agreement_interval", "accuracy", "max_decision_error",
    "max_probability_error", "rows", "fitted_to_these_rows", "fitted", "cost", "device", "vectors",
)  # fmt: skip


def run(options: InspectOptions) -> dict[str, Any]:
    """Facts about a model, a program with its listing, or a folder."""
    key = None if options.key is None else read_key(options.key)
    if options.thing.is_dir():
        stems = sorted(item.stem for item in options.thing.glob("*.svmc"))
        if not stems:
            find_program(options.thing)  # raises what fits
        return {
            "kind": "folder",
            "models": {stem: _folder_facts(options.thing, stem, key) for stem in stems},
        }
    opened = api.open_model(options.thing, trust_pickle=options.trust_pickle, n_features=options.features)
    if opened.svm:
        return {"kind": "model", **_svm_facts(opened.svm)}
    assert opened.program
    return {"kind": "program", **program_facts(opened.program), "listing": opened.program.text()}


def _folder_facts(folder: Path, stem: str, key: bytes | None) -> dict[str, Any]:
    _, program = find_program(folder, stem, key)
    sealed = check_seal(folder, stem, key=key)
    sizes = {item.name: item.stat().st_size for item in sorted(folder.glob(f"{stem}.*"))}
    emitted = read_report(folder, stem) if (folder / f"{stem}.json").exists() else {}
    figures = {name: emitted[name] for name in REPORTED if name in emitted}
    checked = {"files_checked": sealed, "signature_checked": key is not None}
    return {**program_facts(program), **figures, **checked, "files": sizes}


def program_facts(program: Program) -> dict[str, Any]:
    origin = program.origin
    return {
        "source": origin.source,
        "sha256": origin.sha256,
        "method": origin.method,
        "options": dict(origin.options),
        "claim": origin.claim.value,
        "features": program.n_features,
        **({"categories": program.categories.facts(program.feature_names)} if program.categories else {}),
        "classes": list(program.labels.values) if program.labels else [],
        **by_target(program.labels),
        "outputs": [output.name for output in program.outputs],
        "support_vectors": origin.n_support_vectors,
        "cost": program.cost().as_dict(),
        "passes": [asdict(saving) for saving in origin.savings],
        "notes": list(origin.notes),
    }


def _svm_facts(svm: SVM) -> dict[str, Any]:
    numbers = svm.vectors.shape[0] * svm.vectors.shape[1]
    held = np.count_nonzero(svm.vectors) if isinstance(svm.vectors, np.ndarray) else svm.vectors.nnz
    zeros = float((numbers - held) / numbers) if numbers else 0.0
    return {
        "source": svm.source.kind,
        "sha256": svm.source.sha256,
        "kernel": ", ".join(dict.fromkeys(part.kernel.text() for part in svm.parts or (svm,))),
        "machines": len(svm.parts) or 1,
        "features": svm.n_features,
        "feature_names": list(svm.feature_names),
        **({"categories": svm.categories.facts(svm.feature_names)} if svm.categories else {}),
        "classes": list(svm.labels.values) if svm.labels else [],
        **by_target(svm.labels),
        "support_vectors": svm.n_vectors,
        "vectors_per_class": list(svm.counts),
        "zeros_in_vectors": zeros,
        "scores": svm.n_sums,
        "label_rule": svm.label_rule.value,
        "preprocessing": [step.kind.lower() for step in svm.front.steps if len(step.place) == 1],
        "probabilities": svm.has_probabilities,
        "notes": list(svm.notes),
    }
