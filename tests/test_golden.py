"""The golden fixture itself: byte for byte, a readable difference, and no rewriting in CI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden_files import compare_with_golden

FAILED: Any = pytest.fail.Exception


def test_equal_bytes_pass(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\ntwo \u00e9\n".encode())
    compare_with_golden(tmp_path / "a.txt", "one\ntwo \u00e9\n", update=False)


def test_a_difference_is_shown_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    with pytest.raises(FAILED, match=r"(?s)a\.txt differs.*-two\n\+three"):
        compare_with_golden(tmp_path / "a.txt", "one\nthree\n", update=False)


def test_line_ends_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n")
    with pytest.raises(FAILED, match="line ends"):
        compare_with_golden(tmp_path / "a.txt", "one\n", update=False)


def test_a_missing_file_is_not_made_unasked(tmp_path: Path) -> None:
    with pytest.raises(FAILED, match="--update-golden"):
        compare_with_golden(tmp_path / "a.txt", "one\n", update=False)
    assert not (tmp_path / "a.txt").exists()


def test_updating_writes_except_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    compare_with_golden(tmp_path / "deep" / "a.txt", "one\n", update=True)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(FAILED, match="CI"):
        compare_with_golden(tmp_path / "deep" / "a.txt", "two\n", update=True)
    assert (tmp_path / "deep" / "a.txt").read_bytes() == b"one\n"
