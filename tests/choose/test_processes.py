"""Processes of a search: ended when it ends, with nothing left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, cast

from svmcompile.choose.search import processes


def test_files_of_ended_processes_go_with_them(tmp_path: Path) -> None:
    with processes(cast("Any", None), tmp_path, 1) as workers:
        left = Path(workers.executor.submit(tempfile.mkdtemp).result())
        assert left.exists() and left.is_relative_to(tmp_path)
    assert not list(tmp_path.iterdir())
