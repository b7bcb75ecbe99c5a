"""Mutants that no test can kill, and why: whatever they change is not what a program computes."""

from __future__ import annotations

import re

from tests.mutants.mutation import Mutant

TYPE = r"(static |const )*(double|float|int|size_t|u?int\w+|\{\{ [\w.]+ \}\}) "
ZERO = r"= \{ ?(?:\{0\}|0|\{\{- [\w.]+ -\}\}) ?\}"
ZEROED = rf"(?:(?!=).|{ZERO})*"  # declarations, at most set to zero
NAME = r"\{\{ [\w.]+ \}\}"
PLACE = "one place more"
PLUS = r"\{\{ [^}]* \+ "
LARGER, SMALLER = (f"of two equal numbers either is the {one} one" for one in ("larger", "smaller"))


def chosen(sign: str, then: str) -> str:
    """Of two numbers a and b one is taken, and nothing changed but what is done with equal ones."""
    number = r"[\w{}. -]+?"
    after = then.replace("a", "(?P=a)").replace("b", "(?P=b)")
    old = rf"(?P<a>\b\w[\w.]*|{NAME}) {sign} (?P<b>{number}) \? {after}"
    return rf"{old}.*  ->  .*(?<![\w.])(?P=a) {sign}= (?P=b) \? {after}"


# Searched in `template:line: old  ->  new`.
REASONS: dict[str, str] = {
    rf"^\S+ (?P<a>{TYPE}{ZEROED}[\w}}]\[({PLUS})?)\d+(?P<b>( \}}\}})?\].*)  ->  (?P=a)\d+(?P=b)$": PLACE,
    r"for \(.*; (?P<a>\w+ \+ (\d+|\{\{ [\w.]+ \}\})) <= (?P<b>\w+|\{\{ n.width \}\})(?P<c>;| && ).*  ->  .*"
    r"(?P=a) < (?P=b)(?P=c)": "the loop that follows takes the rest",
    r"middle = (?P<a>\w+) \+ \(\w+ - (?P=a)\) / 2;  ->  .* / 3;$": "any place between the ends will do",
    r"^c/text.*\b(?P<a>\w+) < 128(?P<b>\W.*)  ->  .*(?P=a) (<= 128|< 129)(?P=b)": (
        "U+0080 has no case, and is in no word"
    ),
    r"^c/text.*  ->  .*(<= INT32_MAX|>= -INT32_MAX|MAX \|\| )": "no text has so many terms",
    r"^\S+ \(void\)\w+;  ->  ;$": "it tells the compiler that a name is not used",
    r"(?P<a>\b\w+) < 0 \? 0 : (?P=a)\b.*  ->  .*\b(?P=a) < 1 \? 0 : (?P=a)\b": "whole numbers: 0 is 0",
    r": (if \(|\|\| \(|best = )guess\[c\] .*guess\[best\].*  ->  ": (
        "who is compared first: whoever beats it comes next, and the label is that of all comparisons"
    ),
    r"if \(count > 0 && found\[1\] == \{\{ n.others \}\}\) \{  ->  ": (
        "whether a rival that is certainly better is looked for; without one, exact sums decide the same"
    ),
    r"return \{\{ n.classes \+ 1 \}\};  ->  return \{\{ n.classes \+ 2 \}\};": (
        "any number above that of classes says that it is too close to call"
    ),
    r"poison \+= (.* (\* 0\.0|\* \{\{ n.zero \}\}\)));  ->  poison -= ": "zero or NaN, whatever its sign",
    r" \+(?P<a>=?) (?P<b>poison|[\w\[\]]+ \* \{\{ n.zero \}\})(?P<c>;.*)  ->  .* -(?P=a) (?P=b)(?P=c)$": (
        "zero or NaN, whatever its sign"
    ),
    r"if \(filled <=? \{\{ n.width \}\} / \d+\)  ->  if \(filled <=? \{\{ n.width \}\} / \d+\)$": (
        "whether zeros are passed over, or multiplied"
    ),
    r" if (?P<a>[\w.]+) > 1 .*  ->  .* if (?P=a) >= 1 ": "what serves several serves one",
    r"(ahead|closer|worth) &?= .*n\.gates\[order\] \}\} \* .*  ->  .*n\.gates\[order\] \}\} / ": (
        "whether the next order is worth its work"
    ),
    r"^\S+ static [^=;]*\)  ->  static [^=;]*\)$": "sizes of parameters are for readers",
    r"won = a == own \? -1 : 1;  ->  won = a == own \? -1 : 2;": "its sign is asked",
    r"since = 0; b < end.*  ->  .*since = 1; b < end": "sums move into double a block earlier",
    r"^c/categories.* return length < n \? -1 : 1;  ->  return length <= n \?": (
        "those of the same length have returned"
    ),
    r"^c/self_test.*  ->  .*(error < tolerances|error > -tolerances)": (
        "the stated error is above what rounding does"
    ),
    r"part.value > \{\{ n.root_two \}\}\) \{  ->  .*>= ": "the series holds on either side of it",
    r"\.longest \+ 1 \}\}\] = \{  ->  .*\.longest \+ 2 ": "room for one character more",
    r"beaten\[.*\] = 1;  ->  .* = 2;$": "a flag: it is asked whether it is zero",
    r"->  needs\[i\] = .* \| \(first\[row\] <= ": "the bit of a class that there is none of is masked",
    r"^c/portable/taylor_votes.*->  (votes|lost)\[won >= 0 \?": "zero has left before",
    r"^c/portable/certain\S+ (?P<a>.*[<>])= (?P<b>-?\{\{ n.largest \}\}.*)  ->  (?P=a) (?P=b)$": (
        "a score that is the largest number itself is left to exact sums, which decide the same"
    ),
    r"^c/portable/certain.*best = score\[.*\] > \{\{ n.zero \}\} \? best : c;  ->  .*\] >= ": (
        "who is looked at first: it is left again unless it beats all others for sure"
    ),
    r"if \(norm < reach \* reach\) \{  ->  if \(norm <= reach": (
        "of a row as long as the reach the root is the reach"
    ),
    rf"(?P<all>{NAME}) - (?P<i>\w+) > (?P<n>{NAME}) \? (?P=i) \+ (?P=n) : (?P=all);  ->  .*"
    r"(?P=all) - (?P=i) >= (?P=n) \? (?P=i) \+ (?P=n) : (?P=all);": "where both are equal, so are the ends",
    r"^c/portable/taylor_votes.*score\[q\] < score\[found\[1\]\]\)\)  ->  .*score\[q\] <= score\[found": (
        "of two rivals that beat the champion alike either may come next"
    ),
    r"^c/host/vote_orders.* least = score\[q\] < score\[least\] \? q : least;  ->  .*\? least : q;": (
        "which of several rivals comes next: to be the label it must beat all others itself"
    ),
    r"^c/host/vote_orders.* known = last < .*  ->  .* known = last > ": (
        "whether the champion before is known to be beaten: its bound, or exact sums, say the same"
    ),
    r"^c/host/vote_orders.*\(last > own\).*  ->  .*\(last >= own\)": "nobody comes next to himself",
    r"^c/host/leaves.*: since = 0;  ->  (since = 1)?;$": "sums move into double sooner",
    r"^c/host/taylor.j2.*_table if n.along <= n.lanes else .*  ->  .*_table if n.along < n.lanes else": (
        "each of as many rows as lanes has one block, by either form"
    ),
    r"^c/host/vote_rows.*k = 0; k < some; k\+\+\) .*  ->  .*k = (1; k < some; k\+\+|0; k < some; k--)": (
        "rows that are not gathered here are labelled one by one"
    ),
    r"_mm256_maskload_.* else 0 \}\}.*  ->  .*_mm256_maskload_.* else 1 \}\}": (
        "the highest bit of a lane says whether it is read, and that is not set in 1"
    ),
    chosen("<", "a : b"): SMALLER,
    chosen(">", "b : a"): SMALLER,
    chosen("<", "b : a"): LARGER,
    chosen(">", "a : b"): LARGER,
}
# The same by template and macro, for lines that mean something else in another one.
IN_MACRO: dict[tuple[str, str], dict[str, str]] = {
    ("c/host/taylor_votes.j2", "plain_parts"): {
        r"for \(size_t i = 0; i < count; i\+\+\) \{  ->  .*size_t i = 1; i < count": (
            "whether a rival that is certainly better is found; without one, exact sums decide the same"
        )
    },
}


def reason(mutant: Mutant) -> str:
    """Why a mutant means the same; empty if it does not."""
    known = dict(REASONS)
    for (template, macro), some in IN_MACRO.items():
        if mutant.template == template and mutant.macro == macro:
            known |= some
    return next((why for pattern, why in known.items() if re.search(pattern, str(mutant))), "")
