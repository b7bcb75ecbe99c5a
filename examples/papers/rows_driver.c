/* Calls MODEL_predict once per row, and MODEL_predict_batch on all of them: prog ROWS_FILE ROWS SECONDS
 * prints nanoseconds per row of either, the least of as many passes as fit into so many seconds each; with
 * BATCHES=0 of the first alone. SECONDS 0: one pass of the first; -1: the rows are read, nothing is called.
 * Built beside model.c with -DFEATURES=... */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long one_by_one(const float *x, size_t rows, int32_t *labels)
{
    long total = 0;
    for (size_t row = 0; row < rows; row++)
        total += (long)model_predict(x + row * FEATURES);
    labels[0] = (int32_t)total;
    return total;
}

#if BATCHES
static long together(const float *x, size_t rows, int32_t *labels)
{
    model_predict_batch(x, rows, labels);
    return (long)labels[rows - 1];
}
#endif

static double least(long (*pass)(const float *, size_t, int32_t *), const float *x, size_t rows, int32_t *labels, double seconds, long *total)
{
    const double end = now() + seconds;
    double best = 0, start;
    int passes = 0;
    do {
        start = now();
        *total += pass(x, rows, labels);
        const double taken = now() - start;
        best = passes++ == 0 || taken < best ? taken : best;
    } while (start < end);
    return best / (double)rows * 1e9;
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    const size_t rows = strtoul(words[2], NULL, 10);
    const double seconds = strtod(words[3], NULL);
    float *x = malloc(rows * FEATURES * sizeof *x);
    int32_t *labels = malloc(rows * sizeof *labels);
    FILE *file = fopen(words[1], "rb");
    if (!x || !labels || !file || fread(x, sizeof *x, rows * FEATURES, file) != rows * FEATURES)
        return 1;
    fclose(file);
    double single = 0, batch = 0;
    long total = 0;
    if (seconds == 0)
        total = one_by_one(x, rows, labels);
    if (seconds > 0)
        single = least(one_by_one, x, rows, labels, seconds, &total);
#if BATCHES
    if (seconds > 0)
        batch = least(together, x, rows, labels, seconds, &total);
#endif
    printf("%.9g %.9g %ld\n", single, batch, total);
    free(labels);
    free(x);
    return 0;
}
