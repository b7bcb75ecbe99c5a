"""Sizes: how many prototypes, dimensions and features, and the bytes that their tables take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from svmcompile.accelerate.proto.options import ProtoOptions
from svmcompile.errors import OptionError

# Parts of the limit that are tried: dimensions beside the usual number, shares of the projection.
PARTS = {1: ((1.0, 1.4, 1.9), (0.45, 0.65, 0.85)), 2: ((1.0,), (0.5, 0.75)), 4: ((1.0,), (0.5, 0.75))}
LANES = {"f32": 16, "f64": 8}  # of host code; vectors fill two registers, weights of several sums one
CURVE_POINTS = {"q7": 71, "q15": 257}  # of the exponential in whole numbers, at most
SHORT_CURVE = 32  # cells of that of small models in q7: more bring no label, and each takes two bytes
SCALE_BYTES = 8  # of a feature: two floats
NUMBER_BYTES = {"f32": 4, "f64": 8, "q15": 2, "q7": 1}


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is to be trained."""

    rank: int
    vectors: int
    columns: int  # features that are read
    four_bits: bool = False  # of the projection's weights


@dataclass(frozen=True, slots=True)
class Tables:
    """Counts bytes of tables as they are emitted, at most."""

    features: int
    outputs: int
    front: int  # bytes of the preprocessing
    precision: str
    host: bool = False
    one_range: bool = True  # of all features: else whole numbers need a scale for each
    strides: bool = True  # features are read by strides of a byte, in whole numbers
    four_bits: bool = False  # of the projection's weights
    small: bool = False  # with a short curve, and every byte counts: larger ones have some to spare

    def of(self, sizes: Sizes) -> int:
        return self.fixed(sizes.rank) + self.columns(sizes.columns, sizes.rank) + self.prototypes(sizes)

    def columns(self, count: int, rank: int) -> int:
        """Bytes of features: their numbers, their weights, and in floats their centre."""
        number = NUMBER_BYTES[self.precision]
        index = 1 if self.features <= 256 else 2 if self.features <= 1 << 16 else 4
        if self.precision in ("f32", "f64"):
            return count * (index + (rank + 1) * number)
        index = 1 if self.strides and self.small else index
        weights = rank * (-(-count // 2) if self.four_bits else count * number)
        return count * (index + (0 if self.one_range else SCALE_BYTES)) + weights

    def most_columns(self, rank: int, room: int) -> int:
        """Features that fit in so many bytes."""
        pairs = max(0, room) // self.columns(2, rank)
        return 2 * pairs + (self.columns(2 * pairs + 1, rank) <= room)

    def vector(self, rank: int) -> int:
        """Bytes of a prototype: place, offset and weights."""
        number = NUMBER_BYTES[self.precision]
        if self.precision in ("f32", "f64"):
            weights = self._filled(self.outputs, 1) if self.outputs > 1 else 1
            return number * (rank + 1 + weights)
        return number * (rank + 2 + self.outputs)

    def prototypes(self, sizes: Sizes) -> int:
        return self._filled(sizes.vectors, 2) * self.vector(sizes.rank)

    def fixed(self, rank: int) -> int:
        """Bytes whatever the sizes: of whole numbers the curve, scales and biases."""
        number = NUMBER_BYTES[self.precision]
        if self.precision in ("f32", "f64"):
            return self.front + number * (3 * rank + self.outputs)
        curve = 2 * (SHORT_CURVE + 1) if self.small else 2 * CURVE_POINTS[self.precision] + SCALE_BYTES
        return self.front + curve + 4 * rank + 4 * self.outputs

    def _filled(self, count: int, registers: int) -> int:
        """As many as fill so many registers."""
        lanes = registers * self.lanes if self.lanes > 1 else 1
        return -(-count // lanes) * lanes

    @property
    def lanes(self) -> int:
        return LANES.get(self.precision, 1) if self.host else 1

    def most_vectors(self, rank: int, room: int) -> int:
        """Prototypes that fit in so many bytes."""
        count, step = max(0, room) // self.vector(rank), 2 * self.lanes
        return count // step * step if self.lanes > 1 else count


def candidates(tables: Tables, options: ProtoOptions, limit: int, rows: int) -> list[Sizes]:
    """Sizes worth trying within the limit and parts of it, those given as they are."""
    every = [_within(tables, options, limit // part, rows, part) for part in PARTS]
    found = list(dict.fromkeys(sizes for some in every for sizes in some))
    if not found:
        raise OptionError(
            f"proto: {limit:,} bytes in {tables.precision} are too few for such a model (preprocessing and "
            f"constants alone take {tables.fixed(options.rank or 1):,}); raise max_bytes, or lower "
            "rank, vectors or density"
        )
    return found


def _within(tables: Tables, options: ProtoOptions, limit: int, rows: int, part: int) -> Iterator[Sizes]:
    factors, shares = PARTS[part]
    for rank in [options.rank] if options.rank else _ranks(tables, limit, factors):
        room = limit - tables.fixed(rank)
        for share in shares:
            columns = _columns(options, tables, rank, int(room * share))
            left = room - tables.columns(columns, rank)
            vectors = options.vectors or min(tables.most_vectors(rank, left), max(2, rows // 4))
            if not options.density and vectors >= max(2, rows // 4):  # then features may have the rest
                spare = room - tables.prototypes(Sizes(rank, vectors, columns))
                columns = _columns(options, tables, rank, spare)
            sizes = Sizes(rank, vectors, columns, tables.four_bits)
            if vectors >= 1 and columns >= 1 and tables.of(sizes) <= limit:
                yield sizes


def _ranks(tables: Tables, limit: int, factors: tuple[float, ...]) -> list[int]:
    """Dimensions that suit so many numbers, at most those of the features."""
    numbers = max(1.0, (limit - tables.fixed(1)) / NUMBER_BYTES[tables.precision])
    usual = 0.6 * numbers ** (1 / 3)
    return sorted({max(1, min(tables.features, round(usual * factor))) for factor in factors})


def _columns(options: ProtoOptions, tables: Tables, rank: int, room: int) -> int:
    if options.density:
        return max(1, round(options.density * tables.features))
    return min(tables.features, tables.most_columns(rank, room))
