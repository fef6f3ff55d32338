/* Files of Windows (contracts in system_file.h, platform.h and writeback.h). Files are opened so that other processes may
 * read, rename and remove them, as elsewhere. */
#include "base/file_target.h"
#include "base/system_file.h"
#include "base/trusted_owner.h"
#include "base/wide_path.h"
#include "base/writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };
/* Virus scanners and indexers open new files for some milliseconds, and thereby stop a replacement. */
enum { RENAME_ATTEMPTS = 20, RENAME_PAUSE_MS = 10, LARGEST_WRITE = 1 << 26 };

static HANDLE handle_of(int file) {
    return (HANDLE)_get_osfhandle(file);
}

/* FILE_FLAG_BACKUP_SEMANTICS lets a folder be opened, which wi_look then tells apart. */
typedef struct way {
    DWORD access, disposition, flags;
    int mode;
} way;

static int open_handle(const wchar_t *wide, const way *how, SECURITY_ATTRIBUTES *security) {
    const HANDLE handle =
        CreateFileW(wide, how->access, SHARED, security, how->disposition, how->flags, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        wi_set_errno();
        return -1;
    }
    const int file = _open_osfhandle((intptr_t)handle, how->mode | _O_BINARY | _O_NOINHERIT);
    if (file < 0) CloseHandle(handle);
    return file;
}

int wi_open(const char *path, wi_opening opening) {
    static const DWORD folders = FILE_FLAG_BACKUP_SEMANTICS;
    static const way ways[] = {
        [WI_OPEN_READ] = {GENERIC_READ, OPEN_EXISTING, folders, _O_RDONLY},
        [WI_OPEN_WAITING] = {GENERIC_READ, OPEN_EXISTING, folders, _O_RDONLY},
        [WI_OPEN_KEPT] = {GENERIC_READ, OPEN_EXISTING, folders, _O_RDONLY},
        [WI_OPEN_NEW] = {GENERIC_READ | GENERIC_WRITE, CREATE_NEW, 0, _O_RDWR},
        [WI_OPEN_PRIVATE] = {GENERIC_READ | GENERIC_WRITE, CREATE_NEW, 0, _O_RDWR},
        [WI_OPEN_APPEND] = {GENERIC_WRITE, OPEN_ALWAYS, 0, _O_WRONLY | _O_APPEND},
        [WI_OPEN_EMPTIED] = {GENERIC_WRITE, CREATE_ALWAYS, 0, _O_WRONLY | _O_APPEND},
    };
    wchar_t wide[WI_WIDE_PATH];
    wi_private_rights rights;
    if (!wi_widen_path(wide, path)) return -1;
    if (opening == WI_OPEN_KEPT && wi_is_link(path)) {
        errno = ELOOP;
        return -1;
    }
    const bool is_private = opening == WI_OPEN_PRIVATE;
    if (is_private && !wi_private_rights_begin(&rights)) return -1;
    const int file = open_handle(wide, &ways[opening], is_private ? rights.attributes : NULL);
    if (is_private) wi_private_rights_end(&rights);
    return file;
}

void wi_close(int file) {
    _close(file);
}

static bool look_at_handle(HANDLE handle, wi_path_info *info) {
    BY_HANDLE_FILE_INFORMATION state;
    *info = (wi_path_info){.kind = WI_PATH_OTHER};
    if (GetFileType(handle) != FILE_TYPE_DISK) return true;
    if (!GetFileInformationByHandle(handle, &state)) return wi_set_errno();
    info->kind = state.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? WI_PATH_FOLDER : WI_PATH_FILE;
    if (info->kind == WI_PATH_FILE) info->bytes = (uint64_t)state.nFileSizeHigh << 32 | state.nFileSizeLow;
    info->device = state.dwVolumeSerialNumber;
    info->number = (uint64_t)state.nFileIndexHigh << 32 | state.nFileIndexLow;
    return true;
}

bool wi_look(int file, wi_path_info *info) {
    return look_at_handle(handle_of(file), info);
}

/* Opens the path with the rights alone; links are followed. INVALID_HANDLE_VALUE: errno says why. */
static HANDLE open_with(const char *path, DWORD rights) {
    wchar_t wide[WI_WIDE_PATH];
    if (!wi_widen_path(wide, path)) return INVALID_HANDLE_VALUE;
    const HANDLE handle =
        CreateFileW(wide, rights, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) wi_set_errno();
    return handle;
}

bool wi_look_at(const char *path, wi_path_info *info) {
    const HANDLE handle = open_with(path, FILE_READ_ATTRIBUTES);
    if (handle == INVALID_HANDLE_VALUE) return false;
    const bool seen = look_at_handle(handle, info);
    CloseHandle(handle);
    return seen;
}

/* The right to write to a file is the bit that, for a folder, is the right to create files. */
bool wi_path_can_be_written(const char *path) {
    const HANDLE handle = open_with(path, FILE_WRITE_DATA);
    if (handle == INVALID_HANDLE_VALUE) return false;
    CloseHandle(handle);
    return true;
}

bool wi_is_link(const char *path) {
    wchar_t wide[WI_WIDE_PATH];
    if (!wi_widen_path(wide, path)) return false;
    const DWORD state = GetFileAttributesW(wide);
    return state != INVALID_FILE_ATTRIBUTES && state & FILE_ATTRIBUTE_REPARSE_POINT;
}

/* place: the offset; NULL: the position of the file. */
static int64_t read_from(int file, OVERLAPPED *place, void *buffer, size_t bytes) {
    DWORD got = 0;
    const DWORD most = bytes < LARGEST_WRITE ? (DWORD)bytes : LARGEST_WRITE;
    if (ReadFile(handle_of(file), buffer, most, &got, place)) return got;
    if (GetLastError() == ERROR_BROKEN_PIPE || GetLastError() == ERROR_HANDLE_EOF) return 0;
    wi_set_errno();
    return -1;
}

int64_t wi_read_some(int file, void *buffer, size_t bytes) {
    return read_from(file, NULL, buffer, bytes);
}

int64_t wi_read_at(int file, uint64_t offset, void *buffer, size_t bytes) {
    OVERLAPPED place = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
    return read_from(file, &place, buffer, bytes);
}

bool wi_write_all(int file, const void *data, size_t bytes) {
    const char *from = data;
    while (bytes) {
        const unsigned most = bytes < LARGEST_WRITE ? (unsigned)bytes : LARGEST_WRITE;
        const int wrote = _write(file, from, most); /* honours _O_APPEND */
        if (wrote < 0) return false;
        from += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

bool wi_write_through(int file, uint64_t offset, const void *data, size_t bytes) {
    (void)offset;
    return wi_write_all(file, data, bytes);
}

bool wi_truncate(int file, uint64_t bytes) {
    const LARGE_INTEGER end = {.QuadPart = (LONGLONG)bytes};
    if (SetFilePointerEx(handle_of(file), end, NULL, FILE_BEGIN) && SetEndOfFile(handle_of(file)))
        return true;
    return wi_set_errno();
}

bool wi_sync(int file) {
    return FlushFileBuffers(handle_of(file)) ? true : wi_set_errno();
}

/* Locks on Windows forbid reading and writing. The locked byte is therefore one that no file has. */
bool wi_lock(int file, bool otherwise) {
    OVERLAPPED place = {.OffsetHigh = 0x7fffffff};
    if (LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place))
        return true;
    const DWORD error = GetLastError();
    return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? false : otherwise;
}

bool wi_has_name(int file) {
    FILE_STANDARD_INFO state;
    return !GetFileInformationByHandleEx(handle_of(file), FileStandardInfo, &state, sizeof state) ||
           !state.DeletePending;
}

bool wi_move_file(const char *from, const char *to) {
    wchar_t wide_from[WI_WIDE_PATH], wide_to[WI_WIDE_PATH];
    if (!wi_widen_path(wide_from, from) || !wi_widen_path(wide_to, to)) return false;
    for (int attempt = 0;; attempt++) {
        if (MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return true;
        const DWORD error = GetLastError();
        const bool may_pass = error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION;
        if (!may_pass || attempt == RENAME_ATTEMPTS) return wi_set_errno();
        Sleep(RENAME_PAUSE_MS);
    }
}

bool wi_unlink(const char *path) {
    wchar_t wide[WI_WIDE_PATH];
    if (!wi_widen_path(wide, path)) return false;
    return DeleteFileW(wide) ? true : wi_set_errno();
}

bool wi_make_folder(const char *path, bool only_user) {
    wchar_t wide[WI_WIDE_PATH];
    wi_private_rights rights;
    if (!wi_widen_path(wide, path)) return false;
    if (only_user && !wi_private_rights_begin(&rights)) return false;
    const bool made = CreateDirectoryW(wide, only_user ? rights.attributes : NULL) ? true : wi_set_errno();
    const int error = errno;
    if (only_user) wi_private_rights_end(&rights);
    errno = error;
    return made;
}

bool wi_keep_mode(int file, const char *target) {
    (void)file, (void)target;
    return true;
}

/* NTFS writes changes of folders to its journal in order; there is no call for a single folder. */
weft_status wi_directory_sync(const char *path) {
    wi_path_info info;
    WI_TRY(wi_path_look(&info, path, NULL));
    return info.kind == WI_PATH_FOLDER ? WEFT_OK : wi_file_fail("open the folder", path, ENOTDIR);
}

bool wi_is_separator(char character) {
    return character == '/' || character == '\\';
}

/* The end of the second part of \\server\share\, or of the first part in \\?\C:\. */
static size_t server_root(const char *path) {
    size_t at = 2;
    for (int part = 0; part < 2; part++) {
        while (path[at] && !wi_is_separator(path[at])) at++;
        if (path[at]) at++;
    }
    return at;
}

size_t wi_path_root(const char *path) {
    const bool letter = (path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z');
    if (letter && path[1] == ':') return wi_is_separator(path[2]) ? 3 : 2;
    if (!wi_is_separator(path[0])) return 0;
    return wi_is_separator(path[1]) ? server_root(path) : 1;
}

char *wi_path_resolve(const char *path) {
    wchar_t wide[WI_WIDE_PATH];
    const HANDLE handle = open_with(path, FILE_READ_ATTRIBUTES);
    if (handle == INVALID_HANDLE_VALUE) return NULL;
    const DWORD length = GetFinalPathNameByHandleW(handle, wide, WI_WIDE_PATH, FILE_NAME_NORMALIZED);
    CloseHandle(handle);
    char *const text = length > 0 && length < WI_WIDE_PATH ? malloc(WI_PATH_CAPACITY) : NULL;
    if (text && wi_narrow(text, WI_PATH_CAPACITY, wide)) return text;
    free(text);
    return NULL;
}

/* As on other systems, a symbolic link is followed, and the file at its end is replaced. */
weft_status wi_file_target(char *target, size_t capacity, const char *path) {
    wi_path_info info;
    if ((size_t)snprintf(target, capacity, "%s", path) >= capacity)
        return wi_file_fail("replace", path, ENAMETOOLONG);
    if (!wi_look_at(path, &info)) return WEFT_OK; /* if the path cannot be created, creating it reports why */
    if (info.kind != WI_PATH_FILE)
        WI_FAIL(WEFT_ERROR_FILE, "cannot replace '%s': it is not a regular file", path);
    char *const end = wi_is_link(path) ? wi_path_resolve(path) : NULL;
    if (end) snprintf(target, capacity, "%s", end);
    free(end);
    return WEFT_OK;
}

static int compare_names(const void *one, const void *other) {
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static weft_status add_name(
    const WIN32_FIND_DATAW *entry, const char ***names, size_t *count, size_t *capacity, wi_arena *arena) {
    char name[4 * MAX_PATH];
    if (!wi_narrow(name, sizeof name, entry->cFileName)) return WEFT_OK;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return WEFT_OK;
    WI_TRY(wi_grow(arena->allocator, (void **)names, capacity, *count + 1, sizeof **names));
    if (!((*names)[*count] = wi_arena_string(arena, name))) return WEFT_ERROR_MEMORY;
    ++*count;
    return WEFT_OK;
}

weft_status wi_directory_list(const char ***names, size_t *count, wi_arena *arena, const char *path) {
    char pattern[WI_PATH_CAPACITY];
    wchar_t wide[WI_WIDE_PATH];
    WIN32_FIND_DATAW entry;
    size_t capacity = 0;
    *names = NULL;
    *count = 0;
    snprintf(pattern, sizeof pattern, "%s/*", path);
    if (!wi_widen_path(wide, pattern)) return wi_file_fail("read the folder", path, errno);
    const HANDLE folder = FindFirstFileW(wide, &entry);
    if (folder == INVALID_HANDLE_VALUE && !wi_set_errno())
        return wi_file_fail("read the folder", path, errno);
    weft_status status = WEFT_OK;
    do status = add_name(&entry, names, count, &capacity, arena);
    while (status == WEFT_OK && FindNextFileW(folder, &entry));
    if (status == WEFT_OK && GetLastError() != ERROR_NO_MORE_FILES && !wi_set_errno())
        status = wi_file_fail("read the folder", path, errno);
    FindClose(folder);
    if (status != WEFT_OK) {
        wi_release(arena->allocator, (void *)*names);
        *names = NULL;
        *count = 0;
        return status;
    }
    if (*count) qsort((void *)*names, *count, sizeof **names, compare_names);
    return WEFT_OK;
}
