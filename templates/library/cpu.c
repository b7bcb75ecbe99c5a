/* What __builtin_cpu_supports reads, for compilers that bring no library with it (ziglang on x86). */
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

struct svmcompile_cpu {
    unsigned int vendor, type, subtype, features;
};

extern struct svmcompile_cpu __cpu_model;
__attribute__((visibility("hidden"))) struct svmcompile_cpu __cpu_model;

/* Bits as in libgcc and compiler-rt: what the processor has and the system saves. */
enum { AVX2 = 10, FMA = 14, AVX512F = 15, AVX512DQ = 22 };

__attribute__((constructor)) static void find_features(void)
{
    unsigned int a, b, c, d, low = 0, high;
    __cpu_model.vendor = 1;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0x06) != 0x06)
        return;
    if (c & bit_FMA)
        __cpu_model.features |= 1u << FMA;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    if (b & bit_AVX2)
        __cpu_model.features |= 1u << AVX2;
    if ((low & 0xe6) == 0xe6 && (b & bit_AVX512F))
        __cpu_model.features |= 1u << AVX512F | (b & bit_AVX512DQ ? 1u << AVX512DQ : 0u);
}
#endif
typedef int svmcompile_nothing; /* a file of C is never empty */
