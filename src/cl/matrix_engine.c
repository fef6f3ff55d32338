/* See matrix_engine.h. No instruction of an engine is tried here: the processor, what the operating system saves when it
 * switches threads, and the system's permission are asked, and where all three agree the instructions cannot fault.
 * Whether the device's compiler knows them and the numbers are right is found out by the first product. */
#define _GNU_SOURCE
#include "cl/matrix_engine.h"
#include <stdbool.h>
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

/* CPUID leaf 7: bits of EDX; leaf 1: of ECX. Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. */
enum { CPUID_AMX_BF16 = 22, CPUID_AMX_TILE = 24, CPUID_OSXSAVE = 27 };

static bool processor_has_amx(void) {
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> CPUID_OSXSAVE & 1)) return false;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    return (edx >> CPUID_AMX_BF16 & 1) && (edx >> CPUID_AMX_TILE & 1);
}

static bool system_saves_tiles(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low >> TILE_CONFIG & 1) && (low >> TILE_DATA & 1);
}

static unsigned engines;

static void find_engines(void) {
    if (processor_has_amx() && system_saves_tiles() &&
        syscall(SYS_arch_prctl, ASK_FOR_PERMISSION, TILE_DATA) == 0)
        engines = WI_ENGINE_AMX_BF16;
}

unsigned wi_matrix_engines_of_host(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, find_engines) == 0 ? engines : 0;
}

#else

unsigned wi_matrix_engines_of_host(void) {
    return 0;
}

#endif
