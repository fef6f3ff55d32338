/* Lists the state of a graph for checkpoints, and applies its metadata (contract in graph_state.h). */
#include "io/graph_state.h"
#include "cl/context.h"
#include "graph/variable_names.h"
#include "io/encoding.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 64, KEY = 40 };

static int by_name(const void *a, const void *b) {
    return strcmp(((const wi_saved_entry *)a)->name, ((const wi_saved_entry *)b)->name);
}

static weft_status fail_without_name(const wi_variable *parameter) {
    char text[WI_SHAPE_TEXT];
    WI_FAIL(WEFT_ERROR_STATE,
        "parameter %zu of the graph, of shape %s, has no name, but weights are saved by name; create the "
        "parameter with a name",
        parameter->number, wi_shape_print(parameter->tensor->graph, &parameter->tensor->shape, text));
}

weft_status wi_list_weights(wi_saved_list *list, weft_graph *graph) {
    list->graph = graph;
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *const variable = graph->variables[i];
        const bool named = *weft_tensor_name(variable->tensor) != '\0';
        if (variable->transient) continue;
        if (!named && variable->trainable) return fail_without_name(variable);
        if (named) WI_TRY(wi_saved_list_add_variable(list, variable->tensor));
    }
    if (list->count) qsort(list->entries, list->count, sizeof *list->entries, by_name);
    return WEFT_OK;
}

/* Lists an optimizer's state, which is laid out like several parameters, as one entry for each of them. */
static weft_status list_optimizer_state(wi_saved_list *list, weft_graph *graph, const wi_variable *state) {
    char prefix[PREFIX], number[16] = "";
    if (state->optimizer) snprintf(number, sizeof number, "%zu", state->optimizer + 1);
    snprintf(prefix, sizeof prefix, WI_RESERVED_PREFIX "optimizer%s.%s.", number, state->role);
    const bool is_part = state->whole_bytes > 0;
    const size_t covered = is_part ? state->whole_covered : state->covered,
                 end = covered + (is_part ? state->whole_bytes : state->bytes);
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *const parameter = graph->variables[i];
        if (!parameter->trainable || parameter->block != state->covered_block ||
            parameter->offset < covered || parameter->offset >= end)
            continue;
        wi_saved_entry entry = {.name = weft_tensor_name(parameter->tensor),
            .dtype = state->tensor->dtype,
            .rank = parameter->tensor->shape.rank,
            .bytes = parameter->bytes,
            .variable = is_part ? NULL : state->tensor,
            .offset = parameter->offset - covered,
            .host = state->whole ? state->whole + (parameter->offset - covered) : NULL};
        for (int axis = 0; axis < entry.rank; axis++) entry.dims[axis] = parameter->tensor->shape.dims[axis];
        WI_TRY(wi_saved_list_add(list, prefix, &entry));
    }
    return WEFT_OK;
}

static weft_status list_numbered(
    wi_saved_list *list, const wi_variable *variable, const char *prefix, size_t number) {
    char name[KEY];
    WI_TRY(wi_saved_list_add_variable(list, variable->tensor));
    snprintf(name, sizeof name, WI_RESERVED_PREFIX "%s.%zu", prefix, number);
    list->entries[list->count - 1].is_optional = variable->is_optional;
    list->entries[list->count - 1].name = wi_arena_string(&list->arena, name);
    return list->entries[list->count - 1].name ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* The number of earlier variables with the same saved_as, since each clock has such variables. */
static size_t number_of_saved(const weft_graph *graph, size_t index) {
    size_t number = 0;
    for (size_t i = 0; i < index; i++) {
        const char *const other = graph->variables[i]->saved_as;
        number += other && strcmp(other, graph->variables[index]->saved_as) == 0;
    }
    return number;
}

/* If each gradient shard carries a value of its own, they are one entry: a row for each shard. */
static weft_status list_carried(wi_saved_list *list, const wi_variable *variable, size_t number) {
    WI_TRY(list_numbered(list, variable, "carried", number));
    wi_saved_entry *const entry = &list->entries[list->count - 1];
    if (!variable->whole) return WEFT_OK;
    const size_t shards = variable->whole_bytes / variable->bytes;
    entry->variable = NULL;
    entry->host = variable->whole;
    entry->bytes = variable->whole_bytes;
    entry->rank = 2;
    entry->dims[1] = (int64_t)(variable->bytes / weft_dtype_size(variable->tensor->dtype));
    entry->dims[0] = (int64_t)shards;
    return WEFT_OK;
}

static weft_status list_host_states(wi_saved_list *list, const weft_graph *graph) {
    size_t number = 0;
    for (wi_host_state *state = graph->host_states; state; state = state->next)
        WI_TRY(wi_saved_list_add_state(list, state, number++));
    return WEFT_OK;
}

static weft_status list_states(wi_saved_list *list, weft_graph *graph) {
    size_t carried = 0;
    for (size_t i = 0; i < graph->variable_count; i++) {
        const wi_variable *const variable = graph->variables[i];
        if (variable->role)
            WI_TRY(list_optimizer_state(list, graph, variable));
        else if (variable->saved_as)
            WI_TRY(list_numbered(list, variable, variable->saved_as, number_of_saved(graph, i)));
        else if (variable->assigned && !variable->transient && *weft_tensor_name(variable->tensor) == '\0')
            WI_TRY(list_carried(list, variable, carried++));
    }
    return list_host_states(list, graph);
}

/* ---- encodings ---- */

static const char encoding_key[] = "encoding.";

static weft_status list_encodings(wi_saved_list *list, const weft_graph *graph) {
    size_t count = 0;
    const wi_named_encoding *const named = wi_graph_encodings(graph, &count);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        wi_text key, value;
        wi_text_init(&key, list->arena.allocator);
        wi_text_init(&value, list->arena.allocator);
        wi_text_append(&key, "%s", encoding_key);
        wi_encoding_write_name(&key, named[i].name);
        wi_encoding_write(&value, named[i].encoding);
        status = key.failed || value.failed ? WEFT_ERROR_MEMORY
                                            : wi_saved_list_note_text(list, key.data, value.data);
        wi_text_clear(&key);
        wi_text_clear(&value);
    }
    return status;
}

/* named: an array with room for all pairs of the metadata. */
static weft_status read_encodings(
    wi_named_encoding *named, size_t *count, wi_arena *arena, const wi_checkpoint_file *file) {
    const size_t prefix = strlen(encoding_key);
    for (size_t i = 0; i < file->table.metadata_count; i++) {
        const wi_saved_pair *const pair = &file->table.metadata[i];
        if (strncmp(pair->key, encoding_key, prefix) != 0) continue;
        named[*count] = (wi_named_encoding){
            wi_encoding_read_name(arena, pair->key + prefix), wi_encoding_read(arena, pair->value)};
        if (!named[*count].name || !named[*count].encoding)
            WI_FAIL(WEFT_ERROR_FORMAT, "'%s': its metadata '%.100s' cannot be read", file->path, pair->key);
        ++*count;
    }
    return WEFT_OK;
}

/* Reads the encodings of a checkpoint, and unless `dry` stores them in the graph. */
static weft_status take_encodings(weft_graph *graph, const wi_checkpoint_file *file, bool dry) {
    wi_arena arena;
    size_t count = 0;
    wi_arena_init(&arena, file->allocator);
    wi_named_encoding *const named = wi_arena_take(&arena, (file->table.metadata_count + 1) * sizeof *named);
    weft_status status = named ? read_encodings(named, &count, &arena, file) : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK && count && !dry) status = wi_graph_encodings_set(graph, named, count);
    wi_arena_clear(&arena);
    return status;
}

bool wi_checkpoint_has_encodings(const wi_checkpoint_file *file) {
    for (size_t i = 0; i < file->table.metadata_count; i++)
        if (strncmp(file->table.metadata[i].key, encoding_key, strlen(encoding_key)) == 0) return true;
    return false;
}

/* ---- numbers ---- */

/* The number of scheduled rates. Each has a clock, so that the indices of clocks depend on this number. */
static uint64_t count_schedules(const weft_graph *graph) {
    uint64_t count = 0;
    for (size_t i = 0; i < graph->scalar_count; i++) count += graph->scalars[i].is_set;
    return count;
}

static const char *numbered(char key[KEY], const char *prefix, size_t number) {
    snprintf(key, KEY, "%s%zu", prefix, number);
    return key;
}

/* Does a checkpoint have the value of the scalar? */
static bool is_saved(const wi_scalar *scalar) {
    return !scalar->is_unsaved && (!scalar->rule || scalar->is_set);
}

static size_t count_scalars(const weft_graph *graph) {
    size_t count = 0;
    for (size_t i = 0; i < graph->scalar_count; i++) count += !graph->scalars[i].is_unsaved;
    return count;
}

/* Lists all tensors of the state except the weights. */
static weft_status list_training(wi_saved_list *list, weft_graph *graph) {
    char key[KEY];
    WI_TRY(list_states(list, graph));
    WI_TRY(wi_saved_list_note(list, "graph.seed", "%" PRIu64, graph->context->seed));
    WI_TRY(wi_saved_list_note(list, "graph.draws", "%" PRIu64, graph->draws));
    WI_TRY(wi_saved_list_note(list, "graph.swapped", "%d", graph->swapped));
    WI_TRY(wi_saved_list_note(list, "graph.clocks", "%zu", graph->clock_count));
    WI_TRY(wi_saved_list_note(list, "graph.scalars", "%zu", count_scalars(graph)));
    if (count_schedules(graph) > 0)
        WI_TRY(wi_saved_list_note(list, "graph.schedules", "%" PRIu64, count_schedules(graph)));
    for (size_t i = 0; i < graph->clock_count; i++)
        WI_TRY(wi_saved_list_note(list, numbered(key, "graph.clock.", i), "%" PRIu64, graph->clocks[i].runs));
    for (size_t i = 0, number = 0; i < graph->scalar_count; number += !graph->scalars[i++].is_unsaved)
        if (is_saved(&graph->scalars[i]))
            WI_TRY(wi_saved_list_note(
                list, numbered(key, "graph.scalar.", number), "%.9g", (double)graph->scalars[i].value));
    return list_encodings(list, graph);
}

/* Checks the counts of clocks and scalars in the file. They must be the counts of the graph, or smaller counts that the
 * graph had before further steps introduced parameters to an optimizer. */
static weft_status check_counts(const weft_graph *graph, const wi_checkpoint_file *file) {
    uint64_t clocks = 0, scalars = 0, schedules = 0, seed = 0;
    WI_TRY(wi_checkpoint_count(file, "graph.clocks", &clocks));
    WI_TRY(wi_checkpoint_count(file, "graph.scalars", &scalars));
    if (wi_checkpoint_find(file, "graph.schedules"))
        WI_TRY(wi_checkpoint_count(file, "graph.schedules", &schedules));
    WI_TRY(wi_checkpoint_count(file, "graph.seed", &seed));
    if (schedules != count_schedules(graph))
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is a checkpoint of another training: the number of its optimizers with a schedule is "
            "%" PRIu64 ", but the graph's is %" PRIu64,
            file->path, schedules, count_schedules(graph));
    const bool is_same = clocks == graph->clock_count && scalars == count_scalars(graph);
    if (!is_same && (clocks >= graph->clock_count || scalars > count_scalars(graph)))
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is a checkpoint of another training: the numbers of its optimizers and scalars are %" PRIu64
            " and %" PRIu64 ", but the graph's are %zu and %zu",
            file->path, clocks, scalars, graph->clock_count, count_scalars(graph));
    if (graph->streams && seed != graph->context->seed)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s' was saved with the seed %" PRIu64 ", but this context has the seed %" PRIu64
            "; the graph draws random numbers, so create the context with the seed of the checkpoint",
            file->path, seed, graph->context->seed);
    return WEFT_OK;
}

/* Reads the numbers of the metadata, and unless `dry` stores them in the graph. */
static weft_status take_numbers(weft_graph *graph, const wi_checkpoint_file *file, bool dry) {
    char key[KEY];
    uint64_t draws = 0, swapped = 0, clocks = 0, scalars = 0;
    double value = 0;
    WI_TRY(wi_checkpoint_count(file, "graph.clocks", &clocks));
    WI_TRY(wi_checkpoint_count(file, "graph.scalars", &scalars));
    WI_TRY(wi_checkpoint_count(file, "graph.draws", &draws));
    WI_TRY(wi_checkpoint_count(file, "graph.swapped", &swapped));
    for (size_t i = 0; i < graph->clock_count; i++) {
        uint64_t runs = 0;
        if (i < clocks) WI_TRY(wi_checkpoint_count(file, numbered(key, "graph.clock.", i), &runs));
        if (!dry) graph->clocks[i].runs = runs;
        if (!dry) graph->clocks[i].ends = false;
    }
    for (size_t i = 0, number = 0; i < graph->scalar_count; number += !graph->scalars[i++].is_unsaved) {
        wi_scalar *const scalar = &graph->scalars[i];
        if (!dry) scalar->remembers = 0; /* discards the rule's memory, which is of another update */
        if (!is_saved(scalar) || number >= scalars) continue;
        WI_TRY(wi_checkpoint_number(file, numbered(key, "graph.scalar.", number), &value));
        if (!dry) scalar->value = (float)value;
    }
    if (dry) return WEFT_OK;
    graph->draws = draws;
    graph->swapped = swapped != 0;
    return WEFT_OK;
}

weft_status wi_list_graph(wi_saved_list *list, weft_graph *graph) {
    WI_TRY(wi_list_weights(list, graph));
    WI_TRY(wi_checkpoint_note_head(list, list->count));
    return list_training(list, graph);
}

weft_status wi_graph_numbers_check(weft_graph *graph, const wi_checkpoint_file *file) {
    WI_TRY(check_counts(graph, file));
    WI_TRY(take_encodings(graph, file, true));
    return take_numbers(graph, file, true);
}

weft_status wi_graph_numbers_apply(weft_graph *graph, const wi_checkpoint_file *file) {
    WI_TRY(take_numbers(graph, file, false));
    return take_encodings(graph, file, false);
}
