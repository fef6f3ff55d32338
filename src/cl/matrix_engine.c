/* See matrix_engine.h. No instruction of an engine is tried here: the processor, what the operating system saves when it
 * switches threads, and the system's permission are asked, and where all three agree the instructions cannot fault.
 * Whether the device's compiler knows them and the numbers are right is found out by the first product. */
#define _GNU_SOURCE
#include "cl/matrix_engine.h"
#include <stddef.h>

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

#else

unsigned wi_matrix_engines_of_host(bool vectors) {
    (void)vectors;
    return 0;
}

#endif
