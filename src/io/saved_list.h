/* What goes into a safetensors file, and where each tensor's content is: in the memory of a graph or of the host.
 *
 * A list is filled entry by entry, turned into a header (safetensors_write.h), and its entries are read into the
 * file's memory or written from it. One thread uses it. */
#ifndef WI_SAVED_LIST_H
#define WI_SAVED_LIST_H

#include "graph/host_state.h"
#include "io/safetensors.h"

typedef struct wi_saved_entry {
    const char *name;
    weft_dtype dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t bytes;
    size_t begin;          /* in the file's data; set by wi_saved_header */
    weft_tensor *variable; /* whose memory holds it, from `offset` on; NULL: `host` does */
    size_t offset;
    void *host;
    wi_host_state *state; /* not NULL: it holds the content, in as many bytes of WEFT_U8 as it says */
    bool is_optional;     /* a checkpoint without it is good: it then begins anew */
} wi_saved_entry;

typedef struct wi_saved_list {
    wi_arena arena; /* names, keys and values */
    wi_saved_entry *entries;
    size_t count, capacity;
    wi_saved_pair *pairs;
    size_t pair_count, pair_capacity;
    const weft_graph *graph; /* whose weights are listed; NULL: of none */
} wi_saved_list;

void wi_saved_list_init(wi_saved_list *list, const weft_allocator *allocator);
void wi_saved_list_clear(wi_saved_list *list);
/* Forgets entries and pairs, and keeps their memory. */
void wi_saved_list_empty(wi_saved_list *list);

/* A whole parameter or state. */
wi_saved_entry wi_saved_entry_of(weft_tensor *variable);
weft_status wi_saved_list_add_variable(wi_saved_list *list, weft_tensor *variable);
/* A state in host memory, as "weft.KIND.NUMBER". */
weft_status wi_saved_list_add_state(wi_saved_list *list, wi_host_state *state, size_t number);
/* The entry is copied, and its name becomes prefix + name. */
weft_status wi_saved_list_add(wi_saved_list *list, const char *prefix, const wi_saved_entry *entry);
/* A string of the metadata; the value is printed in the C locale. */
weft_status wi_saved_list_note(wi_saved_list *list, const char *key, const char *format, ...) WI_PRINTF(3, 4);

/* The same with a value of any length. */
weft_status wi_saved_list_note_text(wi_saved_list *list, const char *key, const char *value);

/* Between the content's memory and `bytes` bytes of the host; both wait for the device. */
weft_status wi_saved_entry_read(const wi_saved_entry *entry, void *data);
weft_status wi_saved_entry_write(const wi_saved_entry *entry, const void *data);

#endif
