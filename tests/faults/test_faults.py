"""Faults at system calls: a part of what `make faults` tries."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc"), reason="needs Linux and a C compiler"
)
def test_faults_leave_old_files_or_new_ones() -> None:
    command = [sys.executable, "-m", "tests.faults.run", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"(\d+) faults, 0 problems", done.stdout)
    assert counted and int(counted[1]) > 80
    for fault, outcome in (("kill", "killed, old"), ("kill", "killed, new"), ("ENOSPC", "error, old")):
        assert re.search(rf"old folder +{fault}.*{outcome}", done.stdout), "a fault that changed nothing"
