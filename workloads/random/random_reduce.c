/* Makes a program that fails smaller, as long as it fails alike: see random_program.h.
 *
 * Tried in turn until nothing helps: fewer outputs and loss terms, calls that become sources, values that nothing reads left out, and
 * each size of the program replaced by smaller ones wherever it stands. */
#include "random/random_program.h"
#include <stdlib.h>
#include <string.h>

typedef struct reducer {
    weft_context *context;
    program *p;
    program_result *result;
    int tries;
} reducer;

/* Keeps the changed program if it still fails in the same way. */
static bool keep_if_failing(reducer *r, const program *changed) {
    program_result result;
    if (r->tries-- <= 0) return false;
    const f64_mark mark = f64_pool_mark();
    program_run(changed, r->context, &result);
    f64_pool_release(mark);
    if (result.verdict != r->result->verdict) return false;
    *r->p = *changed;
    *r->result = result;
    return true;
}

/* ---- fewer values ---- */

static bool is_read(const program *p, int value) {
    for (int i = value + 1; i < p->count; i++)
        for (int k = 0; p->values[i].is_call && k < p->values[i].call.input_count; k++)
            if (p->values[i].call.inputs[k] == value) return true;
    for (int term = 0; term < p->loss_count; term++)
        if (p->loss[term] == value) return true;
    for (int i = 0; i < value; i++)
        if (p->values[i].assigned == value) return true;
    return p->values[value].shown || p->values[value].assigned;
}

/* Takes out what nothing reads. Sources keep their numbers by name: a value's place is part of its random numbers, so that those of later
 * sources change; the caller tries again. */
static void drop_unread(program *p) {
    for (int value = p->count - 1; value >= 0; value--) {
        if (is_read(p, value)) continue;
        memmove(
            &p->values[value], &p->values[value + 1], (size_t)(p->count - value - 1) * sizeof p->values[0]);
        p->count--;
        const uint64_t below = ((uint64_t)1 << value) - 1;
        p->frozen = (p->frozen & below) | (p->frozen >> 1 & ~below);
        for (int i = value; i < p->count; i++)
            for (int k = 0; k < ORACLE_INPUTS; k++)
                p->values[i].call.inputs[k] -= p->values[i].call.inputs[k] > value;
        for (int term = 0; term < p->loss_count; term++) p->loss[term] -= p->loss[term] > value;
        for (int i = 0; i < p->count; i++) p->values[i].assigned -= p->values[i].assigned > value;
    }
    for (int i = 0; i < p->count; i++) p->values[i].call.draws = program_draws_before(p, i);
}

static bool try_without(reducer *r, program *changed) {
    drop_unread(changed);
    return changed->count > 0 && keep_if_failing(r, changed);
}

static bool drop_outputs(reducer *r) {
    static program changed;
    bool helped = false;
    for (int i = r->p->count - 1; i >= 0; i--) {
        if (i >= r->p->count || !r->p->values[i].shown) continue;
        changed = *r->p;
        changed.values[i].shown = false;
        helped |= try_without(r, &changed);
    }
    for (int i = r->p->count - 1; i >= 0; i--) {
        if (i >= r->p->count || !r->p->values[i].assigned) continue;
        changed = *r->p;
        changed.values[i].assigned = 0;
        helped |= try_without(r, &changed);
    }
    for (int term = r->p->loss_count - 1; term >= 0; term--) {
        changed = *r->p;
        for (int i = term; i + 1 < changed.loss_count; i++) changed.loss[i] = changed.loss[i + 1];
        changed.loss_count--;
        changed.second = changed.second && changed.loss_count > 0;
        helped |= try_without(r, &changed);
    }
    return helped;
}

static bool drop_flags(reducer *r) {
    static program changed;
    bool helped = false;
    changed = *r->p;
    changed.second = false;
    if (r->p->second) helped |= keep_if_failing(r, &changed);
    changed = *r->p;
    changed.minimizes = false;
    changed.clip_norm = 0;
    if (r->p->minimizes) helped |= keep_if_failing(r, &changed);
    return helped;
}

/* A call's result as an input of the same dtype and shape. */
static bool replace_call(reducer *r, int value) {
    static program changed;
    program_graph built;
    const oracle_sizes sizes = program_sizes(r->p, r->context);
    changed = *r->p;
    program_value *const to = &changed.values[value];
    const bool whole = to->source.dtype == WEFT_I32 || to->source.dtype == WEFT_BOOL;
    const weft_status status = program_build(&built, r->context, r->p, value + 1, &sizes);
    const int rank = status == WEFT_OK ? weft_tensor_rank(built.tensors[value]) : 0;
    *to = (program_value){.shown = false,
        .source = {
            .kind = PROGRAM_INPUT, .dtype = to->source.dtype, .low = whole ? 0 : -2, .high = whole ? 1 : 2}};
    for (int i = 0; i < rank; i++) to->source.dims[i] = weft_tensor_dimension(built.tensors[value], i);
    to->source.dims[rank] = WEFT_END;
    weft_graph_release(built.graph);
    for (int term = 0; term < changed.loss_count; term++)
        if (changed.loss[term] == value) return false;
    for (int i = 0; i < value; i++)
        if (changed.values[i].assigned == value) return false;
    return status == WEFT_OK && try_without(r, &changed);
}

static bool replace_calls(reducer *r) {
    bool helped = false;
    for (int i = r->p->count - 1; i >= 0; i--)
        if (i < r->p->count && r->p->values[i].is_call) helped |= replace_call(r, i);
    return helped;
}

/* ---- smaller sizes ---- */

static void replace_size(program *p, int64_t from, int64_t to) {
    for (int i = 0; i < p->count; i++) {
        int64_t *const lists[] = {p->values[i].source.dims, p->values[i].call.dims};
        for (int l = 0; l < 2; l++)
            for (int k = 0; k < WEFT_MAX_RANK && lists[l][k] != WEFT_END; k++)
                if (lists[l][k] == from) lists[l][k] = to;
        if (p->values[i].source.below == from) p->values[i].source.below = to;
        for (int k = 0; k < ORACLE_INTEGERS && from > 4; k++)
            if (p->values[i].call.integers[k] == from) p->values[i].call.integers[k] = to;
    }
}

static bool shrink_size(reducer *r, int64_t from) {
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127};
    static program changed;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] < from; i++) {
        changed = *r->p;
        replace_size(&changed, from, sizes[i]);
        if (keep_if_failing(r, &changed)) return true;
    }
    return false;
}

static bool shrink_sizes(reducer *r) {
    bool helped = false;
    for (int i = 0; i < r->p->count; i++)
        for (int k = 0; k < WEFT_MAX_RANK && i < r->p->count && r->p->values[i].source.dims[k] != WEFT_END;
             k++)
            if (!r->p->values[i].is_call && r->p->values[i].source.dims[k] > 1 &&
                r->p->values[i].source.dims[k] < 1000)
                helped |= shrink_size(r, r->p->values[i].source.dims[k]);
    return helped;
}

void program_reduce(program *p, weft_context *context, program_result *result, int tries) {
    reducer r = {context, p, result, tries};
    bool helped = true;
    while (helped && r.tries > 0) {
        helped = drop_flags(&r);
        helped |= drop_outputs(&r);
        helped |= replace_calls(&r);
        helped |= shrink_sizes(&r);
    }
}
