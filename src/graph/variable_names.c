/* The hash table of names (contract in variable_names.h). */
#include "graph/variable_names.h"
#include "cl/context.h"
#include <string.h>
#include <xxhash.h>

/* uthash takes memory from `allocator`, a local variable of the function that uses it; out of memory it adds nothing. */
#define uthash_malloc(bytes)      wi_allocate(allocator, bytes)
#define uthash_free(block, bytes) wi_release(allocator, block)
#define HASH_NONFATAL_OOM         1
#define HASH_FUNCTION(key, bytes, hash)                                                                      \
    do {                                                                                                     \
        (hash) = (unsigned)XXH3_64bits(key, bytes);                                                          \
    } while (0)
#include <uthash.h>

struct wi_variable_name {
    weft_tensor *variable; /* in the table of variables */
    uint32_t number;       /* in the table of words */
    UT_hash_handle hh;     /* the key is in the graph's arena, without a terminating zero */
};

static wi_variable_name *find(const wi_variable_name *table, const char *text, size_t length) {
    wi_variable_name *name;
    HASH_FIND(hh, table, text, (unsigned)length, name);
    return name;
}

/* Finds the entry of the text, or creates an entry, which refers to the text without a copy. NULL: out of memory. */
static wi_variable_name *take(weft_graph *graph, wi_variable_name **table, const char *text, size_t length) {
    const weft_allocator *const allocator = graph->context->allocator;
    wi_variable_name *name = find(*table, text, length);
    if (name || !(name = wi_arena_take(&graph->arena, sizeof *name))) return name;
    HASH_ADD_KEYPTR(hh, *table, text, (unsigned)length, name);
    return name->hh.tbl ? name : NULL;
}

bool wi_name_is_reserved(const char *name) {
    static const char prefix[] = WI_RESERVED_PREFIX;
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

weft_status wi_variable_names_add(weft_graph *graph, weft_tensor *variable) {
    const char *const text = variable->name;
    wi_variable_name *const name = take(graph, &graph->names.variables, text, strlen(text));
    if (!name) return WEFT_ERROR_MEMORY;
    if (!name->variable) name->variable = variable;
    for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.'))
        if (!take(graph, &graph->names.layers, text, (size_t)(dot - text))) return WEFT_ERROR_MEMORY;
    return WEFT_OK;
}

weft_tensor *wi_variable_names_find(const weft_graph *graph, const char *name) {
    const wi_variable_name *const found = find(graph->names.variables, name, strlen(name));
    return found ? found->variable : NULL;
}

void wi_variable_names_forget(weft_graph *graph, const weft_tensor *variable) {
    const weft_allocator *const allocator = graph->context->allocator;
    const char *const text = variable->name;
    wi_variable_name *const name = text ? find(graph->names.variables, text, strlen(text)) : NULL;
    if (name && name->variable == variable) HASH_DEL(graph->names.variables, name);
}

bool wi_variable_names_has_layer(const weft_graph *graph, const char *layer) {
    return find(graph->names.layers, layer, strlen(layer)) != NULL;
}

bool wi_name_is_transient(const weft_graph *graph, const char *name) {
    const weft_tensor *const variable = graph ? wi_variable_names_find(graph, name) : NULL;
    return variable && variable->variable->transient;
}

uint32_t *wi_variable_names_number(weft_graph *graph, const char *word) {
    wi_variable_name *name = find(graph->names.words, word, strlen(word));
    if (!name) {
        const char *const own = wi_arena_string(&graph->arena, word);
        name = own ? take(graph, &graph->names.words, own, strlen(own)) : NULL;
    }
    return name ? &name->number : NULL;
}

void wi_variable_names_clear(weft_graph *graph) {
    const weft_allocator *const allocator = graph->context->allocator;
    HASH_CLEAR(hh, graph->names.variables);
    HASH_CLEAR(hh, graph->names.layers);
    HASH_CLEAR(hh, graph->names.words);
}
