/* Encodings: copies, comparisons, and the encodings of a graph (contract in encoding.h). */
#include "io/encoding.h"
#include "cl/context.h"
#include "graph/weft_graph.h"
#include <inttypes.h>
#include <string.h>

/* ---- copies ---- */

static const double *copy_numbers(wi_arena *arena, const double *numbers, size_t count) {
    double *const copy = wi_arena_take(arena, (count + 1) * sizeof *copy);
    if (copy && count) memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

static const char *const *copy_texts(wi_arena *arena, const char *const *texts, size_t count) {
    const char **const copies = wi_arena_take(arena, (count + 1) * sizeof *copies);
    for (size_t i = 0; copies && i < count; i++)
        if (!(copies[i] = wi_arena_string(arena, texts[i]))) return NULL;
    return copies;
}

const weft_encoding *wi_encoding_copy(wi_arena *arena, const weft_encoding *encoding) {
    weft_encoding *const copy = wi_arena_take(arena, sizeof *copy);
    if (!copy) return NULL;
    *copy = *encoding;
    if (encoding->kind == WI_CATEGORIES) {
        copy->texts = copy_texts(arena, encoding->texts, encoding->count);
        return copy->texts ? copy : NULL;
    }
    copy->mean = copy_numbers(arena, encoding->mean, encoding->count);
    copy->deviation = copy_numbers(arena, encoding->deviation, encoding->count);
    return copy->mean && copy->deviation ? copy : NULL;
}

/* ---- comparing ---- */

/* The index of the first category, channel or field that differs; the smaller count if none does. */
static size_t first_difference(const weft_encoding *a, const weft_encoding *b) {
    const size_t count = a->count < b->count ? a->count : b->count;
    size_t i = 0;
    if (a->kind == WI_CATEGORIES)
        while (i < count && strcmp(a->texts[i], b->texts[i]) == 0) i++;
    else
        while (i < count && a->mean[i] == b->mean[i] && a->deviation[i] == b->deviation[i]) i++;
    return i;
}

bool wi_encoding_equal(const weft_encoding *a, const weft_encoding *b) {
    return a == b || (a->kind == b->kind && a->count == b->count && a->height == b->height &&
                         a->width == b->width && first_difference(a, b) == a->count);
}

static const char *kind_name(const weft_encoding *encoding) {
    return encoding->kind == WI_CATEGORIES ? "categories"
           : encoding->kind == WI_PIXELS   ? "pixels"
                                           : "normalised numbers";
}

static const char *text_at(const weft_encoding *categories, size_t index) {
    return index < categories->count ? categories->texts[index] : "(none)";
}

static weft_status fail_categories(
    const char *name, const weft_encoding *given, const weft_encoding *trained) {
    const size_t i = first_difference(given, trained);
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "column '%.100s': category %zu is '%.60s', but in the training data it is '%.60s' (%zu categories "
        "here, %zu in the training data); open this dataset with the option like = the training dataset, to "
        "use its categories",
        name, i, text_at(given, i), text_at(trained, i), given->count, trained->count);
}

weft_status wi_encoding_check(const char *name, const weft_encoding *given, const weft_encoding *trained) {
    const char *const what = given->kind == WI_PIXELS ? "channel" : "field";
    if (wi_encoding_equal(given, trained)) return WEFT_OK;
    if (given->kind != trained->kind || (given->kind != WI_CATEGORIES && given->count != trained->count))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "column '%.100s' has %s (%zu), but in the training data it has %s (%zu)",
            name, kind_name(given), given->count, kind_name(trained), trained->count);
    if (given->kind == WI_CATEGORIES) return fail_categories(name, given, trained);
    if (given->height != trained->height || given->width != trained->width)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "column '%.100s' has images of %" PRId64 " x %" PRId64
            " pixels, but the training data has images of %" PRId64 " x %" PRId64
            "; resize or crop the images of both datasets to one size",
            name, given->height, given->width, trained->height, trained->width);
    const size_t i = first_difference(given, trained);
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "column '%.100s': %s %zu is normalised by mean %.9g and deviation %.9g, but the training data by "
        "%.9g and %.9g; use the same numbers for both datasets (%s)",
        name, what, i, given->mean[i], given->deviation[i], trained->mean[i], trained->deviation[i],
        given->kind == WI_PIXELS ? "options mean and deviation" : "option like");
}

/* ---- encodings of a graph ---- */

typedef struct graph_encodings {
    wi_arena arena;
    wi_named_encoding *named;
    size_t count;
    uint64_t version;
} graph_encodings;

static const char attachment[] = "encodings";

static graph_encodings *kept_of(const weft_graph *graph) {
    return wi_graph_attachment((weft_graph *)(uintptr_t)graph, attachment);
}

const wi_named_encoding *wi_graph_encodings(const weft_graph *graph, size_t *count) {
    const graph_encodings *const kept = kept_of(graph);
    *count = kept ? kept->count : 0;
    return kept ? kept->named : NULL;
}

uint64_t wi_graph_encodings_version(const weft_graph *graph) {
    const graph_encodings *const kept = kept_of(graph);
    return kept ? kept->version : 0;
}

static const wi_named_encoding *find(const wi_named_encoding *named, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(named[i].name, name) == 0) return &named[i];
    return NULL;
}

const weft_encoding *wi_graph_encoding(const weft_graph *graph, const char *name) {
    size_t count = 0;
    const wi_named_encoding *const all = wi_graph_encodings(graph, &count);
    const wi_named_encoding *const found = find(all, count, name);
    return found ? found->encoding : NULL;
}

static weft_status add(graph_encodings *to, const wi_named_encoding *named) {
    if (!named->encoding) return WEFT_OK;
    const wi_named_encoding copy = {
        wi_arena_string(&to->arena, named->name), wi_encoding_copy(&to->arena, named->encoding)};
    if (!copy.name || !copy.encoding) return WEFT_ERROR_MEMORY;
    to->named[to->count++] = copy;
    return WEFT_OK;
}

static weft_status fill(
    graph_encodings *to, const graph_encodings *kept, const wi_named_encoding *named, size_t count) {
    to->named = wi_arena_take(&to->arena, (kept->count + count + 1) * sizeof *to->named);
    if (!to->named) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < kept->count; i++)
        if (!find(named, count, kept->named[i].name)) WI_TRY(add(to, &kept->named[i]));
    for (size_t i = 0; i < count; i++) WI_TRY(add(to, &named[i]));
    return WEFT_OK;
}

static void release(void *value) {
    graph_encodings *const kept = value;
    const weft_allocator *const allocator = kept->arena.allocator;
    wi_arena_clear(&kept->arena);
    wi_release(allocator, kept);
}

static weft_status make_kept(graph_encodings **kept, weft_graph *graph) {
    *kept = kept_of(graph);
    if (*kept) return WEFT_OK;
    graph_encodings *const made = wi_allocate(graph->context->allocator, sizeof *made);
    if (!made) return WEFT_ERROR_MEMORY;
    wi_arena_init(&made->arena, graph->context->allocator);
    const weft_status status = wi_graph_attach(graph, attachment, made, release);
    if (status != WEFT_OK) release(made);
    *kept = status == WEFT_OK ? made : NULL;
    return status;
}

weft_status wi_graph_encodings_set(weft_graph *graph, const wi_named_encoding *named, size_t count) {
    graph_encodings *kept = NULL, next = {0};
    WI_TRY(make_kept(&kept, graph));
    wi_arena_init(&next.arena, graph->context->allocator);
    const weft_status status = fill(&next, kept, named, count);
    if (status != WEFT_OK) {
        wi_arena_clear(&next.arena);
        return status;
    }
    wi_arena_clear(&kept->arena);
    next.version = kept->version + 1;
    *kept = next;
    return WEFT_OK;
}
