/* Large pages by mmap and madvise (contract in pages.h). Linux uses large pages never, always, or only where madvise
 * asks for them. If madvise fails, the memory is only slower. */
#ifdef __linux__
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#endif
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PAGE = 2 << 20 };

#if defined(MAP_ANONYMOUS) && defined(MADV_HUGEPAGE)

/* mmap aligns to small pages only, so that the function maps one large page more than asked for, and unmaps what is
 * before and after the aligned range. */
void *wi_pages_map(size_t bytes) {
    if (bytes == 0 || bytes > SIZE_MAX - LARGE_PAGE) return NULL;
    const size_t small = (size_t)sysconf(_SC_PAGESIZE), mapped = bytes + LARGE_PAGE;
    char *const start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    const size_t before = (size_t)(-(uintptr_t)start % LARGE_PAGE);
    const size_t end = before + (bytes + small - 1) / small * small;
    if (before > 0) munmap(start, before);
    if (end < mapped) munmap(start + end, mapped - end);
    (void)madvise(start + before, bytes, MADV_HUGEPAGE);
    return start + before;
}

void wi_pages_unmap(void *pages, size_t bytes) {
    if (pages) munmap(pages, bytes);
}

#else

void *wi_pages_map(size_t bytes) {
    (void)bytes;
    return NULL;
}

void wi_pages_unmap(void *pages, size_t bytes) {
    (void)pages;
    (void)bytes;
}

#endif
