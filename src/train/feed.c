/* Columns of a dataset feed inputs of a graph (contract in feed.h). */
#include "train/feed.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include "ops/op_table.h"
#include "train/loss_inputs.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A walk over all nodes that the outputs depend on, each once. */
typedef struct walk {
    wi_feed *feed;
    bool *seen;          /* by node id */
    weft_tensor **stack; /* nodes that were seen, but not visited yet */
    size_t depth;
} walk;

static void push(walk *w, weft_tensor *node) {
    if (w->seen[node->id]) return;
    w->seen[node->id] = true;
    w->stack[w->depth++] = node;
}

static weft_status add_input(wi_feed *feed, weft_tensor *node) {
    const wi_shape *const shape = &node->shape;
    bool good = shape->rank >= 1 && !node->cuts_batch && (shape->dims[0] == WEFT_BATCH || shape->dims[0] > 0);
    wi_feed_input input = {.tensor = node};
    feed->waits = feed->waits || node->is_symbolic;
    for (int axis = 1; axis < shape->rank && good; axis++) good = shape->dims[axis] > 0;
    if (!good) {
        char text[WI_SHAPE_TEXT];
        WI_FAIL(WEFT_ERROR_SHAPE, "input '%s' of shape %s cannot be fed with examples: expected (batch, ...)",
            weft_tensor_name(node), wi_shape_print(node->graph, shape, text));
    }
    if (shape->dims[0] > 0) {
        if (feed->fixed && feed->fixed != shape->dims[0])
            WI_FAIL(WEFT_ERROR_SHAPE,
                "input '%s' takes %" PRId64 " examples per step, but another input takes %" PRId64,
                weft_tensor_name(node), shape->dims[0], feed->fixed);
        feed->fixed = shape->dims[0];
    }
    WI_TRY(wi_grow(
        feed->allocator, (void **)&feed->inputs, &feed->capacity, feed->count + 1, sizeof *feed->inputs));
    feed->inputs[feed->count++] = input;
    return WEFT_OK;
}

/* Records how the loss reads labels that are inputs: the scores with which it compares them, the mask through which it reads them, and the
 * label that it ignores. */
static void note_counted(wi_feed *feed, const weft_tensor *loss) {
    const wi_labels labels = wi_labels_of(loss);
    const weft_tensor *const fed = wi_fed_labels(labels.tensor);
    for (size_t i = 0; fed && i < feed->count; i++) {
        wi_feed_input *const input = &feed->inputs[i];
        if (input->tensor != fed) continue;
        weft_tensor *const counted = labels.tensor == fed ? input->tensor : loss->inputs[1];
        if (input->scores && (input->counted != counted || input->counted_ignored != labels.ignored))
            input->differs = true;
        input->scores = loss->inputs[0];
        input->mask = wi_mask_of_labels(labels.tensor);
        input->counted = counted;
        input->counted_ignored = labels.ignored;
    }
}

/* If the product multiplies losses by an input, notes that input as the weights of the targets that the losses compare. */
static void note_weights(wi_feed *feed, const weft_tensor *product) {
    const weft_tensor *losses;
    const weft_tensor *const weights = wi_weights_of_product(product, &losses);
    for (size_t i = 0; weights && i < feed->count; i++) {
        wi_feed_input *const input = &feed->inputs[i];
        if (input->tensor == weights || !wi_compares(losses, input->tensor)) continue;
        input->weights_differ = input->weights_differ || (input->weights && input->weights != weights);
        input->weights = weights;
    }
}

/* Notes which labels are valid: those below the smallest number of classes of any loss, and the label that all losses
 * ignore. */
static void note_labels(wi_feed *feed, const weft_tensor *loss) {
    const wi_labels labels = wi_labels_of(loss);
    for (size_t i = 0; i < feed->count; i++) {
        wi_feed_input *const input = &feed->inputs[i];
        if (input->tensor != labels.tensor) continue;
        const bool first = input->classes == 0;
        if (first || input->ignored != labels.ignored) input->ignored = first ? labels.ignored : INT64_MIN;
        if (first || labels.classes < input->classes) input->classes = labels.classes;
    }
}

/* Adds the inputs to the feed, and fills the list `losses`, which has room for `nodes` entries: losses are stored from
 * its beginning on, and products from its end backwards. */
static weft_status visit_all(
    walk *w, weft_tensor **losses, size_t *loss_count, size_t nodes, size_t *product_count) {
    while (w->depth) {
        weft_tensor *const node = w->stack[--w->depth];
        if (node->op == &wi_op_input) WI_TRY(add_input(w->feed, node));
        if (wi_labels_of(node).tensor) losses[(*loss_count)++] = node;
        if (node->op == &wi_op_mul) losses[nodes - ++*product_count] = node;
        for (int i = 0; i < node->input_count; i++) push(w, node->inputs[i]);
    }
    return WEFT_OK;
}

static int by_name(const void *a, const void *b) {
    const weft_tensor *const x = *(weft_tensor *const *)a, *const y = *(weft_tensor *const *)b;
    const int names = strcmp(weft_tensor_name(x), weft_tensor_name(y));
    return names ? names : (x->id > y->id) - (x->id < y->id);
}

static weft_status fail_names(const weft_tensor *first, const weft_tensor *second) {
    char text[2][WI_SHAPE_TEXT];
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "two inputs are named '%s', %s %s and %s %s: give them different names, or use one tensor for both",
        weft_tensor_name(first), weft_dtype_name(first->dtype),
        wi_shape_print(first->graph, &first->shape, text[0]), weft_dtype_name(second->dtype),
        wi_shape_print(second->graph, &second->shape, text[1]));
}

/* Columns feed inputs by name, so no two inputs may have the same name. */
static weft_status check_names(const wi_feed *feed) {
    weft_status status = WEFT_OK;
    weft_tensor **const inputs = wi_allocate_array(feed->allocator, feed->count + 1, sizeof(weft_tensor *));
    if (!inputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < feed->count; i++) inputs[i] = feed->inputs[i].tensor;
    qsort(inputs, feed->count, sizeof *inputs, by_name);
    for (size_t i = 1; i < feed->count && status == WEFT_OK; i++)
        if (strcmp(weft_tensor_name(inputs[i - 1]), weft_tensor_name(inputs[i])) == 0)
            status = fail_names(inputs[i - 1], inputs[i]);
    wi_release(feed->allocator, inputs);
    return status;
}

weft_status wi_feed_collect(
    wi_feed *feed, const weft_allocator *allocator, weft_tensor *const *outputs, size_t count) {
    *feed = (wi_feed){.allocator = allocator};
    const size_t nodes = outputs[0]->graph->node_count + 1;
    weft_status status = WEFT_ERROR_MEMORY;
    size_t loss_count = 0, product_count = 0;
    weft_tensor **const losses = wi_allocate_array(allocator, nodes, sizeof(weft_tensor *));
    walk w = {feed, wi_allocate_array(allocator, nodes, sizeof(bool)),
        wi_allocate_array(allocator, nodes, sizeof(weft_tensor *)), 0};
    if (w.seen && w.stack && losses) {
        for (size_t i = 0; i < count; i++) push(&w, outputs[i]);
        status = visit_all(&w, losses, &loss_count, nodes, &product_count);
    }
    for (size_t i = 0; i < loss_count; i++) note_labels(feed, losses[i]);
    for (size_t i = 0; i < loss_count; i++) note_counted(feed, losses[i]);
    for (size_t i = 1; i <= product_count; i++) note_weights(feed, losses[nodes - i]);
    if (status == WEFT_OK) status = check_names(feed);
    wi_release(allocator, losses);
    wi_release(allocator, w.seen);
    wi_release(allocator, w.stack);
    if (status != WEFT_OK) wi_feed_clear(feed);
    return status;
}

void wi_feed_clear(wi_feed *feed) {
    wi_release(feed->allocator, feed->inputs);
    wi_release(feed->allocator, feed->values);
    wi_release(feed->allocator, feed->sizes);
    *feed = (wi_feed){0};
}

wi_feed_input *wi_feed_find(const wi_feed *feed, const char *name) {
    for (size_t i = 0; i < feed->count; i++)
        if (strcmp(weft_tensor_name(feed->inputs[i].tensor), name) == 0) return &feed->inputs[i];
    return NULL;
}

/* The first column that has an axis whose size is a multiple of a symbol plus a number determines the symbol. */
static void find_sizes(wi_feed *feed, const weft_tensor *input, const weft_column *column) {
    for (int axis = 1; axis < input->shape.rank && axis <= column->rank; axis++) {
        int64_t times, rest;
        const int64_t size = column->dims[axis - 1];
        const int symbol = wi_axis_is_symbolic(input, axis)
                               ? wi_dim_symbol(input->graph, input->shape.dims[axis], &times, &rest)
                               : -1;
        if (symbol <= WI_SYMBOL_BATCH || (size_t)symbol >= feed->symbol_count || feed->values[symbol])
            continue;
        if (size > rest && (size - rest) % times == 0) feed->values[symbol] = (size - rest) / times;
    }
}

static wi_given given_by(const wi_feed *feed) {
    return (wi_given){.values = feed->values, .count = feed->symbol_count, .batch = 1};
}

/* The shape of an input at the sizes that are known. */
static wi_shape fed_shape(const wi_feed *feed, const weft_tensor *input) {
    const wi_given given = given_by(feed);
    wi_shape shape = input->shape;
    for (int axis = 1; axis < shape.rank; axis++) {
        int missing;
        const int64_t size = wi_dim_at(input->graph, shape.dims[axis], &given, &missing);
        if (missing < 0) shape.dims[axis] = size;
    }
    return shape;
}

/* Makes the list of values for plans. */
static void list_sizes(wi_feed *feed) {
    const weft_graph *const graph = feed->count ? feed->inputs[0].tensor->graph : NULL;
    feed->size_count = 0;
    for (size_t i = 0; i < feed->symbol_count; i++)
        if (feed->values[i])
            feed->sizes[feed->size_count++] = (weft_named_size){wi_symbol_name(graph, i), feed->values[i]};
    feed->digest =
        feed->size_count ? XXH3_64bits(feed->values, feed->symbol_count * sizeof *feed->values) | 1 : 0;
    feed->waits = false;
    for (size_t i = 0; i < feed->count; i++) {
        const wi_shape shape = fed_shape(feed, feed->inputs[i].tensor);
        for (int axis = 1; axis < shape.rank; axis++)
            feed->waits = feed->waits || wi_is_symbolic(shape.dims[axis]);
    }
}

static weft_status make_values(wi_feed *feed, const weft_graph *graph) {
    wi_release(feed->allocator, feed->values);
    wi_release(feed->allocator, feed->sizes);
    feed->symbol_count = wi_symbol_count(graph);
    feed->values = wi_allocate_array(feed->allocator, feed->symbol_count, sizeof *feed->values);
    feed->sizes = wi_allocate_array(feed->allocator, feed->symbol_count, sizeof *feed->sizes);
    return feed->values && feed->sizes ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status check_fit(const wi_feed *feed, const weft_tensor *input, const weft_column *column) {
    if (column->dtype != input->dtype && column->encoding && column->encoding->kind == WI_CATEGORIES)
        WI_FAIL(WEFT_ERROR_DTYPE,
            "input '%s' is %s, but its column has %zu categories, whose numbers are i32: '%.60s', ...; make "
            "the input i32",
            column->name, weft_dtype_name(input->dtype), column->encoding->count,
            column->encoding->count ? column->encoding->texts[0] : "");
    if (column->dtype != input->dtype)
        WI_FAIL(WEFT_ERROR_DTYPE, "input '%s' is %s, but its column is %s", column->name,
            weft_dtype_name(input->dtype), weft_dtype_name(column->dtype));
    if (column->rank < 0 || column->rank >= WEFT_MAX_RANK)
        WI_FAIL(WEFT_ERROR_SHAPE, "input '%s': the column of this name has rank %d, expected 0 to %d",
            column->name, column->rank, WEFT_MAX_RANK - 1);
    wi_shape shape = {.rank = column->rank + 1, .dims = {input->shape.dims[0]}};
    for (int axis = 0; axis < column->rank; axis++) shape.dims[axis + 1] = column->dims[axis];
    const wi_shape wanted = fed_shape(feed, input);
    if (!wi_shape_equal(&shape, &wanted)) {
        char expected[WI_SHAPE_TEXT], got[WI_SHAPE_TEXT];
        WI_FAIL(WEFT_ERROR_SHAPE, "input '%s' is %s, but its column is %s", column->name,
            wi_shape_print(input->graph, &wanted, expected), wi_shape_print(input->graph, &shape, got));
    }
    return WEFT_OK;
}

/* text: the names of the columns, for an error. */
static void list_names(char *text, size_t capacity, const weft_column *columns, size_t count) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used + 1 < capacity; i++) {
        const int wrote = snprintf(
            text + used, capacity - used, "%s'%s'", i ? ", " : "", columns[i].name ? columns[i].name : "");
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static void size_inputs(wi_feed *feed) {
    for (size_t i = 0; i < feed->count; i++) {
        wi_feed_input *const input = &feed->inputs[i];
        const wi_shape shape = fed_shape(feed, input->tensor);
        input->bytes = weft_dtype_size(input->tensor->dtype);
        for (int axis = 1; axis < shape.rank; axis++) input->bytes *= (size_t)shape.dims[axis];
    }
}

/* The index of the first column of this name from index `from` on; `count` if there is none. */
static size_t find_column(const weft_column *columns, size_t from, size_t count, const char *name) {
    while (from < count && (!columns[from].name || strcmp(columns[from].name, name) != 0)) from++;
    return from;
}

weft_status wi_feed_bind(wi_feed *feed, const weft_column *columns, size_t count) {
    if (feed->count) WI_TRY(make_values(feed, feed->inputs[0].tensor->graph));
    for (size_t i = 0; i < feed->count; i++) {
        wi_feed_input *const input = &feed->inputs[i];
        const char *const name = weft_tensor_name(input->tensor);
        const size_t c = find_column(columns, 0, count, name);
        input->column = SIZE_MAX;
        if (c == count && feed->partial) continue;
        if (c == count) {
            char names[256];
            list_names(names, sizeof names, columns, count);
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "input '%s': the dataset has no column of this name; its columns are %s", name,
                count ? names : "none");
        }
        if (find_column(columns, c + 1, count, name) < count)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "input '%s': the dataset has two columns of this name; rename one of them", name);
        find_sizes(feed, input->tensor, &columns[c]);
        input->column = c;
    }
    list_sizes(feed);
    for (size_t i = 0; i < feed->count; i++)
        if (feed->inputs[i].column != SIZE_MAX)
            WI_TRY(check_fit(feed, feed->inputs[i].tensor, &columns[feed->inputs[i].column]));
    size_inputs(feed);
    return WEFT_OK;
}

weft_status wi_feed_check_batch(const wi_feed *feed, size_t examples, size_t shards) {
    if (feed->fixed == 0 || (uint64_t)feed->fixed * shards == examples) return WEFT_OK;
    if (shards > 1)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "the batch size is %zu, in %zu gradient shards, but the network's inputs are fixed to "
            "%" PRId64 ": build the network for the examples of a shard, batch / gradient_shards",
            examples, shards, feed->fixed);
    WI_FAIL(WEFT_ERROR_SHAPE,
        "the batch size is %zu, but the network's inputs are fixed to %" PRId64 " (the streams of a text)",
        examples, feed->fixed);
}

/* of: for the message, " of the batch" if examples are numbered in a batch, or "". */
static weft_status check_labels(
    const wi_feed_input *input, const int32_t *labels, size_t examples, const char *of) {
    const size_t each = input->bytes / sizeof *labels;
    for (size_t n = 0; n < each * examples; n++)
        if ((labels[n] < 0 || labels[n] >= input->classes) && labels[n] != input->ignored)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "column '%s': the label of example %zu%s is %" PRId32 ", not in 0..%" PRId64 " (%" PRId64
                " classes)",
                weft_tensor_name(input->tensor), n / each, of, labels[n], input->classes - 1, input->classes);
    return WEFT_OK;
}

weft_status wi_feed_check_labels(const wi_feed *feed, const weft_dataset *dataset) {
    for (size_t i = 0; i < feed->count; i++) {
        const wi_feed_input *const input = &feed->inputs[i];
        if (input->classes == 0 || input->column == SIZE_MAX) continue;
        const int32_t *const labels = dataset->columns[input->column].data;
        if (labels) WI_TRY(check_labels(input, labels, dataset->examples, ""));
    }
    return WEFT_OK;
}

weft_status wi_feed_check_loaded_labels(
    const wi_feed *feed, const weft_dataset *dataset, const void *const *columns, size_t examples) {
    for (size_t i = 0; i < feed->count && dataset->source; i++) {
        const wi_feed_input *const input = &feed->inputs[i];
        if (input->classes == 0 || input->column == SIZE_MAX || dataset->columns[input->column].data)
            continue;
        WI_TRY(check_labels(input, columns[input->column], examples, " of the batch"));
    }
    return WEFT_OK;
}

weft_status wi_feed_write(const wi_feed *feed, weft_plan *plan, const void *const *columns, size_t examples) {
    for (size_t i = 0; i < feed->count; i++) {
        const wi_feed_input *const input = &feed->inputs[i];
        if (input->column == SIZE_MAX) continue;
        WI_TRY(weft_plan_write_async(plan, input->tensor, columns[input->column], examples * input->bytes));
    }
    return WEFT_OK;
}
