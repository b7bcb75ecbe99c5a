"""Kernels only their user knows: strings, compared in two ways.

    edits           exp(-edits / 8), by what turns one string into the other; not positive semidefinite
    subsequences    G(x, z) / sqrt(G(x, x) G(z, z)), where G counts common subsequences of up to three
                    letters, each weighted by 0.8 per letter it spans; positive semidefinite

An SVM with a precomputed kernel learns which of two groups of families a string comes from. In C
the program asks a function of the caller's for the kernel of a query and a training string. The exact
sum asks for every support vector; the sv-tree for the few on its way, which may change a label;
anytime for one after the other until the label is certain, which changes none. Writes
out/string_kernel, builds it and prints how often the kernel was asked, and the time per string.
With --quick, of few strings.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.runtime.toolchain import find_compiler

LETTERS, LENGTH, FAMILIES = 4, 20, 6
SCALE = 8.0  # edits over which the kernel falls to 1/e
DECAY, LONGEST = 0.8, 3  # of common subsequences
CHUNK = 40  # strings compared with all others at a time
REPEATS = 5  # of all queries, for the time

MAIN = r"""
#include <math.h>
#include <stdio.h>
#include <time.h>
#include "NAME.h"
#include "strings.h"

typedef struct {
    char text[LENGTH + 2];
    double scale; /* 1 / sqrt(G(x, x)) */
} Query;

static long asked;

#ifdef EDITS
/* exp(-edits / SCALE), by the usual table, one line of it at a time. */
static double compare(const char *a, const char *b)
{
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
    return exp(-line[LENGTH] / SCALE);
}
#else
/* Common subsequences: ends[i][j] are those that end with a[i] and b[j], all[i][j] those before that. */
static double compare(const char *a, const char *b)
{
    double ends[LENGTH][LENGTH], all[LENGTH + 1][LENGTH + 1] = {{0}}, total = 0;
    for (int length = 1; length <= LONGEST; length++) {
        for (int i = 0; i < LENGTH; i++)
            for (int j = 0; j < LENGTH; j++) {
                ends[i][j] = a[i] == b[j] ? DECAY * DECAY * (length == 1 ? 1 : all[i][j]) : 0;
                total += ends[i][j];
            }
        for (int i = 0; i < LENGTH; i++)
            for (int j = 0; j < LENGTH; j++)
                all[i + 1][j + 1] = ends[i][j]
                    + DECAY * (all[i][j + 1] + all[i + 1][j] - DECAY * all[i][j]);
    }
    return total;
}
#endif

static double kernel(const void *query, int vector_index)
{
    const Query *x = query;
    asked++;
    return x->scale * scales[vector_index] * compare(x->text, strings[vector_index]);
}

static int classify(Query *x)
{
#ifdef EDITS
    x->scale = 1;
#else
    x->scale = 1 / sqrt(compare(x->text, x->text)); /* once for all vectors */
#endif
    return NAME_predict_with(kernel, x);
}

int main(void)
{
    static Query queries[COUNT];
    int count = 0;
    clock_t start;
    while (count < COUNT && fgets(queries[count].text, LENGTH + 2, stdin)) {
        asked = 0;
        printf("%d ", NAME_labels[classify(queries + count++)]);
        printf("%ld\n", asked);
    }
    start = clock();
    for (int i = 0; i < REPEATS * count; i++)
        classify(queries + i % count);
    printf("%.3f 0\n", 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / REPEATS / count);
    return 0;
}
"""

Strings = NDArray[np.int8]  # [strings, LENGTH], letters by number
Matrix = NDArray[np.float64]
METHODS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "edits": {
        "exact": ("exact", {}),
        "tree": ("sv-tree", {}),
        "guarded": ("sv-tree", {"fallback": True}),
        "anytime": ("anytime", {"shift": 0.1}),  # seven times what the training strings ask for
    },
    "subsequences": {"exact": ("exact", {}), "anytime": ("anytime", {})},
}


def relatives(rng: np.random.Generator, founders: Strings, families: NDArray[np.int64]) -> Strings:
    """Copies of their family's founder, a quarter of the letters drawn anew, shifted by one at most."""
    made = founders[families].copy()
    changed = rng.random(made.shape) < 1 / 4
    made[changed] = rng.integers(LETTERS, size=int(changed.sum()))
    shifts = rng.integers(-1, 2, size=len(made))
    return np.array([np.roll(row, shift) for row, shift in zip(made, shifts, strict=True)])


def edits(left: Strings, right: Strings) -> Matrix:
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


def common(left: Strings, right: Strings) -> Matrix:
    """G of every string on the left and every one on the right, as in C."""
    size = LENGTH + 1
    parts = [left[at : at + CHUNK] for at in range(0, len(left), CHUNK)]
    totals = []
    for part in parts:
        equal = DECAY**2 * (part.T[:, None, :, None] == right.T[None, :, None, :])
        every: Matrix = np.ones((size, size, len(part), len(right)))
        total: Matrix = np.zeros((len(part), len(right)))
        for _ in range(LONGEST):
            ends = equal * every[:-1, :-1]
            total += ends.sum(axis=(0, 1))
            every = np.zeros_like(every)
            for i in range(LENGTH):
                for j in range(LENGTH):
                    beside = every[i, j + 1] + every[i + 1, j] - DECAY * every[i, j]
                    every[i + 1, j + 1] = ends[i, j] + DECAY * beside
        totals.append(total)
    return np.concatenate(totals)


def scales_of(kernel: str, strings: Strings) -> NDArray[np.float64]:
    """1 / sqrt(G(x, x)) of every string."""
    if kernel == "edits":
        return np.ones(len(strings))
    parts = [strings[at : at + CHUNK] for at in range(0, len(strings), CHUNK)]
    return np.asarray(1 / np.sqrt(np.concatenate([np.diag(common(part, part)) for part in parts])))


def values(kernel: str, left: Strings, right: Strings) -> Matrix:
    """The kernel of every string on the left and every one on the right."""
    if kernel == "edits":
        return np.asarray(np.exp(-edits(left, right) / SCALE))
    return common(left, right) * np.outer(scales_of(kernel, left), scales_of(kernel, right))


def main(quick: bool) -> str:
    """Train with each kernel, compile by several methods, run them in C; what they ask and answer."""
    rng = np.random.default_rng(7)
    founders = rng.integers(LETTERS, size=(FAMILIES, LENGTH)).astype(np.int8)
    families = [
        rng.integers(FAMILIES, size=size) for size in ((60, 200, 100) if quick else (200, 1000, 400))
    ]
    train, unlabelled, test = (relatives(rng, founders, which) for which in families)
    lines = []
    for kernel, few in (("edits", 1000), ("subsequences", 200)):
        gram, *others = (values(kernel, part, train) for part in (train, unlabelled[:few], test))
        model = SVC(kernel="precomputed", C=3).fit(gram, families[0] % 2)
        scales = scales_of(kernel, train)
        lines += table(kernel, model, (gram, *others), families[2] % 2, (train, test, scales))
    return "\n".join(lines)


def table(kernel: str, model: Any, matrices: Any, truth: Any, strings: Any) -> list[str]:
    """What the methods ask and answer with one kernel."""
    gram, fitting, rows = matrices
    expected, lines = model.predict(rows), []
    lines.append(
        f"{kernel}: {len(model.support_)} support vectors, accuracy {np.mean(expected == truth):.3f}"
    )
    lines.append("method   kernels per string   us per string   same label   accuracy")
    for name, (method, options) in METHODS[kernel].items():
        # The tree is fitted to the SVM's own values, so strings without labels serve; anytime needs the
        # matrix that the SVM was trained on, and predicts its cost on other strings.
        given = np.concatenate([gram, fitting]) if method == "anytime" else fitting
        program = sc.compile(model, method=method, X=given, **options)
        labels, asked, time = run_in_c(program, kernel, name, strings)
        same, right = np.mean(labels == expected), np.mean(labels == truth)
        lines.append(f"{name:8s} {asked.mean():18.1f} {time:15.1f} {same:12.3f} {right:10.3f}")
    return lines


def run_in_c(
    program: sc.Program, kernel: str, name: str, strings: tuple[Strings, Strings, NDArray[np.float64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Labels, how often the kernel was asked, and microseconds per string, from a C program of its own."""
    folder = Path("out/string_kernel") / kernel / name
    train, test, scales = strings
    quoted = ",\n".join(f'    "{text}"' for text in as_text(train))
    numbers = ",\n".join(f"    {scale!r}" for scale in scales.tolist())
    sc.write(
        {
            **sc.emit(program, target="c", name=name, precision="f64"),
            "main.c": MAIN.replace("NAME", name),
            "strings.h": f"static const char *const strings[] = {{\n{quoted}\n}};\n"
            f"static const double scales[] = {{\n{numbers}\n}};\n",
        },
        folder,
    )
    sizes = {"LENGTH": LENGTH, "SCALE": SCALE, "DECAY": DECAY, "LONGEST": LONGEST, "REPEATS": REPEATS}
    defined = [f"-D{key}={value}" for key, value in (sizes | {"COUNT": len(test)}).items()]
    defined += ["-DEDITS"] * (kernel == "edits")
    command = [*find_compiler(), "-O2", *defined, "main.c", f"{name}.c", "-o", "classify", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    queries = "".join(f"{text}\n" for text in as_text(test))
    done = subprocess.run(
        ["./classify"], cwd=folder, check=True, capture_output=True, text=True, input=queries
    )
    *answers, last = (line.split() for line in done.stdout.splitlines())
    labels, asked = np.array(answers, dtype=np.int64).T
    return labels, asked, float(last[0])


def as_text(strings: Strings) -> list[str]:
    return ["".join("ACGT"[letter] for letter in row) for row in strings]


if __name__ == "__main__":
    print(main("--quick" in sys.argv))
