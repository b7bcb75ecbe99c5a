"""svg: a drawing as text. Shapes enter, one self-contained SVG file leaves."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape, quoteattr

FONT = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


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
        self._shapes.append(
            f"<text{_attributes({'x': x, 'y': y, 'fill': fill, 'font_size': size, **more})}>"
            f"{escape(words)}</text>"
        )

    def render(self) -> str:
        """The file's text."""
        width, height = number(self.width), number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family={quoteattr(FONT)} role="img">'
        )
        paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        return "\n".join([head, f"<title>{escape(self._title)}</title>", paper, *self._shapes, "</svg>\n"])

    def _add(self, shape: str, **attributes: object) -> None:
        self._shapes.append(f"<{shape}{_attributes(attributes)}/>")


def _attributes(attributes: dict[str, object]) -> str:
    """`font_size=12` becomes ` font-size="12"`; `class_` stands for `class`."""
    parts = []
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
        """The powers of ten on the axis."""
        return [10.0**power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]
