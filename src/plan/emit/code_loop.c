/* Kernels of loop steps.
 *
 * The last dimension of the merged space decides the form of a kernel:
 *   columns  the last dimension is kept, as in every map: lanes are neighbouring results, and the kernel loops over the reduced
 *            dimensions;
 *   rows     the last dimension is reduced: lanes are neighbouring elements of a row, and are combined at the end. If
 *            wi_device_profile.item_walks is false, a group of WEFT_GROUP work-items reduces the row together.
 *
 * A long reduction with few results is split. Either the item that finishes last joins the splits (accumulators.h: wi_emit_join), or the
 * kernel `partial` stores partial results and the kernel `combine` combines them, in both cases in a fixed order. Sums are taken in blocks,
 * and the sums of blocks are added with compensation (Kahan), so that rounding errors do not grow with the number of elements.
 *
 * If item_walks is false, an item of a map may compute several neighbouring elements (step_elements.c). Each variable then has a lane for each
 * of these elements.
 *
 * The division of the work is in arguments: w0 is the number of results (in the form `rows`, each is a row), w1 of rows that an item computes,
 * w2 of spans of a row, w3 of elements of a span, w4 of splits. If an item of a map computes several elements, w0 is the number of items, and
 * w1 the number of items that share a row. */
#include "plan/emit/code_shared.h"

/* Emits loads of the operands that are constant along a row, before the loops. */
static void emit_row_loads(wi_emitter *e) {
    if (!e->step->reduced || e->wide) return;
    for (int o = 0; o < e->loop->operand_count; o++) {
        const wi_operand *operand = &e->loop->operands[o];
        if (!operand->is_output && operand->value >= 0 && !operand->is_index &&
            !wi_operand_in_loop(e->loop, operand))
            (void)wi_emit_load(e, o);
    }
}

/* Emits the code of one row, or of one vector of 16 columns, from loads to stores. */
static void emit_body(wi_emitter *e, wi_form form) {
    const size_t remembered = e->memo_count;
    emit_row_loads(e);
    if (form == WI_FORM_COMBINE) {
        const bool rows = e->inner_is_reduced;
        e->inner_is_reduced = false; /* partial results are already combined over lanes or items, with NaN */
        wi_emit_accumulators(e, 0);
        wi_emit_partial_loads(e, !rows && e->walks);
        wi_emit_row_values(e, 0);
        e->inner_is_reduced = rows;
    } else if (form == WI_FORM_PARTIAL) {
        wi_emit_sweep(e, 0);
        wi_emit_partial_stores(e);
    } else if (form == WI_FORM_JOINED) {
        const bool rows = e->inner_is_reduced;
        wi_emit_sweep(e, 0);
        wi_emit_join(e);
        wi_text_append(&e->text, "if (last) {\n");
        wi_emit_row_values(e, 0);
        wi_text_append(&e->text, "}\n");
        e->inner_is_reduced = rows;
    } else {
        for (int sweep = 0; sweep < e->loop->sweeps; sweep++) {
            wi_emit_sweep(e, sweep);
            wi_emit_row_values(e, sweep);
        }
    }
    e->memo_count = remembered;
}

/* Emits the loop of an item over its columns: vectors of 16, then the tail. A reduction with one sweep reads several vectors of a row
 * before the next row, so that it reads longer contiguous ranges of memory. */
static void emit_column_vectors(wi_emitter *e, wi_form form) {
    const bool wide = e->step->reduced && e->loop->sweeps == 1 && form != WI_FORM_COMBINE;
    const int most = wi_reduction_vectors(e->partition, e->step);
    wi_text_append(&e->text, "int j = begin;\n");
    if (!wi_never_whole(e) && wide) {
        wi_text_append(&e->text,
            "while (j + 16 <= end) {\nconst int first = j, vectors = min(%d, (end - j) / 16);\n", most);
        e->wide = most;
        emit_body(e, form);
        e->wide = 0;
        wi_text_append(&e->text, "j += 16 * vectors;\n}\n");
    } else if (!wi_never_whole(e)) {
        wi_text_append(&e->text, "for (; j + 16 <= end; j += 16) {\n");
        emit_body(e, form);
        wi_text_append(&e->text, "}\n");
    }
    if (wi_has_no_tail(e)) return;
    wi_text_append(&e->text, "if (j < end) {\nconst int lanes = end - j;\n");
    e->tail = true;
    emit_body(e, form);
    e->tail = false;
    wi_text_append(&e->text, "}\n");
}

static void need_work(wi_emitter *e, int first, int last) {
    for (int i = first; i <= last; i++) wi_emit_argument(e, WI_ARGUMENT_WORK, i, 0, 0);
}

static void emit_walking(wi_emitter *e, wi_form form) {
    const bool columns = !e->inner_is_reduced;
    const int last = e->loop->space.rank - 1;
    e->has_j = true;
    need_work(e, WI_WORK_RESULTS, columns ? WI_WORK_SPAN : WI_WORK_ROWS);
    if (form != WI_FORM_WHOLE) need_work(e, WI_WORK_SPLITS, WI_WORK_SPLITS);
    wi_text_append(&e->text, "int item = (int)get_global_id(0);\n");
    if (form == WI_FORM_PARTIAL) wi_text_append(&e->text, "const int split = item %% w4;\nitem /= w4;\n");
    if (columns) {
        wi_emit_argument(e, WI_ARGUMENT_DIM, last, 0, 0);
        wi_text_append(&e->text,
            "const int columns = n%d;\nconst int begin = item %% w2 * w3, end = min(begin + w3, "
            "columns);\nitem /= w2;\nconst int row_end = min((item + 1) * w1, w0 / columns);\n",
            last);
    } else {
        wi_text_append(&e->text, "const int row_end = min((item + 1) * w1, w0);\n");
    }
    if (e->step->reduced && form != WI_FORM_COMBINE) wi_emit_ranges(e, form);
    wi_text_append(&e->text, "for (int row = item * w1; row < row_end; row++) {\n");
    wi_emit_decode(e, false, "row");
    wi_emit_addresses(e, false);
    if (columns)
        emit_column_vectors(e, form);
    else
        emit_body(e, form);
    wi_text_append(&e->text, "}\n");
}

/* Emits a map whose items compute several neighbouring elements each; w0 is the number of items, w1 the number of items that share a row. */
static void emit_quads(wi_emitter *e) {
    const int last = e->loop->space.rank - 1;
    e->has_j = true;
    need_work(e, WI_WORK_RESULTS, last > 0 ? WI_WORK_ROWS : WI_WORK_RESULTS);
    wi_text_append(&e->text, "const int item = (int)get_global_id(0);\nif (item >= w0) return;\n");
    if (last > 0)
        wi_text_append(
            &e->text, "const int row = (int)((uint)item / (uint)w1), j = (item - row * w1) * WEFT_LANES;\n");
    else
        wi_text_append(&e->text, "const int j = item * WEFT_LANES;\n");
    wi_emit_decode(e, false, "row");
    wi_emit_addresses(e, false);
    if (wi_has_no_tail(e)) {
        emit_body(e, WI_FORM_WHOLE);
        return;
    }
    wi_emit_argument(e, WI_ARGUMENT_DIM, last, 0, 0);
    wi_text_append(&e->text, "const int lanes = n%d - j;\nif (lanes >= WEFT_LANES) {\n", last);
    emit_body(e, WI_FORM_WHOLE);
    e->tail = true;
    wi_text_append(&e->text, "} else {\n");
    emit_body(e, WI_FORM_WHOLE);
    wi_text_append(&e->text, "}\n");
    e->tail = false;
}

static void emit_neighbours(wi_emitter *e, wi_form form) {
    const bool group = e->inner_is_reduced && form != WI_FORM_COMBINE;
    e->has_j = e->inner_is_reduced;
    need_work(e, WI_WORK_RESULTS, WI_WORK_RESULTS);
    if (form != WI_FORM_WHOLE) need_work(e, WI_WORK_SPLITS, WI_WORK_SPLITS);
    if (group) {
        wi_text_append(&e->text,
            "__local float shared_f[2 * WEFT_SHARED];\n__local int shared_i[2 * WEFT_SHARED];\n"
            "(void)shared_f, (void)shared_i;\n");
        if (wi_reduction_cell(e->partition, e->step) > sizeof(float))
            wi_text_append(&e->text, "__local double shared_d[2 * WEFT_SHARED];\n");
        wi_text_append(&e->text, "const int row = (int)get_group_id(0);\n");
    } else {
        wi_text_append(&e->text, "const int row = (int)get_global_id(0);\nif (row >= w0) return;\n");
    }
    if (wi_form_splits(form)) wi_text_append(&e->text, "const int split = (int)get_group_id(1);\n");
    if (e->step->reduced && form != WI_FORM_COMBINE) wi_emit_ranges(e, form);
    wi_emit_decode(e, false, "row");
    wi_emit_addresses(e, false);
    emit_body(e, form);
}

/* ---- whole kernels ---- */

static weft_status emit_kernel(wi_code *code, const wi_step *step, wi_form form, wi_kernel_text *kernel) {
    static const char *const suffixes[] = {[WI_FORM_JOINED] = WI_LOOP_SUFFIX,
        [WI_FORM_WHOLE] = WI_LOOP_SUFFIX,
        [WI_FORM_PARTIAL] = WI_PARTIAL_SUFFIX,
        [WI_FORM_COMBINE] = WI_COMBINE_SUFFIX};
    wi_emitter e;
    wi_emitter_begin(&e, code->loops, step, kernel);
    if (e.walks)
        emit_walking(&e, form);
    else if (e.lanes > 1)
        emit_quads(&e);
    else
        emit_neighbours(&e, form);
    wi_text whole;
    wi_text_init(&whole, e.text.allocator);
    wi_text_append(
        &whole, "__kernel WEFT_ITEMS(%s) void WEFT_NAME(%s)(", e.walks ? "1" : "WEFT_GROUP", suffixes[form]);
    wi_emit_parameters(&e, &whole, false);
    wi_text_append(&whole, ") {\n%s}\n", e.text.data ? e.text.data : "");
    const weft_status status =
        e.text.failed ? WEFT_ERROR_MEMORY : wi_add_piece(code, &whole, e.needs, &kernel->piece);
    wi_emitter_end(&e);
    wi_text_clear(&whole);
    return status;
}

weft_status wi_code_loop(wi_code *code, const wi_step *step) {
    wi_step_code *own = &code->of[step->index];
    const wi_loop *const loop = &code->loops->of[step->index];
    if (wi_joins_splits(code->loops->partition, loop))
        return emit_kernel(code, step, WI_FORM_JOINED, &own->whole);
    if (!wi_is_split(step, &code->schedule->of[step->index]))
        return emit_kernel(code, step, WI_FORM_WHOLE, &own->whole);
    WI_TRY(emit_kernel(code, step, WI_FORM_PARTIAL, &own->partial));
    return emit_kernel(code, step, WI_FORM_COMBINE, &own->combine);
}
