"""Static checks of generated C, and the tables of docs/static-checks.md.

    python examples/static_checks.py                   all models (a few minutes)
    python examples/static_checks.py metric_tree       some of them, by name

Models of several kinds are compiled; Frama-C's Eva looks for run-time errors with every feature anywhere
in a range, gcc's analyzer for its own list, and cppcheck for departures from MISRA C:2012. A tool that is
not installed is left out, and that is said.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.flow.emission import PROFILES
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.check import infer_types

IN_WHOLE_NUMBERS = ("exact_rbf", "exact_linear", "exact_two_classes", "metric_tree", "h1_tree")
RANGE = (0.0, 8.0)  # of features in whole numbers; what lies beyond counts as its nearest end
LIMIT = 1e6  # features of a proof lie between minus this and this
EVA = (
    "frama-c", "-eva", "-eva-precision", "3", "-eva-auto-loop-unroll", "4096",
    "-warn-special-float", "non-finite",
)  # fmt: skip
ANALYZER = ("-std=c99", "-O2", "-Wall", "-Wextra", "-fanalyzer", "-c", "-o", os.devnull)
MISRA = ("cppcheck", "--addon=misra", "--std=c99", "--enable=style", "--quiet")
FEWEST_GCC = 12  # whose analyzer is worth asking

DRIVER = """\
#define {NAME}_NO_SELF_TEST
#include "{name}.c"
#include "__fc_builtin.h"

int main(void)
{{
    {real} x[{NAME}_N_FEATURES];
    for (int j = 0; j < {NAME}_N_FEATURES; j++)
        x[j] = Frama_C_{real}_interval({low}, {high});
    (void){name}_predict(x);
{calls}    return 0;
}}
"""

# Why the generated code departs from a rule, in our own words; the texts of the rules are not free.
REASONS = {
    "2.2": "a width that is one stands in products, as other widths would",
    "2.4": "the enumeration holds constants and has no name to be used",
    "2.5": "of the macros that guide loops, a model may need only one",
    "8.7": "the functions of a header are for other files",
    "8.9": "tables stand at the top of the file, so that the functions below can be read",
    "10.1": "signed numbers are shifted right, which compilers for devices do with their sign",
    "10.3": "a comparison is kept as 0 or 1, to be counted",
    "10.4": "sizes meet small constants, which are plain integers",
    "10.8": "the exponent of a float is computed as an integer, then put in its place",
    "12.1": "products before sums, and comparisons before conditions, as in mathematics",
    "12.3": "several variables are declared at once, or a loop counts two",
    "13.4": "two variables get the same value in one line",
    "15.1": "small trees are code, and jump from node to node",
    "15.5": "a function returns as soon as its answer is known",
    "15.6": "a loop or condition over one statement has no braces",
    "17.8": "a parameter passed by value counts the loop, or is squared",
    "19.2": "the bits of a float are made in a union, which C99 defines",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One model, in C for one profile and precision."""

    name: str
    program: sc.Program
    profile: str
    precision: str = "f32"

    @property
    def kind(self) -> str:
        return self.profile if self.precision == "f32" else f"{self.profile} {self.precision}"

    @property
    def title(self) -> str:
        return f"{self.name.replace('_', ' ')}, {self.kind}"


def programs() -> dict[str, sc.Program]:
    """Each kernel by the exact method, and the methods whose code walks trees and lists."""
    X, y = load_iris(return_X_y=True)
    kernels = ("rbf", "linear", "poly", "sigmoid")
    found = {f"exact_{kernel}": sc.compile(SVC(kernel=kernel).fit(X, y)) for kernel in kernels}
    found["exact_two_classes"] = sc.compile(SVC(gamma=0.5).fit(X, y == 1))
    wiggly = SVC(gamma=1, C=10).fit(X, y)
    found["metric_tree"] = sc.compile(wiggly, method="metric-tree", X=X)
    found["h1_tree"] = sc.compile(SVC().fit(X, y), method="h1-tree", X=X)
    return found


def cases() -> list[Case]:
    """Every program in every profile without vector extensions, which no checker here reads."""
    found = programs()
    profiles = [profile for profile in PROFILES if profile != "host"]
    floats = [Case(name, program, profile) for profile in profiles for name, program in found.items()]
    whole = [
        Case(name, found[name], "device", precision) for precision in FIXED for name in IN_WHOLE_NUMBERS
    ]
    return floats + whole


def write_case(case: Case, folder: Path) -> None:
    """NAME.c, NAME.h and the driver of the proof."""
    files = sc.emit(case.program, "c", case.name, case.precision, case.profile, ranges=RANGE)
    sc.write({name: files[name] for name in files if name.endswith((".c", ".h"))}, folder)
    (folder / "driver.c").write_text(driver(case.program, case.name))


def driver(program: sc.Program, name: str, number: str = "f32", limit: float = LIMIT) -> str:
    """A main function that calls the model with any row whose features are within the limits."""
    real, suffix = ("float", "f") if number == "f32" else ("double", "")
    types = infer_types(program)
    results = {"scores": "decision_function", "probabilities": "predict_proba"}
    calls = ""
    for output, function in results.items():
        value = program.output(output)
        if value is not None:
            calls += f"    {real} {output}[{types[value].width}];\n    {name}_{function}(x, {output});\n"
    numbers = {"low": f"{-limit!r}{suffix}", "high": f"{limit!r}{suffix}"}
    return DRIVER.format(name=name, NAME=name.upper(), real=real, calls=calls, **numbers)


def prove(folder: Path) -> list[str]:
    """The alarms of Eva on the driver of a folder, which should be none."""
    done = run([*EVA, "driver.c"], folder)
    told = re.search(r"^ *(\d+) alarms? generated by the analysis", done.stdout, re.MULTILINE)
    if done.returncode or told is None:
        raise RuntimeError(f"Frama-C failed: {done.stdout[-2000:]}{done.stderr}")
    found = re.findall(r"^\[eva:alarm\] (\S+) Warning:\s+(.*)", done.stdout, re.MULTILINE)
    alarms = [" ".join(parts) for parts in found]
    return alarms or ["not told where"] * int(told.group(1))


def analyse(folder: Path, name: str) -> list[str]:
    """What gcc and its analyzer have to say, which should be nothing."""
    return run(["gcc", *ANALYZER, f"{name}.c"], folder).stderr.splitlines()


def departures(folder: Path, name: str) -> Counter[str]:
    """How often cppcheck finds each rule of MISRA C:2012 not followed."""
    done = run([*MISRA, f"{name}.c"], folder)
    return Counter(re.findall(r"\[misra-c2012-([\d.]+)\]", done.stderr))


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    # Frama-C takes the current folder from the environment.
    environment = {**os.environ, "PWD": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def gcc_version() -> int:
    """The major version of gcc, 0 where there is none (or where it is clang under that name)."""
    if not shutil.which("gcc"):
        return 0
    text = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout
    version = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True).stdout
    return 0 if "clang" in text else int(version.split(".")[0] or 0)


def proof_table(folders: dict[Case, Path]) -> list[str]:
    lines = ["| code | alarms | seconds |", "|---|---|---|"]
    for case, folder in folders.items():
        begin = time.perf_counter()
        lines.append(f"| {case.title} | {len(prove(folder))} | {time.perf_counter() - begin:.1f} |")
    return lines


def analyzer_table(folders: dict[Case, Path]) -> list[str]:
    counts = {case.title: len(analyse(folder, case.name)) for case, folder in folders.items()}
    return [
        "| code | lines of warnings |",
        "|---|---|",
        *(f"| {title} | {n} |" for title, n in counts.items()),
    ]


def misra_table(folders: dict[Case, Path]) -> list[str]:
    kinds = list(dict.fromkeys(case.kind for case in folders))
    counts = {kind: Counter[str]() for kind in kinds}
    for case, folder in folders.items():
        counts[case.kind] += departures(folder, case.name)
    rules = sorted({rule for found in counts.values() for rule in found}, key=_order)
    head = ["| rule | " + " | ".join(kinds) + " | why |", "|---" * (len(kinds) + 2) + "|"]
    rows = [[rule, *(str(counts[kind][rule]) for kind in kinds), REASONS.get(rule, "?")] for rule in rules]
    return head + [f"| {' | '.join(row)} |" for row in rows]


def _order(rule: str) -> tuple[int, ...]:
    return tuple(map(int, rule.split(".")))


TABLES: tuple[tuple[str, Callable[[], bool], Callable[[dict[Case, Path]], list[str]]], ...] = (
    ("Frama-C Eva", lambda: shutil.which("frama-c") is not None, proof_table),
    ("gcc -fanalyzer", lambda: gcc_version() >= FEWEST_GCC, analyzer_table),
    ("cppcheck, MISRA C:2012", lambda: shutil.which("cppcheck") is not None, misra_table),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        wanted = [case for case in cases() if case.name in sys.argv[1:] or not sys.argv[1:]]
        folders = {case: Path(temporary) / f"{case.kind}-{case.name}" for case in wanted}
        for case, folder in folders.items():
            write_case(case, folder)
        for title, installed, table in TABLES:
            print(f"\n{title}:\n")
            print("\n".join(table(folders)) if installed() else "not installed here")


if __name__ == "__main__":
    main()
