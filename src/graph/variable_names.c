#include "graph/variable_names.h"
#include <string.h>
#include <xxhash.h>

typedef enum name_kind { VARIABLE, LAYER, WORD } name_kind;

struct wi_variable_name {
    struct wi_variable_name *next; /* in its bucket */
    uint64_t hash;
    name_kind kind;
    weft_tensor *variable; /* VARIABLE */
    uint32_t number;       /* WORD */
    size_t length;
    const char *text; /* of length bytes, and perhaps more */
};

static wi_variable_name *find(const weft_graph *graph, name_kind kind, const char *text, size_t length) {
    if (graph->name_bucket_count == 0) return NULL;
    const uint64_t hash = XXH3_64bits_withSeed(text, length, (uint64_t)kind);
    wi_variable_name *name = graph->names[hash % graph->name_bucket_count];
    while (name && (name->hash != hash || name->kind != kind || name->length != length ||
                       memcmp(name->text, text, length) != 0))
        name = name->next;
    return name;
}

static weft_status grow(weft_graph *graph) {
    if (graph->name_count < graph->name_bucket_count) return WEFT_OK;
    const weft_allocator *const allocator = graph->context->allocator;
    const size_t count = graph->name_bucket_count ? 2 * graph->name_bucket_count : 64;
    wi_variable_name **const buckets = wi_allocate_array(allocator, count, sizeof *buckets);
    if (!buckets) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < graph->name_bucket_count; i++) {
        for (wi_variable_name *name = graph->names[i], *next; name; name = next) {
            next = name->next;
            name->next = buckets[name->hash % count];
            buckets[name->hash % count] = name;
        }
    }
    wi_release(allocator, graph->names);
    graph->names = buckets;
    graph->name_bucket_count = count;
    return WEFT_OK;
}

/* Finds the entry, or makes it; text stays where it is. NULL: out of memory. */
static wi_variable_name *take(weft_graph *graph, name_kind kind, const char *text, size_t length) {
    wi_variable_name *name = find(graph, kind, text, length);
    if (name) return name;
    if (grow(graph) != WEFT_OK || !(name = wi_arena_take(&graph->arena, sizeof *name))) return NULL;
    *name = (wi_variable_name){.hash = XXH3_64bits_withSeed(text, length, (uint64_t)kind),
        .kind = kind,
        .length = length,
        .text = text};
    wi_variable_name **const bucket = &graph->names[name->hash % graph->name_bucket_count];
    name->next = *bucket;
    *bucket = name;
    graph->name_count++;
    return name;
}

weft_status wi_variable_names_add(weft_graph *graph, weft_tensor *variable) {
    const char *const text = variable->name;
    wi_variable_name *const name = take(graph, VARIABLE, text, strlen(text));
    if (!name) return WEFT_ERROR_MEMORY;
    if (!name->variable) name->variable = variable;
    for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.'))
        if (!take(graph, LAYER, text, (size_t)(dot - text))) return WEFT_ERROR_MEMORY;
    return WEFT_OK;
}

weft_tensor *wi_variable_names_find(const weft_graph *graph, const char *name) {
    const wi_variable_name *const found = find(graph, VARIABLE, name, strlen(name));
    return found ? found->variable : NULL;
}

bool wi_variable_names_has_layer(const weft_graph *graph, const char *layer) {
    return find(graph, LAYER, layer, strlen(layer)) != NULL;
}

uint32_t *wi_variable_names_number(weft_graph *graph, const char *word) {
    wi_variable_name *name = find(graph, WORD, word, strlen(word));
    if (!name) {
        const char *const own = wi_arena_string(&graph->arena, word);
        name = own ? take(graph, WORD, own, strlen(own)) : NULL;
    }
    return name ? &name->number : NULL;
}

void wi_variable_names_clear(weft_graph *graph) {
    wi_release(graph->context->allocator, graph->names);
}
