/* Which program has which piece of source: in memory, and on disk for programs whose binaries are there.
 *
 * A piece is known by its key (wi_program_piece_key), a program by the key of its own entry in the cache folder.
 * The index on disk is one entry, read when a piece is asked for that memory does not know, and written when
 * binaries are. It is an aid only: where it is absent, damaged, or names a program that is gone, the piece is
 * compiled again. A process that writes it keeps what others have added since. */
#ifndef WI_PIECE_INDEX_H
#define WI_PIECE_INDEX_H

#include "cl/disk_cache.h"

typedef struct wi_piece_place {
    wi_cache_key piece, program;
} wi_piece_place;

typedef struct wi_piece_index {
    wi_piece_place *places;
    size_t count, capacity;
    bool was_read; /* from disk */
    bool changed;  /* since it was read or written */
} wi_piece_index;

/* The program's key, if any program is known to have the piece. */
bool wi_piece_index_find(wi_piece_index *index, wi_device *device, wi_cache_key piece, wi_cache_key *program);
weft_status wi_piece_index_set(
    wi_piece_index *index, wi_device *device, wi_cache_key piece, wi_cache_key program);
/* The program is gone. */
void wi_piece_index_forget(wi_piece_index *index, wi_cache_key program);
/* Writes the pieces of programs that are on disk (is_there), and those that others have written. */
void wi_piece_index_save(wi_piece_index *index, wi_device *device,
    bool (*is_there)(const wi_device *device, wi_cache_key program));
void wi_piece_index_clear(wi_piece_index *index, wi_device *device);

#endif
