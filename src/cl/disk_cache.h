/* The cache folder: small files with checksums, one for each entry, named by the key.
 *
 * Each device has one. The cache only saves time: no failure of the disk is an error. The first write that fails is
 * logged as a warning, and nothing more is written. Entries that are damaged or belong to another key count as absent.
 * Entries are replaced atomically, so that several processes may share the folder.
 *
 * Entries are executed, so that folder and entries must belong to the user, and nobody else may write to them; others
 * are not used, and the log says so once. The folder is created with mode 0700, entries with 0600. Symbolic links in
 * the folder are not followed: a link counts as absent, and a write replaces the link itself. */
#ifndef WI_DISK_CACHE_H
#define WI_DISK_CACHE_H

#include "cl/cache_key.h"
#include "cl/opened_device.h"

typedef enum wi_cache_kind {
    WI_CACHE_BINARY = 1,
    WI_CACHE_VALUE = 3,
    WI_CACHE_INDEX = 4,   /* of pieces (piece_index.h) */
    WI_CACHE_FAILURE = 5, /* the log of a compiler that rejects the source; 2 is obsolete */
    WI_CACHE_FINDINGS = 6 /* of self-tests (findings.h) */
} wi_cache_kind;

typedef struct wi_cache_entry {
    wi_cache_kind kind;
    char *data; /* with a NUL after `bytes` bytes, to be released with wi_release; NULL: none */
    size_t bytes;
} wi_cache_entry;

/* folder: as weft_context_options.cache_dir. device->id and device->info must be set. Errors: WEFT_ERROR_MEMORY, and
 * those of queries. */
weft_status wi_disk_cache_open(wi_device *device, const char *folder);
void wi_disk_cache_close(wi_device *device);

/* A hash of this device, driver, platform and version of Weft. */
wi_cache_key wi_disk_cache_identity(const wi_device *device);
/* The key of two texts, for this device, driver, platform and version of Weft. */
wi_cache_key wi_disk_cache_key(const wi_device *device, const char *first, const char *second);
/* entry->data is NULL if there is no valid entry. Errors: WEFT_ERROR_MEMORY. */
weft_status wi_disk_cache_read(wi_device *device, wi_cache_key key, wi_cache_entry *entry);
/* True if the entry was written. */
bool wi_disk_cache_write(
    wi_device *device, wi_cache_key key, wi_cache_kind kind, const void *data, size_t bytes);
/* Whether wi_disk_cache_write would try to write. */
bool wi_disk_cache_writes(const wi_device *device);
/* Removes the logs of rejected sources and the findings of self-tests, for all devices, from a folder (as for
 * wi_disk_cache_open). *forgotten: the number of removed logs; 0 if there is no folder. Errors: WEFT_ERROR_FILE,
 * WEFT_ERROR_MEMORY. */
weft_status wi_disk_cache_forget_failures(
    const weft_allocator *allocator, const char *folder, size_t *forgotten);
/* *path: that of another file in the folder, which the caller reads by wi_kept_file_read and writes by
 * wi_file_write_private. "" if no folder may be used. make: creates the folder if it does not exist. */
void wi_disk_cache_file(wi_device *device, const char *name, bool make, char *path, size_t capacity);
/* *path: the file of an entry, for messages; "" if there is no folder. */
void wi_disk_cache_path(const wi_device *device, wi_cache_key key, char *path, size_t capacity);

#endif
