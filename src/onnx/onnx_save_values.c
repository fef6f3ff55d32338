/* Creates values and nodes of the file, values that contain sizes, and the values of tensors (contract in onnx_save.h). */
#include "onnx/onnx_save.h"
#include <stdio.h>
#include <string.h>

wi_export_value wi_export_none = {.name = ""};

int wi_export_type(weft_dtype dtype) {
    static const int types[] = {[WEFT_F32] = WI_ONNX_FLOAT,
        [WEFT_I32] = WI_ONNX_INT32,
        [WEFT_F16] = 10,
        [WEFT_BF16] = 16,
        [WEFT_I64] = WI_ONNX_INT64,
        [WEFT_U8] = 2,
        [WEFT_BOOL] = WI_ONNX_BOOL,
        [WEFT_F64] = 11};
    return types[dtype];
}

void wi_export_fail(wi_export *e, weft_status status) {
    if (e->status == WEFT_OK) e->status = status;
}

static void *take(wi_export *e, size_t bytes) {
    void *const memory = wi_arena_take(&e->arena, bytes);
    if (!memory) wi_export_fail(e, WEFT_ERROR_MEMORY);
    return memory;
}

/* The kinds of keys in wi_export.known. */
typedef enum key_kind { KEY_NAME, KEY_CONSTANT, KEY_SIZE, KEY_REFUSED } key_kind;

/* The entry of a key in the map, which is added if there is none; NULL: memory ran out. */
static void **find(wi_export *e, key_kind kind, const void *bytes, size_t count) {
    wi_key_begin(e->known);
    wi_key_add(e->known, kind);
    wi_key_add_bytes(e->known, bytes, count);
    void **const found = wi_key_end(e->known);
    if (!found) wi_export_fail(e, WEFT_ERROR_MEMORY);
    return found;
}

/* The map counts how often each name was wanted; the count becomes a suffix. */
const char *wi_export_name(wi_export *e, const char *wanted) {
    char text[512];
    int *count = NULL;
    snprintf(text, sizeof text, "%s", wanted);
    for (;;) {
        void **const found = find(e, KEY_NAME, text, strlen(text));
        if (!found) return NULL;
        if (!*found) return (*found = take(e, sizeof(int))) ? wi_arena_string(&e->arena, text) : NULL;
        if (!count) count = *found;
        snprintf(text, sizeof text, "%.*s_%d", (int)sizeof text - 16, wanted, ++*count + 1);
    }
}

wi_export_value *wi_export_refuse(wi_export *e, const weft_tensor *y, const char *why) {
    char text[WI_SHAPE_TEXT];
    void **const found = find(e, KEY_REFUSED, &y->op, sizeof y->op);
    if (!found || *found) return NULL;
    *found = e;
    wi_text_append(&e->missing, "%s%s %s%s%s", e->missing.length ? ", " : "", y->op->name,
        wi_shape_print(y->graph, &y->shape, text), *why ? ": " : "", why);
    return NULL;
}

/* ---- nodes ---- */

wi_export_value *wi_export_output(wi_export *e, wi_export_value *value, int index) {
    if (!value) return NULL;
    wi_export_value **const output = &value->maker->outputs[index];
    if (!*output && (*output = take(e, sizeof **output))) (*output)->maker = value->maker;
    return *output;
}

wi_export_value *wi_export_op(wi_export *e, const char *op, wi_export_value *const *inputs, size_t count,
    const wi_export_attribute *attributes) {
    for (size_t i = 0; i < count; i++)
        if (!inputs[i]) return NULL;
    while (count && inputs[count - 1] == &wi_export_none) count--;
    wi_export_node *const node = take(e, sizeof *node);
    wi_export_value **const list = take(e, (count + 1) * sizeof *list);
    if (!node || !list) return NULL;
    for (size_t i = 0; i < count; i++) list[i] = inputs[i];
    *node = (wi_export_node){.op = op, .inputs = list};
    wi_text_init(&node->attributes, e->arena.allocator);
    const weft_status status = wi_grow(e->arena.allocator, (void **)&e->nodes, &e->node_capacity,
        e->node_count + 1, sizeof(wi_export_node *));
    wi_export_fail(e, status);
    if (status != WEFT_OK) return NULL;
    e->nodes[e->node_count++] = node;
    for (; attributes && attributes->name; attributes++) wi_export_encode(&node->attributes, attributes);
    if (node->attributes.failed) wi_export_fail(e, WEFT_ERROR_MEMORY);
    return wi_export_output(e, &(wi_export_value){.maker = node}, 0);
}

wi_export_value *wi_export_one(wi_export *e, const char *op, wi_export_value *x) {
    return wi_export_op(e, op, &x, 1, NULL);
}

wi_export_value *wi_export_two(wi_export *e, const char *op, wi_export_value *a, wi_export_value *b) {
    return wi_export_op(e, op, WI_FROM(a, b), NULL);
}

/* ---- initializers ---- */

/* Adds an initializer with the wanted name. It gets its final name when all needed values are known. */
static wi_export_value *store(wi_export *e, const char *name, const wi_export_stored *stored) {
    wi_export_stored *const own = take(e, sizeof *own);
    if (!own) return NULL;
    const weft_status status = wi_grow(e->arena.allocator, (void **)&e->stored, &e->stored_capacity,
        e->stored_count + 1, sizeof(wi_export_stored *));
    *own = *stored;
    own->value.name = wi_arena_string(&e->arena, name);
    if (status == WEFT_OK) e->stored[e->stored_count++] = own;
    wi_export_fail(e, own->value.name ? status : WEFT_ERROR_MEMORY);
    return &own->value;
}

wi_export_value *wi_export_constant(
    wi_export *e, int type, int rank, const int64_t *dims, const void *data, size_t bytes) {
    const size_t head = sizeof(int64_t) * (size_t)(2 + rank);
    char *const key = take(e, head + bytes + 1);
    if (!key) return NULL;
    memcpy(key, (const int64_t[]){type, rank}, 2 * sizeof(int64_t));
    if (rank) memcpy(key + 2 * sizeof(int64_t), dims, sizeof(int64_t) * (size_t)rank);
    memcpy(key + head, data, bytes);
    void **const known = find(e, KEY_CONSTANT, key, head + bytes);
    if (!known || *known) return known ? *known : NULL;
    wi_export_stored stored = {.type = type, .rank = rank, .bytes = bytes, .data = key + head};
    for (int i = 0; i < rank; i++) stored.dims[i] = dims[i];
    return *known = store(e, type == WI_ONNX_INT64 ? "sizes" : "constant", &stored);
}

wi_export_value *wi_export_number(wi_export *e, weft_dtype dtype, double number) {
    char data[16] = {0};
    wi_format_of(dtype)->put(data, 0, number);
    return wi_export_constant(e, wi_export_type(dtype), 0, NULL, data, weft_dtype_size(dtype));
}

wi_export_value *wi_export_ints(wi_export *e, const int64_t *list, int count) {
    const int64_t dims[] = {count};
    return wi_export_constant(e, WI_ONNX_INT64, 1, dims, list, (size_t)count * sizeof *list);
}

wi_export_value *wi_export_filled(wi_export *e, double number, int64_t count) {
    float *const data = take(e, (size_t)count * sizeof *data);
    if (!data) return NULL;
    for (int64_t i = 0; i < count; i++) data[i] = (float)number;
    return wi_export_constant(e, WI_ONNX_FLOAT, 1, &count, data, (size_t)count * sizeof *data);
}

wi_export_value *wi_export_stored_parts(wi_export *e, const char *name, int type, const wi_shape *shape,
    const wi_export_part *parts, size_t count) {
    wi_export_stored stored = {.type = type, .rank = shape->rank, .part_count = count};
    wi_export_part *const own = take(e, count * sizeof *own);
    if (!own) return NULL;
    for (size_t i = 0; i < count; i++) {
        own[i] = parts[i];
        stored.bytes += parts[i].bytes;
    }
    for (int i = 0; i < shape->rank; i++) stored.dims[i] = shape->dims[i];
    stored.parts = own;
    return store(e, name, &stored);
}

/* ---- sizes ---- */

bool wi_export_is_open(int64_t dim) {
    return dim < 0 || wi_is_symbolic(dim);
}

bool wi_export_has_open(const wi_shape *shape) {
    bool open = false;
    for (int i = 0; i < shape->rank; i++) open = open || wi_export_is_open(shape->dims[i]);
    return open;
}

static wi_export_value *whole(wi_export *e, int64_t number) {
    return wi_export_ints(e, &number, 1);
}

/* A symbol, from the first input that has an axis of a multiple of it plus a number. */
static wi_export_value *symbol_size(wi_export *e, size_t symbol) {
    for (size_t i = 0; i < e->input_count; i++) {
        const wi_shape *const shape = &e->inputs[i].tensor->shape;
        for (int axis = 0; axis < shape->rank; axis++) {
            int64_t times, rest;
            if (wi_dim_symbol(e->graph, shape->dims[axis], &times, &rest) != (int)symbol) continue;
            wi_export_value *const all = wi_export_op(e, "Shape", WI_FROM(e->inputs[i].value), NULL);
            wi_export_value *size = wi_export_op(e, "Gather", WI_FROM(all, whole(e, axis)), NULL);
            if (rest) size = wi_export_op(e, "Sub", WI_FROM(size, whole(e, rest)), NULL);
            return times == 1 ? size : wi_export_op(e, "Div", WI_FROM(size, whole(e, times)), NULL);
        }
    }
    wi_export_fail(
        e, wi_fail(WEFT_ERROR_UNSUPPORTED,
               "weft_onnx_save: a size depends on the size '%s', but no input has an axis of this size",
               wi_symbol_name(e->graph, symbol)));
    return NULL;
}

static wi_export_value *compute_polynomial(wi_export *e, const wi_polynomial *p);

/* A floor quotient: Div of ONNX rounds to zero, which is the same for sizes, as a plan refuses negative ones. */
static wi_export_value *compute_factor(wi_export *e, uint16_t number) {
    const wi_size_entry *const entry = &e->graph->sizes.of[number];
    const int64_t key = ((int64_t)entry->prime << 21);
    void **const known = find(e, KEY_SIZE, &key, sizeof key);
    if (!known || *known) return known ? *known : NULL;
    wi_export_value *const size =
        entry->divisor > 1 ? wi_export_op(e, "Div",
                                 WI_FROM(compute_polynomial(e, &entry->of), whole(e, entry->divisor)), NULL)
                           : symbol_size(e, entry->symbol);
    void **const now = find(e, KEY_SIZE, &key, sizeof key);
    if (now) *now = size;
    return size;
}

static wi_export_value *compute_polynomial(wi_export *e, const wi_polynomial *p) {
    wi_export_value *sum = NULL;
    for (int i = 0; i < p->count; i++) {
        const wi_term *const term = &p->terms[i];
        wi_export_value *product = compute_factor(e, term->factors[0]);
        for (int k = 1; k < WI_MOST_FACTORS && term->factors[k] != WI_NO_FACTOR; k++)
            product = wi_export_op(e, "Mul", WI_FROM(product, compute_factor(e, term->factors[k])), NULL);
        if (term->times != 1) product = wi_export_op(e, "Mul", WI_FROM(product, whole(e, term->times)), NULL);
        sum = sum ? wi_export_op(e, "Add", WI_FROM(sum, product), NULL) : product;
    }
    return p->rest ? wi_export_op(e, "Add", WI_FROM(sum, whole(e, p->rest)), NULL) : sum;
}

static wi_export_value *compute_size(wi_export *e, int64_t dim) {
    wi_polynomial p;
    if (wi_polynomial_of(e->graph, dim, true, &p)) return compute_polynomial(e, &p);
    wi_export_fail(e, wi_fail(WEFT_ERROR_UNSUPPORTED, "weft_onnx_save: a size is too large"));
    return NULL;
}

wi_export_value *wi_export_size(wi_export *e, int64_t dim) {
    if (!wi_export_is_open(dim)) return whole(e, dim);
    void **known = find(e, KEY_SIZE, &dim, sizeof dim);
    if (!known || *known) return known ? *known : NULL;
    wi_export_value *const size = compute_size(e, dim);
    known = find(e, KEY_SIZE, &dim, sizeof dim); /* others may have been added */
    if (known) *known = size;
    return size;
}

wi_export_value *wi_export_shape(wi_export *e, int rank, const int64_t *dims) {
    wi_export_value *sizes[WEFT_MAX_RANK];
    bool open = false;
    for (int i = 0; i < rank; i++) open = open || wi_export_is_open(dims[i]);
    if (!open) return wi_export_ints(e, dims, rank);
    for (int i = 0; i < rank; i++) sizes[i] = wi_export_size(e, dims[i]);
    return wi_export_op(e, "Concat", sizes, (size_t)rank, WI_WITH(WI_WHOLE("axis", 0)));
}

/* ---- common nodes ---- */

wi_export_value *wi_export_cast(wi_export *e, wi_export_value *x, int type) {
    return wi_export_op(e, "Cast", &x, 1, WI_WITH(WI_WHOLE("to", type)));
}

/* Writes a Reshape. In its shape, 0 is the size of the input at the same axis, and -1 a size that follows from the others. */
wi_export_value *wi_export_reshape(
    wi_export *e, wi_export_value *x, const wi_shape *from, const wi_shape *to) {
    int64_t dims[WEFT_MAX_RANK];
    bool inferred = false, computed = false;
    for (int i = 0; i < to->rank; i++) {
        const bool open = wi_export_is_open(to->dims[i]),
                   copied = i < from->rank && from->dims[i] == to->dims[i];
        computed = computed || (open && !copied && inferred);
        dims[i] = !open ? to->dims[i] : copied ? 0 : -1;
        inferred = inferred || dims[i] < 0;
    }
    return wi_export_two(e, "Reshape", x,
        computed ? wi_export_shape(e, to->rank, to->dims) : wi_export_ints(e, dims, to->rank));
}

/* ---- tensors ---- */

wi_export_entry *wi_export_entry_of(const wi_export *e, const weft_tensor *x) {
    return &e->entries[x->id];
}

weft_tensor *wi_export_resolve(const wi_export *e, weft_tensor *x) {
    while (x && x->id < e->entry_capacity && e->entries[x->id].to) x = e->entries[x->id].to;
    return x;
}

/* Moves the last axis to index 1, or with to_last the axis at index 1 to the end. */
static wi_export_value *move_axis(wi_export *e, wi_export_value *x, int rank, bool to_last) {
    int64_t order[WEFT_MAX_RANK];
    if (!x || rank < 3) return x;
    for (int i = 0; i < rank; i++)
        order[i] = i == 0 ? 0 : to_last ? (i == rank - 1 ? 1 : i + 1) : (i == 1 ? rank - 1 : i - 1);
    return wi_export_op(e, "Transpose", WI_FROM(x), WI_WITH(WI_WHOLES("perm", order, rank)));
}

wi_export_value *wi_export_of(wi_export *e, weft_tensor *x) {
    wi_export_entry *const entry = wi_export_entry_of(e, wi_export_resolve(e, x));
    if (!entry->value) entry->value = move_axis(e, entry->first, x->shape.rank, true);
    return entry->value;
}

wi_export_value *wi_export_first(wi_export *e, weft_tensor *x) {
    wi_export_entry *const entry = wi_export_entry_of(e, wi_export_resolve(e, x));
    if (!entry->first) entry->first = move_axis(e, entry->value, x->shape.rank, false);
    return entry->first;
}
