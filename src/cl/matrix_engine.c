/* See matrix_engine.h. Whether there is an engine is not tried: the processor, what the operating system saves when it
 * switches threads, and the system's permission are asked, and where all three agree the instructions cannot fault.
 * Whether the device's compiler knows them and the numbers are right is found out by the first product. */
#define _GNU_SOURCE
#include "cl/matrix_engine.h"
#include "base/platform.h"
#include <math.h>
#include <stddef.h>

/* Known rates are 0.5, 1 and 2: the limit is far from all of them, so that no measurement chooses otherwise than the next. */
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

/* Of the Linux kernel's asm/prctl.h, which older headers lack: asks for a part of the register file that is saved only for
 * those who asked (Documentation/arch/x86/xstate.rst). */
enum { ASK_FOR_PERMISSION = 0x1023, TILE_CONFIG = 17, TILE_DATA = 18 };

/* Of XCR0: SSE, AVX, masks, and both parts of the vectors of 512 bits. */
enum { VECTOR_STATES = 0xE6 };

/* CPUID leaf 7: bits of EDX; leaf 1: of ECX. Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. */
enum { CPUID_AMX_BF16 = 22, CPUID_AMX_TILE = 24, CPUID_OSXSAVE = 27 };

/* Leaf 7: of EBX; its second part: of EAX. */
enum { CPUID_AVX512F = 16, CPUID_AVX512_BF16 = 5 };

/* What the operating system saves when it switches threads, a bit each. */
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

/* Rounds of twelve sums, which hide the instruction's latency. In assembly: a build without optimisation would measure its
 * loads and stores. The numbers are zeros, with which no processor is slower or faster. */
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

/* The least of many short trials in turn: what interrupts some of them, or changes the clock between them, does not count. */
double wi_matrix_engine_rate(void) {
    double plain = HUGE_VAL, engine = HUGE_VAL;
    for (int trial = 0; trial < TRIALS; trial++) {
        plain = fmin(plain, seconds_of_multiply_adds());
        engine = fmin(engine, seconds_of_engine());
    }
    return 2.0 * plain / engine; /* two steps of k in one instruction */
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
