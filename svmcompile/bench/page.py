"""The figures of `bench` as one page that opens from disk: the chart, the tables, the notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from svmcompile.bench.charts import by_speed, dot_chart, figures, short

STYLE = """
:root { color-scheme: light dark;
  --ink: #1f2933; --paper: #fff; --faint: #66727f; --line: #d9dfe5; --ours: #0b62d6 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaee; --paper: #14181c; --faint: #9aa6b2; --line: #333b43; --ours: #7fb2f5 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 64rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; width: 100% }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: right }
th:first-child, td:first-child { text-align: left } td { white-space: nowrap }
th { color: var(--faint); font-weight: 600 }
tr.ours { color: var(--ours); font-weight: 600 }
svg { max-width: 100%; height: auto; border-radius: 6px }
.scroll { overflow-x: auto } p, li { color: var(--faint) }
"""
HEADS = (
    "contender", "from", "one row, \u00b5s", "in batches, \u00b5s", "times ours, one row",
    "times ours, batches", "same answers", "size",
)  # fmt: skip
LATE = ("contender", "from", "p50, \u00b5s", "p95, \u00b5s", "p99, \u00b5s", "max, \u00b5s", "calls")
SEVERAL = ("threads", "in batches, \u00b5s a row", "times as fast as one", *LATE[2:])


def page(result: Mapping[str, Any], title: str, about: str) -> str:
    """The whole page."""
    chart = dot_chart("", "", result["contenders"], result["batch"])
    contenders = [one for _, group in by_speed(result["contenders"]) for one in group]
    left = [f"left out: {one['peer']} ({one['reason']})" for one in result["left_out"]]
    late = [one for one in contenders if one["latency"]]
    parts = [
        f"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{escape(title)}</title>",
        f"<meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>",
        f"<h1>{escape(title)}</h1><p style='white-space: pre-line'>{escape(about)}</p>{chart}",
        "<h2>Times, answers, sizes</h2>", _table(HEADS, contenders, _figures),
        "<h2>Single calls</h2>", _table(LATE, late, lambda one: _late(one["latency"])),
        "<h2>Our C from several threads at once</h2>", _threads(result["threads"]),
        "<ul>", *(f"<li>{escape(note)}</li>" for note in result["notes"]),
        *(f"<li>{escape(note)}</li>" for note in left),
        "</ul></html>\n",
    ]  # fmt: skip
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Mapping[str, Any]], figures: Any) -> str:
    lines = [_row(heads, "th")]
    for one in rows:
        cells = (one["name"], one["via"], *figures(one))
        lines.append(_row(cells, "td", "ours" if one["key"] == "ours" else ""))
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def _row(cells: Iterable[str], tag: str, kind: str = "") -> str:
    inside = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f'<tr class="{kind}">{inside}</tr>' if kind else f"<tr>{inside}</tr>"


def _figures(one: Mapping[str, Any]) -> tuple[str, ...]:
    single, batch, same, size = figures(one)
    return single, batch, *(f"{one[key]:.3g}" for key in ("ratio_single", "ratio_batch")), same, size


def _late(latency: Mapping[str, Any]) -> tuple[str, ...]:
    return (*(short(latency[key]) for key in ("p50", "p95", "p99", "longest")), f"{latency['calls']:,}")


def _threads(several: Sequence[Mapping[str, Any]]) -> str:
    lines = [_row(SEVERAL, "th")]
    for one in several:
        faster = f"{several[0]['us_batch'] / one['us_batch']:.2f}"
        lines.append(
            _row((str(one["threads"]), short(one["us_batch"]), faster, *_late(one["latency"])), "td")
        )
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'
