"""What C tells of its model at run time, `model_get`: a program that calls it."""

from __future__ import annotations

from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import results, row_type
from tests.crossing.driven import has_sparse

FUNCTIONS = ("predict", "decision_function", "predict_proba", "score_samples")
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
    if (memcmp(kinds, known, sizeof known) || m->abi_version != SVM_MODEL_ABI || m->size != sizeof *m)
        return 1;
    if (m->n_features != MODEL_N_FEATURES || strcmp(m->name, "model") || !m->predict || m->self_test())
        return 2;
%s    return 0;
}
"""
ROWS = """    if (differs(m->{function}, {width} * sizeof({kind})))
        return 3;
"""
NONE = """    if (m->{function})
        return 4;
"""
# Two rows of one entry each: the struct has the function of the header.
SPARSE = """    {{
        const size_t starts[3] = {{0, 1, 2}};
        const int32_t indices[2] = {{0, MODEL_N_FEATURES - 1}};
        const {row} values[2] = {{1, 2}};
        if (2 * {width} * sizeof({kind}) < sizeof two) {{
            memset(one, 255, sizeof one);
            memset(two, 255, sizeof two);
            m->{function}_sparse(starts, indices, values, 2, one);
            model_{function}_sparse_batch(starts, indices, values, 2, (void *)two);
            if (memcmp(one, two, sizeof two))
                return 5;
        }}
    }}
"""


def interface_driver(code: Program, header: str) -> str:
    """A program that calls every function of `model_get`; those that there are not must be NULL."""
    found = {one.function: one for one in results(code, infer_types(code), "model")}
    calls = ""
    for function in FUNCTIONS:
        one = found.get(function)
        words = {"function": function, "row": row_type(code)}
        if one:
            words |= {"width": one.width, "kind": "int32_t" if one.kind == "int" else one.kind}
        calls += (ROWS if one else NONE).format(**words)
        if one and has_sparse(header):
            calls += SPARSE.format(**words)
        else:
            calls += NONE.format(function=f"{function}_sparse")
    return DRIVER % calls
