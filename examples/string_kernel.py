"""A kernel only its user knows: strings compared by the edits that turn one into the other.

An SVM with a precomputed kernel learns which of two groups of families a string
comes from. The sv-tree is built from kernel values alone; in C it asks a function
of the caller's for the kernel of a query and a training string, and only for the
few strings on its way. Writes out/string_kernel, builds it and prints how often
the kernel was asked, beside the exact sum.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.runtime.toolchain import find_compiler

LETTERS, LENGTH, FAMILIES = 4, 20, 6
SCALE = 8.0  # edits over which the kernel falls to 1/e

MAIN = r"""
#include <math.h>
#include <stdio.h>
#include "NAME.h"
#include "strings.h"

static long asked;

/* exp(-edits / SCALE), by the usual table, one line of it at a time. */
static double kernel(const void *query, int vector_index)
{
    const char *a = query, *b = strings[vector_index];
    int line[LENGTH + 1];
    for (int j = 0; j <= LENGTH; j++)
        line[j] = j;
    for (int i = 1; i <= LENGTH; i++) {
        int corner = line[0];
        line[0] = i;
        for (int j = 1; j <= LENGTH; j++) {
            int best = corner + (a[i - 1] != b[j - 1]);
            corner = line[j];
            best = best < line[j] + 1 ? best : line[j] + 1;
            line[j] = best < line[j - 1] + 1 ? best : line[j - 1] + 1;
        }
    }
    asked++;
    return exp(-line[LENGTH] / SCALE);
}

int main(void)
{
    char query[LENGTH + 2];
    while (fgets(query, sizeof query, stdin)) {
        asked = 0;
        int label = NAME_labels[NAME_predict_with(kernel, query)];
        printf("%d %ld\n", label, asked);
    }
    return 0;
}
"""

Strings = NDArray[np.int8]  # [strings, LENGTH], letters by number
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("exact", {}),
    "tree": ("sv-tree", {}),
    "guarded": ("sv-tree", {"fallback": True}),
}


def relatives(rng: np.random.Generator, founders: Strings, families: NDArray[np.int64]) -> Strings:
    """Copies of their family's founder, a quarter of the letters drawn anew, shifted by one at most."""
    made = founders[families].copy()
    changed = rng.random(made.shape) < 1 / 4
    made[changed] = rng.integers(LETTERS, size=int(changed.sum()))
    shifts = rng.integers(-1, 2, size=len(made))
    return np.array([np.roll(row, shift) for row, shift in zip(made, shifts, strict=True)])


def edits(left: Strings, right: Strings) -> NDArray[np.float64]:
    """Edit distance of every string on the left to every one on the right, all pairs at a time."""
    line = np.broadcast_to(np.arange(LENGTH + 1.0), (len(left), len(right), LENGTH + 1)).copy()
    for i in range(1, LENGTH + 1):
        before = line.copy()
        line[:, :, 0] = i
        for j in range(1, LENGTH + 1):
            other = left[:, None, i - 1] != right[None, :, j - 1]
            step = np.minimum(before[:, :, j], line[:, :, j - 1]) + 1
            line[:, :, j] = np.minimum(before[:, :, j - 1] + other, step)
    return np.asarray(line[:, :, -1])


def main() -> str:
    """Train, compile by three methods, run them in C; a table of what they ask and answer."""
    rng = np.random.default_rng(7)
    founders = rng.integers(LETTERS, size=(FAMILIES, LENGTH)).astype(np.int8)
    families = [rng.integers(FAMILIES, size=size) for size in (200, 1000, 400)]
    train, unlabelled, test = (relatives(rng, founders, which) for which in families)
    model = SVC(kernel="precomputed", C=3).fit(np.exp(-edits(train, train) / SCALE), families[0] % 2)
    rows = np.exp(-edits(test, train) / SCALE)
    # The tree is fitted to the SVM's own values, so strings without labels serve.
    fitting = np.exp(-edits(unlabelled, train) / SCALE)
    expected, truth = model.predict(rows), families[2] % 2
    lines = [f"{len(model.support_)} support vectors, accuracy {np.mean(expected == truth):.3f}"]
    lines.append("method   kernels per string   same label   accuracy")
    for name, (method, options) in METHODS.items():
        program = sc.compile(model, method=method, X=fitting, **options)
        labels, asked = run_in_c(program, name, train, test)
        same, right = np.mean(labels == expected), np.mean(labels == truth)
        lines.append(f"{name:8s} {asked.mean():18.1f} {same:12.3f} {right:10.3f}")
    return "\n".join(lines)


def run_in_c(
    program: sc.Program, name: str, train: Strings, test: Strings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels, and how often the kernel was asked, from a C program of its own."""
    folder = Path("out/string_kernel") / name
    quoted = ",\n".join(f'    "{text}"' for text in as_text(train))
    sc.write(
        {
            **sc.emit(program, target="c", name=name, precision="f64"),
            "main.c": MAIN.replace("NAME", name),
            "strings.h": f"static const char *const strings[] = {{\n{quoted}\n}};\n",
        },
        folder,
    )
    sizes = (f"-DLENGTH={LENGTH}", f"-DSCALE={SCALE}")
    command = [*find_compiler(), "-O2", *sizes, "main.c", f"{name}.c", "-o", "classify", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    queries = "".join(f"{text}\n" for text in as_text(test))
    done = subprocess.run(
        ["./classify"], cwd=folder, check=True, capture_output=True, text=True, input=queries
    )
    answers = np.array([line.split() for line in done.stdout.splitlines()], dtype=np.int64)
    return answers[:, 0], answers[:, 1]


def as_text(strings: Strings) -> list[str]:
    return ["".join("ACGT"[letter] for letter in row) for row in strings]


if __name__ == "__main__":
    print(main())
