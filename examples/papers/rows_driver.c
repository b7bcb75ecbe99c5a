/* Calls MODEL_predict once per row, and MODEL_predict_batch on all of them: prog ROWS_FILE ROWS REPEATS
 * prints nanoseconds per row of either; with BATCHES=0 of the first alone.
 * Built beside model.c with -DFEATURES=...; REPEATS 0 reads the rows and calls nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    const size_t rows = strtoul(words[2], NULL, 10), repeats = strtoul(words[3], NULL, 10);
    float *x = malloc(rows * FEATURES * sizeof *x);
    FILE *file = fopen(words[1], "rb");
    if (!x || !file || fread(x, sizeof *x, rows * FEATURES, file) != rows * FEATURES)
        return 1;
    fclose(file);
    double best = 0, together = 0;
    long total = 0;
    int32_t *labels = malloc(rows * sizeof *labels);
    if (!labels)
        return 1;
    for (size_t turn = 0; turn < repeats; turn++) {
        const double start = seconds();
        for (size_t row = 0; row < rows; row++)
            total += (long)model_predict(x + row * FEATURES);
        const double taken = seconds() - start;
        best = turn == 0 || taken < best ? taken : best;
#if BATCHES
        const double again = seconds();
        model_predict_batch(x, rows, labels);
        const double spent = seconds() - again;
        together = turn == 0 || spent < together ? spent : together;
        total += labels[rows - 1];
#endif
    }
    printf("%.9g %.9g %ld\n", best / (double)rows * 1e9, together / (double)rows * 1e9, total);
    free(labels);
    free(x);
    return 0;
}
