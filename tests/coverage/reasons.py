"""Why a branch of generated C is not taken by the test that it ships.

Each pattern is searched in `function: line [number]` without parentheses; gcov numbers branches of a line.
"""

from __future__ import annotations

WIDTH = "a helper for rows of any width; a model has one width"
BLOCK = "support vectors in blocks of a fixed size; all of these fit into one"
ROUNDED = "rounding alone gets there, and on none of these rows"
NEVER = "never so; a proof or an analyser needs it"
WIDE = "needs rows beyond the number type, which preprocessing or the kernel does not let through"
TIE = "a tie, or a score close to zero, that none of these rows gives"
TREE = "a side of a split that rows made at random do not take"
SHARED = "a helper for every kernel; this one gives no such exponent: NaN, too small, above or below zero"
HEAD = "scores that this model does not give, or a coupling that needs too many sweeps"
USED = "a feature that no support vector has; all are in use"
STAGES = "a stage that adds no estimate; all of these do"

REASONS: dict[str, str] = {
    r"_self_test: if (!error|.* != labels)": "a stored row that fails: there is none",
    r"_(dot\w*|distance|certain_length|power|form): (for|if)": WIDTH,
    r": for ; j < \d+; j\+\+": WIDTH,
    r"stop = .* - i > \d+u? \?": BLOCK,
    r"_label_rest: stop = ": BLOCK,
    r"t > 0(\.0f?)? \? 0|_fade: if t > 0|left = left > 0|(rest > 0(\.0f?)? \? rest|rest \+ ).*": ROUNDED,
    r"never true, but a proof needs it": NEVER,
    r"_exp2: whole = |_(exp2|raise|fade): (return t != t|if !t > -)": SHARED,
    r"z = z > 1e\+|(x|place)_q: out\[[jr]\] = .* \? ": WIDE,
    r"scores?\[best\] [<>]= |guess\[best\] >= |score\[c\] >= -|(<=|>=) -?(3\.4|1\.7)": WIDE,
    r"_narrow: ": "a sum too small for float32, which keeps its sign; none of these is",
    r"if won == 0|votes\[c\] > votes\[best\]|beaten\[a\]|lost\[a\]": TIE,
    r"_sums: if i > \d+": STAGES,
    r"_leaf: if ": TREE,
    r"(cell|place) >= \d+": "the end of a curve, for rows further away than features of this range can be",
    r"_probabilities: (for int sweep|.*marks|for size_t i = 1)": HEAD,
    r"p < 1e-07|span > 0|sum != 0": "probabilities of nearly 0 or 1, or all of them zero",
    r"norm < |_root: ": "a row of zeros after a step that moves zeros",
    r"_find: if !word|_add: if c ==|_row: if s == 0": USED,
    r"while c \+ 1 < 1": "a loop over classes; two classes share one",
}
