"""A C program around generated code: no Python at run time.

Writes out/use_from_c/{iris.c, iris.h, main.c}, builds them with the C compiler
at hand and runs the result.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.runtime.toolchain import find_compiler

MAIN = r"""
#include <stdio.h>
#include "iris.h"

int main(void)
{
    const float flower[IRIS_N_FEATURES] = {5.9f, 3.0f, 5.1f, 1.8f};
    float scores[IRIS_N_SCORES];
    iris_decision_function(flower, scores);
    printf("%s (scores %.3f %.3f %.3f), self-test failures: %d\n",
           iris_label_name(iris_predict(flower)), scores[0], scores[1], scores[2], iris_self_test());
    return 0;
}
"""


def main() -> str:
    """Build the program and return what it prints."""
    iris = load_iris()
    model = SVC(gamma="auto").fit(iris.data, iris.target_names[iris.target])
    folder = Path("out/use_from_c")
    sc.write({**sc.emit(sc.compile(model), target="c", name="iris"), "main.c": MAIN}, folder)
    subprocess.run([*find_compiler(), "-O2", "main.c", "iris.c", "-o", "flower"], cwd=folder, check=True)
    done = subprocess.run(["./flower"], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    print(main(), end="")
