/* driver.c - times compiled SVMs, one row per call and in batches, on the processor's clock.
 *
 *   driver ROWS PREPARED N D BATCH REPEATS BUDGET CALLS THREADS RESULTS (KIND LIBRARY ARGUMENT)...
 *
 * ROWS holds N rows of D doubles, PREPARED the same after the model's own
 * preprocessing, for those that know the kernel machine only (it may be the same
 * file). Contenders take turns, REPEATS times; one that
 * has used BUDGET seconds leaves after its second turn. For each the program
 * prints the least seconds per row, one row per call and in batches, and appends
 * to RESULTS what it answered: N doubles from single calls, N from batches.
 *
 * With CALLS above 0 it then prints for each p50, p95, p99 and the longest of so many
 * single calls at most, in seconds on the wall clock, and their number; and with THREADS
 * above 0 the same for the first contender from 1, 2, 4, ... up to THREADS threads at once.
 *
 *   KIND ours    LIBRARY: a model built by svmcompile     ARGUMENT: its name
 *   KIND libsvm  LIBRARY: LIBSVM                          ARGUMENT: a model file
 *   KIND m2cgen  LIBRARY: code of m2cgen, built           ARGUMENT: number of classes
 *   KIND onnx    LIBRARY: ONNX Runtime                    ARGUMENT: OUTPUT:GRAPH, a name and a file
 *
 * Each gets rows in its own number type, converted before the clock starts. The
 * nodes that LIBSVM wants are made from dense rows while the clock runs, with
 * zeros dropped, as a caller with dense rows has to. LIBSVM and m2cgen have no
 * function for batches; their batch is a loop over single calls. Graphs answer with
 * labels (integers), the others with the numbers of classes.
 *
 * Built with -DREAL=float or double, and -DREGRESSOR=1 for models without labels.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SINGLE_SECONDS 0.05 /* a pass of single calls takes about this long at most */
#define PASS_SECONDS 0.005  /* and any pass at least this long */
#define LATENCY_SECONDS 0.5 /* single calls that are timed one by one take about this long at most */
#define MOST_THREADS 256

#if REGRESSOR
typedef REAL answer_one;
typedef REAL answer_many;
#else
typedef int answer_one;
typedef int32_t answer_many;
#endif

struct node {
    int index;
    double value;
};

typedef struct contender {
    double (*one)(const struct contender *self, size_t row);
    void (*many)(const struct contender *self, size_t first, size_t count); /* or NULL */
    double *results; /* [2 * N] */
    size_t single_rows, single_loops, batch_loops;
    double best_single, best_batch, spent;
    answer_one (*our_predict)(const REAL *);
    void (*our_batch)(const REAL *, size_t, answer_many *);
    void *model;
    double (*svm_predict)(const void *, const struct node *);
    double (*score_one)(const double *);
    void (*score_many)(const double *, double *);
    int classes;
    struct ort_graph *graph;
} contender;

/* Code of m2cgen calls libm without naming it; this makes the linker keep it. */
double (*const keep_libm[])(double) = {exp, tanh};

static size_t n_rows, n_features, batch_rows;
static const double *raw_rows, *rows;
static const REAL *our_rows;
static answer_many *our_answers;
static struct node *nodes;
static double *scores;
static int *votes;

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail ? detail : "failed");
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)) fail("clock_gettime", NULL);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = NULL;
    size_t bytes = (count * size + 63) / 64 * 64;
    if (posix_memalign(&memory, 64, bytes ? bytes : 64)) fail("memory", NULL);
    return memory;
}

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol) fail(name, dlerror());
    memcpy(function, &symbol, sizeof symbol);
}

/* Ours. */

static double our_one(const contender *self, size_t row)
{
    return (double)self->our_predict(our_rows + row * n_features);
}

static void our_many(const contender *self, size_t first, size_t count)
{
    self->our_batch(our_rows + first * n_features, count, our_answers + first);
}

static void open_ours(contender *self, void *library, const char *name)
{
    char symbol[512];
    snprintf(symbol, sizeof symbol, "%s_predict", name);
    find(library, symbol, &self->our_predict);
    snprintf(symbol, sizeof symbol, "%s_predict_batch", name);
    find(library, symbol, &self->our_batch);
    self->one = our_one;
    self->many = our_many;
}

/* LIBSVM. */

static double libsvm_one(const contender *self, size_t row)
{
    const double *x = rows + row * n_features;
    struct node *next = nodes;
    for (size_t j = 0; j < n_features; j++)
        if (x[j] != 0) {
            next->index = (int)j + 1;
            next++->value = x[j];
        }
    next->index = -1;
    return self->svm_predict(self->model, nodes);
}

static void open_libsvm(contender *self, void *library, const char *path)
{
    void *(*load)(const char *);
    find(library, "svm_load_model", &load);
    find(library, "svm_predict", &self->svm_predict);
    self->model = load(path);
    if (!self->model) fail(path, "LIBSVM cannot load the model");
    self->one = libsvm_one;
}

/* m2cgen. */

static double vote(int classes)
{
    const double *score = scores;
    int best = 0;
    memset(votes, 0, (size_t)classes * sizeof *votes);
    for (int i = 0; i < classes; i++)
        for (int j = i + 1; j < classes; j++) votes[*score++ > 0 ? i : j]++;
    for (int i = 1; i < classes; i++)
        if (votes[i] > votes[best]) best = i;
    return best;
}

static double m2cgen_one(const contender *self, size_t row)
{
    const double *x = rows + row * n_features;
    if (self->classes > 2) {
        self->score_many(x, scores);
        return vote(self->classes);
    }
    double score = self->score_one(x);
    return self->classes ? score > 0 : score;
}

static void open_m2cgen(contender *self, void *library, const char *classes)
{
    self->classes = atoi(classes);
    find(library, "score", &self->score_one);
    find(library, "score", &self->score_many);
    size_t count = (size_t)self->classes;
    scores = allocate(count * count, sizeof *scores);
    votes = allocate(count, sizeof *votes);
    self->one = m2cgen_one;
}

/* Graphs in ONNX Runtime. */

#include "onnx.h"

#include "latency.h"

/* The race. */

static double pass_single(const contender *self)
{
    double start = seconds();
    for (size_t loop = 0; loop < self->single_loops; loop++)
        for (size_t i = 0; i < self->single_rows; i++) self->results[i] = self->one(self, i);
    return seconds() - start;
}

static double pass_batch(const contender *self)
{
    double start = seconds();
    for (size_t loop = 0; loop < self->batch_loops; loop++) self->many(self, 0, batch_rows);
    return seconds() - start;
}

static size_t loops_for(double pass)
{
    return pass < PASS_SECONDS ? (size_t)(PASS_SECONDS / (pass > 1e-9 ? pass : 1e-9)) + 1 : 1;
}

/* All rows once: the answers, and how large a pass has to be. */
static void warm_up(contender *self)
{
    self->single_rows = n_rows;
    self->single_loops = self->batch_loops = 1;
    double per_row = pass_single(self) / (double)n_rows;
    double wanted = SINGLE_SECONDS / (per_row > 1e-9 ? per_row : 1e-9);
    if (wanted < (double)n_rows) self->single_rows = wanted > 10 ? (size_t)wanted : n_rows < 10 ? n_rows : 10;
    self->single_loops = loops_for(per_row * (double)self->single_rows);
    if (!self->many) {
        memcpy(self->results + n_rows, self->results, n_rows * sizeof *self->results);
        return;
    }
    for (size_t first = 0; first < n_rows; first += batch_rows)
        self->many(self, first, n_rows - first < batch_rows ? n_rows - first : batch_rows);
    for (size_t i = 0; self->our_batch && i < n_rows; i++) self->results[n_rows + i] = (double)our_answers[i];
    self->batch_loops = loops_for(pass_batch(self));
}

static void take_turn(contender *self, int first)
{
    double single = pass_single(self);
    double batch = self->many ? pass_batch(self) : single;
    self->spent += single + (self->many ? batch : 0);
    single /= (double)(self->single_rows * self->single_loops);
    batch = self->many ? batch / (double)(batch_rows * self->batch_loops) : single;
    if (first || single < self->best_single) self->best_single = single;
    if (first || batch < self->best_batch) self->best_batch = batch;
}

static double *read_rows(const char *path)
{
    size_t count = n_rows * n_features;
    double *read = allocate(count, sizeof *read);
    FILE *file = fopen(path, "rb");
    if (!file || fread(read, sizeof *read, count, file) != count) fail(path, "cannot be read");
    fclose(file);
    return read;
}

static void make_buffers(const char *path, const char *prepared)
{
    double *read = read_rows(path);
    REAL *converted = allocate(n_rows * n_features, sizeof *converted);
    for (size_t i = 0; i < n_rows * n_features; i++) converted[i] = (REAL)read[i];
    raw_rows = read;
    our_rows = converted;
    rows = read_rows(prepared);
    our_answers = allocate(n_rows, sizeof *our_answers);
    nodes = allocate(n_features + 1, sizeof *nodes);
}

static void open_contender(contender *self, char **words)
{
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(words[1], dlerror());
    memset(self, 0, sizeof *self);
    self->results = allocate(2 * n_rows, sizeof *self->results);
    if (!strcmp(words[0], "ours")) open_ours(self, library, words[2]);
    else if (!strcmp(words[0], "libsvm")) open_libsvm(self, library, words[2]);
    else if (!strcmp(words[0], "m2cgen")) open_m2cgen(self, library, words[2]);
    else if (!strcmp(words[0], "onnx")) open_onnx(self, library, words[2]);
    else fail(words[0], "unknown kind");
}

static void open_all(contender *all, int n, char **words, const char *results)
{
    FILE *file = fopen(results, "wb");
    if (!file) fail(results, "cannot be written");
    for (int i = 0; i < n; i++) {
        open_contender(&all[i], words + 3 * i);
        warm_up(&all[i]);
        if (fwrite(all[i].results, sizeof(double), 2 * n_rows, file) != 2 * n_rows) fail(results, "not written");
    }
    if (fclose(file)) fail(results, "not written");
}

int main(int count, char **words)
{
    const int fixed = 11;
    if (count <= fixed || (count - fixed) % 3) fail("driver", "wrong number of words; see the top of driver.c");
    n_rows = (size_t)atol(words[3]);
    n_features = (size_t)atol(words[4]);
    batch_rows = (size_t)atol(words[5]);
    int repeats = atoi(words[6]), n = (count - fixed) / 3;
    double budget = atof(words[7]);
    contender *all = allocate((size_t)n, sizeof *all);
    make_buffers(words[1], words[2]);
    size_t calls = (size_t)atol(words[8]), threads = (size_t)atol(words[9]);
    if (threads > MOST_THREADS || threads > n_rows) fail("driver", "too many threads");
    open_all(all, n, words + fixed, words[10]);
    for (int turn = 0; turn < repeats; turn++)
        for (int i = 0; i < n; i++)
            if (turn < 2 || all[i].spent < budget) take_turn(&all[i], turn == 0);
    for (int i = 0; i < n; i++) printf("%.9e %.9e\n", all[i].best_single, all[i].best_batch);
    for (int i = 0; calls && i < n; i++) time_calls(&all[i], calls);
    for (size_t t = 1; calls && t <= threads; t = t < threads && 2 * t > threads ? threads : 2 * t)
        time_threads(&all[0], t, calls);
    return 0;
}
