/* Calls MODEL_predict once per row: prog ROWS_FILE ROWS REPEATS prints nanoseconds per row.
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
    double best = 0;
    long total = 0;
    for (size_t turn = 0; turn < repeats; turn++) {
        const double start = seconds();
        for (size_t row = 0; row < rows; row++)
            total += (long)model_predict(x + row * FEATURES);
        const double taken = seconds() - start;
        best = turn == 0 || taken < best ? taken : best;
    }
    printf("%.9g %ld\n", best / (double)rows * 1e9, total);
    free(x);
    return 0;
}
