"""What `verify`, `predict` and `bench` print for a person."""

from __future__ import annotations

from typing import Any

from svmcompile.commands import options as given
from svmcompile.commands.tables import (
    Plain,
    Report,
    console,
    escape,
    figure,
    narrow,
    print_notes,
    size,
    titled,
)


def verify(report: Report, options: given.VerifyOptions) -> None:
    """Every form beside the original. Near ties: rows whose label rounding alone may change."""
    if options.certificate or options.prove:
        (_proofs if options.prove else _certificates)(report)
        return
    approximate = report["claim"] == "APPROXIMATE"
    key, first = ("accuracy", "accuracy") if options.model is None else ("agreement", "same labels")
    promised = any(one["max_error_over_bound"] is not None for one in report["comparisons"])
    labelled = any(one[f"{key}_interval"] is not None for one in report["comparisons"])  # no regressor
    of_labels = (f"{first}, 95 %", "differ", "near\nties") if labelled else ()
    right = (*of_labels, "error", *(["of\nbound"] if promised else []))
    title = f"{report['name']} against {report['reference']}, {report['rows']:,} rows"
    last = "is the\nprogram" if approximate else "claim"
    table = narrow(titled(escape(f"{title}, claim {report['claim']}"), "form", *right, last, right=right))
    lines: dict[str, list[str]] = {"accuracy": [], "worst error of probabilities": [], "targets": []}
    for one in report["comparisons"]:
        form = f"{one['backend']} {one['precision']}"
        counts = [str(one[name]) for name in ("labels_differing", "rows_within_rounding")]
        counts = [_share(one, key), *counts] if labelled else []
        errors = [figure(one["max_decision_error"])]
        errors += [figure(one["max_error_over_bound"])] if promised else []
        fine = "yes" if approximate else "holds"
        table.add_row(form, *counts, *errors, escape("; ".join(one["broken"])) or fine)
        if one["accuracy"] is not None and options.model is not None:
            lines["accuracy"].append(f"{form} {one['accuracy']:.2%}")
        if one["max_probability_error"] is not None:
            lines["worst error of probabilities"].append(f"{form} {figure(one['max_probability_error'])}")
        if one["max_extra_error"] is not None:
            share = one["max_extra_error_over_bound"]
            of_bound = "" if share is None else f" ({figure(share)} of bound)"
            worst = f"{form} {figure(one['max_extra_error'])}{of_bound}"
            lines.setdefault(f"worst error of {report['extra_output']}", []).append(worst)
        each = one["agreement_by_target"]
        lines["targets"] += [f"{form} {at}: {share:.2%}" for at, share in enumerate(each) if share < 1]
    console.print(table)
    for what, figures in lines.items():
        if figures:
            console.print(f"{what}: {', '.join(figures)}")
    _remarks(report)


def _share(one: Report, key: str) -> str:
    """A share of rows in per cent, and the interval that holds that of rows to come."""
    if one[f"{key}_interval"] is None:
        return ""
    low, high = (f"{100 * end:.4g}" for end in one[f"{key}_interval"])
    return f"{one[key]:.2%} ({low}-{high})"


def _remarks(report: Report) -> None:
    """What stands below the table of `verify`."""
    if report["stated_error"] is not None:
        console.print(
            f"stated error: {report['stated_error']:.3g} at worst; near ties by the error measured here"
        )
    if report["accuracy_of_reference"] is not None and report["reference"] != "the labels of the data":
        console.print(f"accuracy of the original: {report['accuracy_of_reference']:.2%}")
    if report["labels_unknown"]:
        console.print(f"{report['labels_unknown']} labels of the data are not classes of the model")
    if report["rows_not_finite"]:
        console.print(f"{report['rows_not_finite']} rows with NaN or infinity were skipped")
    for form in report["left_out"]:
        console.print(f"left out: {escape(form)}")
    print_notes(report)
    if "min_agreement" in report:
        below = ", ".join(report["below"])
        said = f"not kept by {below}" if below else "kept"
        console.print(f"at least {report['min_agreement']:.2%} of the labels required: {said}")


def _certificates(report: Report) -> None:
    """Rows by what is known of their certificates; errors over bounds are in real numbers, then rounded."""
    counts = {"rows": "rows", "confirmed": "confirmed", "refuted": "refuted", "open": "open"}
    counts["none"] = "no certificate"
    columns = (*counts.values(), "error / bound", "in worst rounding")
    table = titled("certificates", *columns, right=columns)
    shares = (f"{report[key]:.4f}" for key in ("real", "rounded"))
    table.add_row(*(f"{report[key]:,}" for key in counts), *shares)
    console.print(table)
    if report["not_confirmed"]:
        console.print(f"not confirmed: rows {', '.join(map(str, report['not_confirmed']))}")


def _proofs(report: Report) -> None:
    """Functions, the inputs they are proven for, and the claims that make up the proofs."""
    title = f"{report['name']}.c, by {', '.join(report['tools'])}"
    table = titled(title, "function", "for", "claims decided by", "proven")
    for one in report["functions"]:
        claims = ", ".join(f"{way} {count:,}" for way, count in sorted(one["claims"].items()))
        table.add_row(escape(one["name"]), one["inputs"], claims, "yes" if one["proven"] else "no")
    console.print(table)
    for one in report["functions"]:
        for text in (*one["failures"][:3], *filter(None, [one["left_out"]])):
            console.print(
                f"not proven: {one['name']}: {text.removeprefix(one['name'] + ': ')}", markup=False
            )
    console.print(f"written to {report['name']}.proof.json")


def predict(report: Report, options: given.PredictOptions) -> None:
    to_stdout = report["output"] == "-"
    out = Plain(stderr=True, highlight=False) if to_stdout else console
    speed = f"{report['seconds']:.1f} s, {report['rows_per_second']:,.0f} rows a second"
    where = "standard output" if to_stdout else escape(report["output"])
    out.print(f"{report['rows']:,} rows scored by {report['model']} -> {where} ({speed})", soft_wrap=True)
    if report["unscored"]:
        out.print(f"{report['unscored']:,} of them without a label: they have missing or infinite values")
    for note in report["notes"]:
        out.print(f"note: {escape(note)}", soft_wrap=True)


def bench(result: Report, options: given.BenchOptions) -> None:
    """Times and ratios; ratios are to ours, called from the same language with rows of the same kind."""
    right = ("single", "batch", "x\nsingle", "x\nbatch", "same", "size")
    title = (
        f"{result['name']}: {result['n_support_vectors']:,} support vectors, "
        f"{result['n_features']:,} features, {result['precision']} {result['profile']}\n"
        f"us per row, one row per call and in batches of {result['batch']:,}; "
        "times as long as ours; same answers as the original"
    )
    table = narrow(titled(escape(title), "contender", "from", *right, right=right))
    for one in result["contenders"]:
        times = (f"{one[key]:.3g}" for key in ("us_single", "us_batch"))
        ratios = (f"{one[key]:.3g}" for key in ("ratio_single", "ratio_batch"))
        figures = (
            *times,
            *ratios,
            f"{one['agreement']:.2%}",
            "" if one["bytes"] is None else size(one["bytes"]),
        )
        table.add_row(escape(one["name"]), one["via"], *figures, style="bold" * (one["key"] == "ours"))
    console.print(table)
    _latencies(result)
    for line in _limits(result):
        console.print(line)
    for one in result["left_out"]:
        console.print(f"left out: {one['peer']} ({escape(one['reason'])})")
    print_notes(result)
    if options.output is not None:
        names = ("bench.json", "bench.svg", "bench.html")
        console.print(f"files: {', '.join(escape(str(options.output / name)) for name in names)}")


def _latencies(result: Report) -> None:
    """Single calls one by one, and ours from several threads."""
    right = ("p50", "p95", "p99", "max")
    table = titled("us of single calls, wall clock", "contender", "from", *right, right=right)
    for one in result["contenders"]:
        if one["latency"]:
            table.add_row(escape(one["name"]), one["via"], *_percentiles(one["latency"]))
    console.print(table)
    if len(result["threads"]) > 1:
        columns = ("threads", "us a row in batches", *right)
        table = titled("our C from several threads at once, wall clock", *columns, right=columns)
        for one in result["threads"]:
            table.add_row(str(one["threads"]), f"{one['us_batch']:.4g}", *_percentiles(one["latency"]))
        console.print(table)


def _percentiles(latency: Report) -> tuple[str, ...]:
    from svmcompile.bench.charts import short

    return tuple(short(latency[key]) for key in ("p50", "p95", "p99", "longest"))


def _limits(result: dict[str, Any]) -> list[str]:
    """How near our C code is to what one core can do."""
    share, limits = result["share"], result["limits"]
    if share is None:
        return []
    place = f" in {limits['table_in']}" if limits["table_in"] else ""
    return [
        f"batch: {share['gflops_batch']:.1f} of {limits['peak_gflops']:.0f} GF/s, "
        f"{share['fma_peak_batch']:.0%} of the multiply-add peak",
        f"single row: {share['gb_s_single']:.1f} of {limits['read_gb_s']:.0f} GB/s, "
        f"{share['bandwidth_single']:.0%} of reading {size(limits['read_bytes'])}{place}",
    ]
