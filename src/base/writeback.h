/* Large blocks to files, without filling the system's page cache with them. */
#ifndef WI_WRITEBACK_H
#define WI_WRITEBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes all bytes at an offset of the file, which must be its position. The disk begins with the first piece, and what is
 * on it is dropped from the cache, so that the sync that follows has little to do and other files stay cached. Where the
 * system has no call for that, it only writes. False: errno says why. */
bool wi_write_through(int file, uint64_t offset, const void *data, size_t bytes);

#endif
