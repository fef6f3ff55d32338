/* The code of accumulators (contract in accumulators.h). */
#include "plan/emit/accumulators.h"
#include "cl/opened_device.h"
#include "ops/op_descriptors.h"
#include <stdio.h>

/* ---- the kinds ---- */

typedef struct accumulator {
    const wi_op *op;
    const char *name;                          /* in names of functions: weft_<name>_f, weft_lanes_<name>_i */
    const char *float_identity, *int_identity; /* initial a<m>, as literals */
    bool blocks;                               /* adds elements to d<m>, and each block's d<m> to a<m> */
    bool carries;                              /* floats: has rounding errors in e<m> */
    bool indices;                              /* the result is an index, g<m> */
} accumulator;

static const accumulator accumulators[] = {
    {&wi_op_sum, "sum", "0.0f", "0", true, true, false},
    {&wi_op_prod, "prod", "1.0f", "1", false, true, false},
    {&wi_op_max, "max", "-INFINITY", "INT_MIN", false, false, false},
    {&wi_op_min, "min", "INFINITY", "INT_MAX", false, false, false},
    {&wi_op_argmax, "argmax", "-INFINITY", "INT_MIN", false, false, true},
    {&wi_op_argmin, "argmin", "INFINITY", "INT_MAX", false, false, true},
};

static const accumulator *kind_of(const wi_value *value) {
    const accumulator *kind = accumulators;
    while (kind->op != value->node->op) kind++;
    return kind;
}

int wi_partial_cells(const wi_value *value) {
    return wi_is_reduction(value) ? 1 + kind_of(value)->indices : 0;
}

/* ---- a reduction ---- */

/* A reduction of the step, with the names and types of its code. */
typedef struct reduction {
    const wi_value *value;
    const accumulator *kind;
    const wi_format *format; /* of a<m>: the compute format of the elements */
    weft_dtype dtype;        /* of `format` */
    bool is_float;
    const char *k;    /* suffix of the functions for this format */
    const char *type; /* of the register a<m> */
    char identity[24];
} reduction;

/* The dtype of a<m>, in which the reduction accumulates. */
static weft_dtype kept_dtype(const wi_value *value) {
    return wi_format_of(value->node->inputs[0]->dtype)->compute;
}

static reduction reduction_of(const wi_emitter *e, int m) {
    const wi_value *value = &e->partition->values[e->step->members[m]];
    reduction r = {.value = value, .kind = kind_of(value)};
    r.dtype = kept_dtype(value);
    r.format = wi_format_of(r.dtype);
    r.is_float = wi_dtype_is_float(r.dtype);
    r.k = r.format->suffix;
    r.type = r.format->registers;
    snprintf(r.identity, sizeof r.identity, "(%s)(%s)", r.type,
        r.is_float ? r.kind->float_identity : r.kind->int_identity);
    return r;
}

size_t wi_reduction_cell(const wi_partition *p, const wi_step *step) {
    size_t widest = sizeof(float);
    for (int m = 0; m < step->member_count; m++) {
        const wi_value *value = &p->values[step->members[m]];
        const size_t size = wi_is_reduction(value) ? weft_dtype_size(kept_dtype(value)) : 0;
        if (size > widest) widest = size;
    }
    return widest;
}

/* Along a row, each comparison of a maximum or minimum waits for the comparison before. Comparisons that ignore NaN take less time: e<m> then
 * collects the bits in which a NaN is found at the end (weft_take_max_f in reduce.clh). */
static bool keeps_bits(const wi_emitter *e, const reduction *r) {
    const bool is_extreme = r->kind->op == &wi_op_max || r->kind->op == &wi_op_min;
    return is_extreme && r->dtype == WEFT_F32 && e->inner_is_reduced;
}

/* Finds the next reduction of the sweep among the members from number *m on. sweep -1: of any sweep. */
static bool next_reduction(const wi_emitter *e, int *m, int sweep, reduction *r) {
    for (; *m < e->step->member_count; ++*m) {
        const wi_value *value = &e->partition->values[e->step->members[*m]];
        if (!wi_is_reduction(value) || (sweep >= 0 && e->loops->sweep[e->step->members[*m]] != sweep))
            continue;
        *r = reduction_of(e, *m);
        return true;
    }
    return false;
}

/* ---- vectors ---- */

int wi_reduction_vectors(const wi_partition *p, const wi_step *step) {
    enum { MOST = 128, VECTOR_BYTES = 64, PRIVATE_BYTES = 24576 };
    int arrays = 0, vectors = MOST;
    for (int m = 0; m < step->member_count; m++) {
        const wi_value *value = &p->values[step->members[m]];
        if (!wi_is_reduction(value)) continue;
        const accumulator *kind = kind_of(value);
        const int wide = (int)(wi_format_of(kept_dtype(value))->size / sizeof(float));
        arrays += wide * (1 + kind->blocks + kind->carries) + kind->indices;
    }
    while (vectors > 1 && vectors * arrays * VECTOR_BYTES > PRIVATE_BYTES) vectors /= 2;
    return vectors;
}

void wi_emit_vectors_begin(wi_emitter *e) {
    if (e->wide)
        wi_text_append(
            &e->text, "for (int u = 0; u < vectors; u++) {\nconst int j = first + 16 * u;\n(void)j;\n");
}

void wi_emit_vectors_end(wi_emitter *e) {
    if (e->wide) wi_text_append(&e->text, "}\n");
}

/* The name of an accumulator in the code: a<m>, or a<m>[u] if accumulators are arrays. */
typedef struct spelling {
    char text[16];
} spelling;

static spelling named(const wi_emitter *e, char letter, int m) {
    spelling n;
    snprintf(n.text, sizeof n.text, e->wide ? "%c%d[u]" : "%c%d", letter, m);
    return n;
}

static void declare(wi_emitter *e, const char *type, char letter, int m, const char *value) {
    if (e->wide)
        wi_text_append(&e->text, "%s %c%d[%d];\nfor (int u = 0; u < vectors; u++) %c%d[u] = %s;\n", type,
            letter, m, e->wide, letter, m, value);
    else
        wi_text_append(&e->text, "%s %c%d = %s;\n", type, letter, m, value);
}

/* ---- in the loops ---- */

void wi_emit_accumulators(wi_emitter *e, int sweep) {
    reduction r;
    for (int m = 0; next_reduction(e, &m, sweep, &r); m++) {
        wi_emit_needs(e, r.dtype);
        declare(e, r.type, 'a', m, r.identity);
        if (r.kind->carries && r.is_float) {
            char zero[24];
            snprintf(zero, sizeof zero, "(%s)(0.0f)", r.type);
            declare(e, r.type, 'e', m, zero);
        }
        if (keeps_bits(e, &r)) declare(e, "WI", 'e', m, "(WI)(0)");
        if (r.kind->indices) declare(e, "WI", 'g', m, "(WI)(INT_MAX)");
    }
}

void wi_emit_block_begin(wi_emitter *e, int sweep) {
    reduction r;
    for (int m = 0; next_reduction(e, &m, sweep, &r); m++) {
        if (r.kind->blocks) declare(e, r.type, 'd', m, r.identity);
    }
}

/* Emits code that combines x with a<m>. index: the index of x, for argmax and argmin. */
static void emit_combine(wi_emitter *e, const reduction *r, int m, const char *x, const char *index) {
    wi_text *text = &e->text;
    const spelling a = named(e, 'a', m), carry = named(e, 'e', m), g = named(e, 'g', m);
    if (r->kind->indices)
        wi_text_append(
            text, "weft_%s_%s(&%s, &%s, %s, %s);\n", r->kind->name, r->k, a.text, g.text, x, index);
    else if (r->kind->op == &wi_op_sum && r->is_float)
        wi_text_append(text, "weft_add_%s(&%s, &%s, %s);\n", r->k, a.text, carry.text, x);
    else if (r->kind->op == &wi_op_sum)
        wi_text_append(text, "%s += %s;\n", a.text, x);
    else if (r->kind->op == &wi_op_prod && r->is_float)
        wi_text_append(text, "weft_times_%s(&%s, &%s, %s);\n", r->k, a.text, carry.text, x);
    else if (r->kind->op == &wi_op_prod)
        wi_text_append(text, "%s *= %s;\n", a.text, x);
    else if (keeps_bits(e, r))
        wi_text_append(text, "weft_take_%s_f(&%s, &%s, %s);\n", r->kind->name, a.text, carry.text, x);
    else
        wi_text_append(text, "%s = weft_%s_%s(%s, %s);\n", a.text, r->kind->name, r->k, a.text, x);
}

void wi_emit_block_end(wi_emitter *e, int sweep) {
    reduction r;
    wi_emit_vectors_begin(e);
    for (int m = 0; next_reduction(e, &m, sweep, &r); m++) {
        if (r.kind->blocks) emit_combine(e, &r, m, named(e, 'd', m).text, "");
    }
    wi_emit_vectors_end(e);
}

void wi_emit_accumulate(wi_emitter *e, int m, const char *index) {
    const reduction r = reduction_of(e, m);
    const bool masks = e->tail && e->inner_is_reduced;
    const int temp = wi_emit_input(e, r.value->node->inputs[0]);
    char x[96], masked[192];
    if (masks) {
        snprintf(
            x, sizeof x, "WEFT_MASKED%s(lanes, t%d, %s)", r.dtype == WEFT_F64 ? "_d" : "", temp, r.identity);
        snprintf(masked, sizeof masked, "WEFT_MASKED(lanes, %s, (WI)(INT_MAX))", index);
    } else {
        snprintf(x, sizeof x, "t%d", temp);
        snprintf(masked, sizeof masked, "%s", index);
    }
    if (r.kind->blocks)
        wi_text_append(&e->text, "%s += %s;\n", named(e, 'd', m).text, x);
    else
        emit_combine(e, &r, m, x, masked);
}

/* ---- results ---- */

/* Emits code that completes a<m> and g<m>: it adds the errors carried by a product, or the NaN that e<m> of a maximum or minimum reveals,
 * and combines the lanes or work-items of a row. */
static void emit_total(wi_emitter *e, const reduction *r, int m) {
    const char *op = r->kind->name, *k = r->k;
    const bool product = r->kind->op == &wi_op_prod && r->is_float;
    const spelling a = named(e, 'a', m), carry = named(e, 'e', m);
    if (product && e->inner_is_reduced && !e->walks) {
        wi_text_append(&e->text, "a%d = weft_group_prod_%s(a%d, e%d, shared_%s, %d);\n", m, k, m, m, k,
            e->group_calls++ % 2);
        return;
    }
    if (product) wi_text_append(&e->text, "%s = weft_product_%s(%s, %s);\n", a.text, k, a.text, carry.text);
    if (keeps_bits(e, r))
        wi_text_append(&e->text, "%s = weft_extreme_f(%s, %s);\n", a.text, a.text, carry.text);
    if (!e->inner_is_reduced) return;
    if (r->kind->indices && e->walks)
        wi_text_append(&e->text, "weft_lanes_%s_%s(&a%d, &g%d);\n", op, k, m, m);
    else if (r->kind->indices)
        wi_text_append(&e->text, "weft_group_%s_%s(&a%d, &g%d, shared_%s, shared_i + WEFT_SHARED, %d);\n", op,
            k, m, m, k, e->group_calls++ % 2);
    else if (e->walks)
        wi_text_append(&e->text, "a%d = (%s)(weft_lanes_%s_%s(a%d));\n", m, r->type, op, k, m);
    else
        wi_text_append(
            &e->text, "a%d = weft_group_%s_%s(a%d, shared_%s, %d);\n", m, op, k, m, k, e->group_calls++ % 2);
}

static void emit_rounded(wi_emitter *e, const reduction *r, int temp, const char *total) {
    const weft_dtype dtype = r->value->node->dtype;
    wi_text_append(&e->text, "const %s t%d = ", r->type, temp);
    wi_emit_rounding(e, dtype);
    wi_text_append(&e->text, wi_dtype_rounds(dtype) ? "(%s);\n" : "%s;\n", total);
}

int wi_emit_result(wi_emitter *e, int m) {
    const reduction r = reduction_of(e, m);
    const int temp = e->temps++;
    emit_total(e, &r, m);
    if (r.kind->indices)
        wi_text_append(&e->text, "const WI t%d = weft_index_or_first(%s);\n", temp, named(e, 'g', m).text);
    else
        emit_rounded(e, &r, temp, named(e, 'a', m).text);
    wi_emit_remember(e, r.value, temp);
    return temp;
}

/* ---- splits ---- */

/* Emits m<slot>, the scratch memory of a partial result, and at<slot>, the index there: all results of split 0 come first, then those of
 * split 1, and so on. */
static void emit_cell(wi_emitter *e, int slot, weft_dtype dtype, bool vector) {
    const char *name = weft_dtype_name(dtype);
    const size_t cell = wi_reduction_cell(e->partition, e->step), size = weft_dtype_size(dtype);
    wi_emit_argument(e, WI_ARGUMENT_SCRATCH, slot, (int)size, (double)(cell / size));
    wi_text_append(&e->text,
        "__global WEFT_T_%s *m%d = (__global WEFT_T_%s *)x%d;\nconst long at%d = y%d + (long)split * w0 + "
        "%s;\n",
        name, slot, name, slot, slot, slot, vector ? "row * columns + j" : "row");
}

static void emit_partial_store(wi_emitter *e, int slot, weft_dtype dtype, const char *variable, bool vector) {
    const char *name = weft_dtype_name(dtype);
    emit_cell(e, slot, dtype, vector);
    if (vector)
        wi_text_append(&e->text,
            e->tail ? "weft_store_tail_%s(%s, m%d, at%d, lanes);\n" : "weft_store_%s(%s, m%d, at%d);\n", name,
            variable, slot, slot);
    else
        wi_text_append(&e->text, "%sweft_store_one_%s(%s, m%d, at%d);\n",
            e->inner_is_reduced && !e->walks ? "if (get_local_id(0) == 0) " : "", name, variable, slot, slot);
}

void wi_emit_partial_stores(wi_emitter *e) {
    const bool vector = e->walks && !e->inner_is_reduced;
    int slot = 0;
    reduction r;
    wi_emit_vectors_begin(e);
    for (int m = 0; next_reduction(e, &m, -1, &r); m++) {
        emit_total(e, &r, m);
        wi_text_append(&e->text, "{\n");
        emit_partial_store(e, slot++, r.dtype, named(e, 'a', m).text, vector);
        if (r.kind->indices) emit_partial_store(e, slot++, WEFT_I32, named(e, 'g', m).text, vector);
        wi_text_append(&e->text, "}\n");
    }
    wi_emit_vectors_end(e);
}

static void emit_partial_load(wi_emitter *e, int slot, weft_dtype dtype, const char *variable, bool vector) {
    const char *name = weft_dtype_name(dtype), *type = wi_register_type(dtype);
    emit_cell(e, slot, dtype, vector);
    wi_text_append(&e->text, "const %s %s = weft_%s_%s(m%d, at%d%s);\n", type, variable,
        !vector   ? "splat"
        : e->tail ? "load_tail"
                  : "load",
        name, slot, slot, vector && e->tail ? ", lanes" : "");
}

void wi_emit_partial_loads(wi_emitter *e, bool vector) {
    int slot = 0;
    reduction r;
    wi_text_append(&e->text, "for (int split = 0; split < w4; split++) {\n");
    for (int m = 0; next_reduction(e, &m, -1, &r); m++) {
        wi_text_append(&e->text, "{\n");
        emit_partial_load(e, slot++, r.dtype, "x", vector);
        if (r.kind->indices) emit_partial_load(e, slot++, WEFT_I32, "index", vector);
        emit_combine(e, &r, m, "x", "index");
        wi_text_append(&e->text, "}\n");
    }
    wi_text_append(&e->text, "}\n");
}

/* ---- splits that their launch joins ---- */

static bool may_join(const wi_value *value) {
    return !wi_is_reduction(value) || (kept_dtype(value) == WEFT_F32 && !kind_of(value)->indices);
}

bool wi_joins_splits(const wi_partition *p, const wi_loop *loop) {
    const wi_step *step = loop->step;
    if (!loop->may_split || wi_step_device(p, step)->profile.item_walks) return false;
    for (int m = 0; m < step->member_count; m++)
        if (!may_join(&p->values[step->members[m]])) return false;
    return true;
}

/* A node of the tree has a cell for each reduction, and a cell that counts the children that have finished. */
static int cells_a_node(const wi_partition *p, const wi_step *step) {
    int cells = 1;
    for (int m = 0; m < step->member_count; m++) cells += wi_is_reduction(&p->values[step->members[m]]);
    return cells;
}

size_t wi_join_bytes(const wi_partition *p, const wi_step *step, int64_t results, int64_t splits) {
    if (splits == 1) return sizeof(int32_t); /* unused, but the kernel has the argument */
    int64_t nodes = splits;
    for (int64_t level = splits; level > 1; nodes += level)
        level = (level + WI_JOIN_CHILDREN - 1) / WI_JOIN_CHILDREN;
    return (size_t)(nodes * results) * (size_t)cells_a_node(p, step) * sizeof(int32_t);
}

/* Emits code that completes all a<m>, and sets the carried errors to zero. */
static void emit_totals(wi_emitter *e) {
    reduction r;
    for (int m = 0; next_reduction(e, &m, 0, &r); m++) {
        emit_total(e, &r, m);
        if (r.kind->carries) wi_text_append(&e->text, "e%d = 0.0f;\n", m);
    }
}

/* Emits code that combines the values of a node's children. It takes four cells at once, so that their reads do not wait for each other. */
static void emit_children(wi_emitter *e) {
    reduction r;
    for (int m = 0; next_reduction(e, &m, 0, &r); m++)
        wi_text_append(
            &e->text, r.kind->carries ? "a%d = %s;\ne%d = 0.0f;\n" : "a%d = %s;\n", m, r.identity, m);
    wi_text_append(&e->text, "for (int child = first; child < after; child += 4) {\n");
    for (int m = 0, slot = 0; next_reduction(e, &m, 0, &r); m++, slot++)
        wi_text_append(&e->text,
            "const float4 v%d = weft_cells_take(nodes + child * node + %d * w0, node, after - child, %s);\n",
            m, slot, r.kind->float_identity);
    for (int m = 0; next_reduction(e, &m, 0, &r); m++) {
        for (int i = 0; i < 4; i++) {
            char x[16];
            snprintf(x, sizeof x, "v%d.s%d", m, i);
            emit_combine(e, &r, m, x, "");
        }
    }
    wi_text_append(&e->text, "}\n");
    emit_totals(e);
}

void wi_emit_join(wi_emitter *e) {
    const int cells = cells_a_node(e->partition, e->step);
    reduction r;
    emit_totals(e);
    wi_emit_argument(e, WI_ARGUMENT_CELLS, 0, 0, 0);
    wi_text_append(&e->text,
        "bool last = %s;\nconst int node = %d * w0;\n"
        "volatile __global int *nodes = cells + cells_offset + row;\n"
        "for (int place = split, count = w4; last && count > 1; count = (count + %d) / %d) {\n"
        "const int first = place / %d * %d, after = min(first + %d, count);\n",
        e->inner_is_reduced ? "get_local_id(0) == 0" : "true", cells, WI_JOIN_CHILDREN - 1, WI_JOIN_CHILDREN,
        WI_JOIN_CHILDREN, WI_JOIN_CHILDREN, WI_JOIN_CHILDREN);
    e->inner_is_reduced = false;
    for (int m = 0, slot = 0; next_reduction(e, &m, 0, &r); m++, slot++)
        wi_text_append(&e->text, "weft_cell_put(nodes + place * node + %d * w0, a%d);\n", slot, m);
    wi_text_append(&e->text,
        "volatile __global int *const parents = nodes + count * node;\nplace /= %d;\n"
        "last = weft_cell_is_last(parents + place * node + %d * w0, after - first);\nif (last) {\n",
        WI_JOIN_CHILDREN, cells - 1);
    emit_children(e);
    wi_text_append(&e->text, "}\nnodes = parents;\n}\n");
}
