"""Mutants that no test can kill, and why: whatever they change is not what a program computes."""

from __future__ import annotations

import re

from tests.mutants.mutation import Mutant

# Searched in `template:line: old  ->  new`.
REASONS: dict[str, str] = {
    r"^\S+ (static )?[\w{} .]+ \w+\[[^\]]*\d[^\]]*\]( = [^;]*)?;  ->  [^;]+;": "one place more",
    r"found\[2\] = .*  ->  .*found\[3\] = ": "one place more",
    r"  ->  .* p \+ 4 < end; p \+= 4\)": "the loop that follows takes the rest",
    r"->  out\[0\] = exact\[0\] > 1 \?": "numbers up to 1 stand for themselves, with the same sign",
}


def reason(mutant: Mutant) -> str:
    """Why a mutant means the same; empty if it does not."""
    return next((why for pattern, why in REASONS.items() if re.search(pattern, str(mutant))), "")
