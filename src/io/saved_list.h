/* The contents of a safetensors file: a list of tensors, each in the memory of a graph or of the host, and metadata.
 *
 * A list is filled entry by entry. wi_saved_header (safetensors_write.h) makes it a header; wi_saved_entry_read and
 * wi_saved_entry_write copy the content of an entry. One thread at a time uses a list. */
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
    size_t begin; /* first byte in the file's data; set by wi_saved_header */
    /* At most one of these is set and has the content: a variable from byte `offset` on, a state as WEFT_U8, or host memory. If none is
     * set, the content is divided among several processes (wi_variable.whole). */
    weft_tensor *variable;
    size_t offset;
    void *host;
    wi_host_state *state;
    bool is_optional; /* a checkpoint may lack the tensor, which then gets its initial value */
} wi_saved_entry;

typedef struct wi_saved_list {
    wi_arena arena; /* names, keys and values */
    wi_saved_entry *entries;
    size_t count, capacity;
    wi_saved_pair *pairs;
    size_t pair_count, pair_capacity;
    const weft_graph *graph; /* the graph whose weights are listed; NULL: none */
} wi_saved_list;

void wi_saved_list_init(wi_saved_list *list, const weft_allocator *allocator);
void wi_saved_list_clear(wi_saved_list *list);
/* Removes all entries and pairs, but keeps their memory. */
void wi_saved_list_empty(wi_saved_list *list);

/* The entry of a whole parameter or state. */
wi_saved_entry wi_saved_entry_of(weft_tensor *variable);
weft_status wi_saved_list_add_variable(wi_saved_list *list, weft_tensor *variable);
/* Adds a state in host memory as "weft.KIND.NUMBER". */
weft_status wi_saved_list_add_state(wi_saved_list *list, wi_host_state *state, size_t number);
/* Adds a copy of the entry with the name prefix + name. */
weft_status wi_saved_list_add(wi_saved_list *list, const char *prefix, const wi_saved_entry *entry);
/* Adds a string to the metadata. The value is printed in the C locale, and has at most 255 bytes. */
weft_status wi_saved_list_note(wi_saved_list *list, const char *key, const char *format, ...) WI_PRINTF(3, 4);

/* Adds a string of any length to the metadata. */
weft_status wi_saved_list_note_text(wi_saved_list *list, const char *key, const char *value);

/* Is the content divided among several processes? Then it cannot be copied, and wi_saved_entry_check fails. */
bool wi_saved_entry_is_divided(const wi_saved_entry *entry);
weft_status wi_saved_entry_check(const wi_saved_entry *entry);
/* Copy the content of an entry to or from host memory of entry->bytes bytes; both wait for the device. */
weft_status wi_saved_entry_read(const wi_saved_entry *entry, void *data);
weft_status wi_saved_entry_write(const wi_saved_entry *entry, const void *data);

#endif
