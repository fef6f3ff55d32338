/* The origins of nodes and errors (contract in origin.h). */
#include "graph/origin.h"
#include "cl/context.h"
#include "graph/weft_graph.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LOOKED_AT = 8, MOST = INT32_MAX };

void wi_call_begin(weft_graph *graph, const char *call) {
    if (!graph || graph->origins.depth++ > 0) return;
    graph->origins.call = call;
    graph->origins.current = 0;
}

weft_tensor *wi_call_end(weft_graph *graph, weft_tensor *result) {
    if (!graph || --graph->origins.depth > 0) return result;
    graph->origins.call = NULL;
    graph->origins.current = 0;
    return result;
}

weft_status wi_call_done(weft_graph *graph, weft_status status) {
    const char *const call = graph ? graph->origins.call : NULL;
    char text[WI_ORIGIN_TEXT];
    (void)wi_call_end(graph, NULL);
    if (status == WEFT_OK || !call || graph->origins.call || graph->status != WEFT_OK) return status;
    snprintf(text, sizeof text, " (in %s)", call);
    if (!strstr(weft_last_error(), call)) wi_error_add(text);
    return status;
}

weft_graph *weft_graph_here(weft_graph *graph, const char *file, int line) {
    if (!graph) return NULL;
    graph->origins.file = file;
    graph->origins.line = line;
    graph->origins.current = 0;
    return graph;
}

void wi_origin_set_scope(weft_graph *graph, const char *prefix) {
    graph->origins.scope = prefix;
    graph->origins.current = 0;
}

static bool is_origin(const wi_origin *a, const wi_origin *b) {
    return a->call == b->call && a->scope == b->scope && a->file == b->file && a->line == b->line;
}

/* Searches the last LOOKED_AT origins for `now`, and returns its number, which counts from 1; 0: it is not among them. Layers alternate,
 * so that an origin often recurs after a few others. */
static size_t number_of(const wi_origins *origins, const wi_origin *now) {
    size_t i = origins->count;
    while (i > 0 && origins->count - i < LOOKED_AT && !is_origin(&origins->of[i - 1], now)) i--;
    return i > 0 && origins->count - i < LOOKED_AT ? i : 0;
}

uint32_t wi_origin_now(weft_graph *graph) {
    wi_origins *const origins = &graph->origins;
    if (origins->current) return origins->current;
    const char *const scope = origins->scope ? origins->scope : "";
    const wi_origin now = {origins->call, scope, origins->file, origins->line};
    size_t number = number_of(origins, &now);
    if (number == 0 && origins->count < MOST &&
        wi_grow(graph->context->allocator, (void **)&origins->of, &origins->capacity, origins->count + 1,
            sizeof *origins->of) == WEFT_OK) {
        origins->of[origins->count++] = now;
        number = origins->count;
    }
    return origins->current = (uint32_t)number;
}

uint32_t wi_origin_enter(weft_graph *graph, uint32_t origin) {
    const uint32_t before = graph->origins.current;
    graph->origins.depth++;
    graph->origins.current = origin;
    return before;
}

void wi_origin_leave(weft_graph *graph, uint32_t before) {
    graph->origins.depth--;
    graph->origins.current = before;
}

static void append(char text[WI_ORIGIN_TEXT], const char *format, const char *what, int length, int line) {
    const size_t at = strlen(text);
    const int written = snprintf(text + at, WI_ORIGIN_TEXT - at, "%s", at ? ", " : " (");
    snprintf(text + at + (size_t)written, WI_ORIGIN_TEXT - at - (size_t)written, format, length, what, line);
}

static bool begins_with_word(const char *line, const char *word) {
    const size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && !isalnum((unsigned char)line[length]) && line[length] != '_';
}

/* Does the line begin with the name of the call, with or without its prefix "weft_"? */
static bool begins_with(const char *line, const char *call) {
    return begins_with_word(line, call) || begins_with_word(line, call + sizeof "weft_" - 1);
}

const char *wi_origin_print(
    const weft_graph *graph, uint32_t origin, const char *line, char text[WI_ORIGIN_TEXT]) {
    text[0] = '\0';
    if (origin == 0 || origin > graph->origins.count) return text;
    const wi_origin *const o = &graph->origins.of[origin - 1];
    const size_t scope = strlen(o->scope);
    if (o->call && !begins_with(line, o->call)) append(text, "in %.*s", o->call, 64, 0);
    if (scope) append(text, "scope '%.*s'", o->scope, (int)scope - 1, 0);
    if (o->file) append(text, "after %.*s:%d", o->file, 160, o->line);
    if (text[0]) snprintf(text + strlen(text), WI_ORIGIN_TEXT - strlen(text), ")");
    return text;
}
