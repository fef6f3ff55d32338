/* Hash tables of names by uthash, whose memory is taken from an arena. A function that adds an item to a table must have a
 * variable `arena`. If memory runs out, the item is not added, and its `hh.tbl` is NULL. */
#ifndef WI_ONNX_HASH_H
#define WI_ONNX_HASH_H

#include "base/memory.h"
#include <xxhash.h>

#define uthash_malloc(bytes)      wi_arena_take(arena, bytes)
#define uthash_free(block, bytes) (void)(block)
#define HASH_NONFATAL_OOM         1
#define HASH_FUNCTION(key, bytes, hash)                                                                      \
    do {                                                                                                     \
        (hash) = (unsigned)XXH3_64bits(key, bytes);                                                          \
    } while (0)
#include <uthash.h>

#endif
