/* weft_onnx_save: walks from the outputs to the inputs, and writes every node by the row of its op. A composite without a row is first replaced
 * by the nodes by which plans for inference replace it. */
#include "onnx/onnx_save.h"
#include "cl/context.h"
#include "graph/attempt.h"
#include "onnx/onnx_import.h"
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

static const wi_export_row *row_of(const wi_export *e, const weft_tensor *y) {
    static const wi_export_row *const lists[] = {wi_export_elementwise_rows, wi_export_movement_rows,
        wi_export_layer_rows, wi_export_image_rows, wi_export_recurrent_rows};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const wi_export_row *row = lists[i]; row->op; row++)
            if (row->op == y->op && row->since <= e->options.opset && (!row->fits || row->fits(e, y)))
                return row;
    return NULL;
}

/* The tensor that is written to the file instead of `given`; NULL: it is written itself. */
static weft_tensor *replacement(const weft_tensor *given, const wi_export_row *row) {
    weft_tensor *const y = (weft_tensor *)given;
    const wi_op *const op = y->op;
    if (row) return row->rewrite ? row->rewrite(y) : NULL;
    if ((op->kind == WI_VIEW && op->view == wi_same_view) || op->fail_label) return y->inputs[0];
    return op->kind == WI_COMPOSITE ? op->lower(y, true) : NULL;
}

/* ---- the order of nodes ---- */

static weft_status make_room(wi_export *e, const weft_tensor *x) {
    const size_t before = e->entry_capacity, wanted = (size_t)e->graph->node_count;
    if (x->id < before) return WEFT_OK;
    WI_TRY(wi_grow(e->arena.allocator, (void **)&e->entries, &e->entry_capacity, wanted, sizeof *e->entries));
    memset(e->entries + before, 0, (e->entry_capacity - before) * sizeof *e->entries);
    return WEFT_OK;
}

typedef struct visit {
    weft_tensor *tensor;
    int next; /* the input that is visited next */
} visit;

typedef struct stack {
    visit *visits;
    size_t count, capacity;
} stack;

static weft_status push(wi_export *e, stack *s, weft_tensor *x) {
    WI_TRY(make_room(e, x));
    if (e->entries[x->id].visited) return WEFT_OK;
    e->entries[x->id].visited = true;
    WI_TRY(wi_grow(e->arena.allocator, (void **)&s->visits, &s->capacity, s->count + 1, sizeof *s->visits));
    s->visits[s->count++] = (visit){x, 0};
    return WEFT_OK;
}

static weft_status list_input(wi_export *e, const weft_tensor *x) {
    WI_TRY(wi_grow(
        e->arena.allocator, (void **)&e->inputs, &e->input_capacity, e->input_count + 1, sizeof *e->inputs));
    size_t at = e->input_count++;
    for (; at > 0 && e->inputs[at - 1].tensor->id > x->id; at--) e->inputs[at] = e->inputs[at - 1];
    e->inputs[at] = (wi_export_port){.tensor = x};
    return WEFT_OK;
}

static weft_status list_node(wi_export *e, weft_tensor *x) {
    if (x->op == &wi_op_input) WI_TRY(list_input(e, x));
    WI_TRY(wi_grow(
        e->arena.allocator, (void **)&e->order, &e->order_capacity, e->order_count + 1, sizeof *e->order));
    e->order[e->order_count++] = x;
    return WEFT_OK;
}

/* Continues the depth-first search: visits the next input of the tensor on top of the stack, or, after the last input, lists the tensor. */
static weft_status step(wi_export *e, stack *s) {
    visit *const top = &s->visits[s->count - 1];
    weft_tensor *const x = top->tensor;
    const wi_export_row *const row = row_of(e, x);
    if (top->next == 0 && x->op != &wi_op_input && !x->variable) {
        weft_tensor *const to = replacement(x, row);
        WI_TRY(weft_graph_status(e->graph));
        if (!to && (!row || row->rewrite)) {
            e->entries[x->id].is_missing = true;
            wi_export_refuse(e, x, "");
        }
        e->entries[x->id].to = to;
    }
    weft_tensor *const to = e->entries[x->id].to;
    if (top->next < (to ? 1 : x->input_count))
        return push(e, s, to ? (top->next++, to) : x->inputs[top->next++]);
    s->count--;
    return to ? WEFT_OK : list_node(e, x);
}

static weft_status order_nodes(wi_export *e, weft_tensor *const *outputs) {
    stack s = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < e->output_count && status == WEFT_OK; i++) {
        status = push(e, &s, outputs[i]);
        while (status == WEFT_OK && s.count > 0) status = step(e, &s);
    }
    wi_release(e->arena.allocator, s.visits);
    return status;
}

/* ---- nodes ---- */

/* The name that the tensor has in the ONNX file from which it was loaded, otherwise its name in the graph, otherwise the third argument. */
static const char *name_of(const wi_export *e, const weft_tensor *x, const char *otherwise) {
    const char *const name = wi_export_entry_of(e, x)->name ? wi_export_entry_of(e, x)->name : x->name;
    return name && *name ? name : otherwise;
}

/* Records the names that tensors have in the ONNX file from which they were loaded. If several values of the file are one tensor and one of
 * them is an input, the name of the input is used. */
static weft_status note_names(wi_export *e) {
    const weft_onnx_model *const from = e->options.from;
    const wi_onnx_import *const import = from ? wi_onnx_import_of(from) : NULL;
    if (import && import->graph != e->graph)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_onnx_save: the model `from` belongs to another graph");
    for (const wi_onnx_value *v = import ? import->values : NULL; v; v = v->hh.next)
        if (v->tensor && v->tensor->id < e->entry_capacity) wi_export_entry_of(e, v->tensor)->name = v->name;
    for (size_t i = 0; i < weft_onnx_input_count(from); i++) {
        const weft_tensor *const input = weft_onnx_input(from, i);
        if (input && input->id < e->entry_capacity)
            wi_export_entry_of(e, input)->name = weft_onnx_input_name(from, i);
    }
    return WEFT_OK;
}

static weft_status write_inputs(wi_export *e) {
    for (size_t i = 0; i < e->input_count; i++) {
        wi_export_port *const port = &e->inputs[i];
        if (!(port->value = wi_arena_take(&e->arena, sizeof *port->value))) return WEFT_ERROR_MEMORY;
        if (!(port->value->name = wi_export_name(e, name_of(e, port->tensor, "input"))))
            return WEFT_ERROR_MEMORY;
        port->value->needed = true;
        wi_export_entry_of(e, port->tensor)->value = port->value;
    }
    return WEFT_OK;
}

/* Reserves the name of an output. This is done before intermediate values are named, so that none of them gets the name first. */
static weft_status name_output(wi_export *e, weft_tensor *x, size_t index) {
    const char *const *const names = e->options.output_names;
    char usual[32];
    snprintf(usual, sizeof usual, "output%zu", index);
    const char *wanted = name_of(e, x, usual);
    for (size_t i = 0; i < weft_onnx_output_count(e->options.from); i++)
        if (weft_onnx_output(e->options.from, i) == x) wanted = weft_onnx_output_name(e->options.from, i);
    if (names) wanted = names[index];
    if (!wanted) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_onnx_save: output_names[%zu] is NULL", index);
    const char *const name = wi_export_name(e, wanted);
    if (!name) return WEFT_ERROR_MEMORY;
    if (names && strcmp(name, wanted) != 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_onnx_save: the name '%s' of output %zu is that of another value",
            wanted, index);
    e->outputs[index] = (wi_export_port){.tensor = x, .name = name};
    return WEFT_OK;
}

static void write_variable(wi_export *e, weft_tensor *x) {
    const wi_export_part whole = {x, 0, x->variable->bytes};
    wi_export_entry_of(e, x)->value =
        wi_export_stored_parts(e, name_of(e, x, x->op->name), wi_export_type(x->dtype), &x->shape, &whole, 1);
}

static wi_export_value *write_plain(wi_export *e, const weft_tensor *y, const wi_export_row *row) {
    wi_export_value **const inputs = wi_arena_take(&e->arena, ((size_t)y->input_count + 1) * sizeof *inputs);
    int32_t axis = 0;
    if (!inputs) return wi_export_fail(e, WEFT_ERROR_MEMORY), NULL;
    for (int i = 0; i < y->input_count; i++) inputs[i] = wi_export_of(e, y->inputs[i]);
    if (row->axis) memcpy(&axis, (const char *)y->attributes + row->axis - 1, sizeof axis);
    const wi_export_attribute *const with = row->axis ? WI_WITH(WI_WHOLE("axis", axis)) : row->with;
    return wi_export_op(e, row->name, inputs, (size_t)y->input_count, with);
}

static void write_node(wi_export *e, weft_tensor *y) {
    wi_export_entry *const entry = wi_export_entry_of(e, y);
    const wi_export_row *const row = row_of(e, y);
    if (y->op == &wi_op_input) return;
    if (y->variable) {
        write_variable(e, y);
    } else if (row) {
        wi_export_value *const value = row->emit ? row->emit(e, y, row->name) : write_plain(e, y, row);
        if (value) *(row->is_image ? &entry->first : &entry->value) = value; /* a permute has set `first` */
    }
    wi_export_value *const made = entry->value ? entry->value : entry->first;
    entry->is_missing = !made;
    if (!made && e->status == WEFT_OK) wi_export_refuse(e, y, "");
    const char *const name = name_of(e, y, NULL);
    if (made && name && made->maker && !made->name) made->name = wi_export_name(e, name);
}

/* Does y read a value that ONNX cannot express? Then no further message is needed for y. */
static bool reads_missing(const wi_export *e, const weft_tensor *y) {
    bool missing = false;
    for (int i = 0; i < y->input_count; i++)
        missing = missing || wi_export_entry_of(e, wi_export_resolve(e, y->inputs[i]))->is_missing;
    return missing;
}

static weft_status write_nodes(wi_export *e) {
    for (size_t i = 0; i < e->order_count && e->status == WEFT_OK; i++) {
        if (reads_missing(e, e->order[i]))
            wi_export_entry_of(e, e->order[i])->is_missing = true;
        else if (!wi_export_entry_of(e, e->order[i])->is_missing)
            write_node(e, e->order[i]);
    }
    if (e->missing.failed) return WEFT_ERROR_MEMORY;
    if (e->missing.length)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "weft_onnx_save: opset %d of ONNX cannot express: %s",
            e->options.opset, e->missing.data);
    return e->status;
}

/* ---- outputs ---- */

/* Writes an output. It must be the result of a node with the output's name, so an Identity node is added if it is not. */
static weft_status write_output(wi_export *e, wi_export_port *port) {
    wi_export_value *value = wi_export_of(e, (weft_tensor *)port->tensor);
    if (value && (!value->maker || value->needed)) value = wi_export_one(e, "Identity", value);
    if (!value) return e->status == WEFT_OK ? WEFT_ERROR_MEMORY : e->status;
    value->name = port->name;
    value->needed = true;
    port->value = value;
    return WEFT_OK;
}

/* Marks all values that the outputs depend on, and gives them names: initializers the wanted name, results of nodes the name of their op. */
static weft_status mark_needed(wi_export *e) {
    for (size_t i = e->node_count; i-- > 0;) {
        wi_export_node *const node = e->nodes[i];
        bool needed = false;
        for (int k = 0; k < WI_EXPORT_OUTPUTS; k++)
            needed = needed || (node->outputs[k] && node->outputs[k]->needed);
        node->outputs[0]->needed = needed;
        for (wi_export_value **input = node->inputs; needed && *input; input++)
            if (*input != &wi_export_none) (*input)->needed = true;
    }
    for (size_t i = 0; i < e->stored_count; i++) {
        wi_export_value *const value = &e->stored[i]->value;
        if (value->needed && !(value->name = wi_export_name(e, value->name))) return WEFT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < e->node_count; i++)
        for (int k = 0; k < WI_EXPORT_OUTPUTS; k++) {
            wi_export_value *const value = e->nodes[i]->outputs[k];
            if (!value || !value->needed || value->name) continue;
            if (!(value->name = wi_export_name(e, e->nodes[i]->op))) return WEFT_ERROR_MEMORY;
        }
    return WEFT_OK;
}

/* ---- the public function ---- */

static weft_status read_options(wi_export *e, const weft_onnx_save_options *given) {
    weft_onnx_save_options *const o = &e->options;
    WI_TRY(WI_OPTIONS(o, given, "weft_onnx_save", WEFT_ONNX_SAVE_OPTIONS_INIT));
    if (o->opset == 0) o->opset = 17;
    if (!o->batch_name) o->batch_name = "batch";
    if (!o->length_name) o->length_name = "length";
    if (o->opset < 17 || o->opset > 23)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_onnx_save: opset is %d, expected 17 to 23", o->opset);
    return WEFT_OK;
}

static weft_status check_outputs(weft_tensor *const *outputs, size_t count) {
    if (!outputs || count == 0) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_onnx_save: there are no outputs");
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i]) return wi_fail_null("weft_onnx_save", "an output");
        if (outputs[i]->graph != outputs[0]->graph)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_onnx_save: the outputs belong to different graphs");
    }
    return weft_graph_status(outputs[0]->graph);
}

static weft_status save(wi_export *e, const char *path, weft_tensor *const *outputs) {
    e->outputs = wi_arena_take(&e->arena, e->output_count * sizeof *e->outputs);
    e->known = wi_key_map_new(&e->arena);
    if (!e->outputs || !e->known) return WEFT_ERROR_MEMORY;
    WI_TRY(order_nodes(e, outputs));
    WI_TRY(note_names(e));
    WI_TRY(write_inputs(e));
    for (size_t i = 0; i < e->output_count; i++) WI_TRY(name_output(e, outputs[i], i));
    WI_TRY(write_nodes(e));
    for (size_t i = 0; i < e->output_count; i++) WI_TRY(write_output(e, &e->outputs[i]));
    WI_TRY(mark_needed(e));
    WI_TRY(e->status);
    return wi_export_write(e, path);
}

static void clear(wi_export *e) {
    const weft_allocator *const allocator = e->arena.allocator;
    for (size_t i = 0; i < e->node_count; i++) wi_text_clear(&e->nodes[i]->attributes);
    wi_text_clear(&e->missing);
    wi_release(allocator, e->entries);
    wi_release(allocator, e->order);
    wi_release(allocator, e->nodes);
    wi_release(allocator, e->stored);
    wi_release(allocator, e->inputs);
    wi_arena_clear(&e->arena);
}

weft_status weft_onnx_save(
    const char *path, weft_tensor *const *outputs, size_t count, const weft_onnx_save_options *options) {
    wi_export e = {.output_count = count};
    if (!path) return wi_fail_null("weft_onnx_save", "path");
    WI_TRY(check_outputs(outputs, count));
    WI_TRY(read_options(&e, options));
    e.graph = outputs[0]->graph;
    wi_arena_init(&e.arena, e.graph->context->allocator);
    wi_text_init(&e.missing, e.graph->context->allocator);
    const wi_attempt attempt = wi_attempt_begin(e.graph);
    const weft_status status = wi_attempt_end(&attempt, save(&e, path, outputs));
    clear(&e);
    return status;
}
