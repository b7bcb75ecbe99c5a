"""m2cgen's C for the same model. It unrolls every product, so only small models finish."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from svmcompile.bench.peers import CPeer, LeftOut, Subject
from svmcompile.files import write_file
from svmcompile.model.svm import SVM, LabelRule

LARGEST = 50_000  # support vectors times features
SECONDS = 300
ESTIMATORS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

# Runs by itself: m2cgen recurses once per term, and a runaway one can be stopped.
GENERATE = """
import pickle, sys
import m2cgen
sys.setrecursionlimit(1 << 20)
with open(sys.argv[1], "rb") as file:
    model = pickle.load(file)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(m2cgen.export_to_c(model))
"""


def start(subject: Subject) -> CPeer:
    """Its code, built with the flags of ours."""
    found = _version()
    svm, machine = subject.original(), subject.dense_machine()
    size = svm.n_vectors * svm.kernel_width
    if type(machine).__name__ not in ESTIMATORS:
        raise LeftOut(f"is not tried on {type(machine).__name__}")
    if size >= LARGEST:
        raise LeftOut(f"writes one product per term: {size:,} terms are too many (limit {LARGEST:,})")
    return CPeer("m2cgen", "m2cgen", str(_class_count(svm)), found, source=_code(machine, subject))


def _version() -> str:
    import m2cgen  # noqa: F401  where it is missing, the error says so

    return version("m2cgen")


def _class_count(svm: SVM) -> int:
    """What the driver needs to turn scores into an answer: 0 for a value, 2 for a sign, else a vote."""
    if svm.label_rule is LabelRule.NONE:
        return 0
    if not svm.counts:
        return 2
    if svm.label_rule is not LabelRule.VOTE:
        raise LeftOut("gives the values of class pairs, not the scores that break_ties needs")
    return len(svm.counts)


def _code(machine: Any, subject: Subject) -> str:
    """The generated C. Kept between runs: it takes minutes for some hundred vectors."""
    key = f"{subject.original().source.sha256}-{_version()}"
    kept = subject.cache / f"m2cgen-{hashlib.sha256(key.encode()).hexdigest()[:32]}.c"
    if not kept.exists():
        text = _generate(machine, subject.work)
        write_file(kept, text)
    return kept.read_text(encoding="utf-8")


def _generate(machine: Any, work: Path) -> str:
    model, code = work / "m2cgen.pickle", work / "m2cgen.c"
    model.write_bytes(pickle.dumps(machine))
    command = [sys.executable, "-c", GENERATE, str(model), str(code)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise LeftOut(f"did not finish writing its code in {SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise LeftOut(f"failed to write its code: {last[:200]}") from None
    return code.read_text(encoding="utf-8")
