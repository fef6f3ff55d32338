/* Loads a safetensors file into the parameters and named states of a graph. The whole file is checked against the graph,
 * and all memory is allocated, before the first variable is written. */
#include "base/options.h"
#include "base/pattern.h"
#include "base/platform.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "graph/variable_names.h"
#include "io/differences.h"
#include "io/graph_state.h"
#include "io/name_choice.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/io.h>

/* A tensor of the file, with the name that it has in the graph. */
typedef struct candidate {
    const char *name;
    wi_saved_tensor *saved;
} candidate;

typedef struct load {
    const weft_weights_options *options;
    const char *path;
    wi_saved_list list; /* of the graph; its arena also has the new names of tensors */
    wi_safetensors file;
    char *bytes;
    candidate *candidates;          /* sorted by name */
    const wi_saved_tensor **chosen; /* for each entry of the list; NULL: the entry keeps its values */
    wi_differences refused;
} load;

/* ---- conversions ---- */

static int64_t i64_value(const unsigned char *bytes) {
    int64_t value = 0;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Can a tensor of the dtype `from` be loaded into a variable of the dtype `to`? */
static bool converts(const wi_saved_dtype *from, weft_dtype to) {
    if (from->dtype == (int)to) return true;
    if (to == WEFT_I32) return from->dtype == WEFT_I64;
    return to == WEFT_F32 && from->dtype >= 0 && wi_dtype_is_float((weft_dtype)from->dtype);
}

bool wi_saved_is_number(const wi_saved_tensor *saved) {
    return converts(saved->dtype, WEFT_F32);
}

void wi_saved_to_f32(float *values, const wi_saved_tensor *saved, const unsigned char *data) {
    const size_t size = saved->dtype->size;
    if (saved->dtype->dtype == WEFT_F32) {
        memcpy(values, data, saved->elements * size);
        return;
    }
    const wi_format *format = wi_format_of((weft_dtype)saved->dtype->dtype);
    for (size_t i = 0; i < saved->elements; i++) values[i] = (float)format->get(data, i);
}

weft_status wi_saved_check_f32(const wi_saved_tensor *saved, const unsigned char *data, const char *path) {
    if (saved->dtype->dtype != WEFT_F64) return WEFT_OK;
    for (size_t i = 0; i < saved->elements; i++) {
        double value = 0;
        memcpy(&value, data + sizeof value * i, sizeof value);
        if (isfinite(value) && !isfinite((float)value))
            WI_FAIL(WEFT_ERROR_NOT_FINITE,
                "'%s': tensor '%s': element %zu is %g, which does not fit into f32", path, saved->name, i,
                value);
    }
    return WEFT_OK;
}

static weft_status check_i64(const wi_saved_tensor *saved, const unsigned char *data, const char *path) {
    for (size_t i = 0; i < saved->elements; i++) {
        const int64_t value = i64_value(data + 8 * i);
        if (value < INT32_MIN || value > INT32_MAX)
            WI_FAIL(WEFT_ERROR_FORMAT,
                "'%s': tensor '%s': element %zu is %" PRId64 ", which does not fit into i32", path,
                saved->name, i, value);
    }
    return WEFT_OK;
}

/* ---- names ---- */

/* Is the name within the scope? */
static bool is_within(const char *scope, const char *name) {
    const size_t length = scope ? strlen(scope) : 0;
    return !scope || (strncmp(name, scope, length) == 0 && name[length] == '.');
}

/* Do the options select this name of the graph? */
static bool is_wanted(const weft_weights_options *options, const char *name) {
    return is_within(options->into, name) && wi_name_is_chosen(options->only, options->skip, name);
}

/* The name in the graph of the tensor with this name in the file. */
static const char *renamed(load *l, const char *name) {
    const wi_renaming prefix = {l->options->prefix, l->options->new_prefix};
    const char *const changed = wi_rename(&l->list.arena, &prefix, name);
    if (!l->options->into || !changed) return changed;
    const size_t capacity = strlen(l->options->into) + strlen(changed) + 2;
    char *const inside = wi_arena_take(&l->list.arena, capacity);
    if (inside) snprintf(inside, capacity, "%s.%s", l->options->into, changed);
    return inside;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const candidate *)a)->name, ((const candidate *)b)->name);
}

static weft_status list_candidates(load *l) {
    const size_t count = l->file.count;
    l->candidates = wi_arena_take(&l->list.arena, (count + 1) * sizeof *l->candidates);
    if (!l->candidates) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        l->candidates[i] = (candidate){renamed(l, l->file.tensors[i].name), &l->file.tensors[i]};
        if (!l->candidates[i].name) return WEFT_ERROR_MEMORY;
    }
    if (count) qsort(l->candidates, count, sizeof *l->candidates, by_name);
    for (size_t i = 1; i < count; i++)
        if (by_name(&l->candidates[i - 1], &l->candidates[i]) == 0)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "'%s': after the options prefix and into are applied, two tensors are called '%.100s'",
                l->path, l->candidates[i].name);
    return WEFT_OK;
}

/* Is this name of the file not a weight, but PyTorch's count of batches, or another tensor of a checkpoint of format 1
 * or 2? Such tensors are skipped. */
static bool is_no_weight(const load *l, const char *name) {
    static const char *const patterns[] = {"*.num_batches_tracked", "num_batches_tracked", NULL};
    static const char *const first[] = {
        "optimizer*.*", "carried.*", "loss_scale.*", "best.*", "extra.*", "trainer.*", NULL};
    const char *const format = wi_safetensors_metadata(&l->file, "weft.checkpoint");
    if (wi_pattern_matches_any(patterns, name)) return true;
    return format &&
           (strcmp(format, "1") == 0 ? wi_pattern_matches_any(first, name) : wi_name_is_reserved(name));
}

/* ---- matching ---- */

/* Reports an allowed difference to the caller, when all checks have passed. */
static void report_difference(const load *l, bool dry, weft_weights_difference difference, const char *name) {
    if (!dry && l->options->on_difference) l->options->on_difference(l->options->user, difference, name);
}

static weft_status check_numbers(const load *l, const wi_saved_entry *entry, const wi_saved_tensor *saved) {
    const unsigned char *const data = l->file.data + saved->begin;
    if (entry->dtype == WEFT_F32) return wi_saved_check_f32(saved, data, l->path);
    return entry->dtype == WEFT_I32 && saved->dtype->dtype == WEFT_I64 ? check_i64(saved, data, l->path)
                                                                       : WEFT_OK;
}

static weft_status match_entry(load *l, size_t index, bool dry) {
    const weft_weights_options *const options = l->options;
    const wi_saved_entry *const entry = &l->list.entries[index];
    const candidate key = {.name = entry->name};
    if (!is_wanted(options, entry->name)) return WEFT_OK;
    const candidate *const found =
        l->file.count ? bsearch(&key, l->candidates, l->file.count, sizeof key, by_name) : NULL;
    if (found) found->saved->taken = true;
    if (!found && !options->allow_missing && dry) wi_differences_missing(&l->refused, entry->name);
    if (!found) return report_difference(l, dry, WEFT_WEIGHTS_MISSING, entry->name), WEFT_OK;
    if (!wi_saved_shape_equal(found->saved, entry)) {
        if (dry && !options->allow_other_shapes) wi_differences_shape(&l->refused, found->saved, entry);
        return report_difference(l, dry, WEFT_WEIGHTS_OTHER_SHAPE, entry->name), WEFT_OK;
    }
    if (!converts(found->saved->dtype, entry->dtype)) {
        wi_differences_dtype(&l->refused, found->saved, entry);
        return WEFT_OK;
    }
    l->chosen[index] = found->saved;
    return dry ? check_numbers(l, entry, found->saved) : WEFT_OK;
}

static weft_status match_all(load *l, bool dry) {
    for (size_t i = 0; i < l->list.count; i++) WI_TRY(match_entry(l, i, dry));
    for (size_t i = 0; i < l->file.count; i++) {
        const candidate *const c = &l->candidates[i];
        if (c->saved->taken || !is_wanted(l->options, c->name) || is_no_weight(l, c->saved->name) ||
            wi_name_is_transient(l->list.graph, c->name))
            continue;
        if (dry && !l->options->allow_extra) wi_differences_unexpected(&l->refused, c->name);
        report_difference(l, dry, WEFT_WEIGHTS_UNEXPECTED, c->name);
    }
    return wi_differences_report(&l->refused, l->path, "");
}

/* ---- options that select nothing ----
 * A pattern or a prefix that matches no name is probably a mistake, and so is a file of which no tensor is loaded: the
 * network would keep its initial weights without any sign. */

static bool names_any(const load *l, const char *pattern) {
    for (size_t i = 0; i < l->list.count; i++)
        if (wi_pattern_matches(pattern, l->list.entries[i].name)) return true;
    for (size_t i = 0; i < l->file.count; i++)
        if (wi_pattern_matches(pattern, l->candidates[i].name)) return true;
    return false;
}

static weft_status check_patterns(const load *l, const char *const *patterns, const char *option) {
    for (; patterns && *patterns; patterns++)
        if (!names_any(l, *patterns))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "'%s': the option %s names '%.100s', but neither the graph nor the file has such a tensor",
                l->path, option, *patterns);
    return WEFT_OK;
}

static weft_status check_prefix(const load *l) {
    const char *const prefix = l->options->prefix;
    if (!prefix) return WEFT_OK;
    for (size_t i = 0; i < l->file.count; i++)
        if (strncmp(l->file.tensors[i].name, prefix, strlen(prefix)) == 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "'%s': no tensor of the file has a name that begins with '%.100s'; the first is called '%.100s'",
        l->path, prefix, l->file.count ? l->file.tensors[0].name : "");
}

static weft_status check_taken(const load *l) {
    const char *wanted = NULL;
    for (size_t i = 0; i < l->list.count; i++) {
        if (l->chosen[i]) return WEFT_OK;
        if (!wanted && is_wanted(l->options, l->list.entries[i].name)) wanted = l->list.entries[i].name;
    }
    if (!wanted) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': the file has none of the tensors that the graph needs, such as '%.100s'", l->path, wanted);
}

static weft_status check_selection(const load *l) {
    WI_TRY(check_patterns(l, l->options->only, "only"));
    WI_TRY(check_patterns(l, l->options->skip, "skip"));
    WI_TRY(check_prefix(l));
    return check_taken(l);
}

/* ---- loading ---- */

static weft_status write_entry(
    const wi_saved_entry *entry, const wi_saved_tensor *saved, const unsigned char *data, void *scratch) {
    const unsigned char *const source = data + saved->begin;
    if (saved->dtype->dtype == (int)entry->dtype) return wi_saved_entry_write(entry, source);
    if (entry->dtype == WEFT_F32)
        wi_saved_to_f32(scratch, saved, source);
    else
        for (size_t i = 0; i < saved->elements; i++)
            ((int32_t *)scratch)[i] = (int32_t)i64_value(source + 8 * i);
    return wi_saved_entry_write(entry, scratch);
}

static weft_status read_file(load *l, weft_graph *graph) {
    size_t size = 0;
    WI_TRY(wi_list_weights(&l->list, graph));
    WI_TRY(wi_file_read_by(&graph->context->files, l->path, &l->bytes, &size));
    WI_TRY(wi_safetensors_parse(&l->file, l->list.arena.allocator, l->path, l->bytes, size));
    l->chosen = wi_arena_take(&l->list.arena, (l->list.count + 1) * sizeof *l->chosen);
    return l->chosen ? list_candidates(l) : WEFT_ERROR_MEMORY;
}

static weft_status load_file(load *l, weft_graph *graph) {
    size_t largest = 1;
    WI_TRY(read_file(l, graph));
    WI_TRY(match_all(l, true));
    WI_TRY(check_selection(l));
    for (size_t i = 0; i < l->list.count; i++)
        if (l->list.entries[i].bytes > largest) largest = l->list.entries[i].bytes;
    void *const scratch = wi_allocate(l->list.arena.allocator, largest);
    if (!scratch) WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory while loading '%s'", l->path);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < l->list.count && status == WEFT_OK; i++)
        if (l->chosen[i]) status = write_entry(&l->list.entries[i], l->chosen[i], l->file.data, scratch);
    wi_release(l->list.arena.allocator, scratch);
    return status == WEFT_OK ? match_all(l, false) : status;
}

weft_status weft_weights_load(weft_graph *graph, const char *path, const weft_weights_options *given) {
    weft_weights_options options;
    if (!graph || !path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_weights_load: graph and path must not be NULL");
    WI_TRY(WI_OPTIONS(&options, given, "weft_weights_load", WEFT_WEIGHTS_OPTIONS_INIT));
    WI_TRY(weft_graph_status(graph));
    if (options.into && (!*options.into || !wi_variable_names_has_layer(graph, options.into)))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_weights_load: the graph has no parameter or state in the scope '%s' (option into)",
            options.into);
    const weft_allocator *const allocator = graph->context->allocator;
    load l = {.options = &options, .path = path};
    wi_saved_list_init(&l.list, allocator);
    wi_differences_init(&l.refused, allocator);
    const weft_status status = load_file(&l, graph);
    wi_differences_clear(&l.refused);
    if (l.file.arena.blocks) wi_safetensors_clear(&l.file);
    wi_release(allocator, l.bytes);
    wi_saved_list_clear(&l.list);
    return status;
}
