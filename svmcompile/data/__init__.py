"""Data files in, prediction files out. A path enters; `Data` leaves, whole or in chunks."""

from __future__ import annotations

from svmcompile.data.predictions import PredictionWriter
from svmcompile.data.reading import (
    common_base,
    count_rows,
    iter_data,
    partition_files,
    read_data,
    read_partitions,
)
from svmcompile.data.table import Data

__all__ = [
    "Data",
    "PredictionWriter",
    "common_base",
    "count_rows",
    "iter_data",
    "partition_files",
    "read_data",
    "read_partitions",
]
