"""Writing: one file, or several that belong together, in one step. Contents enter, files on disk leave."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from svmcompile.errors import EmitError, OptionError
from svmcompile.files import atomic
from svmcompile.files.atomic import write_file
from svmcompile.files.in_place import finish_interrupted, recover, replace_in_place
from svmcompile.files.staging import (
    CannotSwap,
    create_folder,
    highest_missing,
    remove_leftovers,
    swap_folder,
)

__all__ = ["recover", "write_file", "write_files"]


def write_files(files: Mapping[str, str | bytes], folder: Path, in_place: bool = False) -> None:
    """Write all files, named by paths such as `m.c` or `src/m.c`, into the folder, or none.

    A process killed at any instant leaves all old files or all new ones: a complete folder is staged
    beside and swapped in one step. Everything else in the folder stays, permission bits too. Files that
    have their content already are not touched. A folder inside that is a link is refused; a file
    that is one is replaced. Writers to the same folder wait for each other, and clear up after those that
    were killed.

    The swap makes the folder another one of the same name, so it is not done where that would surprise: if
    a process works in it (its current folder), it is or contains the user's home, is a mount point or holds
    one, is shared (sticky), holds sockets and the like, has more than 1000 entries, belongs partly to
    somebody else, or where the system cannot swap folders; nor if it is to be `in_place`. Then all files
    are prepared inside the folder and put in place one after the other. An error still brings all old ones
    back. A kill between two of them is made good by the next command that reads or writes the folder.
    """
    contents = {atomic.check_path(path): atomic.as_bytes(content) for path, content in files.items()}
    with atomic.as_emit_error(folder):
        target = atomic.real_path(folder)
        if target.exists() and not target.is_dir():
            raise OptionError(f"{folder}: is a file; choose another folder")
        if contents:
            remove_leftovers(target)
            _write(contents, target, in_place)


def _write(contents: Mapping[str, bytes], folder: Path, in_place: bool) -> None:
    while not folder.exists():
        with atomic.locked(highest_missing(folder).parent):
            if not folder.exists():  # nobody else was quicker
                create_folder(contents, folder)
                return
    with atomic.locked(folder.parent) as alone:
        finish_interrupted(folder, alone)
        _replace(contents, folder, in_place)


def _replace(contents: Mapping[str, bytes], folder: Path, in_place: bool) -> None:
    _check_links(contents, folder)
    changed = {path: data for path, data in contents.items() if not atomic.has_content(folder / path, data)}
    _check_ways(changed, folder)
    if in_place or len(changed) == 1:  # a single rename is all or nothing by itself
        replace_in_place(changed, folder)
    elif changed:
        try:
            swap_folder(changed, folder)
        except CannotSwap:
            replace_in_place(changed, folder)


def _check_links(paths: Iterable[str], folder: Path) -> None:
    """Refuse folders inside that are links: files would be written to wherever they lead."""
    inside = {folder / above for path in paths for above in PurePosixPath(path).parents[:-1]}
    for above in sorted(inside):
        if above.is_symlink():
            raise EmitError(
                f"{above}: is a link, and files are to be written into this folder; remove the link"
            )


def _check_ways(changed: Mapping[str, bytes], folder: Path) -> None:
    """Refuse what stands in the way: a folder where a file is to be, or the other way round."""
    for path in changed:
        if (folder / path).is_dir():
            raise EmitError(f"{folder / path}: is a folder; remove it or choose another name")
        for above in (folder / path).parents:
            if above == folder:
                break
            if above.exists() and not above.is_dir():
                raise EmitError(f"{above}: is a file, and a folder is to be made there; remove it")
    if changed and not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
