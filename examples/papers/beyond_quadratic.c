/* Claesen et al.: a sum of RBF kernels as exp(-gamma |x|^2) (offset + linear x + x' square x) + bias, one per
 * pair of classes. tables.h has FEATURES, CLASSES, OUTPUTS, GAMMA and the tables; of `square` the lower triangle, rows
 * one after the other, with both halves added up. Rows go through side by side. */
#pragma GCC optimize("O3,fast-math")
#include <math.h>
#include <string.h>

#include "model.h"
#include "tables.h"

#define LANES 64

static void answer(const float *x, size_t rows, int32_t *labels)
{
    static float columns[FEATURES][LANES];
    int32_t votes[LANES][CLASSES];
    float scale[LANES] = {0};
    memset(votes, 0, sizeof votes);
    for (size_t i = 0; i < FEATURES; i++)
        for (size_t r = 0; r < LANES; r++) {
            columns[i][r] = x[(r < rows ? r : 0) * FEATURES + i];
            scale[r] += columns[i][r] * columns[i][r];
        }
    for (size_t r = 0; r < LANES; r++)
        scale[r] = expf(-GAMMA * scale[r]);
    size_t output = 0;
    for (size_t a = 0; a < CLASSES; a++)
        for (size_t b = a + 1; b < CLASSES; b++, output++) {
            const float *square = squares + output * (FEATURES * (FEATURES + 1) / 2);
            float sum[LANES];
            for (size_t r = 0; r < LANES; r++)
                sum[r] = offsets[output];
            for (size_t i = 0; i < FEATURES; square += ++i) {
                float part[LANES];
                for (size_t r = 0; r < LANES; r++)
                    part[r] = linears[output * FEATURES + i];
                for (size_t j = 0; j <= i; j++)
                    for (size_t r = 0; r < LANES; r++)
                        part[r] += square[j] * columns[j][r];
                for (size_t r = 0; r < LANES; r++)
                    sum[r] += part[r] * columns[i][r];
            }
            for (size_t r = 0; r < LANES; r++)
                votes[r][scale[r] * sum[r] + biases[output] > 0 ? a : b]++;
        }
    for (size_t r = 0; r < rows; r++) {
        labels[r] = 0;
        for (int32_t k = 1; k < CLASSES; k++)
            if (votes[r][k] > votes[r][labels[r]])
                labels[r] = k;
    }
}

void model_predict_batch(const float *x, size_t rows, int32_t *labels)
{
    for (size_t first = 0; first < rows; first += LANES)
        answer(x + first * FEATURES, rows - first < LANES ? rows - first : LANES, labels + first);
}

int32_t model_predict(const float *x)
{
    int32_t label;
    answer(x, 1, &label);
    return label;
}
