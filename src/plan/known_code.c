/* The code of steps that plans have had (contract in known_code.h). */
#include "plan/known_code.h"
#include "base/platform.h"
#include <string.h>

/* ---- life ---- */

static void release(void *value) {
    wi_known_code *const known = value;
    const weft_allocator *const allocator = known->arena.allocator;
    wi_release(allocator, known->pieces);
    wi_arena_clear(&known->arena);
    wi_release(allocator, known);
}

static weft_status make(weft_graph *graph, const char *name, wi_known_code **known) {
    const weft_allocator *const allocator = graph->context->allocator;
    wi_known_code *const made = wi_allocate(allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    wi_arena_init(&made->arena, allocator);
    wi_key_map_init(&made->steps, &made->arena);
    wi_key_map_init(&made->templates, &made->arena);
    const weft_status status = wi_graph_attach(graph, name, made, release);
    if (status == WEFT_OK)
        *known = made;
    else
        wi_release(allocator, made);
    return status;
}

weft_status wi_known_code_of(weft_graph *graph, wi_known_code **known) {
    static const char name[] = "code of steps";
    *known = wi_graph_attachment(graph, name);
    return *known ? WEFT_OK : make(graph, name, known);
}

/* ---- templates ---- */

static void add_text(wi_key_map *map, const char *text) {
    wi_key_add_bytes(map, text, strlen(text));
}

static void add_macros(wi_key_map *map, const wi_kernel_plan *kernel) {
    for (int i = 0; kernel->parameters && kernel->parameters[i]; i++) {
        wi_key_add_address(map, kernel->parameters[i]);
        wi_key_add(map, (uint64_t)kernel->values[i]);
    }
    wi_key_add(map, (uint64_t)kernel->macro_count);
    for (int i = 0; i < kernel->macro_count; i++) {
        wi_key_add_address(map, kernel->macros[i].name);
        add_text(map, kernel->macros[i].value);
    }
}

const void *wi_known_template(wi_known_code *known, const wi_kernel_plan *kernel) {
    wi_key_map *const map = &known->templates;
    wi_key_begin(map);
    wi_key_add_address(map, kernel->file);
    wi_key_add_address(map, kernel->headers);
    add_macros(map, kernel);
    return wi_key_end(map);
}

/* ---- pieces ---- */

weft_status wi_known_piece(wi_known_code *known, const wi_code_piece *piece, int *number) {
    for (size_t i = 0; i < known->piece_count; i++) {
        if (!wi_cache_key_equal(known->pieces[i].hash, piece->hash)) continue;
        *number = (int)i;
        return WEFT_OK;
    }
    char *const text = wi_arena_take(&known->arena, piece->length + 1);
    if (!text) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_grow(known->arena.allocator, (void **)&known->pieces, &known->piece_capacity,
        known->piece_count + 1, sizeof *known->pieces));
    memcpy(text, piece->text, piece->length);
    *number = (int)known->piece_count++;
    known->pieces[*number] = *piece;
    known->pieces[*number].text = text;
    known->pieces[*number].number = *number;
    return WEFT_OK;
}

/* ---- what stands before pieces ---- */

const wi_cache_key *wi_known_prefix_key(const wi_known_code *known, const wi_device *device, unsigned needs) {
    for (size_t i = 0; i < known->prefix_count; i++) {
        const wi_known_prefix *const own = &known->prefixes[i];
        if (own->device == device && own->needs == needs) return &own->key;
    }
    return NULL;
}

void wi_known_keep_prefix(wi_known_code *known, const wi_device *device, unsigned needs, wi_cache_key key) {
    if (known->prefix_count == WI_KNOWN_PREFIXES || wi_environment("WEFT_KERNEL_DIR")) return;
    known->prefixes[known->prefix_count++] = (wi_known_prefix){device, needs, key};
}

/* ---- arguments ---- */

weft_status wi_known_keep(wi_known_code *known, wi_kernel_text *own, const wi_kernel_text *made, int piece) {
    const size_t bytes = (size_t)made->argument_count * sizeof *made->arguments;
    *own = (wi_kernel_text){
        .piece = piece, .argument_count = made->argument_count, .argument_capacity = made->argument_count};
    if (bytes == 0) return WEFT_OK;
    own->arguments = wi_arena_take(&known->arena, bytes);
    if (!own->arguments) return WEFT_ERROR_MEMORY;
    memcpy(own->arguments, made->arguments, bytes);
    return WEFT_OK;
}
