/* Paths and errors of Windows (contract in wide_path.h). */
#include "base/wide_path.h"
#include <errno.h>
#include <string.h>
#include <windows.h>

static const wchar_t prefix[] = L"\\\\?\\", server[] = L"\\\\?\\UNC\\";
enum { PREFIX = 4, SERVER = 8 };

/* \\server\share becomes \\?\UNC\server\share; names of devices, \\.\NUL for example, remain. */
static bool put_prefix(wchar_t wide[WI_WIDE_PATH], const wchar_t *full, size_t length) {
    const bool is_device = wcsncmp(full, L"\\\\.\\", 4) == 0 || wcsncmp(full, prefix, PREFIX) == 0;
    const bool is_server = !is_device && wcsncmp(full, L"\\\\", 2) == 0;
    const size_t before = is_device ? 0 : is_server ? SERVER : PREFIX, from = is_server ? 2 : 0;
    if (before + length - from >= WI_WIDE_PATH) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(wide, is_server ? server : prefix, before * sizeof *wide);
    memcpy(wide + before, full + from, (length - from + 1) * sizeof *wide);
    return true;
}

bool wi_widen_path(wchar_t wide[WI_WIDE_PATH], const char *path) {
    wchar_t given[WI_PATH_CAPACITY], full[WI_PATH_CAPACITY];
    if (!*path) {
        errno = ENOENT;
        return false;
    }
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, given, WI_PATH_CAPACITY)) {
        errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EILSEQ;
        return false;
    }
    const DWORD length = GetFullPathNameW(given, WI_PATH_CAPACITY, full, NULL);
    if (length == 0) return wi_set_errno();
    if (length >= WI_PATH_CAPACITY) {
        errno = ENAMETOOLONG;
        return false;
    }
    return put_prefix(wide, full, length);
}

bool wi_narrow(char *text, size_t capacity, const wchar_t *wide) {
    if (wcsncmp(wide, server, SERVER) == 0) {
        if (capacity < 2) return false;
        text[0] = '\\'; /* and the backslash that ends the prefix */
        return WideCharToMultiByte(
                   CP_UTF8, 0, wide + SERVER - 1, -1, text + 1, (int)capacity - 1, NULL, NULL) != 0;
    }
    const size_t from = wcsncmp(wide, prefix, PREFIX) == 0 ? PREFIX : 0;
    return WideCharToMultiByte(CP_UTF8, 0, wide + from, -1, text, (int)capacity, NULL, NULL) != 0;
}

bool wi_set_errno(void) {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_DRIVE: errno = ENOENT; break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_WRITE_PROTECT:
    case ERROR_PRIVILEGE_NOT_HELD: errno = EACCES; break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
    case ERROR_DIRECTORY: errno = ENOTDIR; break;
    case ERROR_DIR_NOT_EMPTY: errno = ENOTEMPTY; break;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: errno = ENOSPC; break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_NO_SYSTEM_RESOURCES: errno = ENOMEM; break;
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME: errno = EINVAL; break;
    case ERROR_FILENAME_EXCED_RANGE:
    case ERROR_BUFFER_OVERFLOW: errno = ENAMETOOLONG; break;
    case ERROR_TOO_MANY_OPEN_FILES: errno = EMFILE; break;
    default: errno = EIO; break;
    }
    return false;
}
