"""Small data files in every format."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

X = np.array([[1.5, 2.0], [-3.0, 4.25], [0.0, 1e-300]])


def text_file(tmp_path: Path, name: str, content: str) -> Path:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def npy_header(shape: object, descr: str = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def parquet_file(path: Path, **columns: object) -> Path:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def every_format(tmp_path: Path) -> list[Path]:
    """The same rows in each format that reads without options."""
    np.save(tmp_path / "rows.npy", X)
    np.savez(tmp_path / "rows.npz", X=X)
    np.savez_compressed(tmp_path / "packed.npz", X=X)
    text_file(tmp_path, "rows.csv", "a,b\n" + "".join(f"{a!r},{b!r}\n" for a, b in X.tolist()))
    text_file(tmp_path, "rows.libsvm", "".join(f"1 1:{a!r} 2:{b!r}\n" for a, b in X.tolist()))
    parquet_file(tmp_path / "rows.parquet", a=X[:, 0], b=X[:, 1])
    return sorted(tmp_path.iterdir())
