/* Rows of floats for the code that emlearn writes (net.h, with emlearn's own headers beside it). */
#pragma GCC optimize("O3,fast-math")
#include "net.h"

#include "model.h"
#include "tables.h"

int32_t model_predict(const float *x)
{
    return net_predict(x, FEATURES);
}

void model_predict_batch(const float *x, size_t rows, int32_t *labels)
{
    for (size_t row = 0; row < rows; row++)
        labels[row] = model_predict(x + row * FEATURES);
}
