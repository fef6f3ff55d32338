/* The index of pieces: which program contains which piece of source. It is in memory, and on disk for programs whose
 * binaries are on disk.
 *
 * Keys identify pieces (wi_program_piece_key) and programs (their entries of the cache folder). The index on disk is
 * one entry. It is read when a piece is not found in memory, and written when binaries are written; a process keeps
 * what others have added meanwhile. If the entry is absent or damaged, or names a program that no longer exists, the
 * piece is compiled again. */
#ifndef WI_PIECE_INDEX_H
#define WI_PIECE_INDEX_H

#include "cl/disk_cache.h"

typedef struct wi_piece_place {
    wi_cache_key piece, program;
} wi_piece_place;

typedef struct wi_piece_index {
    wi_piece_place *places;
    size_t count, capacity;
    bool was_read; /* the entry on disk was read */
    bool changed;  /* since the entry was last written */
} wi_piece_index;

/* True if a program contains the piece; *program is its key. */
bool wi_piece_index_find(wi_piece_index *index, wi_device *device, wi_cache_key piece, wi_cache_key *program);
/* Notes that the program contains the piece. Errors: WEFT_ERROR_MEMORY. */
weft_status wi_piece_index_set(
    wi_piece_index *index, wi_device *device, wi_cache_key piece, wi_cache_key program);
/* Adds the places that are on disk and not yet in memory. If memory does not suffice for all of them, the rest is left
 * out. */
void wi_piece_index_read(wi_piece_index *index, wi_device *device);
/* Removes the pieces of a program that no longer exists. */
void wi_piece_index_forget(wi_piece_index *index, wi_cache_key program);
/* Writes the pieces in memory and those on disk, if their programs are on disk (is_there). An error means only that
 * they are compiled again. */
void wi_piece_index_save(wi_piece_index *index, wi_device *device,
    bool (*is_there)(const wi_device *device, wi_cache_key program));
void wi_piece_index_clear(wi_piece_index *index, wi_device *device);

#endif
