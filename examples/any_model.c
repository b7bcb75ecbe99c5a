/* any_model.c - loads a library of any model that svmcompile built, tells what it is, and answers rows.
 *
 *   cc any_model.c -I out/cmake/NAME/include -ldl -o any_model
 *   ./any_model out/NAME.so < rows.txt
 *
 * svmcompile_model.h is in every kit cmake, and its text in every NAME.h. Rows are numbers as text.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "svmcompile_model.h"

/* One number of a row, in the type that the model reads. */
static void store(void *row, size_t at, int type, double value)
{
    switch (type) {
    case SVM_F32: ((float *)row)[at] = (float)value; break;
    case SVM_F64: ((double *)row)[at] = value; break;
    case SVM_U8: ((uint8_t *)row)[at] = (uint8_t)value; break;
    case SVM_I16: ((int16_t *)row)[at] = (int16_t)value; break;
    }
}

static double number(const void *results, size_t at, int type)
{
    return type == SVM_F32 ? (double)((const float *)results)[at] : ((const double *)results)[at];
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    svm_model_get_function *get = NULL;
    if (!library || !(*(void **)&get = dlsym(library, "svm_model_get"))) {
        fprintf(stderr, "usage: any_model LIBRARY < ROWS: %s\n", argc == 2 ? dlerror() : "no library");
        return 2;
    }
    const svm_model *model = get();
    if (model->abi_version != SVM_MODEL_ABI || model->size < sizeof *model) {
        fprintf(stderr, "%s has interface %u, not %d\n", argv[1], (unsigned)model->abi_version, SVM_MODEL_ABI);
        return 2;
    }
    printf("%s %s: %s, %s, %d features, %d classes\n", model->name, model->version, model->method, model->claim,
        (int)model->n_features, (int)model->n_classes);
    if (model->feature_names)
        printf("first feature: %s\n", model->feature_names[0]);
    if (model->self_test())
        return 1;
    void *row = malloc((size_t)model->n_features * sizeof(double));
    void *scores = malloc(((size_t)model->n_scores + 1) * sizeof(double));
    double value;
    for (int at = 0; row && scores && scanf("%lf", &value) == 1;) {
        store(row, (size_t)at, model->row_type, value);
        if (++at < model->n_features)
            continue;
        at = 0;
        if (model->kind == SVM_CLASSIFIER) {
            int32_t index;
            model->predict(row, 1, &index);
            printf("label %s", model->label_name(index));
        } else {
            model->predict(row, 1, scores);
            printf("value %g", number(scores, 0, model->real_type));
        }
        if (model->decision_function) {
            model->decision_function(row, 1, scores);
            for (int k = 0; k < model->n_scores; k++)
                printf(" %g", number(scores, (size_t)k, model->real_type));
        }
        printf("\n");
    }
    free(row);
    free(scores);
    return 0;
}
