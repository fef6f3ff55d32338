/* Kernels of loop steps, and epilogues of products.
 *
 * Two forms, by the last dimension of the merged space:
 *   columns  it is kept (maps have nothing but kept dimensions): lanes are neighbouring results, and reduced
 *            dimensions are walked through one by one;
 *   rows     it is reduced: lanes are neighbouring elements of one row and are combined at the end. On
 * gpu-class devices a group of WEFT_GROUP work-items walks along the row together. A long reduction with few
 * results is cut into parts (`part`), whose sums a second kernel (`finish`) adds up, always in the same
 * order. Sums are taken in blocks, and blocks added with compensation, so that errors do not grow with
 * length.
 *
 * Work split: w0 results or rows, w1 rows an item, w2 spans a row, w3 elements a span, w4 parts. */
#include "cl/kernel_source.h"
#include "kernels/convolution/conv_product.h"
#include "plan/accumulators.h"
#include <stdio.h>
#include <string.h>

enum { BLOCK_ELEMENTS = 4096, BLOCK_ROUNDS = 64 };

typedef enum form { WHOLE, PART, FINISH } form;

/* ---- small pieces ---- */

/* What the size of the last dimension says for every batch: no whole piece of 16, or no rest. */
static bool never_whole(const wi_emitter *e) {
    return e->step->space.dims[e->step->space.rank - 1].general < 16;
}

static bool never_rest(const wi_emitter *e) {
    return e->step->space.dims[e->step->space.rank - 1].general % 16 == 0;
}

static wi_value *member(const wi_emitter *e, int i) {
    return &e->plan->values[e->step->members[i]];
}

/* Dimensions that the lanes do not walk along, of one sort. */
static int count_dims(const wi_emitter *e, bool reduced) {
    const wi_space *space = &e->step->space;
    int count = 0;
    for (int d = 0; d < space->rank; d++) {
        if (e->has_j && d == space->rank - 1) continue;
        count += space->reduced[d] == reduced;
    }
    return count;
}

/* Splits the number `from` into indices i<d> of the kept or reduced dimensions, the last one fastest. */
static void emit_decode(wi_emitter *e, bool reduced, const char *from) {
    const wi_space *space = &e->step->space;
    int left = count_dims(e, reduced);
    if (left == 0) return;
    if (left > 1) wi_text_append(&e->text, "long r_%d = %s;\n", reduced, from);
    for (int d = space->rank - 1; d >= 0; d--) {
        if (space->reduced[d] != reduced || (e->has_j && d == space->rank - 1)) continue;
        if (left == 1) {
            if (count_dims(e, reduced) > 1)
                wi_text_append(&e->text, "const long i%d = r_%d;\n", d, reduced);
            else
                wi_text_append(&e->text, "const long i%d = %s;\n", d, from);
        } else {
            wi_emit_argument(e, WI_ARGUMENT_DIM, d, 0, 0);
            wi_text_append(
                &e->text, "const long i%d = r_%d %% n%d;\nr_%d /= n%d;\n", d, reduced, d, reduced, d);
        }
        left--;
    }
}

/* p<o> from the kept indices, or q<o> from p<o> and the reduced ones. */
static void emit_addresses(wi_emitter *e, bool reduced) {
    const wi_step *step = e->step;
    for (int o = 0; o < step->operand_count; o++) {
        const wi_operand *operand = &step->operands[o];
        if (reduced && !wi_operand_in_loop(step, operand)) continue;
        if (operand->folds) wi_emit_fold_indices(e, o, reduced);
        if (reduced) {
            wi_text_append(&e->text, "const long q%d = p%d", o, o);
        } else {
            if (operand->value >= 0) wi_emit_argument(e, WI_ARGUMENT_OFFSET, o, 0, 0);
            if (operand->value >= 0)
                wi_text_append(&e->text, "const long p%d = f%d", o, o);
            else
                wi_text_append(&e->text, "const long p%d = 0", o);
        }
        for (int d = 0; d < step->space.rank; d++) {
            if (step->space.reduced[d] != reduced || (e->has_j && d == step->space.rank - 1)) continue;
            if (!wi_operand_varies(operand, d)) continue;
            if (operand->folds && operand->folds[d].mode)
                wi_text_append(&e->text, " + (long)z%d_%d", o, d);
            else
                wi_text_append(&e->text, " + i%d", d);
            if (!wi_size_is(operand->layout.strides[d], 1)) {
                wi_emit_argument(e, WI_ARGUMENT_STRIDE, o, d, 0);
                wi_text_append(&e->text, " * s%d_%d", o, d);
            }
        }
        wi_text_append(&e->text, ";\n");
    }
}

/* Everything that is the same for a whole row is loaded before the loops. */
static void emit_row_loads(wi_emitter *e) {
    if (!e->step->reduced || e->wide) return;
    for (int o = 0; o < e->step->operand_count; o++) {
        const wi_operand *operand = &e->step->operands[o];
        if (!operand->is_output && operand->value >= 0 && !wi_operand_in_loop(e->step, operand))
            (void)wi_emit_load(e, o);
    }
}

/* ---- elements ---- */

/* What a pass does with each element: reductions take it, full-size results are stored. All loads come before
 * the first store, as a result may lie where an operand lay. */
static void emit_elements(wi_emitter *e, int pass, const char *index) {
    const int remembered = e->memo_count;
    for (int m = 0; m < e->step->member_count; m++) {
        const wi_value *value = member(e, m);
        if (wi_is_reduction(value) && value->pass == pass) wi_emit_accumulate(e, m, index);
    }
    for (int store = 0; store < 2; store++) {
        if (store && e->step->spilled >= 0 && e->plan->values[e->step->spilled].pass == pass)
            wi_emit_store(e, e->step->spill, wi_emit_member(e, e->step->spilled));
        for (int m = 0; m < e->step->member_count; m++) {
            const wi_value *value = member(e, m);
            if (value->in_row || value->pass != pass || value->storage < 0) continue;
            const int temp = wi_emit_member(e, e->step->members[m]);
            if (store) wi_emit_store(e, wi_step_operand(e->step, e->step->members[m], true), temp);
        }
    }
    e->memo_count = remembered;
}

/* ---- loops over the reduced dimensions ---- */

/* The product of the sizes of the reduced dimensions that are walked one by one. */
static void emit_rounds(wi_emitter *e) {
    const wi_space *space = &e->step->space;
    wi_text_append(&e->text, "const long rounds = 1");
    for (int d = 0; d < space->rank; d++) {
        if (!space->reduced[d] || (e->inner_is_reduced && d == space->rank - 1)) continue;
        wi_emit_argument(e, WI_ARGUMENT_DIM, d, 0, 0);
        wi_text_append(&e->text, " * n%d", d);
    }
    wi_text_append(&e->text, ";\n");
}

static bool has_rounds(const wi_emitter *e) {
    return count_dims(e, true) > 0;
}

/* The range of rounds, or of the row when there are none, that this item works on. */
static void emit_ranges(wi_emitter *e, form f) {
    if (has_rounds(e)) emit_rounds(e);
    const bool cut_rounds = f == PART && has_rounds(e), cut_row = f == PART && !has_rounds(e);
    if (has_rounds(e)) {
        if (cut_rounds)
            wi_text_append(&e->text,
                "const long share = (rounds + w4 - 1) / w4;\nconst long t_begin = min(rounds, "
                "share * part), t_end = min(rounds, t_begin + share);\n");
        else
            wi_text_append(&e->text, "const long t_begin = 0, t_end = rounds;\n");
    }
    if (!e->inner_is_reduced) return;
    const int last = e->step->space.rank - 1;
    wi_emit_argument(e, WI_ARGUMENT_DIM, last, 0, 0);
    if (cut_row)
        wi_text_append(&e->text,
            "const int share = ((n%d + w4 - 1) / w4 + 15) / 16 * 16;\nconst int j_begin = "
            "min(n%d, share * part), j_end = min(n%d, j_begin + share);\n",
            last, last, last);
    else
        wi_text_append(&e->text, "const int j_begin = 0, j_end = n%d;\n", last);
}

static void emit_row_elements(wi_emitter *e, int pass) {
    char index[96];
    if (has_rounds(e))
        snprintf(index, sizeof index, "(WI)((int)t * n%d + j) + WEFT_LANE_INDEX", e->step->space.rank - 1);
    else
        snprintf(index, sizeof index, "(WI)(j) + WEFT_LANE_INDEX");
    wi_text_append(&e->text,
        "for (int block = j_begin; block < j_end; block += %d) {\nconst int stop = min(block + %d, "
        "j_end);\n",
        BLOCK_ELEMENTS, BLOCK_ELEMENTS);
    wi_emit_block_begin(e, pass);
    if (e->cpu) {
        wi_text_append(&e->text, "int j = block;\n");
        if (!never_whole(e)) {
            wi_text_append(&e->text, "for (; j + 16 <= stop; j += 16) {\n");
            emit_elements(e, pass, index);
            wi_text_append(&e->text, "}\n");
        }
        wi_text_append(&e->text, "if (j < stop) {\nconst int lanes = stop - j;\n(void)lanes;\n");
        e->part = true;
        if (!never_rest(e)) emit_elements(e, pass, index);
        e->part = false;
    } else {
        wi_text_append(&e->text, "for (int j = block + (int)get_local_id(0); j < stop; j += WEFT_GROUP) {\n");
        emit_elements(e, pass, index);
    }
    wi_text_append(&e->text, "}\n");
    wi_emit_block_end(e, pass);
    wi_text_append(&e->text, "}\n");
}

static void emit_round_begin(wi_emitter *e) {
    e->in_loop = true;
    emit_decode(e, true, "t");
    emit_addresses(e, true);
}

/* One pass over all elements that belong to a row (or to 16 columns). */
static void emit_pass(wi_emitter *e, int pass) {
    e->spilled = e->step->spilled >= 0 && pass > e->plan->values[e->step->spilled].pass;
    wi_emit_accumulators(e, pass);
    if (!e->step->reduced) {
        emit_elements(e, pass, "0");
    } else if (e->inner_is_reduced) {
        if (has_rounds(e))
            wi_text_append(&e->text, "for (long t = t_begin; t < t_end; t++) {\n");
        else
            wi_text_append(&e->text, "{\n");
        emit_round_begin(e);
        emit_row_elements(e, pass);
        wi_text_append(&e->text, "}\n");
    } else {
        wi_text_append(&e->text,
            "for (long block = t_begin; block < t_end; block += %d) {\nconst long stop = min(block + "
            "%dl, t_end);\n",
            BLOCK_ROUNDS, BLOCK_ROUNDS);
        wi_emit_block_begin(e, pass);
        wi_text_append(&e->text, "for (long t = block; t < stop; t++) {\n");
        emit_round_begin(e);
        wi_emit_pieces_begin(e);
        emit_elements(e, pass, "(WI)((int)t)");
        wi_emit_pieces_end(e);
        wi_text_append(&e->text, "}\n");
        wi_emit_block_end(e, pass);
        wi_text_append(&e->text, "}\n");
    }
    e->in_loop = false;
}

/* ---- results of reductions ---- */

static void emit_row_store(wi_emitter *e, int m, int temp) {
    const int o = wi_step_operand(e->step, e->step->members[m], true);
    if (e->inner_is_reduced && !e->cpu) wi_text_append(&e->text, "if (get_local_id(0) == 0) {\n");
    wi_emit_store(e, o, temp);
    if (e->inner_is_reduced && !e->cpu) wi_text_append(&e->text, "}\n");
}

/* Reductions of this pass are finished, and what is computed from them once a row. */
static void emit_row_values(wi_emitter *e, int pass) {
    wi_emit_pieces_begin(e);
    for (int m = 0; m < e->step->member_count; m++) {
        const wi_value *value = member(e, m);
        if (!value->in_row || value->pass != pass) continue;
        const int temp =
            wi_is_reduction(value) ? wi_emit_result(e, m) : wi_emit_member(e, e->step->members[m]);
        if (value->storage >= 0) emit_row_store(e, m, temp);
    }
    wi_emit_pieces_end(e);
}

/* ---- bodies ---- */

/* What one row, or one piece of 16 columns, needs from its addresses to its stores. */
static void emit_body(wi_emitter *e, form f) {
    const int remembered = e->memo_count;
    emit_row_loads(e);
    if (f == FINISH) {
        const bool rows = e->inner_is_reduced;
        wi_emit_accumulators(e, 0);
        wi_emit_part_loads(e, !rows && e->cpu);
        e->inner_is_reduced = false; /* totals are whole already */
        emit_row_values(e, 0);
        e->inner_is_reduced = rows;
    } else if (f == PART) {
        emit_pass(e, 0);
        wi_emit_part_stores(e);
    } else {
        for (int pass = 0; pass < e->step->passes; pass++) {
            emit_pass(e, pass);
            emit_row_values(e, pass);
        }
    }
    e->memo_count = remembered;
}

/* Columns on a cpu: pieces of 16, then the rest. A reduction in one pass takes several pieces along from row
 * to row, so that it reads whole runs of memory. */
static void emit_column_pieces(wi_emitter *e, form f) {
    const bool wide = e->step->reduced && e->step->passes == 1 && f != FINISH;
    const int most = wi_reduction_pieces(e->plan, e->step);
    wi_text_append(&e->text, "int j = begin;\n");
    if (!never_whole(e) && wide) {
        wi_text_append(&e->text,
            "while (j + 16 <= end) {\nconst int first = j, pieces = min(%d, (end - j) / 16);\n", most);
        e->wide = most;
        emit_body(e, f);
        e->wide = 0;
        wi_text_append(&e->text, "j += 16 * pieces;\n}\n");
    } else if (!never_whole(e)) {
        wi_text_append(&e->text, "for (; j + 16 <= end; j += 16) {\n");
        emit_body(e, f);
        wi_text_append(&e->text, "}\n");
    }
    if (never_rest(e)) return;
    wi_text_append(&e->text, "if (j < end) {\nconst int lanes = end - j;\n");
    e->part = true;
    emit_body(e, f);
    e->part = false;
    wi_text_append(&e->text, "}\n");
}

static void need_work(wi_emitter *e, int first, int last) {
    for (int i = first; i <= last; i++) wi_emit_argument(e, WI_ARGUMENT_WORK, i, 0, 0);
}

static void emit_cpu(wi_emitter *e, form f) {
    const bool columns = !e->inner_is_reduced;
    const int last = e->step->space.rank - 1;
    e->has_j = true;
    need_work(e, 0, columns ? 3 : 1);
    if (f != WHOLE) need_work(e, 4, 4);
    wi_text_append(&e->text, "int item = (int)get_global_id(0);\n");
    if (f == PART) wi_text_append(&e->text, "const int part = item %% w4;\nitem /= w4;\n");
    if (columns) {
        wi_emit_argument(e, WI_ARGUMENT_DIM, last, 0, 0);
        wi_text_append(&e->text,
            "const int columns = n%d;\nconst int begin = item %% w2 * w3, end = min(begin + w3, "
            "columns);\nitem /= w2;\nconst int row_end = min((item + 1) * w1, w0 / columns);\n",
            last);
    } else {
        wi_text_append(&e->text, "const int row_end = min((item + 1) * w1, w0);\n");
    }
    if (e->step->reduced && f != FINISH) emit_ranges(e, f);
    wi_text_append(&e->text, "for (int row = item * w1; row < row_end; row++) {\n");
    emit_decode(e, false, "row");
    emit_addresses(e, false);
    if (columns)
        emit_column_pieces(e, f);
    else
        emit_body(e, f);
    wi_text_append(&e->text, "}\n");
}

static void emit_gpu(wi_emitter *e, form f) {
    const bool group = e->inner_is_reduced && f != FINISH;
    e->has_j = e->inner_is_reduced;
    need_work(e, 0, 0);
    if (f != WHOLE) need_work(e, 4, 4);
    if (group) {
        wi_text_append(&e->text,
            "__local float shared_f[2 * WEFT_GROUP];\n__local int shared_i[WEFT_GROUP];\n"
            "(void)shared_f, (void)shared_i;\n");
        if (wi_reduction_cell(e->plan, e->step) > sizeof(float))
            wi_text_append(&e->text, "__local double shared_d[2 * WEFT_GROUP];\n");
        wi_text_append(&e->text, "const int row = (int)get_group_id(0);\n");
    } else {
        wi_text_append(&e->text, "const int row = (int)get_global_id(0);\nif (row >= w0) return;\n");
    }
    if (f == PART) wi_text_append(&e->text, "const int part = (int)get_group_id(1);\n");
    if (e->step->reduced && f != FINISH) emit_ranges(e, f);
    emit_decode(e, false, "row");
    emit_addresses(e, false);
    emit_body(e, f);
}

/* ---- whole kernels ---- */

static void emitter_begin(wi_emitter *e, weft_plan *plan, wi_step *step, wi_kernel_text *kernel) {
    *e = (wi_emitter){.plan = plan, .step = step, .kernel = kernel};
    wi_text_init(&e->text, plan->context->allocator);
    e->cpu = plan->context->caps.device_class == WEFT_CLASS_CPU;
    e->inner_is_reduced = step->space.reduced[step->space.rank - 1];
}

weft_status wi_plan_find_kernel(weft_plan *plan, const char *text, const char **name, bool *added) {
    *added = false;
    for (size_t i = 0; i < plan->kernel_count; i++) {
        if (strcmp(plan->kernel_texts[i], text) != 0) continue;
        *name = plan->kernel_names[i];
        return WEFT_OK;
    }
    const weft_allocator *allocator = plan->context->allocator;
    const size_t count = plan->kernel_count + 1;
    WI_TRY(
        wi_grow(allocator, (void **)&plan->kernel_texts, &plan->kernel_text_capacity, count, sizeof(char *)));
    WI_TRY(
        wi_grow(allocator, (void **)&plan->kernel_names, &plan->kernel_name_capacity, count, sizeof(char *)));
    char fresh[32];
    snprintf(fresh, sizeof fresh, "k%zu", plan->kernel_count);
    plan->kernel_texts[plan->kernel_count] = wi_arena_string(&plan->arena, text);
    plan->kernel_names[plan->kernel_count] = wi_arena_string(&plan->arena, fresh);
    if (!plan->kernel_texts[plan->kernel_count] || !plan->kernel_names[plan->kernel_count])
        return WEFT_ERROR_MEMORY;
    *name = plan->kernel_names[plan->kernel_count++];
    *added = true;
    return WEFT_OK;
}

static weft_status emit_loop_kernel(weft_plan *plan, wi_step *step, form f, wi_kernel_text *kernel) {
    wi_emitter e;
    emitter_begin(&e, plan, step, kernel);
    if (e.cpu)
        emit_cpu(&e, f);
    else
        emit_gpu(&e, f);
    wi_text whole;
    wi_text_init(&whole, plan->context->allocator);
    wi_text_append(&whole, "(");
    wi_emit_parameters(&e, &whole, false);
    wi_text_append(&whole, ") {\n%s}\n", e.text.data ? e.text.data : "");
    bool added = false;
    weft_status status = e.text.failed || whole.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
    if (status == WEFT_OK) status = wi_plan_find_kernel(plan, whole.data, &kernel->name, &added);
    if (status == WEFT_OK && added)
        wi_text_append(f == WHOLE ? &plan->source : &plan->parts_source,
            "__kernel __attribute__((reqd_work_group_size(%s, 1, 1))) void %s%s\n",
            e.cpu ? "1" : "WEFT_GROUP", kernel->name, whole.data);
    wi_text_clear(&e.text);
    wi_text_clear(&whole);
    return status;
}

static weft_status emit_loop(weft_plan *plan, wi_step *step) {
    WI_TRY(emit_loop_kernel(plan, step, WHOLE, &step->whole));
    if (!step->splits) return WEFT_OK;
    WI_TRY(emit_loop_kernel(plan, step, PART, &step->part));
    return emit_loop_kernel(plan, step, FINISH, &step->finish);
}

/* ---- epilogues of products ---- */

static void emit_epilogue_elements(wi_emitter *e) {
    const int remembered = e->memo_count;
    for (int store = 0; store < 2; store++) { /* all loads before the first store */
        for (int m = 0; m < e->step->member_count; m++) {
            if (member(e, m)->storage < 0) continue;
            const int temp = wi_emit_member(e, e->step->members[m]);
            if (store) wi_emit_store(e, wi_step_operand(e->step, e->step->members[m], true), temp);
        }
    }
    e->memo_count = remembered;
}

/* Each group of a convolution is stored by itself: its last lanes may be fewer, whatever all groups have. */
static bool ends_in_groups(const wi_emitter *e) {
    const wi_windows *const windows = e->step->gemm.windows;
    return windows && windows->groups > 1 && windows->filters % 16 != 0;
}

static void emit_epilogue_body(wi_emitter *e) {
    e->has_j = true;
    wi_text_append(&e->text,
        "const long i0 = batch, i1 = row;\nconst int j = column;\n(void)i0, (void)i1, (void)j;\n"
        "const WF t%d = acc;\n",
        e->temps);
    wi_emit_remember(e, member(e, 0), e->temps++);
    emit_addresses(e, false);
    if (!e->cpu) {
        emit_epilogue_elements(e);
        return;
    }
    if (!never_whole(e)) {
        wi_text_append(&e->text, "if (lanes == 16) {\n");
        emit_epilogue_elements(e);
        wi_text_append(&e->text, "}\n");
    }
    if (never_rest(e) && !ends_in_groups(e)) return;
    wi_text_append(&e->text, "if (lanes < 16) {\n");
    e->part = true;
    emit_epilogue_elements(e);
    e->part = false;
    wi_text_append(&e->text, "}\n");
}

/* Rows of it lie side by side or apart, elements of a row side by side. */
static bool is_matrix(const wi_step *step, const wi_operand *operand) {
    return step->space.rank == 3 && operand->value >= 0 && !operand->fold && operand->dtype == WEFT_F32 &&
           wi_size_is(operand->layout.strides[2], 1) && wi_operand_varies(operand, 1);
}

/* Where an element of operand o lies and how far a row is from the next, as macros: for templates that ask
 * for memory early. */
static void define_place(wi_text *source, const char *name, const wi_step *step, int o) {
    static const char *const indices[] = {"batch", "row"};
    const wi_size *const strides = step->operands[o].layout.strides;
    wi_text_append(source, "#define %s(batch, row, column) ((size_t)(b%d + f%d", name, o, o);
    for (int d = 0; d < 2; d++) {
        if (!wi_operand_varies(&step->operands[o], d)) continue;
        wi_text_append(source, " + (long)(%s)", indices[d]);
        if (!wi_size_is(strides[d], 1)) wi_text_append(source, " * s%d_%d", o, d);
    }
    wi_text_append(source, " + (column)))\n");
    if (wi_size_is(strides[1], 1))
        wi_text_append(source, "#define %s_STEP 4\n", name);
    else
        wi_text_append(source, "#define %s_STEP (4 * s%d_1)\n", name, o);
}

/* Of the first matrix that the epilogue reads, and of the first that it writes. */
static void define_places(wi_text *source, const wi_step *step) {
    bool has_read = false, has_stored = false;
    for (int o = 0; o < step->operand_count; o++) {
        const bool is_output = step->operands[o].is_output;
        if (!is_matrix(step, &step->operands[o]) || (is_output ? has_stored : has_read)) continue;
        define_place(source, is_output ? "WEFT_STORED" : "WEFT_AHEAD", step, o);
        *(is_output ? &has_stored : &has_read) = true;
    }
}

/* The template once more in the program, with this epilogue and its macros. */
static weft_status append_template(weft_plan *plan, wi_step *step, const wi_emitter *e,
    const wi_text *parameters, const wi_text *names, const char *body) {
    wi_text *source = &plan->source;
    const bool any = parameters->length > 0;
    wi_text_append(source,
        "static inline void %s_store(WF acc, int batch, int row, int column, int lanes%s%s) {\n%s}\n",
        step->prefix, any ? ", " : "", any ? parameters->data : "", body);
    wi_text_append(source, "#define WEFT_NAME(suffix) %s_##suffix\n#define WEFT_EPILOGUE_PARAMETERS %s%s\n",
        step->prefix, any ? ", " : "", any ? parameters->data : "");
    wi_text_append(source,
        "#define WEFT_STORE(acc, batch, row, column, lanes) %s_store(acc, batch, row, column, lanes%s%s)\n",
        step->prefix, any ? ", " : "", any ? names->data : "");
    define_places(source, step);
    WI_TRY(wi_kernel_headers_append(step->kernel, source));
    wi_kernel_macros_define(step->kernel, source);
    WI_TRY(wi_kernel_source_append(source, step->implementation->file));
    wi_text_append(source, "\n#undef WEFT_NAME\n#undef WEFT_EPILOGUE_PARAMETERS\n#undef WEFT_STORE\n"
                           "#undef WEFT_AHEAD\n#undef WEFT_AHEAD_STEP\n"
                           "#undef WEFT_STORED\n#undef WEFT_STORED_STEP\n");
    wi_kernel_macros_undefine(step->kernel, source);
    return e->text.failed || source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* What the implementation launches, and with which macros its template is compiled. */
static weft_status prepare_product(weft_plan *plan, wi_step *step) {
    step->kernel = wi_arena_take(&plan->arena, sizeof *step->kernel);
    if (!step->kernel) return WEFT_ERROR_MEMORY;
    step->kernel->arena = &plan->arena;
    step->kernel->file = step->implementation->file;
    const wi_kernel_site site = wi_step_site(plan, step);
    WI_TRY(step->implementation->prepare(&site, step->kernel));
    return wi_kernel_plan_check(step->kernel, step->implementation->name);
}

static weft_status emit_product(weft_plan *plan, wi_step *step) {
    if (!step->implementation->file) return WEFT_OK;
    WI_TRY(prepare_product(plan, step));
    wi_emitter e;
    emitter_begin(&e, plan, step, &step->whole);
    emit_epilogue_body(&e);
    wi_text parameters, names, key;
    wi_text_init(&parameters, plan->context->allocator);
    wi_text_init(&names, plan->context->allocator);
    wi_text_init(&key, plan->context->allocator);
    wi_emit_parameters(&e, &parameters, false);
    wi_emit_parameters(&e, &names, true);
    wi_text_append(&key, "%s(%s)%s", step->implementation->file, parameters.data, e.text.data);
    wi_kernel_macros_define(step->kernel, &key);
    bool added = false;
    weft_status status = e.text.failed || key.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
    if (status == WEFT_OK) status = wi_plan_find_kernel(plan, key.data, &step->prefix, &added);
    if (status == WEFT_OK && added)
        status = append_template(plan, step, &e, &parameters, &names, e.text.data);
    wi_text_clear(&e.text);
    wi_text_clear(&parameters);
    wi_text_clear(&names);
    wi_text_clear(&key);
    return status;
}

/* Does the code of any op call a function of elementwise.clh? */
static bool calls_functions(const weft_plan *plan) {
    for (size_t i = 0; i < plan->value_count; i++) {
        const wi_op *op = plan->values[i].node->op;
        if (wi_code_calls(op->float_code) || wi_code_calls(op->int_code)) return true;
    }
    return false;
}

static bool has_doubles(const weft_plan *plan) {
    for (size_t i = 0; i < plan->value_count; i++) {
        if (plan->values[i].node->dtype == WEFT_F64) return true;
    }
    return false;
}

static weft_status begin_source(const weft_plan *plan, wi_text *source) {
    wi_text_init(source, plan->context->allocator);
    WI_TRY(wi_kernel_source_append(source, "common.clh"));
    if (has_doubles(plan)) WI_TRY(wi_kernel_source_append(source, "doubles.clh"));
    return calls_functions(plan) ? wi_kernel_source_append(source, "elementwise.clh") : WEFT_OK;
}

weft_status wi_plan_codegen(weft_plan *plan) {
    WI_TRY(begin_source(plan, &plan->source));
    WI_TRY(begin_source(plan, &plan->parts_source));
    for (size_t i = 0; i < plan->step_count; i++) {
        wi_step *step = plan->steps[i];
        if (step->kind == WI_STEP_PRODUCT)
            WI_TRY(emit_product(plan, step));
        else if (step->kind == WI_STEP_KERNEL)
            WI_TRY(wi_kernel_step_source(plan, step));
        else
            WI_TRY(emit_loop(plan, step));
    }
    return plan->source.failed || plan->parts_source.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}
