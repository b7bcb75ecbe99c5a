"""Jobs kept in out/mutants, with what was found out about them, until their code changes."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

from tests.mutants.groups import SMALL, in_doubt, replayed, small, whole
from tests.mutants.jobs import LARGEST, Job
from tests.replay.cases import CASES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "out" / "mutants"
CODE = (
    "svmcompile/**/*.py",
    "templates/c/**/*",
    "tests/mutants/groups.py",
    "tests/mutants/jobs.py",
    "tests/mutants/interface.py",
    "tests/crossing/judged.py",
)  # what every job depends on
OF_REPLAY = ("tests/replay/cases.py",)
OF_SMALL = (
    "tests/mutants/small.py",
    "tests/programs/*.py",
    "tests/targets/*.py",
    "tests/crossing/cases.py",
)
OF_UNUSUAL = (*OF_SMALL, "tests/mutants/unusual.py", "tests/crossing/test_sparse_models.py")
UNUSUAL = ("unusual", "constant")
OF_DOUBT = (*OF_SMALL, "tests/mutants/doubtful.py", "tests/accelerate/certain_cases.py")


class Kept:
    """Groups of jobs, each in a file."""

    def __init__(self, cases: Iterable[str] = CASES) -> None:
        self.groups: dict[Path, list[Job]] = {}
        for name, make, files in makers(cases):
            path = FOLDER / f"{name.replace(' ', '-')}.{digest((*CODE, *files))}"
            if path.exists():
                self.groups[path] = pickle.loads(path.read_bytes())
            else:
                self.groups[path] = [one for one in make() if one.size < LARGEST]
                self.save(path)

    def jobs(self) -> list[Job]:
        return [one for group in self.groups.values() for one in group]

    def save(self, *paths: Path) -> None:
        """Keeps some groups, or all, in place of what older code made."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in paths or self.groups:
            for old in FOLDER.glob(f"{path.stem}.*"):
                old.unlink()
            path.write_bytes(pickle.dumps(self.groups[path]))


def makers(cases: Iterable[str]) -> Iterator[tuple[str, Callable[[], Iterator[Job]], tuple[str, ...]]]:
    """Groups by name, how they are made, and the files that they depend on besides CODE."""
    for case in cases:
        yield f"replay {case}", partial(replayed, case), OF_REPLAY
    for group in SMALL:
        yield group, partial(small, group), OF_UNUSUAL if group in UNUSUAL else OF_SMALL
    yield "whole", whole, OF_SMALL
    yield "in doubt", in_doubt, OF_DOUBT


@cache
def digest(patterns: tuple[str, ...]) -> str:
    """Of the content of files."""
    found = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                found.update(path.read_bytes())
    return found.hexdigest()[:16]
