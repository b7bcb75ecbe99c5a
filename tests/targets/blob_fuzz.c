/* Mutated blobs: whatever they say, svm_open and svm_run stay within their memory. */
#include <stdio.h>
#include <stdlib.h>

#include "svm_run.c"

static uint64_t state = 1;

static uint32_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static void mutate(unsigned char *blob, size_t bytes)
{
    static const uint32_t odd[] = { 0, 1, 2, 3, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x7fc00000u };
    /* Most of what matters stands in the header, in the directory of tables and in the instructions. */
    const uint32_t *head = (const uint32_t *)(const void *)blob;
    const size_t first = next() % 2 ? head[H_TABLES_AT] : next() % 2 ? H_NUMBER * 4 : 0;
    for (uint32_t times = 1 + next() % 3; times > 0; times--) {
        const size_t at = first < bytes ? first + next() % (bytes - first) : next() % bytes;
        if (next() % 2 == 0) {
            blob[at] = (unsigned char)(blob[at] + (next() % 2 ? 1 : next()));
        } else if (at / 4 * 4 + 4 <= bytes) {
            uint32_t value;
            memcpy(&value, blob + at / 4 * 4, 4);
            value = next() % 2 ? odd[next() % 8] : value + next() % 5 - 2;
            memcpy(blob + at / 4 * 4, &value, 4);
        }
    }
}

static int try_one(const unsigned char *blob, size_t bytes)
{
    svm_model model;
    if (svm_open(&model, blob, bytes) != SVM_OK || svm_scratch(&model) > 1u << 20 || svm_features(&model) > 1u << 20)
        return 0;
    svm_real *row = malloc(svm_features(&model) * sizeof *row);
    svm_real *scratch = calloc(svm_scratch(&model) + (svm_scratch(&model) == 0), sizeof *scratch);
    for (size_t j = 0; j < svm_features(&model); j++)
        row[j] = next() % 16 ? (svm_real)next() / 500000000 - 2 : (svm_real)(next() % 2 ? 1e300 : -1e30) * (svm_real)1e30;
    for (int output = 0; output < OUTPUTS; output++)
        svm_run(&model, (svm_output)output, row, scratch);
    svm_predict(&model, row, scratch);
    for (size_t i = 0; i < svm_classes(&model) && i < 64; i++)
        if (strlen(svm_label(&model, i)) > bytes)
            abort();
    free(row);
    free(scratch);
    return 1;
}

int main(int count, char **arguments)
{
    FILE *file = fopen(arguments[1], "rb");
    static unsigned char whole[1 << 20];
    const size_t bytes = fread(whole, 1, sizeof whole, file);
    unsigned long opened = 0, times = strtoul(arguments[2], NULL, 10);
    state = count > 3 ? strtoul(arguments[3], NULL, 10) : 1;
    fclose(file);
    if (!try_one(whole, bytes))
        return 2;
    for (unsigned long i = 0; i < times; i++) {
        const size_t kept = next() % 16 ? bytes : next() % (bytes + 1);
        unsigned char *blob = malloc(kept + (kept == 0));
        memcpy(blob, whole, kept);
        if (kept >= H_WORDS * 4) {
            uint32_t *head = (uint32_t *)(void *)blob;
            mutate(blob, kept);
            if (next() % 16 && head[H_BYTES] >= H_WORDS * 4 && head[H_BYTES] <= kept)
                head[H_CHECKSUM] = checksum(blob + H_NUMBER * 4, head[H_BYTES] - H_NUMBER * 4);
        }
        opened += (unsigned long)try_one(blob, kept);
        free(blob);
    }
    printf("%lu\n", opened);
    return 0;
}
