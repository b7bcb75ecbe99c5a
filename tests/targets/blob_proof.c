/* Frama-C's Eva runs a blob on any row between -1e6 and 1e6: what is checked suffices for what is run. */
#include "svm_run.c"
#include "__fc_builtin.h"

static const uint32_t blob[WORDS] = {
#include "words.h"
};

int main(void)
{
    svm_model model;
    svm_real x[FEATURES], scratch[SCRATCH];
    for (int j = 0; j < FEATURES; j++)
        x[j] = Frama_C_float_interval(-1e6f, 1e6f);
    for (int j = 0; j < SCRATCH; j++)
        scratch[j] = 0;
    model.blob = (const unsigned char *)blob;
    model.head = blob;
    model.tables = blob + blob[H_TABLES_AT] / 4;
    model.code = blob + blob[H_CODE_AT] / 4;
    const int checked = sound(&model, sizeof blob); /* svm_open, but for the checksum */
    //@ assert checked == 1;
    (void)svm_predict(&model, x, scratch);
    (void)svm_run(&model, SVM_SCORES, x, scratch);
    (void)svm_run(&model, SVM_PROBABILITIES, x, scratch);
    (void)svm_run(&model, SVM_SAMPLES, x, scratch);
    return 0;
}
