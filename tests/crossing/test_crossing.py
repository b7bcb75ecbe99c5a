"""Everything crossed with everything: each combination is refused by name, or right under sanitizers.

A short array: the options of emission in pairs, every other level once. `make cross` tries all.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from svmcompile.errors import SvmCompileError
from svmcompile.ir.nodes import NibbleProjection
from tests.crossing.cases import FACTORS, FIXED, KITS, PACKAGES, REFUSED, made
from tests.crossing.covering import Case, Rule, complete, covering, is_refused, pairs_of, possible_pairs
from tests.crossing.judged import check
from tests.crossing.run import RULES, names, run

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore")]
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
    "columns of the front beside columns of the head": {"estimator": "bagging", "steps": "columns"},
    "whole numbers with an error that nothing bounds": {
        "estimator": "bagging", "steps": "union", "method": "reduced-set", "precision": "q7",
    },
    "a plane and a tree that both read a text": {
        "estimator": "three", "steps": "text", "method": "sv-tree",
    },
    "labels alone from whole numbers": {"estimator": "codes", "precision": "q7"},
    "a bias far above its sums": {
        "estimator": "sigmoid", "steps": "columns", "method": "dtsvm", "precision": "q15", "input": "i16",
    },
}  # fmt: skip


STANDS_FOR = {  # words of messages
    "svr": "regressor|numbers",
    "rest": "one-vs-rest|each class",
    "linear-three": "each class",
    "many": "3 labels",
    "each": "3 labels",
    "sparse": "by feature",
    "dense": "tables",
    **dict.fromkeys((*KITS, *PACKAGES), "kit"),
    "steady": "constant_time",
    **dict.fromkeys(("plain", "operator", "old", "wide"), "target onnx"),
    **dict.fromkeys(("no-sparse", "no-model", "cpp"), "api"),
    "certain": "labels=certain|certain of",
    "components": "kernels",
    "gaussian": "matern",
    "several": "gives 2",
}


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
        if case["kit"] in PACKAGES and "target" not in one:
            case["target"] = PACKAGES[case["kit"]]
        if case["input"] != "float" and "precision" not in one:
            case["precision"] = FIXED[0]
        with pytest.raises(SvmCompileError) as error:
            made(case)
        said = str(error.value).lower()
        words = [word for level in one.values() for word in STANDS_FOR.get(level, level).split("|")]
        assert any(word in said for word in words), said


@pytest.mark.parametrize("kind", FACTORS["input"])
def test_weights_of_four_bits_are_crossed(kind: str, tmp_path: Path) -> None:
    case = {**PLAIN, "method": "proto", "precision": "q7", "input": kind}
    assert any(isinstance(node, NibbleProjection) for node in made(case).program.body)
    check(case, tmp_path)


def test_the_array_holds_every_pair() -> None:
    few = {factor: FACTORS[factor] for factor in (*SHORT, "kit")}
    pairs = {pair for case in covering(few, RULES) for pair in pairs_of(case)}
    assert pairs == possible_pairs(few, RULES, random.Random(1))
    assert not any(is_refused(dict(pair), RULES) for pair in pairs)
