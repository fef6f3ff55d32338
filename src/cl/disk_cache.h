/* The cache folder: small checksummed entries, one a file, named by their key.
 *
 * A context owns one. It is an aid only: no failure of the disk reaches the caller. The first write that
 * fails is logged as a warning and ends writing; an entry that is damaged, cut short or another's counts as
 * absent. Entries are replaced whole, so any number of processes may share the folder.
 *
 * Programs run what is in an entry, so folder and entries must be the user's own, and nobody else may write to them;
 * others are not used, which is logged once. The folder is made with the mode 0700, its entries with 0600. A symbolic link in
 * the folder is never followed: as an entry it counts as absent, and the next write replaces the link itself. */
#ifndef WI_DISK_CACHE_H
#define WI_DISK_CACHE_H

#include "cl/opened_device.h"

typedef struct wi_cache_key {
    uint64_t high, low;
} wi_cache_key;

static inline bool wi_cache_key_equal(wi_cache_key a, wi_cache_key b) {
    return a.high == b.high && a.low == b.low;
}

typedef enum wi_cache_kind {
    WI_CACHE_BINARY = 1,
    WI_CACHE_VALUE = 3,
    WI_CACHE_INDEX = 4,   /* of pieces: piece_index.h */
    WI_CACHE_FAILURE = 5, /* the log of a compiler that refuses the source; 2 were logs of any failure */
    WI_CACHE_FINDINGS = 6 /* of self-tests: findings.h */
} wi_cache_kind;

typedef struct wi_cache_entry {
    wi_cache_kind kind;
    char *data; /* NUL-terminated after bytes; NULL: no such entry. Release with wi_release. */
    size_t bytes;
} wi_cache_entry;

/* folder as in weft_context_options.cache_dir. Needs the context's info and device. */
weft_status wi_disk_cache_open(wi_device *device, const char *folder);
void wi_disk_cache_close(wi_device *device);

/* A hash of the text alone (XXH3 128). */
wi_cache_key wi_text_key(const char *text, size_t length);
/* The key of two texts on this device, driver, platform and version of Weft. */
wi_cache_key wi_disk_cache_key(const wi_device *device, const char *first, const char *second);
/* Only WEFT_ERROR_MEMORY is an error; a miss leaves entry->data NULL. */
weft_status wi_disk_cache_read(wi_device *device, wi_cache_key key, wi_cache_entry *entry);
/* Whether the entry is on disk now. */
bool wi_disk_cache_write(
    wi_device *device, wi_cache_key key, wi_cache_kind kind, const void *data, size_t bytes);
/* Whether a write would be tried at all. */
bool wi_disk_cache_writes(const wi_device *device);
/* Removes from a folder, as for wi_disk_cache_open, what compilers refused and what self-tests found on any device.
 * *forgotten: of the former. No folder: 0. */
weft_status wi_disk_cache_forget_failures(
    const weft_allocator *allocator, const char *folder, size_t *forgotten);
/* A file of another kind in the folder, "" without a folder that may be used; `make`: the folder, too. Read such a file by
 * wi_kept_file_read, and write it by wi_file_write_private. */
void wi_disk_cache_file(wi_device *device, const char *name, bool make, char *path, size_t capacity);
/* The file of an entry for messages; "" without a folder. */
void wi_disk_cache_path(const wi_device *device, wi_cache_key key, char *path, size_t capacity);

#endif
