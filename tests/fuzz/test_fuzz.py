"""Every input that ever failed a reader, and a short run of `make fuzz`."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz import originals, strings
from tests.fuzz.blobs import can_run
from tests.fuzz.run import CORPUS, Fuzz, failure, stored
from tests.fuzz.targets import TARGETS, Target

STEPS = 60
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_readers_give_a_model_or_an_error_of_the_project(target: Target) -> None:
    fuzz = Fuzz(target)
    fuzz.begin()
    begun = len(fuzz.edges)
    for _ in range(STEPS):
        fuzz.step()
    assert not fuzz.finds
    assert len(fuzz.edges) > begun, "mutations reached nothing new"


def test_the_corpus_is_read() -> None:
    names = {path.name.split(".")[0].replace("-", " ") for path in CORPUS.iterdir()}
    assert names and names <= {target.name for target in TARGETS}
    assert sum(len(stored(target.name)) for target in TARGETS) == len(list(CORPUS.iterdir()))


@pytest.mark.parametrize("error", [ValueError, MemoryError, RecursionError])
def test_other_errors_are_finds(error: type[Exception]) -> None:
    def run(content: bytes) -> None:
        raise error(content)

    assert failure(Target("any", run, list), b"").startswith(error.__name__)


@pytest.mark.compile
@pytest.mark.skipif(not can_run(), reason="needs a C compiler")
def test_strings_are_cut_in_c_as_scikit_learn_cuts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "AT_ONCE", 200)
    ran = strings.Strings()
    ran.run(2.0, seed=1)
    assert ran.executions and not ran.finds


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, which Windows does not have")
def test_originals_run_what_readers_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "AT_ONCE", 20)
    ran = originals.Originals()
    for kind in originals.FORMATS:
        with TemporaryDirectory() as folder:
            ran._batch(Path(folder), kind, "0")
    assert ran.executions == 80 and ran.opened and not ran.finds
    monkeypatch.setattr(originals, "run_original", lambda *given: os.kill(os.getpid(), 9))
    ran = originals.Originals()
    ran.run(0.0, 0)
    assert "the process ended with 9" in ran.finds[0]
