/* A table of the public functions that return a tensor: each row calls one function with arguments from a source, which
 * decides whether they are ordinary, extreme or random. */
#ifndef PUBLIC_CALLS_H
#define PUBLIC_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <weft/weft.h>

/* The functions get an argument of a valid call, and return this argument or any other one of its type. */
typedef struct call_source call_source;
struct call_source {
    weft_graph *graph;
    int64_t (*whole)(call_source *self, int64_t usual);
    double (*number)(call_source *self, double usual);
    weft_tensor *(*tensor)(call_source *self, weft_dtype dtype, int rank, const int64_t *dims);
    void *user;
};

typedef struct public_call {
    const char *name;
    weft_tensor *(*make)(call_source *source);
} public_call;

extern const public_call public_calls[];
extern const size_t public_call_count;

#endif
