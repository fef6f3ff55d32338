/* Writing large blocks (contract in writeback.h), PIECE bytes at a time. On a virtual machine, finding hundreds of
 * megabytes of page cache for a file takes much longer than writing the file to the disk. */
#if defined(__linux__)
#define _GNU_SOURCE /* sync_file_range */
#endif
#include "base/system_file.h"
#include "base/writeback.h"
#include <fcntl.h>

enum { PIECE = 8 << 20, AHEAD = 4 /* the pieces that may wait for the disk */ };

#if defined(__linux__)
/* Starts writing to the disk; drop_piece waits for this and removes the pages from the cache. Both are hints: the
 * system keeps an error of the disk, and fsync reports it. */
static void start_piece(int file, uint64_t offset) {
    (void)sync_file_range(file, (off_t)offset, PIECE, SYNC_FILE_RANGE_WRITE);
}

static void drop_piece(int file, uint64_t offset) {
    (void)sync_file_range(file, (off_t)offset, PIECE,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    (void)posix_fadvise(file, (off_t)offset, PIECE, POSIX_FADV_DONTNEED);
}
#else
static void start_piece(int file, uint64_t offset) {
    (void)file, (void)offset;
}

static void drop_piece(int file, uint64_t offset) {
    (void)file, (void)offset;
}
#endif

bool wi_write_through(int file, uint64_t offset, const void *data, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
        if (!wi_write_all(file, (const char *)data + at, piece)) return false;
        start_piece(file, offset + at);
        if (at >= (size_t)AHEAD * PIECE) drop_piece(file, offset + at - (size_t)AHEAD * PIECE);
    }
    return true;
}
