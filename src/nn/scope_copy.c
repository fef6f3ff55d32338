/* weft_scope_copy: assigns the variables of a scope to those of another scope (contract in graph.h). Parameters that are adjacent
 * in both scopes are assigned together, as ranges of the flat tensors. */
#include "cl/context.h"
#include "nn/fraction.h"
#include "ops/op_table.h"
#include <string.h>

typedef struct follower {
    weft_graph *graph;
    const char *from, *to; /* scopes */
    double factor;
    weft_tensor **sources, **targets, **assignments;
    size_t count, assignment_count;
} follower;

/* The rest of the name after "scope."; NULL: the name is not in the scope. */
static const char *within(const char *name, const char *scope) {
    const size_t length = strlen(scope);
    return strncmp(name, scope, length) == 0 && name[length] == '.' ? name + length + 1 : NULL;
}

static weft_status check_pair(const follower *f, const weft_tensor *source, const weft_tensor *target) {
    char text_from[WI_SHAPE_TEXT], text_to[WI_SHAPE_TEXT];
    if (!target)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_copy: scope '%s' has no tensor that corresponds to '%s'",
            f->to, weft_tensor_name(source));
    if (target->dtype == source->dtype && wi_shape_equal(&target->shape, &source->shape) &&
        target->variable->trainable == source->variable->trainable)
        return WEFT_OK;
    WI_FAIL(WEFT_ERROR_SHAPE, "weft_scope_copy: %s '%s' is %s %s, but %s '%s' is %s %s", source->op->name,
        weft_tensor_name(source), weft_dtype_name(source->dtype),
        wi_shape_print(source->graph, &source->shape, text_from), target->op->name, weft_tensor_name(target),
        weft_dtype_name(target->dtype), wi_shape_print(target->graph, &target->shape, text_to));
}

static weft_status find_counterpart(
    const follower *f, weft_tensor *source, const char *rest, weft_tensor **target) {
    const weft_allocator *const allocator = f->graph->context->allocator;
    wi_text name;
    wi_text_init(&name, allocator);
    wi_text_append(&name, "%s.%s", f->to, rest);
    const bool failed = name.failed;
    *target = failed ? NULL : weft_graph_find(f->graph, name.data);
    wi_text_clear(&name);
    return failed ? WEFT_ERROR_MEMORY : check_pair(f, source, *target);
}

static weft_status find_pairs(follower *f) {
    for (size_t i = 0; i < f->graph->variable_count; i++) {
        weft_tensor *const source = f->graph->variables[i]->tensor;
        const char *const rest = within(weft_tensor_name(source), f->from);
        if (!rest) continue;
        f->sources[f->count] = source;
        WI_TRY(find_counterpart(f, source, rest, &f->targets[f->count]));
        f->count++;
    }
    if (f->count == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_copy: the graph has no parameter or state in scope '%s'",
            f->from);
    return WEFT_OK;
}

/* ---- assignments ---- */

static weft_tensor *moved(const follower *f, weft_tensor *to, weft_tensor *from) {
    if (!to || !from) return NULL;
    if (f->factor >= 1 || !wi_dtype_is_float(to->dtype)) return from;
    weft_tensor *const wide_to = wi_wide(to), *const wide_from = wi_wide(from);
    weft_tensor *const sum = weft_add(weft_mul(wide_to, weft_number(wide_to, 1 - f->factor)),
        weft_mul(wide_from, weft_number(wide_from, f->factor)));
    return weft_cast(sum, to->dtype);
}

static bool is_flat(const weft_tensor *t) {
    return t->variable->trainable && t->dtype == WEFT_F32;
}

/* Does b begin in the flat tensor where a ends? */
static bool follows(const weft_tensor *a, const weft_tensor *b) {
    return is_flat(b) && a->variable->block == b->variable->block &&
           wi_first_row(a) + wi_row_count(a) == wi_first_row(b);
}

static weft_tensor *rows_of(weft_tensor *first, int64_t rows) {
    return wi_slice_dims(
        wi_flat_parameters(first->graph, first->variable->block), 0, wi_first_row(first), rows, 1);
}

/* Creates one assignment for pair `first` and the pairs that follow side by side. Returns the index of the next
 * pair. */
static size_t assign_from(follower *f, size_t first) {
    weft_tensor *const from = f->sources[first], *const to = f->targets[first];
    size_t end = first + 1;
    weft_tensor **const own = &f->assignments[f->assignment_count++];
    if (!is_flat(from)) {
        *own = weft_assign(to, moved(f, to, from));
        return end;
    }
    int64_t rows = wi_row_count(from);
    for (; end < f->count && follows(f->sources[end - 1], f->sources[end]) &&
           follows(f->targets[end - 1], f->targets[end]);
         end++)
        rows += wi_row_count(f->sources[end]);
    weft_tensor *const flat_to = rows_of(to, rows);
    *own = wi_assign_view(flat_to, moved(f, flat_to, rows_of(from, rows)));
    return end;
}

static weft_status make(follower *f, weft_tensor **update) {
    WI_TRY(find_pairs(f));
    for (size_t i = 0; i < f->count;) i = assign_from(f, i);
    WI_TRY(weft_graph_status(f->graph));
    *update = wi_assign_all(f->assignments, f->assignment_count);
    return weft_graph_status(f->graph);
}

static weft_status check(weft_graph *graph, const char *from, const char *to, float factor) {
    WI_TRY(weft_graph_status(graph));
    if (!from || !to || !*from || !*to)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_scope_copy: from and to must be names of scopes, not NULL or empty");
    if (strcmp(from, to) == 0)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_copy: from and to are both '%s', expected two scopes", from);
    if (!(factor > 0 && factor <= 1))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_scope_copy: factor is %g, expected above 0 and at most 1",
            (double)factor);
    return WEFT_OK;
}

static weft_tensor *build_scope_copy(weft_graph *graph, const char *from, const char *to, float factor) {
    if (!graph) return NULL;
    weft_status status = check(graph, from, to, factor);
    if (status != WEFT_OK) return wi_graph_fail_recorded(graph, status);
    const weft_allocator *const allocator = graph->context->allocator;
    weft_tensor *update = NULL, **const room = wi_allocate_array(
                                    allocator, 3 * graph->variable_count + 1, sizeof(weft_tensor *));
    follower f = {.graph = graph, .from = from, .to = to, .factor = wi_fraction(factor), .sources = room};
    if (room) {
        f.targets = room + graph->variable_count;
        f.assignments = f.targets + graph->variable_count;
    }
    status = room ? make(&f, &update) : WEFT_ERROR_MEMORY;
    wi_release(allocator, room);
    return status == WEFT_OK ? update : wi_graph_fail_recorded(graph, status);
}

weft_tensor *weft_scope_copy(weft_graph *graph, const char *from, const char *to, float factor) {
    return WI_CALL_IN(graph, "weft_scope_copy", build_scope_copy(graph, from, to, factor));
}
