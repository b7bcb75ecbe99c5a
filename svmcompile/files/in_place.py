"""Several files into a folder that cannot be swapped, such as the current one: prepared, then renamed.

The stage is a private hidden folder inside:

    .files.svmcompile-TOKEN/
        new/     the new files, by number
        old/     links to those they replace, by number
        forward  the paths, written once all is ready; called `back` once it is to be undone

Renaming is all that is left to do then, and it needs no space. An error renames everything back. A process
killed in between leaves `forward` or `back`, and the next command that looks at the folder finishes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from svmcompile.errors import EmitError
from svmcompile.files import atomic
from svmcompile.files.plain import read_json
from svmcompile.files.removal import remove_tree
from svmcompile.files.staging import claimed, link_or_copy, private_folder

NEW, OLD, FORWARD, BACK = "new", "old", "forward", "back"
FILES = "files"  # what the stage is named after
BROKEN = (OSError, ValueError, KeyError, TypeError, EmitError)  # what reading a forged stage may raise


@dataclass(frozen=True, slots=True)
class Plan:
    """Paths in the folder, which of them had a file before, and folders to be made."""

    paths: list[str]
    had: list[bool]
    made: list[str]


def replace_in_place(changed: Mapping[str, bytes], folder: Path) -> None:
    """These files into the folder; an error brings all old ones back."""
    with private_folder(atomic.free_name(folder / FILES)) as stage:
        try:
            plan = _prepare(changed, folder, stage)
            _rename_all(plan, folder, stage)
        finally:
            _remove(stage)
    atomic.sync_folder(folder)


def _missing_folders(changed: Mapping[str, bytes], folder: Path) -> list[str]:
    above = {
        "/".join(path.split("/")[:depth]) for path in changed for depth in range(1, path.count("/") + 1)
    }
    return sorted(path for path in above if not (folder / path).exists())


def _prepare(changed: Mapping[str, bytes], folder: Path, stage: Path) -> Plan:
    (stage / NEW).mkdir()
    (stage / OLD).mkdir()
    plan = Plan(list(changed), [], _missing_folders(changed, folder))
    for number, (path, data) in enumerate(changed.items()):
        atomic.write_synced(stage / NEW / str(number), data)
        atomic.keep_access(folder / path, stage / NEW / str(number))
        plan.had.append(os.path.lexists(folder / path))
        if plan.had[-1]:
            link_or_copy(folder / path, stage / OLD / str(number), any_owner=True)
    atomic.sync_folder(stage / NEW)
    atomic.sync_folder(stage / OLD)
    return plan


def _rename_all(plan: Plan, folder: Path, stage: Path) -> None:
    ready = stage / "ready"
    atomic.write_synced(ready, json.dumps(asdict(plan)).encode())
    ready.rename(stage / FORWARD)
    atomic.sync_folder(stage)
    try:
        _forward(plan, folder, stage)
    except BaseException as error:
        try:
            (stage / FORWARD).rename(stage / BACK)
            _back(plan, folder, stage)
        except OSError as again:
            raise atomic.HalfDone(
                f"cannot be written: {error}; some files are new, some old ({again}); the next command "
                "that looks at the folder tries to finish"
            ) from None
        with suppress(OSError):  # all is undone, and undoing it again would change nothing
            (stage / BACK).unlink()
        raise
    with suppress(OSError):  # all is done, and doing it again would change nothing
        (stage / FORWARD).unlink()


def _forward(plan: Plan, folder: Path, stage: Path) -> None:
    """Put every new file in place that is not there yet."""
    for path in plan.made:
        (folder / path).mkdir(exist_ok=True)
    for number, path in enumerate(plan.paths):
        new = stage / NEW / str(number)
        if os.path.lexists(new):
            new.replace(folder / path)


def _back(plan: Plan, folder: Path, stage: Path) -> None:
    """Put every old file back that is not there, and take back new ones without an old one."""
    for number, path in enumerate(plan.paths):
        new, old = stage / NEW / str(number), stage / OLD / str(number)
        if plan.had[number] and os.path.lexists(old):
            old.replace(folder / path)
        elif not plan.had[number] and not os.path.lexists(new):
            (folder / path).rename(new)
    for path in reversed(plan.made):
        with suppress(OSError):  # somebody may have put something there
            (folder / path).rmdir()


def recover(folder: Path) -> None:
    """Finish what a killed run began in the folder; where that cannot be done, nothing happens."""
    with suppress(OSError, RuntimeError):
        target = atomic.real_path(folder)
        if atomic.leftovers(target / FILES):
            with atomic.locked(target.parent) as alone:
                finish_interrupted(target, alone)


def finish_interrupted(folder: Path, alone: bool) -> None:
    """Finish what killed runs began in the folder, and remove what they left."""
    for stage in atomic.leftovers(folder / FILES):
        with suppress(*BROKEN), claimed(stage, alone) as is_free:
            if is_free:
                _finish(folder, stage)


def _finish(folder: Path, stage: Path) -> None:
    for name, way in ((BACK, _back), (FORWARD, _forward)):
        if os.path.lexists(stage / name):
            way(_plan(folder, stage, name), folder, stage)
            (stage / name).unlink()
            break
    _remove(stage)


def _plan(folder: Path, stage: Path, name: str) -> Plan:
    """What is to be renamed. The folder may come from anywhere, so nothing leads out of it."""
    if any((stage / part).is_symlink() for part in (name, NEW, OLD)):
        raise ValueError("a link in a stage")
    stored = read_json((stage / name).read_bytes())
    for path in (*stored["paths"], *stored["made"]):
        above = atomic.real_path((folder / atomic.check_path(path)).parent)
        if folder not in (above, *above.parents):
            raise ValueError(f"{path} leads out of the folder")
    return Plan(stored["paths"], stored["had"], stored["made"])


def _remove(stage: Path) -> None:
    """Remove the stage, unless it tells what is still to be done."""
    if not os.path.lexists(stage / FORWARD) and not os.path.lexists(stage / BACK):
        remove_tree(stage)
