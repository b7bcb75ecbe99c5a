/* sparse_driver.c - times one model on sparse rows: ours (model.h) whole and by feature, then LIBSVM.
 *
 *   sparse_driver STARTS INDICES VALUES WHOLE LIBRARY MODEL
 *
 * The first three files hold compressed rows; the first WHOLE of them are also given whole. LIBSVM's
 * nodes are made before its clock starts. Prints microseconds of processor time per row, the least of
 * several turns: whole rows one by one and in a batch, the same by feature, and LIBSVM; then how many
 * labels differ between ours and LIBSVM's.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

enum { TURNS = 7, WAYS = 5 };
struct node {
    int index;
    double value;
};

static size_t *starts, rows, whole;
static int32_t *indices, *labels;
static float *values, *x;
static struct node *nodes;
static double *answers;

static void *content(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    void *memory;
    if (!file || fseek(file, 0, SEEK_END) || (*bytes = (size_t)ftell(file)) == 0) exit(2);
    rewind(file);
    memory = malloc(*bytes);
    if (!memory || fread(memory, 1, *bytes, file) != *bytes) exit(2);
    fclose(file);
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_rows(void)
{
    x = calloc(whole * MODEL_N_FEATURES, sizeof *x);
    nodes = malloc((starts[rows] + rows) * sizeof *nodes);
    labels = malloc(rows * sizeof *labels);
    answers = malloc(rows * sizeof *answers);
    if (!x || !nodes || !labels || !answers) exit(2);
    for (size_t i = 0; i < rows; i++) {
        struct node *node = nodes + starts[i] + i;
        for (size_t e = starts[i]; e < starts[i + 1]; e++) {
            if (i < whole) x[i * MODEL_N_FEATURES + (size_t)indices[e]] = values[e];
            *node++ = (struct node){indices[e] + 1, (double)values[e]};
        }
        *node = (struct node){-1, 0.0};
    }
}

int main(int count, char **words)
{
    double best[WAYS] = {1e9, 1e9, 1e9, 1e9, 1e9};
    size_t bytes, differ = 0;
    void *library, *model, *(*load)(const char *);
    double (*predict)(const void *, const struct node *);
    if (count != 7) return 2;
    starts = content(words[1], &bytes);
    rows = bytes / sizeof *starts - 1;
    indices = content(words[2], &bytes);
    values = content(words[3], &bytes);
    whole = (size_t)atol(words[4]);
    library = dlopen(words[5], RTLD_NOW);
    if (!library) return 2;
    *(void **)&load = dlsym(library, "svm_load_model");
    *(void **)&predict = dlsym(library, "svm_predict");
    model = load(words[6]);
    make_rows();
    for (int turn = 0; turn < TURNS; turn++) {
        double at[WAYS + 1];
        at[0] = now();
        for (size_t i = 0; i < whole; i++) labels[i] = model_predict(x + i * MODEL_N_FEATURES);
        at[1] = now();
        model_predict_batch(x, whole, labels);
        at[2] = now();
        for (size_t i = 0; i < rows; i++)
            labels[i] = model_predict_sparse(indices + starts[i], values + starts[i], starts[i + 1] - starts[i]);
        at[3] = now();
        model_predict_sparse_batch(starts, indices, values, rows, labels);
        at[4] = now();
        for (size_t i = 0; i < rows; i++) answers[i] = predict(model, nodes + starts[i] + i);
        at[5] = now();
        for (int way = 0; way < WAYS; way++) {
            const double spent = (at[way + 1] - at[way]) * 1e6 / (double)(way < 2 ? whole : rows);
            if (spent < best[way]) best[way] = spent;
        }
    }
    for (size_t i = 0; i < rows; i++) differ += labels[i] != (int32_t)answers[i];
    for (int way = 0; way < WAYS; way++) printf("%.6g ", best[way]);
    printf("%lu\n", (unsigned long)differ);
    return 0;
}
