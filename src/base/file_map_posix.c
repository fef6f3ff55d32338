/* Mapped files by mmap (contract in file_map.h). */
#ifdef __linux__
#define _GNU_SOURCE /* madvise */
#endif
#include "base/file_map.h"
#include "base/file_target.h"
#include "base/system_file.h"
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char nothing[1];

static weft_status map_opened(wi_file_map *map, int file, const char *path) {
    wi_path_info info;
    WI_TRY(wi_file_check_regular(file, path, &info));
    if (info.bytes == 0) {
        *map = (wi_file_map){.data = nothing};
        return WEFT_OK;
    }
    void *const data = mmap(NULL, (size_t)info.bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) return wi_file_fail("map", path, errno);
    *map = (wi_file_map){data, (size_t)info.bytes};
    return WEFT_OK;
}

weft_status wi_file_map_open(wi_file_map *map, const char *path) {
    *map = (wi_file_map){0};
    const int file = wi_open(path, WI_OPEN_READ);
    if (file < 0) return wi_file_fail("open", path, errno);
    const weft_status status = map_opened(map, file, path);
    wi_close(file);
    return status;
}

void wi_file_map_drop(const void *begin, size_t bytes) {
#ifdef MADV_DONTNEED
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)begin;
    const uintptr_t from = (first + page - 1) / page * page, to = (first + bytes) / page * page;
    if (from < to) (void)madvise((void *)from, to - from, MADV_DONTNEED);
#else
    (void)begin, (void)bytes;
#endif
}

void wi_file_map_close(wi_file_map *map) {
    if (map->bytes > 0) munmap((void *)(uintptr_t)map->data, map->bytes);
    *map = (wi_file_map){0};
}
