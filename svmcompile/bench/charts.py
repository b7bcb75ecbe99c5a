"""Charts of times, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
INK, FAINT, GRID = "#1f2933", "#66727f", "#e4e8ec"
OURS, OURS_TOO, OTHERS = "#0b62d6", "#7fb2f5", "#b6bec7"
SERIES = ("#0b62d6", "#d9540b", "#2f8f5b", "#8a4fbf", "#b38600", "#66727f", "#c2377d")
WIDTH, LABELS, GAP, MARGIN = 980, 292, 44, 24
TOP, ROW, BAR, HEADING = 104, 25, 15, 30
VALUE_SPACE = 62  # right of the longest bar, for its figure


class Drawing:
    """Collects shapes; coordinates are pixels, y grows downwards."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._shapes: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **more: object) -> None:
        self._add("rect", x=x, y=y, width=width, height=height, fill=fill, **more)

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
        paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        return "\n".join([head, f"<title>{escape(self._title)}</title>", paper, *self._shapes, "</svg>\n"])

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


def bar_chart(title: str, subtitle: str, contenders: Sequence[Mapping[str, Any]], batch: int) -> str:
    """Time per row of every contender, one row per call beside batches."""
    groups = [(via, [one for one in contenders if one["via"] == via]) for via in ("C", "Python")]
    groups = [(via, sorted(group, key=lambda one: one["us_batch"])) for via, group in groups if group]
    height = TOP + len(groups) * HEADING + len(contenders) * ROW + 52
    drawing = Drawing(WIDTH, height, title)
    drawing.text(MARGIN, 34, title, INK, 18, font_weight="600")
    drawing.text(MARGIN, 56, subtitle, FAINT, 12.5)
    for via, group, y in _positions(groups):
        drawing.text(MARGIN, y - 8, f"called from {via}", FAINT, 12, font_weight="600")
        for index, one in enumerate(group):
            style = {"text_anchor": "end", "font_weight": "600" if one["ours"] else "400"}
            drawing.text(LABELS - 12, y + index * ROW + BAR - 3, one["name"], INK, 12.5, **style)
    panel = (WIDTH - LABELS - GAP - MARGIN) / 2
    _panel(drawing, groups, "us_single", "one row per call", LABELS, panel)
    _panel(drawing, groups, "us_batch", f"batches of {batch:,}", LABELS + panel + GAP, panel)
    return drawing.render()


def _positions(groups: Sequence[tuple[str, list[Any]]]) -> list[tuple[str, list[Any], float]]:
    """Each group with the y of its first bar."""
    found, y = [], float(TOP)
    for via, group in groups:
        y += HEADING
        found.append((via, group, y))
        y += len(group) * ROW
    return found


def _panel(
    drawing: Drawing, groups: Sequence[tuple[str, list[Any]]], key: str, title: str, x: float, width: float
) -> None:
    values = [one[key] for _, group in groups for one in group]
    scale = LogScale(values, x, x + width - VALUE_SPACE)
    bottom = drawing.height - 44
    drawing.text(x, TOP - 14, f"{title}, us per row", INK, 13, font_weight="600")
    for value in scale.decades():
        drawing.line(scale(value), TOP, scale(value), bottom, GRID)
        drawing.text(scale(value), bottom + 17, tick(value), FAINT, 11, text_anchor="middle")
    for _, group, y in _positions(groups):
        for index, one in enumerate(group):
            _bar(drawing, one, one[key], scale, x, y + index * ROW)


def _bar(
    drawing: Drawing, one: Mapping[str, Any], value: float, scale: LogScale, x: float, y: float
) -> None:
    fill = OURS if one["key"] == "ours" else OURS_TOO if one["ours"] else OTHERS
    length = max(scale(value) - x, 2)
    drawing.rect(x, y, length, BAR, fill, rx=2, class_="bar")
    weight = "600" if one["ours"] else "400"
    drawing.text(x + length + 6, y + BAR - 3, short(value), INK, 12, font_weight=weight)


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
