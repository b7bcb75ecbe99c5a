"""Charts of times, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
PAPER, INK, FAINT, GRID = "#ffffff", "#1f2933", "#66727f", "#e4e8ec"
OURS, OTHERS = "#0b62d6", "#8d98a4"
SERIES = (OURS, "#d9540b", "#2f8f5b", "#8a4fbf", "#b38600", FAINT, "#c2377d")
# Every colour, and what takes its place where the reader's screen is dark.
DARK = {
    PAPER: "#14181c", INK: "#e6eaee", FAINT: "#9aa6b2", GRID: "#2b3239", OURS: "#6ba6f7", OTHERS: "#78838f",
    "#d9540b": "#f5935a", "#2f8f5b": "#5cc48c", "#8a4fbf": "#bd92e6", "#b38600": "#ebbd55",
    "#c2377d": "#ee85b5",
}  # fmt: skip
WIDTH, LABELS, AXIS, MARGIN = 980, 270, 652, 24
ROW, HEADING, RADIUS = 25, 30, 5
COLUMNS = (726, 800, 884, 956)  # right ends of the figures
HEADS = (("one row", "µs"), ("batches", "µs"), ("same", "answers"), ("", "size"))
AXIS_TITLE = "µs per row, on a logarithmic axis; further left is faster"


class Drawing:
    """Collects shapes; coordinates are pixels, y grows downwards."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._shapes: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str, **more: object) -> None:
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)

    def path(self, points: list[tuple[float, float]], stroke: str, **more: object) -> None:
        """An open line through the points."""
        steps = " L ".join(f"{number(x)} {number(y)}" for x, y in points)
        self._add("path", d=f"M {steps}", fill="none", stroke=stroke, **more)

    def circle(self, x: float, y: float, radius: float, fill: str, **more: object) -> None:
        self._add("circle", cx=x, cy=y, r=radius, fill=fill, **more)

    def text(self, x: float, y: float, words: str, fill: str, size: float = 12, **more: object) -> None:
        tag = _tag("text", x=x, y=y, fill=fill, font_size=size, **more)
        self._shapes.append(f"{tag}>{escape(words)}</text>")

    def render(self) -> str:
        width, height = number(self.width), number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family={quoteattr(FONT)} role="img">'
        )
        rules = (
            f'[{what}="{light}"]{{{what}:{dark}}}'
            for light, dark in DARK.items()
            for what in ("fill", "stroke")
        )
        style = f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
        paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
        return "\n".join(
            [head, f"<title>{escape(self._title)}</title>", style, paper, *self._shapes, "</svg>\n"]
        )

    def _add(self, shape: str, **attributes: object) -> None:
        self._shapes.append(f"{_tag(shape, **attributes)}/>")


def _tag(shape: str, **attributes: object) -> str:
    """What a tag begins with: `font_size=12` becomes ` font-size="12"`; `class_` stands for `class`."""
    parts = [f"<{shape}"]
    for name, value in attributes.items():
        words = number(value) if isinstance(value, (int, float)) else str(value)
        parts.append(f" {name.rstrip('_').replace('_', '-')}={quoteattr(words)}")
    return "".join(parts)


def number(value: float) -> str:
    """A coordinate, with no more digits than an eye can use."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class LogScale:
    """Maps positive values to pixels, whole decades from edge to edge."""

    def __init__(self, values: list[float], start: float, end: float, whole: bool = True) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        self.low = math.floor(low + 1e-9) if whole else low
        self.high = max(math.ceil(high - 1e-9) if whole else high, self.low + 1)
        self._start = start
        self._unit = (end - start) / (self.high - self.low)

    def __call__(self, value: float) -> float:
        return self._start + (math.log10(value) - self.low) * self._unit

    def decades(self) -> list[float]:
        return [10.0**power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]


def dot_chart(title: str, subtitle: str, contenders: Sequence[Mapping[str, Any]], batch: int) -> str:
    """Time per row of every contender, with agreement and size beside it.

    Within a page, which says both itself, title and subtitle are empty.
    """
    groups = by_speed(contenders)
    top = 158.0 if title else 74.0
    bottom = top + len(groups) * HEADING + len(contenders) * ROW
    drawing = Drawing(WIDTH, bottom + 54, title or "time per row")
    if title:
        drawing.text(MARGIN, 34, title, INK, 18, font_weight="600")
        for at, words in enumerate(subtitle.split("\n")):
            drawing.text(MARGIN, 56 + 18 * at, words, FAINT, 12.5)
    _legend(drawing, top - 54, batch)
    scale = LogScale([one[key] for one in contenders for key in ("us_single", "us_batch")], LABELS, AXIS)
    for value in scale.decades():
        drawing.line(scale(value), top, scale(value), bottom, GRID)
        drawing.text(scale(value), bottom + 17, tick(value), FAINT, 11, text_anchor="middle")
    drawing.text((LABELS + AXIS) / 2, bottom + 38, AXIS_TITLE, INK, 12, text_anchor="middle")
    for x, (what, unit) in zip(COLUMNS, HEADS, strict=True):
        for lift, words in ((22, what), (8, unit)):
            drawing.text(x, top - lift, words, FAINT, 11.5, text_anchor="end", font_weight="600")
    y = top
    for via, group in groups:
        drawing.text(MARGIN, y + 20, f"called from {via}", FAINT, 12, font_weight="600")
        y += HEADING
        for one in group:
            _contender(drawing, one, scale, y + ROW / 2)
            y += ROW
    return drawing.render()


def _legend(drawing: Drawing, y: float, batch: int) -> None:
    x = float(MARGIN)
    for words, colour, ring in (
        ("svmcompile", OURS, False), ("others", OTHERS, False),
        (f"in batches of {batch:,}", FAINT, False), ("one row per call", FAINT, True),
    ):  # fmt: skip
        _dot(drawing, x + RADIUS, y, colour, ring, "legend")
        drawing.text(x + 17, y + 4, words, INK, 12)
        x += 44 + 6.6 * len(words)


def _contender(drawing: Drawing, one: Mapping[str, Any], scale: LogScale, y: float) -> None:
    """A line of the chart: the name, a dot for each way to call, the figures."""
    colour, weight = (OURS, "600") if one["ours"] else (OTHERS, "400")
    drawing.text(LABELS - 16, y + 4, one["name"], INK, 12.5, text_anchor="end", font_weight=weight)
    single, batch = scale(one["us_single"]), scale(one["us_batch"])
    drawing.line(single, y, batch, y, colour, stroke_width=1.5, opacity=0.5)
    _dot(drawing, batch, y, colour, False, "batch")
    _dot(drawing, single, y, colour, True, "single")
    for x, words in zip(COLUMNS, figures(one), strict=True):
        drawing.text(x, y + 4, words, INK, 12, text_anchor="end", font_weight=weight)


def _dot(drawing: Drawing, x: float, y: float, colour: str, ring: bool, kind: str) -> None:
    """A dot, or a ring that leaves a dot at the same place visible."""
    fill, width = ("none", 2) if ring else (colour, 0)
    radius = RADIUS if ring else RADIUS - 1
    drawing.circle(x, y, radius, fill, stroke=colour, stroke_width=width, class_=kind)


def by_speed(contenders: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Who is called from C, then who is called from Python; the fastest in batches first."""
    groups = ((via, [one for one in contenders if one["via"] == via]) for via in ("C", "Python"))
    return [(via, sorted(group, key=lambda one: one["us_batch"])) for via, group in groups if group]


def figures(one: Mapping[str, Any]) -> tuple[str, ...]:
    """What a contender needs and gives, for people."""
    size = "" if one["bytes"] is None else f"{one['bytes'] / 1000:,.1f} KB"
    return short(one["us_single"]), short(one["us_batch"]), f"{one['agreement']:.2%}", size


Series = Mapping[str, Sequence[tuple[float, float]]]


def line_chart(title: str, subtitle: str, x_title: str, y_title: str, series: Series) -> str:
    """Log-log lines, each named at its end; the first is ours."""
    drawing = Drawing(860, 500, title)
    left, right, top, bottom = 78.0, 640.0, 96.0, 446.0
    points = [point for line in series.values() for point in line]
    across = LogScale([x for x, _ in points], left, right, whole=False)
    upwards = LogScale([y for _, y in points], bottom, top)
    drawing.text(MARGIN, 34, title, INK, 18, font_weight="600")
    drawing.text(MARGIN, 56, subtitle, FAINT, 12.5)
    for value in upwards.decades():
        drawing.line(left, upwards(value), right, upwards(value), GRID)
        drawing.text(left - 8, upwards(value) + 4, tick(value), FAINT, 11, text_anchor="end")
    for value in across.decades():
        drawing.line(across(value), top, across(value), bottom, GRID)
        drawing.text(across(value), bottom + 18, tick(value), FAINT, 11, text_anchor="middle")
    drawing.text((left + right) / 2, bottom + 42, x_title, INK, 12.5, text_anchor="middle")
    drawing.text(left, top - 10, y_title, INK, 12.5)
    placed = [[(across(x), upwards(y)) for x, y in line] for line in series.values()]
    names = _spread([line[-1][1] for line in placed], 17)
    for index in reversed(range(len(placed))):
        _line(drawing, list(series)[index], placed[index], index, names[index], right)
    return drawing.render()


def _line(
    drawing: Drawing, name: str, line: list[tuple[float, float]], index: int, name_y: float, right: float
) -> None:
    colour = SERIES[index % len(SERIES)]
    width = 3 if index == 0 else 1.75
    drawing.path(line, colour, stroke_width=width, stroke_linejoin="round", class_="series")
    for x, y in line:
        drawing.circle(x, y, 3.5 if index == 0 else 2.5, colour)
    weight = "600" if index == 0 else "400"
    drawing.line(line[-1][0] + 4, line[-1][1], right + 12, name_y, colour, stroke_width=0.75, opacity=0.6)
    drawing.text(right + 16, name_y + 4, name, colour, 12.5, font_weight=weight)


def _spread(positions: list[float], least: float) -> list[float]:
    """The positions moved apart, so that names do not overlap."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    result = list(positions)
    for before, after in pairwise(order):
        result[after] = max(result[after], result[before] + least)
    return result


def tick(value: float) -> str:
    """A power of ten on an axis."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def short(value: float) -> str:
    """Three digits, no exponent."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{digits}f}"
