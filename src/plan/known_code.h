/* The code of steps that plans of a graph have had. A plan of another length or batch mostly has the same kernels: it finds
 * them by the keys of its steps (step_key.h), and writes only what no plan before it had. Owned by the graph; texts stay
 * where they are as long as it lives. */
#ifndef WI_KNOWN_CODE_H
#define WI_KNOWN_CODE_H

#include "cl/disk_cache.h"
#include "plan/code.h"

/* Pieces are numbered among all that the graph knows. */
typedef struct wi_known_step {
    wi_kernel_text whole, partial, combine;
} wi_known_step;

/* What stands before pieces with these needs on a device (programs.c), by the hash of its text. */
typedef struct wi_known_prefix {
    const wi_device *device;
    unsigned needs;
    wi_cache_key key;
} wi_known_prefix;

enum { WI_KNOWN_PREFIXES = 16 };

typedef struct wi_known_code {
    wi_arena arena;
    wi_key_map steps;     /* wi_known_step by key */
    size_t step_count;    /* of those that are kept */
    wi_key_map templates; /* by what the text of a template depends on; where the value is stands for it */
    wi_code_piece *pieces;
    size_t piece_count, piece_capacity;
    wi_known_prefix prefixes[WI_KNOWN_PREFIXES]; /* the first that were made */
    size_t prefix_count;
} wi_known_code;

weft_status wi_known_code_of(weft_graph *graph, wi_known_code **known);
/* What stands for the file and the macros of a kernel; NULL: out of memory. */
const void *wi_known_template(wi_known_code *known, const wi_kernel_plan *kernel);
/* The number of the piece with this text. */
weft_status wi_known_piece(wi_known_code *known, const wi_code_piece *piece, int *number);
/* NULL: it is not known. */
const wi_cache_key *wi_known_prefix_key(const wi_known_code *known, const wi_device *device, unsigned needs);
/* Where kernel files may change while the program runs (WEFT_KERNEL_DIR), nothing is kept. */
void wi_known_keep_prefix(wi_known_code *known, const wi_device *device, unsigned needs, wi_cache_key key);
/* A copy of the arguments, with another piece. */
weft_status wi_known_keep(wi_known_code *known, wi_kernel_text *own, const wi_kernel_text *made, int piece);

#endif
