/* The network as a table of layers, for the data of a page (contract in page_json.h). */
#include "train/page/page_json.h"
#include <string.h>

enum { MOST_LAYERS = 1000, OPS_BYTES = 120 };

/* The nodes of one group: those of a layer or scope, or neighbours outside of all. */
typedef struct layer {
    const char *group; /* of `length` bytes; outside of groups the name of the first node */
    size_t length;
    char ops[OPS_BYTES];
    const char *shape; /* of the last node */
    int64_t parameters;
} layer;

typedef struct layer_list {
    layer *of;
    size_t count, capacity;
} layer_list;

static size_t group_length(const wi_event_node *node) {
    const char *const slash = strrchr(node->name, '/');
    return slash ? (size_t)(slash - node->name) : 0;
}

/* Whether the row is one input or parameter outside of groups, and has its name. */
static bool is_alone(const layer *row) {
    return row->length == 0 && (row->parameters || strcmp(row->ops, "input") == 0);
}

static layer *find_layer(layer_list *list, const wi_event_node *node, size_t length) {
    if (length == 0) {
        layer *const last = list->count ? &list->of[list->count - 1] : NULL;
        if (last && is_alone(last)) return NULL;
        return last && last->length == 0 && strcmp(node->op, "input") != 0 && !node->is_parameter ? last
                                                                                                  : NULL;
    }
    for (size_t i = list->count; i-- > 0;)
        if (list->of[i].length == length && memcmp(list->of[i].group, node->name, length) == 0)
            return &list->of[i];
    return NULL;
}

/* Appends the op unless the list has it, or has no room for it. */
static void add_op(layer *to, const char *op) {
    const size_t length = strlen(op), used = strlen(to->ops);
    for (const char *at = to->ops; (at = strstr(at, op)) != NULL; at += length) {
        const bool begins = at == to->ops || at[-1] == ' ', ends = at[length] == '\0' || at[length] == ',';
        if (begins && ends) return;
    }
    if (used + length + 3 > sizeof to->ops) return;
    if (used) memcpy(to->ops + used, ", ", 2);
    memcpy(to->ops + used + (used ? 2 : 0), op, length + 1);
}

static int64_t elements_of(const wi_event_node *node) {
    int64_t count = 1;
    for (int i = 0; i < node->rank; i++) count *= node->dims[i];
    return count;
}

static weft_status add_node(layer_list *list, const weft_allocator *allocator, const wi_event_node *node) {
    const size_t length = group_length(node);
    const bool is_input = strcmp(node->op, "input") == 0;
    if (node->input_count == 0 && !node->is_parameter && !is_input) return WEFT_OK;
    layer *found = find_layer(list, node, length);
    if (!found) {
        WI_TRY(wi_grow(allocator, (void **)&list->of, &list->capacity, list->count + 1, sizeof *list->of));
        found = &list->of[list->count++];
        *found = (layer){.group = node->name, .length = length};
    }
    if (node->is_parameter) {
        found->parameters += elements_of(node);
        if (!found->shape) found->shape = node->shape;
        return WEFT_OK;
    }
    add_op(found, node->op);
    found->shape = node->shape;
    return WEFT_OK;
}

static void write_layer(wi_text *text, wi_text *name, const layer *row, bool is_first) {
    name->length = 0;
    wi_text_append(name, "%.*s", is_alone(row) ? (int)strlen(row->group) : (int)row->length, row->group);
    text->failed = text->failed || name->failed;
    if (text->failed) return;
    wi_text_append(text, is_first ? "[" : ",[");
    wi_page_write_string(text, name->data);
    wi_text_append(text, ",");
    wi_page_write_string(text, row->ops);
    wi_text_append(text, ",");
    wi_page_write_string(text, row->shape);
    wi_text_append(text, ",%lld]", (long long)row->parameters);
}

weft_status wi_page_write_network(
    wi_text *text, const weft_allocator *allocator, const wi_event_graph *graph) {
    layer_list list = {0};
    wi_text name;
    weft_status status = WEFT_OK;
    int64_t parameters = 0;
    wi_text_init(&name, allocator);
    for (size_t i = 0; i < graph->count && status == WEFT_OK; i++)
        status = add_node(&list, allocator, &graph->nodes[i]);
    text->length = 0;
    wi_text_append(text, ",\"layers\":[");
    for (size_t i = 0; i < list.count && status == WEFT_OK; i++) {
        parameters += list.of[i].parameters;
        if (i < MOST_LAYERS) write_layer(text, &name, &list.of[i], i == 0);
    }
    wi_text_append(text, "],\"parameters\":%lld", (long long)parameters);
    wi_text_clear(&name);
    wi_release(allocator, list.of);
    return status;
}
