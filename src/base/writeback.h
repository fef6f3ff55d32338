/* Writing large blocks to files without filling the system's page cache with them. */
#ifndef WI_WRITEBACK_H
#define WI_WRITEBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes all bytes at the file's position, which must be `offset`. The disk starts with the first bytes at once, and
 * what it has written is dropped from the page cache, so that a following fsync has little to do and other files stay
 * cached. Systems without such calls only write. False: errno says why. */
bool wi_write_through(int file, uint64_t offset, const void *data, size_t bytes);

#endif
