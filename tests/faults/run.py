"""Every system call that changes files fails, or is where the process is killed: `make faults`.

A case is run once for every call it makes, with the fault at that call. After that

- its files are the old ones or the new ones, never a mixture (in the current folder: once the next command
  has looked at it), and nothing else has changed;
- an error means the old files, success the new ones, and the error says so;
- the same command without a fault then gives the new files, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("preload.c")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where waiting for a disk takes no time
KILL = -1
FAULTS = {
    "kill": (KILL, False),
    "ENOSPC": (errno.ENOSPC, False),
    "ENOSPC from then on": (errno.ENOSPC, True),
    "EIO": (errno.EIO, False),
    "EACCES": (errno.EACCES, False),
}
QUICK = ("kill", "ENOSPC from then on")
QUICK_STEP = 5  # every so many calls, each fault beginning elsewhere
State = dict[str, tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="files and predictions alone, the most telling faults"
    )
    parser.add_argument("--every", type=int, default=1, help="try every so many calls only")
    parser.add_argument("--case", help="only cases in whose name this pattern is found")
    options = parser.parse_args()
    if "SVMCOMPILE_FAULTS" not in os.environ:
        sys.exit(_preloaded())
    with tempfile.TemporaryDirectory(prefix="faults-", dir=MEMORY) as name:
        sys.exit(run_all(Path(name).resolve(), options.quick, options.case, options.every))


def _preloaded() -> int:
    """This program again, with the library that counts calls."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        library = Path(name) / "faults.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        environment = {
            **os.environ, "LD_PRELOAD": str(library), "SVMCOMPILE_FAULTS": "1", "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1", "SVMCOMPILE_CACHE": str(Path(name) / "cache"),
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-m", "tests.faults.run", *sys.argv[1:]], env=environment
        ).returncode


def run_all(work: Path, quick: bool, only: str | None, every: int) -> int:
    from tests.faults.cases import commands, small_cases

    cases = small_cases()
    if not quick:
        (work / "models").mkdir()
        cases += commands(work / "models")
    bad, total = 0, Counter[str]()
    for case in cases:
        if only and not re.search(only, case.name):
            continue
        for fault in QUICK if quick else FAULTS:
            trial = Trial(case, fault, work / "trial", QUICK_STEP if quick else every)
            trial.run()
            total.update(trial.outcomes)
            bad += len(trial.problems)
            told = ", ".join(f"{count} {what}" for what, count in sorted(trial.outcomes.items()))
            print(f"{case.name:26} {fault:20} {sum(trial.outcomes.values()):4} calls: {told}", flush=True)
            for problem in trial.problems[:5]:
                print(f"    {problem}", flush=True)
    print(f"{sum(total.values())} faults, {bad} problems")
    return 1 if bad or not total else 0


@dataclass
class Ended:
    """How a run ended: killed, with an error, or well; and how many calls it had made."""

    how: str
    count: int = 0
    call: str = ""
    message: str = ""


class Trial:
    """One case with one fault at every call."""

    def __init__(self, case: Any, fault: str, folder: Path, step: int) -> None:
        self.case, self.fault, self.folder, self.step = case, fault, folder, step
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []

    def run(self) -> None:
        template = self._fresh(self.folder / "template")
        self.case.before(template)
        old = state(template)
        done = self._copy(template)
        self._child(done, 0)
        new = state(done)
        assert old != new, "the case changes nothing"
        ours = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        user = {path: what for path, what in old.items() if path not in ours}
        for at in range(1 + list(FAULTS).index(self.fault) % self.step, 10_000, self.step):
            root = self._copy(template)
            ended = self._child(root, at)
            self._check(root, at, ended, (only(old, ours), only(new, ours), user))
            if ended.how != "killed" and ended.count < at:
                return

    def _check(self, root: Path, at: int, ended: Ended, expected: tuple[State, State, State]) -> None:
        old, new, user = expected
        if self.case.inside:
            from svmcompile.files import recover

            recover(root / "out")
        found = state(root)
        ours = only(found, old.keys() | new.keys())
        which = "old" if ours == old else "new" if ours == new else "mixed"
        self.outcomes[f"{ended.how}, {which}"] += 1
        where = f"at call {at} ({ended.call or ended.how})"
        if which == "mixed":
            wrong = [
                path
                for path in old.keys() | new.keys()
                if ours.get(path) not in (old.get(path), new.get(path))
            ]
            self.problems.append(f"{where}: a mixture of old and new; neither: {wrong[:3]}")
        if ended.how == "error" and which != "old":
            self.problems.append(f"{where}: the files are new, and the message is {ended.message!r}")
        if ended.how == "done" and which != "new":
            self.problems.append(f"{where}: success, and the files are old")
        self._check_rest(where, found, user)
        self._child(root, 0)
        found = state(root)
        if only(found, old.keys() | new.keys()) != new:
            self.problems.append(f"{where}: the next run did not give the new files")
        self._check_rest(f"after the run after {where}", found, user)
        left = [path for path in found if "svmcompile-" in path]
        if left:
            self.problems.append(f"{where}: the next run left {left[:3]}")

    def _check_rest(self, where: str, found: State, user: State) -> None:
        lost = [path for path, what in user.items() if found.get(path) != what]
        if lost:
            self.problems.append(f"{where}: files of the user changed: {lost[:3]}")

    def _fresh(self, folder: Path) -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _copy(self, template: Path) -> Path:
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root, symlinks=True)
        return root

    def _child(self, root: Path, at: int) -> Ended:
        """Run the case in a process of its own, which shares all that is imported."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            self._end(root, at, write)
        os.close(write)
        with os.fdopen(read) as stream:
            told = stream.read()
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            return Ended(
                "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}"
            )
        return Ended(**json.loads(told))

    def _end(self, root: Path, at: int, pipe: int) -> None:
        from svmcompile.errors import SvmCompileError

        library = ctypes.CDLL(None)
        library.faults_count.restype = ctypes.c_long
        library.faults_last.restype = ctypes.c_char_p
        how, message = "done", ""
        try:
            if self.case.inside:
                os.chdir(root / "out")
            if at:
                what, stays = FAULTS[self.fault]
                library.faults_arm(os.fsencode(root), ctypes.c_long(at), what, int(stays))
            self.case.run(root)
        except SvmCompileError as error:
            how, message = "error", str(error)
        except BaseException as error:
            how, message = f"{type(error).__name__}", repr(error)
        ended = {"how": how, "count": library.faults_count(), "call": library.faults_last().decode()}
        os.write(pipe, json.dumps({**ended, "message": message}).encode())
        os._exit(0)


def only(found: State, paths: Any) -> State:
    return {path: what for path, what in found.items() if path in paths}


def state(root: Path) -> State:
    """Kind, permission bits and content of everything below a folder, but the times of folders."""
    found = {}
    for path in sorted(root.rglob("*")):
        mode = f"{path.lstat().st_mode:o}"
        if path.is_symlink():
            content = str(path.readlink())
        else:
            content = path.read_bytes().hex() if path.is_file() else ""
        found[str(path.relative_to(root))] = (mode, content)
    return found


if __name__ == "__main__":
    main()
