/* Epilogues of products: the template once more in the program, with what follows the product pasted in. */
#include "cl/kernel_source.h"
#include "kernels/convolution/conv_product.h"
#include "plan/emit/code_shared.h"
#include <stdio.h>

/* What each sum of the step takes of an element. */
static void emit_taken(wi_emitter *e) {
    for (int m = 0, sum = 0; m < e->step->member_count; m++) {
        const wi_value *const member = wi_emitted_member(e, m);
        if (!wi_is_reduction(member)) continue;
        const int temp = wi_emit_input(e, member->node->inputs[0]);
        wi_text_append(&e->text, "sums[%d] += t%d;\n", sum++, temp);
    }
}

static void emit_epilogue_elements(wi_emitter *e) {
    const size_t remembered = e->memo_count;
    for (int store = 0; store < 2; store++) { /* all loads before the first store */
        if (store) emit_taken(e);
        for (int m = 0; m < e->step->member_count; m++) {
            const wi_value *const value = wi_emitted_member(e, m);
            if (value->storage < 0 || value->in_row) continue;
            const int member = e->step->members[m], temp = wi_emit_member(e, member);
            if (!store) continue;
            if (wi_is_table_of(e->partition, e->step, member, true))
                wi_text_append(&e->text, "if (batch >= 0)\n");
            wi_emit_store(e, wi_loop_operand(e->loop, member, true), temp);
        }
    }
    e->memo_count = remembered;
}

/* Each group of a convolution is stored by itself: its last lanes may be fewer, whatever all groups have. */
static bool ends_in_groups(const wi_emitter *e) {
    const wi_conv_geometry *const geometry = e->step->gemm.convolution;
    return geometry && geometry->groups > 1 && geometry->filters % 16 != 0;
}

/* The same of 16 elements, and of fewer. */
static void emit_lanes(wi_emitter *e, void (*emit)(wi_emitter *e)) {
    if (!e->walks) {
        emit(e);
        return;
    }
    if (!wi_never_whole(e)) {
        wi_text_append(&e->text, "if (lanes == 16) {\n");
        emit(e);
        wi_text_append(&e->text, "}\n");
    }
    if (wi_has_no_tail(e) && !ends_in_groups(e)) return;
    wi_text_append(&e->text, "if (lanes < 16) {\n");
    e->tail = true;
    emit(e);
    e->tail = false;
    wi_text_append(&e->text, "}\n");
}

static void emit_epilogue_body(wi_emitter *e) {
    const weft_dtype dtype = wi_emitted_member(e, 0)->node->dtype;
    e->has_j = true;
    wi_text_append(&e->text,
        "const long i0 = %s, i1 = row;\nconst int j = column;\n(void)i0, (void)i1, (void)j;\n",
        e->step->by_segments ? "max(batch, 0)" : "batch");
    wi_emit_remember(e, wi_emitted_member(e, 0), wi_emit_begin(e, dtype));
    wi_emit_rounding(e, dtype);
    wi_text_append(&e->text, wi_dtype_rounds(dtype) ? "(acc);\n" : "acc;\n");
    wi_emit_addresses(e, false);
    emit_lanes(e, emit_epilogue_elements);
}

/* ---- what a sum by segments adds up ---- */

static void emit_source_place(wi_emitter *e) {
    wi_text_append(&e->text, "const int j = column;\n(void)j;\n");
    wi_emit_decode(e, false, "row");
    wi_emit_addresses(e, false);
}

static void emit_source_elements(wi_emitter *e) {
    const size_t remembered = e->memo_count;
    const wi_step *const step = e->step;
    const int temp = step->computed < 0 ? wi_emit_load(e, wi_source_operand(e->loop, step->sources[0]))
                                        : wi_emit_input(e, e->partition->values[step->computed].node);
    wi_text_append(&e->text, "weft_element = t%d;\n", temp);
    e->memo_count = remembered;
}

/* An element of a row of the source, or 16. */
static void emit_source(wi_emitter *e) {
    emit_source_place(e);
    wi_text_append(&e->text, "WF weft_element = (WF)(0);\n");
    emit_lanes(e, emit_source_elements);
    wi_text_append(&e->text, "return weft_element;\n");
}

/* Asks for what a row of the source is made of. */
static void emit_source_request(wi_emitter *e) {
    emit_source_place(e);
    for (int o = 0; o < e->loop->operand_count; o++) {
        const wi_operand *const operand = &e->loop->operands[o];
        if (!operand->of_source || !wi_size_is(operand->layout.strides[e->loop->space.rank - 1], 1)) continue;
        wi_emit_argument(e, WI_ARGUMENT_BUFFER, o, 0, 0);
        wi_text_append(&e->text, "WEFT_PREFETCH(b%d + p%d + j, 3);\n", o, o);
    }
}

/* What an item does that has a part of each sum of a column: with all parts of it, what is computed from the sums. Of a quad's lanes
 * it has one. */
static void emit_sums(wi_emitter *e) {
    e->tail = e->lanes > 1;
    if (e->tail) wi_text_append(&e->text, "const int lanes = 1;\n");
    wi_emit_argument(e, WI_ARGUMENT_WORK, WI_WORK_RESULTS, 0, 0);
    wi_emit_argument(e, WI_ARGUMENT_WORK, WI_WORK_SPLITS, 0, 0);
    wi_text_append(&e->text,
        "const long i0 = 0, i1 = 0;\nconst int row = column, j = column;\n(void)i0, (void)i1, (void)j;\n");
    wi_emit_addresses(e, false);
    wi_emit_accumulators(e, 0);
    for (int m = 0, sum = 0; m < e->step->member_count; m++)
        if (wi_is_reduction(wi_emitted_member(e, m)))
            wi_text_append(&e->text, "a%d = (WF)(sums[%d]);\n", m, sum++);
    wi_emit_join(e);
    wi_text_append(&e->text, "if (last) {\n");
    wi_emit_row_values(e, 0);
    wi_text_append(&e->text, "}\n");
    e->tail = false;
}

/* Rows of it lie side by side or apart, elements of a row side by side. */
static bool is_matrix(const wi_loop *loop, const wi_operand *operand) {
    return loop->space.rank == 3 && operand->value >= 0 && !operand->padded &&
           wi_size_is(operand->layout.strides[2], 1) && wi_operand_varies(operand, 1);
}

/* Where an element of operand o is and how far a row is from the next, as macros: for templates that ask
 * for memory early. */
static void define_place(wi_text *source, const char *name, const wi_loop *loop, int o) {
    static const char *const indices[] = {"batch", "row"};
    const wi_size *const strides = loop->operands[o].layout.strides;
    const int size = (int)weft_dtype_size(loop->operands[o].dtype);
    wi_text_append(source, "#define %s(batch, row, column) ((size_t)(b%d + f%d", name, o, o);
    for (int d = 0; d < 2; d++) {
        if (!wi_operand_varies(&loop->operands[o], d)) continue;
        wi_text_append(source, " + (long)(%s)", indices[d]);
        if (!wi_size_is(strides[d], 1)) wi_text_append(source, " * s%d_%d", o, d);
    }
    wi_text_append(source, " + (column)))\n#define %s_SIZE %d\n", name, size);
    if (wi_size_is(strides[1], 1))
        wi_text_append(source, "#define %s_STEP %d\n", name, size);
    else
        wi_text_append(source, "#define %s_STEP (%d * s%d_1)\n", name, size, o);
}

/* Of the first matrix that the epilogue reads, and of the first that it writes. */
static void define_places(wi_text *source, const wi_loop *loop) {
    bool has_read = false, has_stored = false;
    for (int o = 0; o < loop->operand_count; o++) {
        const bool is_output = loop->operands[o].is_output;
        if (!is_matrix(loop, &loop->operands[o]) || (is_output ? has_stored : has_read)) continue;
        define_place(source, is_output ? "WEFT_EPILOGUE_WRITE" : "WEFT_EPILOGUE_READ", loop, o);
        *(is_output ? &has_stored : &has_read) = true;
    }
}

/* What asks for an element of each table that the epilogue reads. */
static void define_request(wi_text *source, const wi_loop *loop) {
    wi_text_append(source, "#define WEFT_EPILOGUE_REQUEST(batch, row, column, level)");
    for (int o = 0; o < loop->operand_count; o++) {
        if (loop->operands[o].is_output || !wi_operand_varies(&loop->operands[o], 0)) continue;
        wi_text_append(source, " WEFT_PREFETCH(b%d + f%d + (long)(batch)", o, o);
        if (!wi_size_is(loop->operands[o].layout.strides[0], 1)) wi_text_append(source, " * s%d_0", o);
        wi_text_append(source, " + (column), level);");
    }
    wi_text_append(source, "\n");
}

/* An epilogue: its parameters, the first of which are those of a stored element, their names, its body, and that of what joins its sums. */
typedef struct epilogue {
    wi_emitter e;
    int of_store;
    wi_text parameters, names, store, join, source, request;
} epilogue;

/* What the template of sums by segments finds beside its epilogue. */
static void define_segments(wi_text *source, const epilogue *own) {
    const char *const parameters = own->parameters.data, *const names = own->names.data;
    wi_text_append(source,
        "static inline WF WEFT_NAME(source)(int row, int column, int lanes, %s) {\n%s}\n"
        "static inline void WEFT_NAME(request)(int row, int column, %s) {\n%s}\n"
        "#define WEFT_SOURCE(row, column, lanes) WEFT_NAME(source)(row, column, lanes, %s)\n"
        "#define WEFT_SOURCE_REQUEST(row, column) WEFT_NAME(request)(row, column, %s);\n",
        parameters, own->source.data, parameters, own->request.data, names, names);
    define_request(source, own->e.loop);
}

/* ---- parameters that only what joins sums reads ---- */

/* Does a stored element need the operand of this offset or stride? */
static bool is_stored_by(const epilogue *own, int operand) {
    const wi_argument *const arguments = own->e.kernel->arguments;
    for (int i = 0; i < own->of_store; i++)
        if (arguments[i].kind == WI_ARGUMENT_BUFFER && arguments[i].a == operand) return true;
    return false;
}

static bool is_kept(const epilogue *own, int i) {
    const wi_argument *const argument = &own->e.kernel->arguments[i];
    switch (argument->kind) {
    case WI_ARGUMENT_OFFSET:
    case WI_ARGUMENT_STRIDE: return !is_stored_by(own, argument->a);
    case WI_ARGUMENT_BUFFER:
    case WI_ARGUMENT_WORK:
    case WI_ARGUMENT_CELLS: return i >= own->of_store;
    default: return false;
    }
}

/* A name of one and its type. */
typedef struct kept_name {
    char type[48], name[24];
} kept_name;

/* How many it has: 1, or 2 of cells. */
static int kept_names(const epilogue *own, int i, kept_name names[2]) {
    const wi_argument *const a = &own->e.kernel->arguments[i];
    snprintf(names[0].type, sizeof names[0].type, "long ");
    switch (a->kind) {
    case WI_ARGUMENT_OFFSET: snprintf(names[0].name, sizeof names[0].name, "f%d", a->a); return 1;
    case WI_ARGUMENT_STRIDE: snprintf(names[0].name, sizeof names[0].name, "s%d_%d", a->a, a->b); return 1;
    case WI_ARGUMENT_BUFFER:
        snprintf(names[0].type, sizeof names[0].type, "__global WEFT_T_%s *",
            weft_dtype_name(own->e.loop->operands[a->a].dtype));
        snprintf(names[0].name, sizeof names[0].name, "b%d", a->a);
        return 1;
    case WI_ARGUMENT_WORK:
        snprintf(names[0].type, sizeof names[0].type, "int ");
        snprintf(names[0].name, sizeof names[0].name, "w%d", a->a);
        return 1;
    default:
        names[0] = (kept_name){"volatile __global int *", "cells"};
        names[1] = (kept_name){"long ", "cells_offset"};
        return 2;
    }
}

/* Places that only joining sums reads would hold more scalar registers than AMD's GPUs have, throughout a product. So a group keeps
 * them in local memory: fields of a struct, how they are set, and what joins sums by them. */
static void define_kept(wi_text *source, const epilogue *own) {
    wi_text fields, set, names;
    wi_text *const texts[] = {&fields, &set, &names};
    for (int i = 0; i < 3; i++) wi_text_init(texts[i], source->allocator);
    for (int i = 0; i < own->e.kernel->argument_count; i++) {
        kept_name kept[2];
        const int count = is_kept(own, i) ? kept_names(own, i, kept) : 0;
        for (int k = 0; k < count; k++) {
            wi_text_append(&fields, "%s%s; ", kept[k].type, kept[k].name);
            wi_text_append(&set, "(kept).%s = %s; ", kept[k].name, kept[k].name);
            wi_text_append(&names, ", (kept).%s", kept[k].name);
        }
        if (count > 0) continue;
        wi_text_append(&names, ", ");
        wi_emit_parameter(&own->e, &names, &own->e.kernel->arguments[i], true);
    }
    for (int i = 0; i < 3; i++) source->failed = source->failed || texts[i]->failed;
    if (!source->failed)
        wi_text_append(source,
            "#define WEFT_KEPT_FIELDS %s\n#define WEFT_KEEP(kept) %s\n"
            "#define WEFT_JOIN_KEPT_SUMS(sums, split, column, kept) WEFT_NAME(join)(sums, split, column%s)\n",
            fields.data, set.data, names.data);
    for (int i = 0; i < 3; i++) wi_text_clear(texts[i]);
}

/* The function that stores an element, and the macros through which the template finds it. With sums it adds to those of the
 * column, and another one joins these. */
static void define_epilogue(wi_text *source, const epilogue *own) {
    const bool any = own->parameters.length > 0;
    const char *const comma = any ? ", " : "", *const parameters = any ? own->parameters.data : "";
    const char *const names = any ? own->names.data : "";
    const int sums = own->e.step->sums;
    wi_text_append(source,
        "static inline void WEFT_NAME(store)(%s acc, int batch, int row, int column, %s%s%s) {\n%s}\n",
        wi_register_type(wi_emitted_member(&own->e, 0)->node->dtype), sums ? "WF *sums" : "int lanes", comma,
        parameters, own->store.data);
    wi_text_append(source, "#define WEFT_EPILOGUE_PARAMETERS %s%s\n", comma, parameters);
    wi_text_append(source,
        "#define WEFT_STORE%s(acc, batch, row, column, last) WEFT_NAME(store)(acc, batch, row, column, "
        "last%s%s)\n",
        sums ? "_SUMS" : "", comma, names);
    if (sums > 0) {
        wi_text_append(source,
            "WEFT_APART static void WEFT_NAME(join)(const float *sums, int split, int column%s%s) {\n%s}\n",
            comma, parameters, own->join.data);
        wi_text_append(source,
            "#define WEFT_COLUMN_SUMS %d\n#define WEFT_JOIN_SUMS(sums, split, column) WEFT_NAME(join)(sums, "
            "split, "
            "column%s%s)\n",
            sums, comma, names);
        define_kept(source, own);
    }
    if (own->e.step->by_segments)
        define_segments(source, own);
    else
        define_places(source, own->e.loop);
}

/* The template with this epilogue and its macros. */
static weft_status append_template(wi_text *source, const epilogue *own, const wi_kernel_plan *kernel) {
    define_epilogue(source, own);
    wi_kernel_macros_define(kernel, source);
    WI_TRY(wi_kernel_headers_include(kernel, source));
    WI_TRY(wi_kernel_source_include(source, kernel->file));
    wi_text_append(source, "\n");
    wi_text_append(source,
        "#undef WEFT_EPILOGUE_PARAMETERS\n#undef WEFT_STORE\n#undef WEFT_STORE_SUMS\n"
        "#undef WEFT_COLUMN_SUMS\n#undef WEFT_JOIN_SUMS\n"
        "#undef WEFT_KEPT_FIELDS\n#undef WEFT_KEEP\n#undef WEFT_JOIN_KEPT_SUMS\n"
        "#undef WEFT_EPILOGUE_READ\n#undef WEFT_EPILOGUE_READ_SIZE\n#undef WEFT_EPILOGUE_READ_STEP\n"
        "#undef WEFT_EPILOGUE_WRITE\n#undef WEFT_EPILOGUE_WRITE_SIZE\n"
        "#undef WEFT_EPILOGUE_WRITE_STEP\n"
        "#undef WEFT_EPILOGUE_REQUEST\n"
        "#undef WEFT_SOURCE\n#undef WEFT_SOURCE_REQUEST\n");
    wi_kernel_macros_undefine(kernel, source);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* The emitter's text so far; it begins another function, which knows no variable. */
static wi_text take_text(wi_emitter *e) {
    const wi_text text = e->text;
    wi_text_init(&e->text, text.allocator);
    e->text.failed = text.failed;
    e->memo_count = 0;
    return text;
}

static void emit_epilogue(epilogue *own) {
    emit_epilogue_body(&own->e);
    own->store = take_text(&own->e);
    own->of_store = own->e.kernel->argument_count;
    if (own->e.step->sums > 0) emit_sums(&own->e);
    own->join = take_text(&own->e);
    own->e.of_source = own->e.step->by_segments;
    if (own->e.of_source) emit_source(&own->e);
    own->source = take_text(&own->e);
    if (own->e.of_source) emit_source_request(&own->e);
    own->request = take_text(&own->e);
    wi_text_init(&own->parameters, own->store.allocator);
    wi_text_init(&own->names, own->store.allocator);
    wi_emit_parameters(&own->e, &own->parameters, false);
    wi_emit_parameters(&own->e, &own->names, true);
}

weft_status wi_code_product(wi_code *code, const wi_step *step) {
    wi_step_code *const own = &code->of[step->index];
    epilogue stored;
    wi_text source;
    wi_emitter_begin(&stored.e, code->loops, step, &own->whole);
    wi_text_init(&source, stored.e.text.allocator);
    emit_epilogue(&stored);
    const bool failed = stored.e.text.failed || stored.parameters.failed || stored.names.failed;
    const unsigned needs = stored.e.needs | wi_step_needs(code->loops->partition, step);
    weft_status status = failed ? WEFT_ERROR_MEMORY
                                : append_template(&source, &stored, code->schedule->of[step->index].kernel);
    if (status == WEFT_OK) status = wi_add_piece(code, &source, needs, &own->whole.piece);
    wi_emitter_end(&stored.e);
    wi_text_clear(&stored.store);
    wi_text_clear(&stored.join);
    wi_text_clear(&stored.source);
    wi_text_clear(&stored.request);
    wi_text_clear(&stored.parameters);
    wi_text_clear(&stored.names);
    wi_text_clear(&source);
    return status;
}
