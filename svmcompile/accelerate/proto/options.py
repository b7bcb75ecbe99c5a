"""Options of proto."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.accelerate.options import check_options, option

DEFAULT_BYTES = 8192  # of tables, where neither a limit nor all sizes are given
NUMBERS = ("f32", "f64", "q15", "q7")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtoOptions:
    """A few prototypes in a learned projection of few features: models of kilobytes.

    Projection, prototypes, width and weights are trained together, to the SVM's scores on the data.
    """

    max_bytes: int = option(
        0,
        "Bytes of tables at most; sizes not given are chosen within it by held-out rows. 0 means "
        f"{DEFAULT_BYTES:,}, or no limit where rank, vectors and density are all given.",
        least=0,
    )
    rank: int = option(0, "Dimensions of the projection; 0 means as held-out rows say.", least=0)
    vectors: int = option(0, "Number of prototypes; 0 means as held-out rows say.", least=0)
    density: float = option(
        0.0, "Share of the features that the projection reads; 0 means as held-out rows say.",
        least=0, most=1,
    )  # fmt: skip
    projection: str = option(
        "auto", "Weights of the projection in q7: bytes, or nibbles of four bits each; auto takes nibbles "
        "where max_bytes is at most 2,048 and features share a range.",
        among=("auto", "bytes", "nibbles"),
    )  # fmt: skip
    labels: float = option(
        0.0, "How much the labels of the data count beside the SVM's answers: 0 not at all, 1 alone.",
        least=0, most=1,
    )  # fmt: skip
    synthetic_rows: int = option(
        60_000, "Most rows to make up between neighbouring data rows; fewer where the SVM is slow.",
        least=0,
    )  # fmt: skip
    steps: int = option(
        0, "Training steps, of 256 rows each; 0 means as many as see each row 40 times, if time allows.",
        least=0,
    )  # fmt: skip
    seed: int = option(0, "Seed of all that is drawn at random.", least=0)
    precision: str = option(
        "f32", "Number type that max_bytes counts in; commands fill in the one they emit.",
        among=NUMBERS,
    )  # fmt: skip
    tune: str = option(
        "portable", "Code that max_bytes counts for: host code fills vectors up to whole registers.",
        among=("portable", "host"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_options("proto", self)
