"""One look for every figure: colours, sizes, legend, axes in per cent (needs the extra `report`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Rows, Split
from numpy.typing import NDArray

CLASSES = ("#1f5f9e", "#c4501b")  # rows of either class
REGIONS = ("#d7e6f4", "#fbe2d1")  # where a program answers with it
INK, GREY, FAINT = "#1a1a1a", "#7a7a7a", "#c9c9c9"
# One after the other, as far apart as can be told in grey and by people who are colour-blind.
SEQUENCE = ("#2a6fb0", "#7fbfd0", "#f0c04c", "#9a76b5", "#c8475a", "#6b6b6b")
DPI, STEPS = 110, 400  # points of a grid along each side of a plane
INCHES, LEGEND_INCHES = 3.1, 1.9  # the side of a panel, the room an item of a legend takes


def pyplot() -> Any:
    """matplotlib's pyplot, dressed."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("pictures need matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {
            "font.size": 9, "axes.titlesize": 9.5, "axes.labelsize": 9, "legend.fontsize": 9,
            "axes.edgecolor": GREY, "axes.linewidth": 0.7, "xtick.color": GREY, "ytick.color": GREY,
            "xtick.labelcolor": INK, "ytick.labelcolor": INK, "legend.frameon": False,
            "axes.spines.top": False, "axes.spines.right": False, "hatch.linewidth": 0.4,
            "hatch.color": GREY, "figure.constrained_layout.use": True, "savefig.dpi": DPI,
        }
    )  # fmt: skip
    return pyplot


def panels(count: int, rows: int = 1, inches: float = INCHES) -> tuple[Any, list[Any]]:
    """A figure of square panels, `count` in each of some rows."""
    size = (inches * count, (inches + 0.3) * rows + 0.4)
    figure, axes = pyplot().subplots(rows, count, figsize=size, sharex=True, sharey=True, squeeze=False)
    return figure, list(axes.flat)


def legend(figure: Any, handles: Sequence[Any]) -> None:
    """One legend for all panels, below them."""
    lines = math.ceil(len(handles) * LEGEND_INCHES / figure.get_figwidth())
    figure.legend(handles=list(handles), loc="outside lower center", ncols=math.ceil(len(handles) / lines))


def save(figure: Any, path: Path) -> Path:
    """A picture of few colours, which is a third of the size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot().close(figure)
    from PIL import Image  # matplotlib needs it

    with Image.open(path) as full:
        small = full.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    return path


def dot(label: str, colour: str) -> Any:
    return _line([], [], marker="o", linestyle="", markersize=4, color=colour, label=label)


def stroke(label: str, colour: str = INK, **how: Any) -> Any:
    return _line([], [], color=colour, label=label, **how)


def patch(label: str, colour: str, **how: Any) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, edgecolor=GREY, linewidth=0.5, label=label, **how)


def _line(*points: Any, **how: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D(*points, **how)


class Plane:
    """Rows of two features, and a grid over them."""

    def __init__(self, data: Split, border: float = 0.06) -> None:
        self.data, self.classes = data, np.unique(data.y)
        low, high = data.X.min(axis=0), data.X.max(axis=0)
        self.sides = [
            np.linspace(a - border * (b - a), b + border * (b - a), STEPS)
            for a, b in zip(low, high, strict=True)
        ]
        self.grid: Rows = np.stack(np.meshgrid(*self.sides), axis=-1).reshape(-1, 2)

    def square(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(values).reshape(STEPS, STEPS)

    def regions(self, axis: Any, labels: NDArray[Any], colours: Sequence[str] = REGIONS) -> None:
        """Colours the plane by whole numbers from 0 on."""
        levels = np.arange(len(colours) + 1) - 0.5
        axis.contourf(*self.sides, self.square(labels), levels=levels, colors=colours)

    def border(self, axis: Any, values: NDArray[Any], colour: str = INK, **how: Any) -> None:
        axis.contour(*self.sides, self.square(values), levels=[0], colors=colour, **how)

    def parts(self, axis: Any, leaves: NDArray[Any], colour: str = GREY, width: float = 0.5) -> None:
        """Draws where the leaf changes."""
        square = self.square(leaves)
        change = np.zeros(square.shape, dtype=bool)
        change[1:] |= square[1:] != square[:-1]
        change[:, 1:] |= square[:, 1:] != square[:, :-1]
        axis.contour(*self.sides, change, levels=[0.5], colors=colour, linewidths=width)

    def rows(self, axis: Any, title: str) -> None:
        """The training rows, and what the panel shows."""
        for label, colour in zip(self.classes, CLASSES, strict=True):
            axis.scatter(*self.data.X[self.data.y == label].T, s=5, color=colour, linewidths=0, zorder=3)
        axis.set_title(title)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[["top", "right"]].set_visible(True)

    def handles(self) -> list[Any]:
        return [dot(f"training rows of class {i + 1}", colour) for i, colour in enumerate(CLASSES)]


def percent(axis: Any) -> None:
    """Shares as per cent, from left to right."""
    from matplotlib.ticker import FuncFormatter

    axis.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))


def same(labels: NDArray[Any], meant: NDArray[Any]) -> str:
    """How many labels are the same, in words."""
    return f"{100 * float((labels == meant).mean()):.1f} % same labels"
