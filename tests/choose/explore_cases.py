"""Records of explore.json made up for the tests of the page: no search is run."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta

NO_LIMITS: dict[str, Any] = {
    "same_labels": False,
    "agreement": None,
    "accuracy_loss": None,
    "latency_us": None,
    "batch_latency_us": None,
    "max_bytes": None,
    "flash": None,
    "ram": None,
}
VERSIONS = {
    "svmcompile": "0.9.0",
    "python": "3.12.4",
    "numpy": "2.1.0",
    "scikit-learn": "1.7.0",
    "compiler": "gcc 14.2",
}
# method, claim, title, cost beside that of the exact program, share of labels that change
LADDER = (
    ("exact", "EXACT", "exact", 1.0, 0.0),
    ("anytime", "SAME_LABEL", "anytime", 0.45, 0.0),
    ("certified", "SAME_LABEL", "certified, jets", 0.16, 0.0),
    ("certified", "SAME_LABEL", "certified, 32 leaves", 0.12, 0.0),
    *(
        ("reduced-set", "APPROXIMATE", f"reduced-set, {n} vectors", n / 597, 0.25 / n)
        for n in (15, 30, 60, 120, 240)
    ),
    *(
        ("metric-tree", "APPROXIMATE", f"metric-tree, depth {d}", 0.006 * d, 0.3 / d**2)
        for d in (4, 6, 8, 10)
    ),
    ("h1-tree", "APPROXIMATE", "h1-tree, 24 leaves", 0.05, 0.012),
    ("dtsvm", "APPROXIMATE", "dtsvm, 16 leaves", 0.06, 0.018),
    ("sv-tree", "APPROXIMATE", "sv-tree, 64 leaves", 0.03, 0.03),
)


def bound(same: int, rows: int, risk: float, upper: bool = False) -> float:
    """Clopper and Pearson's one-sided bound."""
    if upper:
        return 1.0 if same == rows else float(beta.ppf(1 - risk, same + 1, rows - same))
    return 0.0 if same == 0 else float(beta.ppf(risk, same, rows - same + 1))


def bounds(same: int, rows: int, confidence: float = 0.95) -> list[float]:
    return [bound(same, rows, (1 - confidence) / k) for k in (1, 2, 3)]


def record(
    seed: int = 0,
    n_classes: int = 10,
    models: tuple[str, ...] = ("digits",),
    cpu: str | None = None,
    labels: list[str] | None = None,
    report: int = 2007,
    limits: dict[str, Any] | None = None,
    minimise: str = "time",
) -> dict[str, Any]:
    """A record with every kind of candidate: measured, proven, dominated, refused, skipped."""
    generator = np.random.default_rng(seed)
    labels = labels or [str(index) for index in range(n_classes)]
    found: list[dict[str, Any]] = []
    for factor, model in enumerate(models):
        for precision in ("f32", "q7") if cpu else ("f32", "f64"):
            for step in LADDER:
                found.append(
                    _candidate(generator, len(found), model, step, precision, cpu, labels, report, factor)
                )
        found.append(
            _unbuilt(len(found), model, "refused", "the kernel is not rbf; metric-tree needs one", None)
        )
        for cost in (0.9, 2.5):
            found.append(_unbuilt(len(found), model, "skipped", "predicted to be slower than 6", cost * 30))
    return {
        "format": 1,
        "sentence": "Take reduced-set with 60 vectors: 12.4 KB of tables, 1.6 \u00b5s per row, the label "
        "of your SVM on 99.6 % of 2,007 unseen rows (at least 99.2 %, 95 % confidence), accuracy 97.1 % "
        "(SVM 97.4 %). Every label kept? That takes 3.6 \u00b5s: certified, 32 leaves.",
        "winner": None,
        "models": [_model(name, labels) for name in models],
        "settings": _settings(cpu, minimise, limits or {}),
        "rows": {
            "file": "rows.npz",
            "sha256": "5f" * 32,
            "fit": 900,
            "choose": 300,
            "report": report,
            "report_file": None,
            "labelled": True,
        },
        "candidates": found,
        "versions": VERSIONS,
        "seconds": 93.1,
    }


def _settings(cpu: str | None, minimise: str, limits: dict[str, Any]) -> dict[str, Any]:
    return {
        "cpu": cpu,
        "clock_mhz": 48.0 if cpu else None,
        "confidence": 0.95,
        "seed": 0,
        "budget_seconds": 120.0,
        "targets": ["c"],
        "tolerance": None,
        "minimise": minimise,
        "limits": NO_LIMITS | limits,
    }


def _model(name: str, labels: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "file": f"{name}.skops",
        "source": "SVC of scikit-learn",
        "sha256": "3a" * 32,
        "kernel": "rbf",
        "n_support_vectors": 597,
        "n_features": 64,
        "n_classes": len(labels),
        "labels": labels,
        "is_regressor": False,
        "accuracy": 0.974,
    }


def _candidate(
    generator: np.random.Generator,
    number: int,
    model: str,
    step: tuple[str, str, str, float, float],
    precision: str,
    cpu: str | None,
    labels: list[str],
    report: int,
    factor: int,
) -> dict[str, Any]:
    method, claim, title, cost, flips = step
    proven = claim != "APPROXIMATE" and precision != "q7"
    noise = float(np.exp(generator.normal(0, 0.12))) * (1 + 0.4 * factor)
    flips = flips * noise + (0.004 if precision == "q7" else 0.0)
    changed = 0 if proven else int(generator.binomial(report, min(1.0, flips)))
    chosen = 0 if proven else int(generator.binomial(300, min(1.0, flips)))
    width = {"f32": 1.0, "f64": 2.0, "q7": 0.25}[precision]
    table_bytes = int(597 * 64 * 4 * cost**0.6 * width * noise)
    speed = {"f32": 1.0, "f64": 1.7, "q7": 0.6}[precision]
    return {
        "number": number,
        "model": model,
        "method": method,
        "options": {"budget": 60} if method == "reduced-set" else {},
        "precision": precision,
        "tables": "f16" if precision == "f32" and number % 5 == 1 else None,
        "target": "c",
        "profile": "device" if cpu else "host",
        "title": title,
        "claim": claim,
        "proven": proven,
        "state": "measured",
        "reason": "" if cost < 0.2 else "12 % slower than 3",
        "dominated": cost >= 0.2 or precision == "f64",
        **_labels(report, changed, chosen),
        "max_decision_error": None if claim == "EXACT" else 0.02 + 5 * flips,
        "figures": _figures(number, table_bytes, cost * noise * speed, cpu),
        "seconds": 1.5 + 4 * cost,
        "command": f"svmcompile compile {model}.skops -o out --data rows.npz --method {method} "
        f"--precision {precision}",
        "stages": _stages(method, cost),
        "confusion": _confusion(generator, labels, changed),
        "differences": _differences(generator, labels, min(changed, 20)),
    }


def _labels(report: int, changed: int, chosen: int) -> dict[str, Any]:
    """Agreement and accuracy, by the labels that change on the reporting and on the choosing rows."""
    same, loss = report - changed, changed / report / 2
    accuracy = round(report * (0.974 - loss))
    return {
        "agreement": {
            "choose": {"rows": 300, "same": 300 - chosen},
            "report": {
                "rows": report,
                "same": same,
                "share": same / report,
                "low": bounds(same, report),
                "high": bound(same, report, 0.05, True),
            },
            "expected_low": bounds(round(report * (300 - chosen) / 300), report),
        },
        "accuracy": {
            "share": accuracy / report,
            "low": bound(accuracy, report, 0.05),
            "high": bound(accuracy, report, 0.05, True),
            "loss": loss,
            "loss_high": [loss + 0.001 * k for k in (1, 2, 3)],
            "expected_loss_high": [chosen / 600 + 0.001 * k for k in (1, 2, 3)],
        },
    }


def _figures(number: int, table_bytes: int, work: float, cpu: str | None) -> dict[str, Any]:
    """Costs, of a device or of this processor; `work` is beside the exact program's."""
    return {
        "time_us": None if cpu and number % 7 == 3 else 30 * work,
        "batch_time_us": 9 * work,
        "table_bytes": table_bytes,
        "flash_bytes": table_bytes + 2300 if cpu else None,
        "ram_bytes": 300 + 4 * number if cpu else None,
        "instructions": round(48 * 30 * work * 10) if cpu else None,
        "worst_instructions": round(48 * 45 * work * 10) if cpu else None,
        "energy_nj": 330 * work if cpu else None,
        "file_bytes": None,
    }


def _stages(method: str, cost: float) -> list[dict[str, Any]]:
    if method in ("exact", "reduced-set"):
        return [{"name": "kernel sum", "share": 1.0, "flops": 119400 * cost, "bytes": int(152832 * cost)}]
    return [
        {"name": "bounds of leaves", "share": 1.0, "flops": 2100.0, "bytes": 8320},
        {"name": "nearest vectors", "share": 0.213, "flops": 8800.0, "bytes": 40960},
        {"name": "full kernel sum", "share": 0.0164, "flops": 119400.0, "bytes": 152832},
    ]


def _confusion(generator: np.random.Generator, labels: list[str], changed: int) -> list[list[Any]]:
    pairs: dict[tuple[str, str], int] = {}
    for _ in range(changed):
        i, j = generator.choice(len(labels), 2, replace=False) ** 2 // len(labels)
        if i != j:
            pairs[labels[i], labels[j]] = pairs.get((labels[i], labels[j]), 0) + 1
    return [[*pair, count] for pair, count in pairs.items()]


def _differences(generator: np.random.Generator, labels: list[str], count: int) -> list[dict[str, Any]]:
    width = 1 if len(labels) == 2 else len(labels)
    rows = []
    for index, margin in enumerate(np.sort(generator.exponential(0.03, count))):
        i, j = generator.choice(len(labels), 2, replace=False)
        scores = np.round(generator.normal(size=width), 4)
        rows.append(
            {
                "row": int(17 + 31 * index),
                "original": labels[i],
                "candidate": labels[j],
                "truth": labels[i],
                "original_scores": scores.tolist(),
                "candidate_scores": (scores - margin).round(4).tolist(),
                "margin": float(margin),
                "x": np.round(generator.uniform(0, 16, 16), 1).tolist(),
            }
        )
    return rows


def _unbuilt(number: int, model: str, state: str, reason: str, time: float | None) -> dict[str, Any]:
    figures: dict[str, Any] = dict.fromkeys(
        "time_us batch_time_us table_bytes flash_bytes ram_bytes instructions worst_instructions energy_nj "
        "file_bytes".split()
    )
    return {
        "number": number,
        "model": model,
        "method": "metric-tree" if state == "refused" else "reduced-set",
        "options": {},
        "precision": "f32",
        "tables": None,
        "target": "c",
        "profile": "host",
        "title": "metric-tree, affine" if state == "refused" else "reduced-set, 480 vectors",
        "claim": "APPROXIMATE",
        "proven": False,
        "state": state,
        "reason": reason,
        "dominated": False,
        "agreement": None,
        "accuracy": None,
        "max_decision_error": None,
        "figures": figures | ({"time_us": time, "predicted": True} if time else {}),
        "seconds": 0.0,
        "command": f"svmcompile compile {model}.skops -o out --data rows.npz --method reduced-set",
        "stages": [],
        "confusion": [],
        "differences": [],
    }
