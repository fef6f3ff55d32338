/* Preloaded by tests whose kernels PoCL 6.0 compiles wrongly by chance: a small block that is freed is kept until a million others are.
 *
 * PoCL notes under a value's address whether it is the same for all items of a group (VariableUniformityAnalysisResult), and
 * does not forget that when a pass frees the value. Another value that gets the address passes for what the former was, so that a variable of
 * each item may be kept once for all of them. Where no address is used again while a kernel is compiled, the kernel is right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

enum { LARGEST = 256, KEPT = 1 << 20 }; /* bytes, of LLVM's values and more; blocks */

static _Atomic(void *) kept[KEPT];
static atomic_size_t freed_count;
static union {
    void *found;
    void (*call)(void *);
} release;

__attribute__((constructor)) static void find_release(void) {
    release.found = dlsym(RTLD_NEXT, "free");
}

__attribute__((visibility("default"))) void free(void *block) {
    if (block && malloc_usable_size(block) <= LARGEST)
        block = atomic_exchange(&kept[atomic_fetch_add(&freed_count, 1) % KEPT], block);
    if (block && release.found) release.call(block);
}
