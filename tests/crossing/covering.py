"""Covering arrays: few cases in which every two levels of different factors meet, where rules allow it.

A greedy search in the manner of AETG: the next case starts from a pair that is missing, and each of its
other factors takes the level that completes most missing pairs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

Case = dict[str, str]
Factors = Mapping[str, Sequence[str]]
Rule = Mapping[str, Sequence[str]]  # levels of some factors that are refused together
Pair = tuple[tuple[str, str], tuple[str, str]]
TRIES = 30  # cases that are tried for the next one


def is_refused(case: Mapping[str, str], rules: Sequence[Rule]) -> bool:
    """Whether a rule refuses a case, of which some factors may be open."""
    return any(all(case.get(factor) in levels for factor, levels in rule.items()) for rule in rules)


def refused_levels(factor: str, case: Mapping[str, str], rules: Sequence[Rule]) -> set[str]:
    """The levels of one more factor that rules refuse beside those of a case."""
    return {
        level
        for rule in rules
        if factor in rule
        and all(case.get(other) in levels for other, levels in rule.items() if other != factor)
        for level in rule[factor]
    }


def pairs_of(case: Mapping[str, str]) -> Iterator[Pair]:
    """Every two levels of a case."""
    return combinations(sorted(case.items()), 2)


def complete(
    start: Case, factors: Factors, rules: Sequence[Rule], chosen: Any, missing: Any
) -> Case | None:
    """A case with these levels that holds many missing pairs; None where the rules leave no way."""
    if is_refused(start, rules):
        return None
    case, open_factors = dict(start), [factor for factor in factors if factor not in start]
    chosen.shuffle(open_factors)
    for factor in open_factors:
        refused = refused_levels(factor, case, rules)
        before = [item for item in case.items() if item[0] < factor]
        after = [item for item in case.items() if item[0] > factor]
        gains = [
            (sum((item, (factor, level)) in missing for item in before)
             + sum(((factor, level), item) in missing for item in after), chosen.random(), level)
            for level in factors[factor]
            if level not in refused
        ]  # fmt: skip
        if not gains:
            return None
        case[factor] = max(gains)[2]
    return case


def possible_pairs(factors: Factors, rules: Sequence[Rule], chosen: Any) -> set[Pair]:
    """All pairs that stand in some case."""
    found: set[Pair] = set()
    for a, b in combinations(sorted(factors), 2):
        for one in factors[a]:
            for other in factors[b]:
                pair, start = ((a, one), (b, other)), {a: one, b: other}
                if pair in found or is_refused(start, rules):
                    continue
                for _ in range(TRIES):
                    if case := complete(start, factors, rules, chosen, ()):
                        found |= set(pairs_of(case))
                        break
    return found


def covering(factors: Factors, rules: Sequence[Rule], seed: int = 0) -> list[Case]:
    """Cases that hold every pair which the rules allow, the most useful first."""
    chosen = random.Random(seed)
    missing, cases = possible_pairs(factors, rules, chosen), []
    while missing:
        wanted = sorted(missing)
        tried = [
            complete(dict(chosen.choice(wanted)), factors, rules, chosen, missing) for _ in range(TRIES)
        ]
        found = max(
            (case for case in tried if case),
            key=lambda case: len(missing & set(pairs_of(case))),
            default=None,
        )
        if found is not None:
            cases.append(found)
            missing -= set(pairs_of(found))
    return cases
