"""What C tells of its model at run time, `model_get`: a program that calls it."""

DRIVER = r"""
#include <string.h>
#include "model.h"

static const int kinds[] = {
    SVM_CLASSIFIER, SVM_REGRESSOR, SVM_F32, SVM_F64, SVM_U8, SVM_I16, SVM_I32, SVM_I64, SVM_U64, SVM_TEXT
};
static const int known[] = { 1, 2, 1, 2, 3, 4, 5, 6, 7, 8 }; /* as other programs have them */
static const double x[2 * MODEL_N_FEATURES];
static unsigned char one[1 << 16], two[1 << 16];

/* One row, and that row twice, must give the same. */
static int differs(void (*of)(const void *, size_t, void *), size_t bytes)
{
    if (!of || 2 * bytes > sizeof two)
        return 0;
    memset(one, 255, sizeof one);
    memset(two, 255, sizeof two);
    of(x, 1, one);
    of(x, 2, two);
    return memcmp(one, two, bytes) || memcmp(two, two + bytes, bytes) || one[bytes] != 255
        || two[2 * bytes] != 255;
}

int main(void)
{
    const svm_model *m = model_get();
    const size_t real = m->real_type == SVM_F64 ? 8 : 4, label = m->kind == SVM_CLASSIFIER ? 4 : real;
    if (memcmp(kinds, known, sizeof known) || m->abi_version != SVM_MODEL_ABI || m->size != sizeof *m)
        return 1;
    if (m->n_features != MODEL_N_FEATURES || strcmp(m->name, "model") || !m->predict || m->self_test())
        return 2;
    return differs(m->predict, label) || differs(m->decision_function, real * (size_t)m->n_scores)
        || differs(m->predict_proba, real * (size_t)m->n_classes);
}
"""
