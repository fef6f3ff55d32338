/* Dumps loops, code and schedule. */
#include "plan/describe/dump.h"

#include "cl/kernel_source.h"
#include <string.h>

/* ---- loops ---- */

static void append_padding(const wi_operand *operand, int rank, wi_text *text) {
    static const char *const modes[] = {[WI_PADDING_NONE] = "-",
        [WI_PADDING_CONSTANT] = "constant",
        [WI_PADDING_INTERIOR] = "interior",
        [WI_PADDING_EDGE] = "edge",
        [WI_PADDING_REFLECT] = "reflect",
        [WI_PADDING_WRAP] = "wrap"};
    wi_text_append(text, "  padded");
    for (int d = 0; d < rank; d++) wi_text_append(text, " %s", modes[operand->padding[d].mode]);
}

static void append_operand(const wi_loop *loop, int o, wi_text *text) {
    const wi_operand *operand = &loop->operands[o];
    wi_text_append(text, "    operand %d  %s %s", o, operand->is_output ? "writes" : "reads",
        weft_dtype_name(operand->dtype));
    if (operand->value >= 0)
        wi_text_append(text, " value %d", operand->value);
    else
        wi_text_append(
            text, " generator %%%u %s", (unsigned)operand->generator->id, operand->generator->op->name);
    wi_text_append(text, " at %lld, strides", (long long)operand->layout.offset.actual);
    for (int d = 0; d < loop->space.rank; d++)
        wi_text_append(text, " %lld", (long long)operand->layout.strides[d].actual);
    if (operand->padding) append_padding(operand, loop->space.rank, text);
    if (operand->pick)
        wi_text_append(text, "  %s value %d", operand->is_index ? "index of" : "picked for", operand->viewed);
    if (operand->of_source) wi_text_append(text, "  of the source");
    wi_text_append(text, "\n");
}

static void append_loop(const wi_loop *loop, wi_text *text) {
    wi_text_append(text, "step %d  space", loop->step->index);
    for (int d = 0; d < loop->space.rank; d++)
        wi_text_append(text, " %lld%s", (long long)loop->space.dims[d].actual,
            loop->space.reduced[d] ? " (reduced)" : "");
    if (loop->step->kind == WI_STEP_LOOP) wi_text_append(text, ", %d sweeps", loop->sweeps);
    if (loop->may_split) wi_text_append(text, ", may be split");
    if (loop->staged >= 0) wi_text_append(text, ", value %d kept in operand %d", loop->staged, loop->staging);
    wi_text_append(text, "\n");
    for (int o = 0; o < loop->operand_count; o++) append_operand(loop, o, text);
}

void wi_dump_loops(const wi_loops *loops, wi_text *text) {
    for (size_t i = 0; i < loops->partition->step_count; i++) append_loop(&loops->of[i], text);
}

/* ---- code ---- */

static void append_argument(const wi_argument *argument, wi_text *text) {
    static const char *const kinds[] = {[WI_ARGUMENT_BUFFER] = "buffer",
        [WI_ARGUMENT_OFFSET] = "offset",
        [WI_ARGUMENT_STRIDE] = "stride",
        [WI_ARGUMENT_PADDING] = "padding",
        [WI_ARGUMENT_PICK] = "pick",
        [WI_ARGUMENT_DIM] = "dim",
        [WI_ARGUMENT_WORK] = "work",
        [WI_ARGUMENT_FLOAT] = "float",
        [WI_ARGUMENT_DOUBLE] = "double",
        [WI_ARGUMENT_WHOLE] = "whole",
        [WI_ARGUMENT_SCALAR] = "scalar",
        [WI_ARGUMENT_DRAWS] = "draws",
        [WI_ARGUMENT_ITERATION] = "iteration",
        [WI_ARGUMENT_SEED] = "seed",
        [WI_ARGUMENT_FAULT] = "fault",
        [WI_ARGUMENT_SCRATCH] = "scratch",
        [WI_ARGUMENT_CELLS] = "cells"};
    wi_text_append(text, " %s %d", kinds[argument->kind], argument->a);
    if (argument->kind == WI_ARGUMENT_STRIDE || argument->kind == WI_ARGUMENT_PADDING)
        wi_text_append(text, ".%d", argument->b);
    if (argument->kind == WI_ARGUMENT_FLOAT || argument->kind == WI_ARGUMENT_DOUBLE ||
        argument->kind == WI_ARGUMENT_WHOLE)
        wi_text_append(text, " = %.17g", argument->number);
}

static void append_kernel(
    const wi_code *code, size_t step, const char *form, const wi_kernel_text *kernel, wi_text *text) {
    if (kernel->piece < 0) return;
    wi_text_append(text, "step %zu %s  %s:", step, form, code->pieces[kernel->piece].name);
    for (int i = 0; i < kernel->argument_count; i++) append_argument(&kernel->arguments[i], text);
    wi_text_append(text, "\n");
}

void wi_dump_code(const wi_code *code, wi_text *text) {
    for (size_t i = 0; i < code->loops->partition->step_count; i++) {
        const wi_step_code *own = &code->of[i];
        append_kernel(code, i, "whole", &own->whole, text);
        append_kernel(code, i, "partial", &own->partial, text);
        append_kernel(code, i, "combine", &own->combine, text);
        if (code->schedule->of[i].fixed_launches)
            wi_text_append(text, "step %zu has %d launches fixed with %zu bytes\n", i,
                code->schedule->of[i].fixed_launches, code->schedule->of[i].fixed_bytes);
    }
    for (size_t i = 0; i < code->piece_count; i++) {
        wi_text_append(text, "\n---- %s ----\n", code->pieces[i].name);
        if (wi_kernel_source_expand(text, code->pieces[i].text, code->pieces[i].length) != WEFT_OK)
            text->failed = true;
    }
}

/* ---- the schedule ---- */

void wi_dump_schedule(const wi_schedule *schedule, wi_text *text) {
    const wi_partition *p = schedule->loops->partition;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_step_schedule *own = &schedule->of[i];
        wi_text_append(text, "step %zu  %d launches, %.0f flop, %.0f bytes, %zu bytes of scratch", i,
            own->launch_count, own->flops, own->bytes_moved, own->scratch_bytes);
        if (own->cell_bytes) wi_text_append(text, ", %zu of cells", own->cell_bytes);
        if (p->steps[i]->kind == WI_STEP_LOOP)
            wi_text_append(text, ", work %d %d %d %d, %d splits, %zu items, %zu to combine",
                own->work[WI_WORK_RESULTS], own->work[WI_WORK_ROWS], own->work[WI_WORK_SPANS],
                own->work[WI_WORK_SPAN], own->work[WI_WORK_SPLITS], own->items, own->combine_items);
        if (wi_changes_device(p, p->steps[i])) wi_text_append(text, ", between devices");
        wi_text_append(text, "\n");
    }
}
