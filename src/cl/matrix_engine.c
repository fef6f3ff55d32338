/* Matrix engines of processors (contract in matrix_engine.h).
 *
 * No engine is tried here. Its instructions cannot fault if the processor has them, the operating system saves their
 * registers when it switches threads, and it has granted its permission. The first product finds out whether the
 * device's compiler knows the instructions and the results are right. */
#define _GNU_SOURCE
#include "cl/matrix_engine.h"
#include "base/platform.h"
#include <math.h>
#include <stddef.h>

/* Known processors have rates of 0.5, 1 and 2. The limit is far from all of these, so that noise of a measurement
 * changes no choice. */
static const double least_rate = 1.4;

unsigned wi_matrix_engines_that_pay(unsigned engines, double rate) {
    return engines & WI_ENGINE_AVX512_BF16 && rate < least_rate ? 0 : engines;
}

#if defined(__linux__) && defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants of Linux's asm/prctl.h, which older headers lack. ASK_FOR_PERMISSION (ARCH_REQ_XCOMP_PERM) asks for
 * registers that are saved only for processes that asked for them (Documentation/arch/x86/xstate.rst). */
enum { ASK_FOR_PERMISSION = 0x1023, TILE_CONFIG = 17, TILE_DATA = 18 };

/* Bits of XCR0: SSE, AVX, mask registers, and both halves of the state of 512-bit vectors. */
enum { VECTOR_STATES = 0xE6 };

/* Bits of EDX in CPUID leaf 7, and of ECX in leaf 1: Intel 64 and IA-32 Architectures Software Developer's Manual,
 * volume 2. */
enum { CPUID_AMX_BF16 = 22, CPUID_AMX_TILE = 24, CPUID_OSXSAVE = 27 };

/* Bits of EBX in CPUID leaf 7, and of EAX in its sub-leaf 1. */
enum { CPUID_AVX512F = 16, CPUID_AVX512_BF16 = 5 };

/* XCR0: one bit for each group of registers that the operating system saves when it switches threads. */
static uint32_t saved_states(void) {
    unsigned eax, ebx, ecx, edx;
    uint32_t low, high;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> CPUID_OSXSAVE & 1)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_amx(void) {
    unsigned eax, ebx, ecx, edx;
    const uint32_t saved = saved_states();
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    return (edx >> CPUID_AMX_BF16 & 1) && (edx >> CPUID_AMX_TILE & 1) && (saved >> TILE_CONFIG & 1) &&
           (saved >> TILE_DATA & 1);
}

static bool has_avx512_bf16(void) {
    unsigned eax, ebx, ecx, edx;
    if ((saved_states() & VECTOR_STATES) != VECTOR_STATES) return false;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx >> CPUID_AVX512F & 1)) return false;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> CPUID_AVX512_BF16 & 1);
}

static bool tiles_are_granted;

static void ask_for_tiles(void) {
    tiles_are_granted = has_amx() && syscall(SYS_arch_prctl, ASK_FOR_PERMISSION, TILE_DATA) == 0;
}

unsigned wi_matrix_engines_of_host(bool vectors) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!vectors && pthread_once(&once, ask_for_tiles) == 0 && tiles_are_granted) return WI_ENGINE_AMX_BF16;
    return has_avx512_bf16() ? WI_ENGINE_AMX_BF16 | WI_ENGINE_AVX512_BF16 : 0;
}

/* Twelve independent sums hide the latency of the instruction. The loop is in assembly because without optimisation a
 * compiler would add loads and stores. The operands are zeros, which change the speed on no processor. */
enum { ROUNDS = 600, TRIALS = 32 };

#define FOR_EACH_SUM(instruction) ".irp sum,0,1,2,3,4,5,6,7,8,9,10,11\n" instruction "\n .endr\n"
#define LOOP_OF(instruction)                                                                                 \
    __asm__ volatile("vpxord %%zmm12, %%zmm12, %%zmm12\n" FOR_EACH_SUM(                                      \
        "vmovaps %%zmm12, %%zmm\\sum") "1:\n" FOR_EACH_SUM(instruction                                       \
        " %%zmm12, %%zmm12, %%zmm\\sum") "dec %0\n jnz 1b\n vzeroupper"                                      \
                     : "+r"(rounds)                                                                          \
                     :                                                                                       \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                     "xmm10", "xmm11", "xmm12")

static double seconds_of_multiply_adds(void) {
    const double begin = wi_clock_seconds();
    int rounds = ROUNDS;
    LOOP_OF("vfmadd231ps");
    return wi_clock_seconds() - begin;
}

static double seconds_of_engine(void) {
    const double begin = wi_clock_seconds();
    int rounds = ROUNDS;
    LOOP_OF("vdpbf16ps");
    return wi_clock_seconds() - begin;
}

/* The least times of many short trials: interrupted trials do not count. Plain and engine alternate because the clock
 * rate changes. */
double wi_matrix_engine_rate(void) {
    double plain = HUGE_VAL, engine = HUGE_VAL;
    for (int trial = 0; trial < TRIALS; trial++) {
        plain = fmin(plain, seconds_of_multiply_adds());
        engine = fmin(engine, seconds_of_engine());
    }
    return 2.0 * plain / engine; /* each vdpbf16ps computes two steps of k */
}

#else

unsigned wi_matrix_engines_of_host(bool vectors) {
    (void)vectors;
    return 0;
}

double wi_matrix_engine_rate(void) {
    return 0.0;
}

#endif
