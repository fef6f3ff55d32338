/* Mapped files of Windows (contract in file_map.h). */
#include "base/file_map.h"
#include "base/file_target.h"
#include "base/system_file.h"
#include "base/wide_path.h"
#include <errno.h>
#include <io.h>
#include <windows.h>

static const unsigned char nothing[1];

static weft_status map_opened(wi_file_map *map, int file, const char *path) {
    wi_path_info info;
    WI_TRY(wi_file_check_regular(file, path, &info));
    if (info.bytes == 0) {
        *map = (wi_file_map){.data = nothing};
        return WEFT_OK;
    }
    const HANDLE mapping = CreateFileMappingW((HANDLE)_get_osfhandle(file), NULL, PAGE_READONLY, 0, 0, NULL);
    const void *const data = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
    if (!data) wi_set_errno();
    const int error = errno;
    if (mapping) CloseHandle(mapping); /* the view keeps it */
    if (!data) return wi_file_fail("map", path, error);
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

/* VirtualUnlock removes pages that are not locked from the working set, and then reports ERROR_NOT_LOCKED. */
void wi_file_map_drop(const void *begin, size_t bytes) {
    if (bytes > 0) (void)VirtualUnlock((void *)(uintptr_t)begin, bytes);
}

void wi_file_map_close(wi_file_map *map) {
    if (map->bytes > 0) UnmapViewOfFile(map->data);
    *map = (wi_file_map){0};
}
