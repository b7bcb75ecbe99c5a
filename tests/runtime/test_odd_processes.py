"""Odd processes: little stack, flush-to-zero, fork after loading, libraries loaded again and again."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.runtime.toolchain import find_compiler

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc, and sets the stack of threads"),
]
FEATURES, ROWS = 400, 100  # rows of two chunks and more
CYCLES = int(os.environ.get("SVMCOMPILE_CYCLES", "1000"))
DRIVER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { ROWS = 100, FEATURES = 400 };
typedef void batch(const float *, size_t, int32_t *);
static float x[ROWS * FEATURES];
static int32_t expected[ROWS];
static batch *predict;

/* 0 if the labels of so many rows are those of before. */
static int wrong(size_t rows)
{
    int32_t found[ROWS];
    predict(x, rows, found);
    return memcmp(found, expected, rows * sizeof *found) != 0;
}

static void *in_thread(void *flush)
{
#if defined(__x86_64__)
    if (flush)
        _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
#endif
    return wrong(ROWS) ? x : NULL;
}

static int threaded(void *flush)
{
    pthread_t thread;
    pthread_attr_t small;
    void *failed;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    if (pthread_create(&thread, &small, in_thread, flush) != 0)
        return 1;
    pthread_join(thread, &failed);
    return failed != NULL;
}

static int forked(void)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(wrong(ROWS));
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Kilobytes that are not backed by files. */
static long memory(void)
{
    char line[256];
    long found = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &found) == 1)
            break;
    if (file)
        fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    const int cycles = argc > 2 ? atoi(argv[2]) : 0;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    long before = 0;
    if (!library || fread(x, sizeof x, 1, stdin) != 1)
        return 2;
    *(void **)&predict = dlsym(library, "model_predict_batch");
    predict(x, ROWS, expected);
    if (threaded(NULL) || threaded(x) || forked())
        return 3;
    dlclose(library);
    for (int i = 0; i < cycles; i++) {
        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        *(void **)&predict = dlsym(library, "model_predict_batch");
        if (wrong(1))
            return 4;
        dlclose(library);
        if (i == cycles / 10)
            before = memory();
    }
    printf("%d cycles, %ld KB after a tenth, %ld KB at the end\\n", cycles, before, memory());
    return memory() > before + 64 ? 5 : 0;
}
"""


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_no_crash_and_no_growth(profile: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
    model = SVC(gamma=0.001).fit(X, X[:, 0] + X[:, 1] > 0)
    sc.write(sc.emit(sc.compile(model), "shared", name="model", profile=profile), tmp_path)
    (tmp_path / "driver.c").write_text(DRIVER)
    build = [*find_compiler(), "-O1", "driver.c", "-pthread", "-ldl", "-o", "driver"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (library,) = tmp_path.glob("model.so")
    command = [tmp_path / "driver", library, str(CYCLES)]
    ran = subprocess.run(command, input=X.tobytes(), capture_output=True)
    print(profile, ran.stdout.decode().strip())
    assert ran.returncode == 0, ran
