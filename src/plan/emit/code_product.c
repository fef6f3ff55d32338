/* Epilogues of contractions. The piece of a product or convolution has a function that computes and stores the members of the epilogue, and
 * then the template, which calls this function for its finished elements. */
#include "cl/kernel_source.h"
#include "cl/quirks.h"
#include "kernels/convolution/conv_product.h"
#include "plan/emit/code_shared.h"

static void emit_epilogue_elements(wi_emitter *e) {
    const size_t remembered = e->memo_count;
    for (int store = 0; store < 2; store++) { /* all loads before the first store */
        for (int m = 0; m < e->step->member_count; m++) {
            if (wi_emitted_member(e, m)->storage < 0) continue;
            const int member = e->step->members[m], temp = wi_emit_member(e, member);
            if (!store) continue;
            if (wi_is_table_of(e->partition, e->step, member, true))
                wi_text_append(&e->text, "if (batch >= 0)\n");
            wi_emit_store(e, wi_loop_operand(e->loop, member, true), temp);
        }
    }
    e->memo_count = remembered;
}

/* Is there a tail at the end of each group of a convolution? Templates store each group separately, so a group may have a tail even if all
 * filters together have none. */
static bool ends_in_groups(const wi_emitter *e) {
    const wi_conv_geometry *const geometry = e->step->gemm.convolution;
    return geometry && geometry->groups > 1 && geometry->filters % 16 != 0;
}

/* Emits the code for 16 elements, and again for a tail. Leaves out the code for 16 elements or for a tail if the last dimension never has
 * either. */
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

/* ---- the source of a sum by segments: the rows that the step adds up ---- */

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

/* Emits the body of a function that returns an element of a row of the source, or 16 elements. */
static void emit_source(wi_emitter *e) {
    emit_source_place(e);
    wi_text_append(&e->text, "WF weft_element = (WF)(0);\n");
    emit_lanes(e, emit_source_elements);
    wi_text_append(&e->text, "return weft_element;\n");
}

/* Emits the body of a function that prefetches the operands of an element of the source. */
static void emit_source_request(wi_emitter *e) {
    emit_source_place(e);
    for (int o = 0; o < e->loop->operand_count; o++) {
        const wi_operand *const operand = &e->loop->operands[o];
        if (!operand->of_source || !wi_size_is(operand->layout.strides[e->loop->space.rank - 1], 1)) continue;
        wi_emit_argument(e, WI_ARGUMENT_BUFFER, o, 0, 0);
        wi_text_append(&e->text, "WEFT_PREFETCH(b%d + p%d + j, 3);\n", o, o);
    }
}

/* Is the operand a matrix in memory: are the elements of a row contiguous, and do different rows have different addresses? */
static bool is_matrix(const wi_loop *loop, const wi_operand *operand) {
    return loop->space.rank == 3 && operand->value >= 0 && !operand->padded &&
           wi_size_is(operand->layout.strides[2], 1) && wi_operand_varies(operand, 1);
}

/* Defines macros for templates that prefetch: <name> is the address of an element of operand o, <name>_SIZE the bytes of an element, and
 * <name>_STEP the bytes from one row to the next. */
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

/* Defines the macros of define_place for the first matrix that the epilogue reads, and for the first that it writes. */
static void define_places(wi_text *source, const wi_loop *loop) {
    bool has_read = false, has_stored = false;
    for (int o = 0; o < loop->operand_count; o++) {
        const bool is_output = loop->operands[o].is_output;
        if (!is_matrix(loop, &loop->operands[o]) || (is_output ? has_stored : has_read)) continue;
        define_place(source, is_output ? "WEFT_EPILOGUE_WRITE" : "WEFT_EPILOGUE_READ", loop, o);
        *(is_output ? &has_stored : &has_read) = true;
    }
}

/* Defines a macro that prefetches an element of each table that the epilogue reads. */
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

/* An epilogue: its parameters with types, their names alone, and the bodies of its functions. `source` and `request` are for sums by
 * segments. */
typedef struct epilogue {
    wi_emitter e;
    wi_text parameters, names, store, source, request;
} epilogue;

/* Defines what the template of sums by segments uses besides the epilogue. */
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

/* Defines the function that computes and stores the epilogue, and the macros through which the template calls it. */
static void define_epilogue(wi_text *source, const epilogue *own) {
    const bool any = own->parameters.length > 0;
    const char *const comma = any ? ", " : "", *const parameters = any ? own->parameters.data : "";
    wi_text_append(source,
        "static inline void WEFT_NAME(store)(%s acc, int batch, int row, int column, int lanes%s%s) {\n%s}\n",
        wi_register_type(wi_emitted_member(&own->e, 0)->node->dtype), comma, parameters, own->store.data);
    wi_text_append(source, "#define WEFT_EPILOGUE_PARAMETERS %s%s\n", comma, parameters);
    wi_text_append(source,
        "#define WEFT_STORE(acc, batch, row, column, lanes) WEFT_NAME(store)(acc, batch, row, column, "
        "lanes%s%s)\n",
        comma, any ? own->names.data : "");
    if (own->e.step->by_segments)
        define_segments(source, own);
    else
        define_places(source, own->e.loop);
}

/* Appends the epilogue, the template with its macros, and lines that undefine them. own NULL: an epilogue that only stores. */
static weft_status append_template(wi_text *source, const epilogue *own, const wi_kernel_plan *kernel) {
    if (own)
        define_epilogue(source, own);
    else
        wi_text_append(source, "#define WEFT_EPILOGUE_PARAMETERS WEFT_PLAIN_PARAMETERS\n"
                               "#define WEFT_STORE WEFT_PLAIN_STORE\n");
    wi_kernel_macros_define(kernel, source);
    WI_TRY(wi_kernel_headers_include(kernel, source));
    WI_TRY(wi_kernel_source_include(source, kernel->file));
    wi_text_append(source, "\n");
    wi_text_append(source,
        "#undef WEFT_EPILOGUE_PARAMETERS\n#undef WEFT_STORE\n"
        "#undef WEFT_EPILOGUE_READ\n#undef WEFT_EPILOGUE_READ_SIZE\n#undef WEFT_EPILOGUE_READ_STEP\n"
        "#undef WEFT_EPILOGUE_WRITE\n#undef WEFT_EPILOGUE_WRITE_SIZE\n"
        "#undef WEFT_EPILOGUE_WRITE_STEP\n"
        "#undef WEFT_EPILOGUE_REQUEST\n"
        "#undef WEFT_SOURCE\n#undef WEFT_SOURCE_REQUEST\n");
    wi_kernel_macros_undefine(kernel, source);
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* Returns the emitter's text, and lets it begin another function, in which no variable is known yet. The caller clears the text. */
static wi_text detach_text(wi_emitter *e) {
    const wi_text text = e->text;
    wi_text_init(&e->text, text.allocator);
    e->text.failed = text.failed;
    e->memo_count = 0;
    return text;
}

static void emit_epilogue(epilogue *own) {
    emit_epilogue_body(&own->e);
    own->store = detach_text(&own->e);
    own->e.of_source = own->e.step->by_segments;
    if (own->e.of_source) emit_source(&own->e);
    own->source = detach_text(&own->e);
    if (own->e.of_source) emit_source_request(&own->e);
    own->request = detach_text(&own->e);
    wi_text_init(&own->parameters, own->store.allocator);
    wi_text_init(&own->names, own->store.allocator);
    wi_emit_parameters(&own->e, &own->parameters, false);
    wi_emit_parameters(&own->e, &own->names, true);
}

/* Does the template have kernels, such as one that packs weights, whose code does not depend on the epilogue? If the driver compiles a
 * kernel at its first launch, a piece of them takes no time for the template's other kernels, which it never launches. The epilogue that
 * only stores is for vectors. */
static bool shares_kernels(const wi_code *code, const wi_step *step) {
    const wi_kernel_plan *const kernel = code->schedule->of[step->index].kernel;
    const wi_device *const device = code->loops->partition->request->devices.of[step->device];
    int with = 0;
    for (int i = 0; i < kernel->count; i++) with += kernel->launches[i]->has_epilogue;
    return with > 0 && with < kernel->count && !step->by_segments && device->profile.lanes > 1 &&
           device->caps.quirks & WI_QUIRK_BINARY_LATE;
}

static weft_status add_shared(wi_code *code, const wi_step *step, unsigned needs) {
    wi_text source;
    if (!shares_kernels(code, step)) return WEFT_OK;
    wi_text_init(&source, code->loops->partition->request->allocator);
    weft_status status = append_template(&source, NULL, code->schedule->of[step->index].kernel);
    if (status == WEFT_OK) status = wi_add_piece(code, &source, needs, &code->of[step->index].shared_piece);
    wi_text_clear(&source);
    return status;
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
    if (status == WEFT_OK) status = add_shared(code, step, wi_step_needs(code->loops->partition, step));
    wi_emitter_end(&stored.e);
    wi_text_clear(&stored.store);
    wi_text_clear(&stored.source);
    wi_text_clear(&stored.request);
    wi_text_clear(&stored.parameters);
    wi_text_clear(&stored.names);
    wi_text_clear(&source);
    return status;
}
