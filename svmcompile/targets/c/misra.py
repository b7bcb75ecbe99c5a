"""The deviation record of C for devices: which rules of MISRA C:2012 the code departs from, and why.

The reasons are in our own words; the text of the rules is not free.
"""

from __future__ import annotations

import re

from svmcompile.targets.templating import render

ALWAYS = ""
REQUIRED = {"10.1"}  # all others are advisory
# By rule: the reason, and by what one sees that a file departs from it.
DEVIATIONS = {
    "2.3": ("a type that is not used makes the compiler check the processor", r"_needs_\w+\["),
    "2.4": ("the enumeration of the header holds constants and has no name to be used", ALWAYS),
    "2.5": ("the user may define or ask for macros that the file itself does not need", ALWAYS),
    "8.7": ("the functions of the header are for other files", ALWAYS),
    "8.9": ("tables are at the top of the file, so that the functions below can be read", ALWAYS),
    "10.1": (
        "signed numbers are shifted right; compilers that lose the sign are refused",
        r"_signed_shifts\[",
    ),
    "12.3": ("several variables of one type are declared at once", ALWAYS),
    "15.1": ("small trees are code, and jump from node to node", r"\bgoto "),
    "15.5": ("a function returns as soon as its answer is known", ALWAYS),
    "17.8": ("a parameter passed by value counts a loop, or is clamped", ALWAYS),
    "18.4": ("row i of a table begins at its address plus i times the width", ALWAYS),
    "19.2": ("the bits of a float are made in a union, which C99 defines", r"\bunion \{"),
}


def deviation_record(name: str, source: str) -> str:
    """NAME.misra.md, for the rules that NAME.c departs from."""
    found = [
        (rule, "required" if rule in REQUIRED else "advisory", reason)
        for rule, (reason, sign) in DEVIATIONS.items()
        if re.search(sign, source)
    ]
    return render("c/misra.md.j2", {"name": name, "deviations": found})
