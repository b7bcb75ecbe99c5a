"""Everything crossed with everything: each combination is refused by name, or right under sanitizers.

pytest tests/crossing            a short array: the options of emission in pairs, every other level once
make cross                       every pair of levels, and random cases (`--whole`)
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svmcompile.errors import EmitError, SvmCompileError
from tests.crossing.cases import FACTORS, FIXED, IDLE, KITS, REFUSED, made
from tests.crossing.covering import Case, Rule, complete, covering, is_refused, pairs_of, possible_pairs
from tests.crossing.judged import check

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore")]
RULES = (*REFUSED, *IDLE)
# Of emission, which are crossed with each other in the short array.
SHORT = ("precision", "input", "profile", "tables", "target")
PLAIN = {factor: levels[0] for factor, levels in FACTORS.items()}
# What was wrong before: each is a case that stays.
FOUND: dict[str, dict[str, str]] = {
    "a row of bytes before an imputer": {"steps": "filled", "precision": "q15", "input": "u8"},
    "a row of 16 bits before a clip": {"steps": "clipped", "precision": "q7", "input": "i16"},
    "a row of bytes before a norm": {"steps": "l2", "precision": "q15", "input": "u8"},
    "a row of 16 bits before PCA": {"steps": "pca", "precision": "q15", "input": "i16"},
    "products of a row of bytes": {"steps": "powers", "precision": "q7", "input": "u8"},
    "an example for rows of bytes": {"precision": "q7", "input": "u8", "kit": "zephyr"},
    "a kernel without a curve": {"estimator": "poly", "precision": "q7"},
    "a bias far above its sums": {
        "estimator": "sigmoid", "steps": "columns", "method": "dtsvm", "precision": "q15", "input": "i16",
    },
}  # fmt: skip


KNOWN_LATER = ("zeros do not stay zeros", "no support vectors left to keep in f16")
STANDS_FOR = {  # words of messages
    "svr": "regressor|numbers",
    "rest": "one-vs-rest|each class",
    "linear-three": "each class",
    "many": "3 labels",
    "each": "3 labels",
    "sparse": "by feature",
    "dense": "tables",
    **dict.fromkeys(KITS, "kit"),
}


def names(case: Case) -> str:
    """The levels of a case that are not plain."""
    return "-".join(level for factor, level in case.items() if level != PLAIN[factor]) or "plain"


def short() -> list[Case]:
    """Every pair of the options of emission, and every level of all factors."""
    few = {factor: FACTORS[factor] for factor in SHORT}
    by, cases = random.Random(0), []
    missing = {((factor, level),) for factor in FACTORS for level in FACTORS[factor]}
    for start in covering(few, RULES):
        case: Case = dict(start)
        for factor in (factor for factor in FACTORS if factor not in SHORT):
            levels = [one for one in FACTORS[factor] if not is_refused({**case, factor: one}, RULES)]
            fresh = [one for one in levels if ((factor, one),) in missing]
            case[factor] = by.choice(fresh or levels)
        missing -= {(item,) for item in case.items()}
        cases.append(case)
    for ((factor, level),) in sorted(missing):
        found = next(filter(None, (complete({factor: level}, FACTORS, RULES, by, ()) for _ in range(99))))
        cases.append(found)
    return cases


def run(case: Case, folder: Path) -> None:
    """A case that is right, or refused by name for what is known of its tables only then."""
    try:
        check(case, folder)
    except EmitError as error:
        if not any(reason in str(error) for reason in KNOWN_LATER):
            raise


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--whole"):
        pytest.skip("the whole matrix takes minutes: make cross")


@pytest.mark.parametrize("case", short(), ids=names)
def test_a_short_array(case: Case, tmp_path: Path) -> None:
    run(case, tmp_path)


@pytest.mark.parametrize("what", FOUND)
def test_what_was_wrong_stays_right(what: str, tmp_path: Path) -> None:
    check({**PLAIN, **FOUND[what]}, tmp_path)


@pytest.mark.parametrize("rule", REFUSED, ids=lambda rule: "-".join(levels[0] for levels in rule.values()))
def test_what_cannot_be_is_refused_by_name(rule: Rule) -> None:
    """Every combination of a rule; the message names a level of it, or what it stands for."""
    combinations: list[Case] = [{}]
    for factor, levels in rule.items():
        combinations = [{**one, factor: level} for one in combinations for level in levels]
    for one in combinations:
        case = {**PLAIN, **one}
        if case["tables"] == "f16" and "profile" not in one:
            case["profile"] = "host"
        if case["input"] != "float" and "precision" not in one:
            case["precision"] = FIXED[0]
        with pytest.raises(SvmCompileError) as error:
            made(case)
        said = str(error.value).lower()
        words = [word for level in one.values() for word in STANDS_FOR.get(level, level).split("|")]
        assert any(word in said for word in words), said


def test_the_array_holds_every_pair() -> None:
    few = {factor: FACTORS[factor] for factor in (*SHORT, "kit")}
    pairs = {pair for case in covering(few, RULES) for pair in pairs_of(case)}
    assert pairs == possible_pairs(few, RULES, random.Random(1))
    assert not any(is_refused(dict(pair), RULES) for pair in pairs)


@pytest.mark.slow
def test_the_whole_array(whole: None, tmp_path: Path) -> None:
    failed = []
    for number, case in enumerate(covering(FACTORS, RULES)):
        (folder := tmp_path / str(number)).mkdir()
        try:
            run(case, folder)
        except Exception as error:
            failed.append(f"{case}: {type(error).__name__} {error}")
    assert not failed, "\n".join(failed)


@st.composite
def random_case(draw: Any) -> Case:
    seed = draw(st.integers(0, 2**32 - 1))
    found = (complete({}, FACTORS, RULES, random.Random(seed + more), ()) for more in range(99))
    return next(filter(None, found))


@pytest.mark.slow
@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(random_case())
def test_random_cases(whole: None, tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    run(case, tmp_path_factory.mktemp("case"))
