"""What the commands print for a person, one function each; bars for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.table import Table

from svmcompile.choose import words
from svmcompile.commands import options as given
from svmcompile.commands.methods import text as default_text
from svmcompile.commands.show_runs import bench as bench
from svmcompile.commands.show_runs import predict as predict
from svmcompile.commands.show_runs import verify as verify
from svmcompile.commands.tables import Plain, Report, console, escape, size
from svmcompile.commands.tables import figure as _figure
from svmcompile.commands.tables import print_note as _print_note
from svmcompile.commands.tables import print_notes as _print_notes
from svmcompile.commands.tables import titled as _table
from svmcompile.files.plain import visible
from svmcompile.progress import Advance

BAR = 12  # characters of a bar
LINE_SECONDS = 10.0  # between two lines about long work, where no bar can be drawn


@contextmanager
def progress(title: str, total: int, quiet: bool) -> Iterator[Advance]:
    """A bar on standard error, or now and then a line where that is no terminal."""
    errors = Plain(stderr=True)
    if quiet or not errors.is_terminal:
        yield _lines(title, total, quiet)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(escape(title), total=total or None)
        yield lambda done, now="": bar.update(task, advance=done, description=escape(now or title))


def _lines(title: str, total: int, quiet: bool) -> Advance:
    """Says how far long work is, every LINE_SECONDS; short work leaves no line."""
    so_far, last = 0, time.monotonic()

    def advance(done: int, now: str = "") -> None:
        nonlocal so_far, last
        so_far += done
        if quiet or time.monotonic() - last < LINE_SECONDS:
            return
        last = time.monotonic()
        print(
            f"{visible(now or title)}: {so_far:,}{f' of {total:,}' if total else ''}",
            file=sys.stderr,
            flush=True,
        )

    return advance


def say(text: str, quiet: bool) -> None:
    """A line on standard error."""
    if not quiet:
        print(visible(text), file=sys.stderr, flush=True)


def _device(table: Table, cost: dict[str, Any]) -> None:
    how = f"measured on {cost['rows']} rows" if cost["measured"] else "predicted, within a factor of two"
    table.add_row(f"on {cost['cpu']}", how)
    table.add_row("flash", f"{cost['flash_bytes']:,} B")
    table.add_row("memory, stack", f"{cost['ram_bytes']:,} B, {cost['stack_bytes']:,} B")
    worst = "" if cost["worst"] is None else f", at most {cost['worst']:,}"
    table.add_row(f"{cost['unit']} per prediction", f"{cost['mean']:,.0f}{worst}")
    if "cycles" in cost:
        cycles = cost["cycles"]
        table.add_row("cycles, estimated", f"{cycles['mean']:,.0f}, at most {cycles['worst']:,.0f}")
    if "time_us" in cost:
        table.add_row(f"time at {cost['clock_mhz']:g} MHz", words.duration(cost["time_us"]["mean"]))
    if "energy_nj" in cost:
        table.add_row("energy per prediction", f"{cost['energy_nj']['mean']:,.3g} nJ")


def compile(report: Report, options: given.CompileOptions) -> None:
    cost = report["cost"]
    if "choice" in report:
        _choice(report["choice"])
    table = _table(escape(f"{report['name']}: {report['source']['kind']}"), "what", "figure")
    table.add_row("method", f"{escape(report['method'])} (claim {report['claim']})")
    table.add_row("features, classes", f"{report['n_features']}, {report['n_classes'] or 'regression'}")
    if "classes_by_target" in report:
        table.add_row("labels per row", str(len(report["classes_by_target"])))
    table.add_row("support vectors", str(report["n_support_vectors"]))
    table.add_row("flops per row", f"{cost['mean_flops']:,.0f} (as trained: {cost['exact_flops']:,})")
    table.add_row("tables, scratch", f"{size(cost['table_bytes'])}, {size(cost['scratch_bytes'])}")
    if vectors := report.get("vectors"):
        table.add_row("vectors", f"{vectors['storage']} table, {size(vectors['bytes'])}")
    for saved in report["passes"]:
        flops, tables = saved["flops"], saved["table_bytes"]
        if flops["after"] < flops["before"]:
            less = f"{size(tables['before'])} -> {size(tables['after'])} in float64"
            table.add_row(escape(saved["name"]), f"{flops['before']:,} -> {flops['after']:,} flops, {less}")
    _details(table, report["details"])
    table.add_row("seconds", f"{report['seconds']:.1f} for the method")
    _agreement(table, report)
    if "device" in report:
        _device(table, report["device"])
    for name, count in report["files"].items():
        table.add_row(escape(str(options.output / name)), size(count))
    console.print(table)
    _print_notes(report)
    if told := _fitted(report):
        _print_note(told)


def _details(table: Table, details: dict[str, Any]) -> None:
    """What a method tells of itself; left out where it is not as we write it, as in programs of others."""
    for told in (_leaves, _stages, _stated_error):
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            told(table, details)


def _stated_error(table: Table, details: dict[str, Any]) -> None:
    if "fixed" in details:
        error = float(details["fixed"]["error"])
        table.add_row("stated error", f"{error:.3g} at worst, of decision values")


def _agreement(table: Table, report: Report) -> None:
    """How it does on rows it was not fitted to."""
    if "agreement" not in report:
        return
    if report["fitted_to_these_rows"]:
        table.add_row("same label", "not measured on held-out rows")
        return
    rows = f"{report['rows']:,}{' held-out' if 'fitted' in report else ''} rows"
    if report["n_classes"]:
        told = f"{report['agreement']:.2%} of {rows}"
        if report["claim"] == "APPROXIMATE":
            low, high = report["agreement_interval"]
            told += f"; of all rows {low:.2%} to {high:.2%}, with {report['confidence']:.0%} confidence"
        table.add_row("same label", told)
    worst = {"decision": "worst decision error", "probability": "worst error of probabilities"}
    for key, title in worst.items():
        if (error := report.get(f"max_{key}_error")) is not None:
            table.add_row(title, f"{float(error):.3g} on {rows}")
    if both := report.get("accuracy"):
        table.add_row("accuracy", f"{both['compiled']:.4f} (original {both['original']:.4f}) on {rows}")


def _fitted(report: Report) -> str:
    """The footnote on the rows it was fitted to, which flatter it."""
    few = report.get("fitted_to_these_rows", False)
    known = report if few else report.get("fitted")
    if known is None:
        return ""
    if report["n_classes"]:  # some give labels alone
        same = f"{known['agreement']:.2%} keep their label"
    else:
        same = f"errors reach {float(known['max_decision_error']):.3g}"
    more = "; these are too few to hold any out; give others with --test FILE" if few else ""
    return f"of the {known['rows']:,} rows it was fitted to, {same}{more}"


def _choice(record: Report) -> None:
    """The sentence that says what to take."""
    console.print(escape(record["sentence"]), soft_wrap=True)
    _print_notes(record)


def explore(report: Report, options: given.ExploreOptions) -> None:
    """What `explore` found: the sentence, and the candidates worth a look."""
    _choice(report)
    on_device = report["settings"]["cpu"] is not None
    cost, key = ("instructions", "instructions") if on_device else ("us a row", "time_us")
    kind, bytes_key = ("flash", "flash_bytes") if on_device else ("tables", "table_bytes")
    right = ("same labels", cost, kind)
    table = _table("worth a look (*: take this)", "number", "candidate", *right, right=("number", *right))
    front = [one for one in report["candidates"] if one["state"] == "measured" and not one["dominated"]]
    for one in sorted(front, key=lambda one: one["agreement"]["report"]["share"], reverse=True):
        figure = one["figures"].get(key)
        share = "proven" if one["proven"] else f"{one['agreement']['report']['share']:.2%}"
        told = "" if figure is None else f"{figure:,.0f}" if on_device else f"{figure:.3g}"
        number = f"{one['number']}{' *' if one['number'] == report['winner'] else ''}"
        table.add_row(number, escape(one["title"]), share, told, words.size(one["figures"][bytes_key]))
    console.print(table)
    states = [one["state"] for one in report["candidates"]]
    left = f"{states.count('refused')} refused, {states.count('skipped')} not built"
    console.print(f"{len(states)} candidates, {left}, in {report['seconds']:.0f} s")
    console.print(f"the page: {escape(report['page'])}")


def _stages(table: Table, details: dict[str, Any]) -> None:
    """Of a program that decides in stages: what share of the sample rows each decides, and its cost."""
    stages = details.get("stages", ())
    total = sum(stage["cost"] for stage in stages) or 1.0
    for stage in stages:
        rows, cost = stage["share"], stage["cost"] / total
        bars = f"{_bar(rows)} {rows:6.1%} of rows   {_bar(cost)} {cost:6.1%} of the cost"
        table.add_row(escape(stage["stage"]), bars)


def _bar(share: float) -> str:
    filled = round(share * BAR)
    return "\u2588" * filled + "\u2591" * (BAR - filled)


def _leaves(table: Table, details: dict[str, Any]) -> None:
    """Of a tree with an SVM in every mixed leaf: its size, and how it did on held-out rows."""
    if "pure_share" not in details:
        return
    table.add_row("leaves", f"{details['leaves']} ({details['pure_share']:.1%} of the rows in pure ones)")
    met = f"{details['nesv_unique']:.1f} per row of {details['tnsv_unique']:,}"
    counts = [f"{details['nesv']:.1f} of {details['tnsv']:,} summed over problems"]
    if "nesv_stored" in details:  # programs of earlier versions lack it
        counts += [f"{details['nesv_stored']:.1f} of {details['tnsv_stored']:,} as LIBSVM stores them"]
    table.add_row("vectors evaluated", f"{met} ({'; '.join(counts)})")
    if "held_out" in details:
        held = details["held_out"]
        proven = f"at least {held['proven_agreement']:.2%} proven"
        table.add_row("agreed when chosen", f"{held['agreement']:.2%} of {held['rows']} rows, {proven}")


def train(report: Report, options: given.TrainOptions) -> None:
    cost, details = report["cost"], report["details"]
    table = _table(f"{report['method']}: {report['n_rows']:,} rows", "what", "figure")
    table.add_row("features, classes", f"{report['features']}, {len(report['classes'])}")
    table.add_row("accuracy", _accuracy(report))
    for key, value in details.items():
        if isinstance(value, (bool, int, float, str)):
            table.add_row(key.replace("_", " "), f"{value:.5g}" if isinstance(value, float) else str(value))
    most = f"at most {cost['max_kernel_evaluations']:,}"
    table.add_row("kernels per row", f"{cost['mean_kernel_evaluations']:,.1f}, {most}")
    table.add_row("flops per row", f"{cost['mean_flops']:,.0f}")
    table.add_row("tables", size(cost["table_bytes"]))
    table.add_row("seconds", f"{report['seconds']:.1f}")
    console.print(table)
    _print_notes(report)
    known = report.get("fitted", report)
    _print_note(
        f"of the {known['accuracy_rows']:,} rows it was fitted to, {known['accuracy']:.2%} are right"
    )
    console.print(f"stored: {escape(report['output'])}; `svmcompile compile` turns it into C or ONNX")


def _accuracy(report: Report) -> str:
    """Of a program trained on labels: how it does on rows it was not trained on."""
    if report["fitted_to_these_rows"]:
        return "not measured on held-out rows; add --test FILE"
    low, high = report["accuracy_interval"]
    sure = f"of all rows {low:.2%} to {high:.2%}, with {report['confidence']:.0%} confidence"
    return f"{report['accuracy']:.2%} of {report['accuracy_rows']:,} held-out rows; {sure}"


def inspect(report: Report, options: given.InspectOptions) -> None:
    listing = report.get("listing", "")
    models = report.get("models") or {"": {key: report[key] for key in report if key != "listing"}}
    for name, items in models.items():
        table = _table(escape(name) or escape(str(items.get("source", ""))), "what", "value")
        for key, value in items.items():
            if value not in ([], {}, ""):
                table.add_row(key.replace("_", " "), escape(_short(value)))
        console.print(table)
    if listing:
        console.print(visible(listing), markup=False, soft_wrap=True, end="")


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_short(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        nested = any(isinstance(item, (list, tuple)) for item in value)
        shown = ("; " if nested else ", ").join(_short(item) for item in value[:12])
        return shown + (f", ... ({len(value)})" if len(value) > 12 else "")
    return str(value)


def methods(report: Report, options: given.MethodsOptions) -> None:
    """The methods, or one with its options, generated from the code."""
    if options.name is not None:
        _method(report["methods"][0])
        return
    table = _table("methods", "name", "claim", "needs data", "options", "what it does")
    for one in report["methods"]:
        needs, count = "yes" if one["needs_data"] else "no", str(len(one["options"]))
        trains = "; can train on labelled rows" if one["trains"] else ""
        owner = f" ({one['package']})" if one["package"] else ""
        table.add_row(
            one["name"], one["claim"], needs, count, f"{one['summary'].rstrip('.')}{trains}{owner}"
        )
    console.print(table)
    for one in report["plugins"]:
        problem = f": {one['problem']}" if one["problem"] else ""
        console.print(
            escape(f"plugin: {one['what']} {one['name']} of {one['package']}{problem}"), soft_wrap=True
        )
    console.print("svmcompile methods NAME explains a method and its options")
    console.print("auto chooses one within your limits: svmcompile compile --help, docs/auto.md")


def _method(one: Report) -> None:
    """One method, with a line or two for each option; nothing is cut, however narrow the terminal."""
    console.print(f"[bold]{one['name']}[/bold], claim {one['claim']}", soft_wrap=True)
    console.print(one["summary"], soft_wrap=True)
    if one["needs_data"]:
        console.print("It needs representative rows: --data FILE.", soft_wrap=True)
    _options("options (--set KEY=VALUE)", one["options"])
    if one["trains"]:
        _options("options in training (svmcompile train --set KEY=VALUE)", one["train_options"])


def _options(title: str, found: list[dict[str, Any]]) -> None:
    if not found:
        console.print("It has no options.")
        return
    console.print(f"\n[bold]{title}[/bold]")
    for one in found:
        value = default_text(one["default"]) or "none"
        allowed = f"; {one['range']}" if one["range"] else ""
        head = f"[bold]{one['name']}[/bold]={escape(value)}  ({one['type']}{escape(allowed)})"
        console.print(f"  {head}", soft_wrap=True)
        console.print(f"      {escape(one['text'])}", soft_wrap=True)


def demo(result: Report, options: given.DemoOptions) -> None:
    right = ("same", "error", "us/row", "faster", "size")
    title = f"digits, {result['support_vectors']} support vectors, {result['rows']:,} rows"
    table = _table(title, "method", "target", "type", *right, right=right)
    for row in result["table"]:
        what = (row[key] for key in ("method", "target", "precision"))
        same, error = f"{row['agreement']:.1%}", _figure(row["max_decision_error"])
        speed = f"{row['us_per_row']:.2f}", f"{row['times_faster']:.1f}x"
        table.add_row(*what, same, error, *speed, size(row["size"]) if row["size"] else "")
    console.print(table)
    holds = "yes" if result["ok"] else "NO"
    console.print(f"files: {escape(result['output'])}; every claim holds: {holds}")
    console.print(f"99 % of the labels, as fast as possible? {escape(result['sentence'])}")
    console.print(f"open this page to see all candidates: {escape(result['page'])}")
    console.print("next, with your own model and rows:")
    command = "svmcompile compile model.skops -o out --data rows.npz --method auto --agreement 0.99"
    console.print(f"  {command}", soft_wrap=True)


def convert(report: Report, options: given.ConvertOptions) -> None:
    for name in report["files"]:
        path = options.output.parent / name
        console.print(f"{escape(str(path))}: {escape(report['source'])} as {report['format']}")
    _print_notes(report)
