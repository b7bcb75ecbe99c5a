"""Writing: one file, or several that belong together, in one step. Contents enter, files on disk leave."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from svmcompile.errors import EmitError, OptionError
from svmcompile.files import atomic
from svmcompile.files.atomic import write_file
from svmcompile.files.staging import CannotSwap, create_folder, recover, replace_each, swap_folder

__all__ = ["write_file", "write_files"]


def write_files(files: Mapping[str, str | bytes], folder: Path) -> None:
    """Write all files into the folder, or none.

    A process killed at any instant leaves all old files or all new ones: a complete folder is staged
    beside and swapped in one step. Other files, subfolders and permission bits stay. Files that have
    their content already are not touched. Writers to the same folder wait for each other.

    The swap makes the folder another one of the same name, so it is not done where that would surprise:
    if it is or contains the current folder or the user's home, is a mount point or holds one, is shared
    (sticky), holds sockets and the like, belongs to somebody else, has more than 1000 entries, or where
    the system cannot swap folders. Then the files are replaced one by one, each in one step; an error
    still brings all old ones back, but a kill between two of them leaves both kinds.
    """
    contents = {check_name(name): atomic.as_bytes(content) for name, content in files.items()}
    with atomic.as_emit_error(folder):
        target = atomic.real_path(folder)
        if target.exists() and not target.is_dir():
            raise OptionError(f"{folder}: is a file; choose another folder")
        if contents:
            with atomic.with_parents(target), atomic.locked(target.parent):
                _write_locked(contents, target)


def check_name(name: str) -> str:
    """The name, if it is a plain one."""
    if name in ("", ".", "..") or any(character in "/\\\0" for character in name):
        raise EmitError(f"{name!r} is not a plain file name: no folders, not empty, not . or ..")
    return name


def _write_locked(contents: Mapping[str, bytes], folder: Path) -> None:
    recover(folder)
    if not folder.exists():
        create_folder(contents, folder)
        return
    changed = {name: data for name, data in contents.items() if not atomic.has_content(folder / name, data)}
    for name in changed:
        if (folder / name).is_dir():
            raise EmitError(f"{folder / name}: is a folder; remove it or choose another name")
    if changed and not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    if len(changed) == 1:  # a single rename is all or nothing by itself
        replace_each(changed, folder)
    elif changed:
        try:
            swap_folder(changed, folder)
        except CannotSwap:
            replace_each(changed, folder)
