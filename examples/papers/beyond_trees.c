/* Rows of floats for the code that tl2cgen writes (main.c). tables.h has FEATURES and CLASSES. */
#pragma GCC optimize("O3")
#include "main.c"

#include "model.h"
#include "tables.h"

int32_t model_predict(const float *x)
{
    union Entry row[FEATURES];
    double scores[CLASSES] = {0};
    for (size_t i = 0; i < FEATURES; i++)
        row[i].fvalue = (double)x[i];
    predict(row, 1, scores);
    if (CLASSES == 2)
        return scores[0] > 0;
    int32_t best = 0;
    for (int32_t k = 1; k < CLASSES; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

void model_predict_batch(const float *x, size_t rows, int32_t *labels)
{
    for (size_t row = 0; row < rows; row++)
        labels[row] = model_predict(x + row * FEATURES);
}
