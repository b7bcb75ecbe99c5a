"""A folder with subfolders in one step: contents by relative path enter, a complete folder on disk leaves.

A complete new tree is staged beside the old one, with links to all files in it that are not ours, and the
two swap names. So a process killed at any instant leaves the old tree or the new one, and nothing that
somebody else put there is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from svmcompile.errors import EmitError, OptionError
from svmcompile.files.atomic import (
    as_bytes,
    as_emit_error,
    free_name,
    has_content,
    is_stale,
    keep_mode,
    leftovers,
    locked,
    real_path,
    remove_file,
    sync_folder,
    with_parents,
    write_file,
    write_synced,
)
from svmcompile.files.staging import MAX_ENTRIES, exchange, link_or_copy, may_swap

Contents = Mapping[str, bytes]


def write_tree(files: Mapping[str, str | bytes], folder: Path) -> None:
    """Write all files, named by paths like `src/model.c`, into the folder, or none.

    Other files there stay. Where the folder cannot be swapped (see `write_files`), or holds more than
    1000 files, the files are replaced one by one, each in one step.
    """
    contents = {_check_path(path): as_bytes(content) for path, content in files.items()}
    with as_emit_error(folder):
        target = real_path(folder)
        if target.exists() and not target.is_dir():
            raise OptionError(f"{folder}: is a file; choose another folder")
        if not all(has_content(target / path, data) for path, data in contents.items()):
            with with_parents(target), locked(target.parent):
                _write_locked(contents, target)


def _check_path(path: str) -> str:
    """The path, if it stays inside: plain names with slashes between."""
    for part in path.split("/"):
        if part in ("", ".", "..") or any(character in "\\\0" for character in part):
            raise EmitError(f"{path!r} is not a path of plain names")
    return path


def _write_locked(contents: Contents, target: Path) -> None:
    for leftover in leftovers(target):
        if is_stale(leftover):
            _clear(leftover, target, contents)
    for path in contents:
        if (target / path).is_dir():
            raise EmitError(f"{target / path}: is a folder; remove it or choose another name")
    if target.exists() and not (_can_swap(target) and _swapped(contents, target)):
        for path, data in contents.items():
            write_file(target / path, data)
    elif not target.exists():
        _create(contents, target)
    sync_folder(target.parent)


def _create(contents: Contents, target: Path) -> None:
    stage = free_name(target)
    try:
        _stage(contents, target, stage)
        stage.rename(target)
    finally:
        _clear(stage, target, contents)


def _swapped(contents: Contents, target: Path) -> bool:
    """Put a complete new tree in the place of the old one; False where the system cannot."""
    stage = free_name(target)
    try:
        _stage(contents, target, stage)
        with suppress(OSError):
            exchange(stage, target)
            _carry_over(contents, stage, target)
            return True
    finally:
        _clear(stage, target, contents)
    return False


def _can_swap(folder: Path) -> bool:
    with suppress(OSError):
        return next(islice(_files(folder), MAX_ENTRIES, None), None) is None and may_swap(folder)
    return False


def _files(folder: Path, below: str = "") -> Iterator[str]:
    """Paths of all files and links under a folder; folders behind links are not entered."""
    with os.scandir(folder / below) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = f"{below}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _files(folder, f"{path}/")
        else:
            yield path


def _stage(contents: Contents, target: Path, stage: Path) -> None:
    stage.mkdir()
    for path, data in contents.items():
        (stage / path).parent.mkdir(parents=True, exist_ok=True)
        write_synced(stage / path, data)
        keep_mode(target / path, stage / path)
    for path in _files(target) if target.exists() else ():
        if path not in contents:
            (stage / path).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(target / path, stage / path, any_owner=True)
    sync_folder(stage)


def _carry_over(contents: Contents, old: Path, new: Path) -> None:
    """What others wrote between staging and swapping."""
    for path in list(_files(old)):
        if path not in contents and not os.path.lexists(new / path):
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (old / path).rename(new / path)


def _clear(leftover: Path, target: Path, contents: Contents) -> None:
    """Remove a staged or a replaced tree; a file that is neither ours nor elsewhere stays."""
    with suppress(OSError):
        for path in list(_files(leftover)):
            file = leftover / path
            if path in contents or os.path.lexists(target / path) or file.lstat().st_nlink > 1:
                remove_file(file)
        for folder, _, _ in os.walk(leftover, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
