/* probe.c - what this processor can do on one core, to measure other code against.
 *
 *   probe BYTES
 *
 * Prints, one per line: for each vector width the machine has, `fma BITS GFLOPS`,
 * the rate of multiply-adds that depend on nothing else; `read BITS GBS`, the rate
 * at which a table of BYTES is read over and over, with the widest vectors; and
 * `cache LEVEL BYTES` for the sizes of the data caches, where the system tells.
 *
 * Built with -DREAL=float or double and -ffp-contract=fast: multiply and add are
 * one instruction where the machine has one.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PASS_SECONDS 0.01
#define PASSES 12
#define LANES 12 /* accumulators: enough to fill two units of latency 4 or 5 */

static volatile REAL sink;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(K) vector a##K = zero + (REAL)K;
#define MULTIPLY_ADD(K) a##K = a##K * factor + term;
#define READ(K) a##K += at[K];
#define COLLECT(K) zero += a##K;

/* NAME_fma: `count` rounds of LANES multiply-adds. NAME_read: the table, once. */
#define DEFINE(NAME, BYTES, TARGET)                                                     \
    TARGET static void NAME##_fma(const void *unused, size_t count)                     \
    {                                                                                   \
        typedef REAL vector __attribute__((vector_size(BYTES), may_alias));             \
        vector zero = {0}, factor = zero + (REAL)0.999, term = zero + (REAL)0.001;      \
        (void)unused;                                                                   \
        EACH(START)                                                                     \
        for (size_t i = 0; i < count; i++) { EACH(MULTIPLY_ADD) }                       \
        EACH(COLLECT)                                                                   \
        sink = zero[0];                                                                 \
    }                                                                                   \
    TARGET static void NAME##_read(const void *table, size_t bytes)                     \
    {                                                                                   \
        typedef REAL vector __attribute__((vector_size(BYTES), may_alias));             \
        vector zero = {0};                                                              \
        const vector *at = (const vector *)table, *end = at + bytes / BYTES;            \
        EACH(START)                                                                     \
        for (; at + LANES <= end; at += LANES) { EACH(READ) }                           \
        for (; at < end; at++) a0 += at[0];                                             \
        EACH(COLLECT)                                                                   \
        sink = zero[0];                                                                 \
    }

typedef void work(const void *, size_t);

DEFINE(narrow, 16, )
#if defined(__x86_64__) || defined(__i386__)
DEFINE(middle, 32, __attribute__((target("avx2,fma"))))
DEFINE(wide, 64, __attribute__((target("avx512f"))))
#endif

/* The least seconds of one call, each pass long enough for the clock. */
static double least(work *function, const void *table, size_t size)
{
    double best = 0;
    size_t loops = 1;
    for (int pass = 0; pass < PASSES;) {
        double start = seconds();
        for (size_t i = 0; i < loops; i++) function(table, size);
        double taken = seconds() - start;
        if (taken < PASS_SECONDS) {
            loops *= 2;
            continue;
        }
        if (!pass || taken / (double)loops < best) best = taken / (double)loops;
        pass++;
    }
    return best;
}

static void show_fma(work *function, int bits)
{
    const size_t rounds = 100000;
    double flops = 2.0 * LANES * (double)rounds * bits / 8 / (double)sizeof(REAL);
    printf("fma %d %.6g\n", bits, flops / least(function, NULL, rounds) * 1e-9);
}

static void show_read(work *function, int bits, const void *table, size_t bytes)
{
    printf("read %d %.6g\n", bits, (double)bytes / least(function, table, bytes) * 1e-9);
}

static void show_caches(void)
{
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int i = 0; i < 3; i++) printf("cache %d %ld\n", i + 1, sysconf(names[i]));
#endif
}

int main(int count, char **words)
{
    size_t bytes = count > 1 ? (size_t)atoll(words[1]) / 64 * 64 : 0;
    void *table = NULL;
    if (bytes < 4096) bytes = 4096;
    if (posix_memalign(&table, 64, bytes)) return 1;
    memset(table, 0, bytes);
    work *read = narrow_read;
    int bits = 128;
    show_fma(narrow_fma, 128);
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        show_fma(middle_fma, 256);
        read = middle_read, bits = 256;
    }
    if (__builtin_cpu_supports("avx512f")) {
        show_fma(wide_fma, 512);
        read = wide_read, bits = 512;
    }
#endif
    show_read(read, bits, table, bytes);
    show_caches();
    return 0;
}
