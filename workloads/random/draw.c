/* The choices that the ops' draw functions ask for: see oracle/draw.h. */
#include "oracle/draw.h"
#include "ops/movement/memory_order.h"
#include "oracle/dtype_values.h"
#include "random/drawing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

int64_t draw_below(oracle_draw *draw, int64_t bound) {
    return bound < 2 ? 0 : (int64_t)(program_random_bits(&draw->random) % (uint64_t)bound);
}

bool draw_chance(oracle_draw *draw, int percent) {
    return draw_below(draw, 100) < percent;
}

double draw_between(oracle_draw *draw, double low, double high) {
    return program_random_between(&draw->random, low, high);
}

double draw_exact(double number) {
    return f64_bfloat_value(f64_bfloat_of(number));
}

int64_t draw_size(oracle_draw *draw, int64_t most) {
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130};
    int count = 0;
    while (count < (int)(sizeof sizes / sizeof *sizes) && sizes[count] <= most) count++;
    if (count == 0) return 1;
    return sizes[draw_below(draw, count)];
}

weft_dtype draw_format(const oracle_draw *draw) {
    return draw->p->format;
}

int draw_axis(oracle_draw *draw, int value) {
    return (int)draw_below(draw, draw_rank(draw, value));
}

int64_t draw_from_either_end(oracle_draw *draw, int64_t position, int64_t size) {
    return draw_chance(draw, 30) ? position - size : position;
}

int64_t draw_any_size(oracle_draw *draw, int64_t most) {
    const program *const p = draw->p;
    if (p->free_batch && p->batch <= most && draw_chance(draw, 30)) return WEFT_BATCH;
    if (p->free_length && p->length <= most && draw_chance(draw, 30)) return WEFT_LENGTH;
    return draw_size(draw, most);
}

bool draw_is_number(int64_t dim) {
    return dim > 0 && dim < 1000000;
}

/* ---- what is known of a value ---- */

int draw_rank(const oracle_draw *draw, int value) {
    return draw->arrays[value]->rank;
}

weft_dtype draw_dtype(const oracle_draw *draw, int value) {
    return weft_tensor_dtype(draw->built.tensors[value]);
}

int64_t draw_dim(const oracle_draw *draw, int value, int axis) {
    return weft_tensor_dimension(draw->built.tensors[value], axis);
}

bool draw_is_fixed(const oracle_draw *draw, int value, int axis) {
    return draw_is_number(draw_dim(draw, value, axis));
}

void draw_dims(const oracle_draw *draw, int value, int64_t *dims) {
    const int rank = draw_rank(draw, value);
    for (int i = 0; i < rank; i++) dims[i] = draw_dim(draw, value, i);
    dims[rank] = WEFT_END;
}

int64_t draw_count(const oracle_draw *draw, int value) {
    return (int64_t)draw->arrays[value]->count;
}

int64_t draw_count_of(const oracle_draw *draw, const int64_t *dims) {
    int64_t count = 1;
    for (int i = 0; i < WEFT_MAX_RANK && dims[i] != WEFT_END; i++)
        count *= oracle_size(dims[i], &draw->sizes);
    return count;
}

int64_t draw_most(const oracle_draw *draw) {
    return draw->most;
}

bool draw_fits(const oracle_draw *draw, const int64_t *dims) {
    return draw_count_of(draw, dims) <= draw->most;
}

const f64_array *draw_array(const oracle_draw *draw, int value) {
    return draw->arrays[value];
}

bool draw_is_no_probability(const oracle_draw *draw, int value) {
    const f64_array *const a = draw->arrays[value];
    for (size_t i = 0; i < a->count; i++)
        if (a->value[i] < 0 || a->value[i] > 1) return true;
    return false;
}

int draw_value_count(const oracle_draw *draw) {
    return draw->p->count;
}

bool draw_may_read(const oracle_draw *draw, int value) {
    return !draw->p->values[value].source.changed;
}

/* ---- sources ---- */

static program_source_kind draw_kind(oracle_draw *draw, const draw_source_options *options) {
    if (options->changed) return PROGRAM_STATE;
    bool fixed = true;
    for (int i = 0; i < WEFT_MAX_RANK && options->dims[i] != WEFT_END; i++)
        fixed = fixed && draw_is_number(options->dims[i]);
    if (!fixed || options->below < 0 || options->below > 1000000) return PROGRAM_INPUT;
    const bool is_float = options->dtype == draw->p->format;
    if (options->parameter) return is_float ? PROGRAM_PARAMETER : PROGRAM_STATE;
    const int64_t kind = draw_below(draw, 10);
    if (kind < 6 || options->dtype == WEFT_BOOL) return PROGRAM_INPUT;
    if (kind < 8) return is_float ? PROGRAM_PARAMETER : PROGRAM_INPUT;
    return kind < 9 && options->dtype != WEFT_BOOL ? PROGRAM_STATE : PROGRAM_ARRAY;
}

int draw_source(oracle_draw *draw, const draw_source_options *options) {
    program *const p = draw->p;
    if (p->count >= PROGRAM_VALUES - 1 || draw_count_of(draw, options->dims) > 2 * draw->most) return -1;
    program_value *const value = &p->values[p->count];
    *value = (program_value){.source = {.kind = draw_kind(draw, options),
                                 .dtype = options->dtype,
                                 .low = options->low,
                                 .high = options->high,
                                 .below = options->below,
                                 .ascending = options->ascending,
                                 .distinct = options->distinct,
                                 .from_zero = options->from_zero,
                                 .changed = options->changed}};
    const int rank = f64_list_length(options->dims);
    memcpy(value->source.dims, options->dims, (size_t)rank * sizeof *options->dims);
    value->source.dims[rank] = WEFT_END;
    weft_graph *const old = draw->built.graph;
    const weft_status status =
        program_build(&draw->built, weft_graph_context(old), p, p->count + 1, &draw->sizes);
    weft_graph_release(old);
    draw->arrays[p->count] = program_source_values(p, p->count, &draw->sizes);
    draw->failed = draw->failed || status != WEFT_OK;
    return draw->failed ? -1 : p->count++;
}

int draw_weights(oracle_draw *draw, const int64_t *dims, double low, double high) {
    return draw_source(draw, &(draw_source_options){.dtype = draw->p->format,
                                 .dims = dims,
                                 .low = low,
                                 .high = high,
                                 .parameter = draw_chance(draw, 70)});
}

void draw_shape(oracle_draw *draw, int rank, int64_t *dims) {
    int64_t left = draw->most;
    for (int i = 0; i < rank; i++) {
        dims[i] = 0;
        if (i == 0 && draw->p->free_batch && draw_chance(draw, 75)) dims[i] = WEFT_BATCH;
        if (dims[i] == 0 && draw->p->free_length && draw_chance(draw, 35)) dims[i] = WEFT_LENGTH;
        if (dims[i] != 0) left /= oracle_size(dims[i], &draw->sizes);
    }
    /* Any axis may become the long one. */
    const int first = (int)draw_below(draw, rank > 0 ? rank : 1);
    for (int k = 0; k < rank; k++) {
        const int i = (first + k) % rank;
        if (dims[i] != 0) continue;
        dims[i] = draw_size(draw, left > 0 ? left : 1);
        left /= dims[i];
    }
    dims[rank] = WEFT_END;
}

static int draw_new(
    oracle_draw *draw, draw_types types, int least_rank, int most_rank, double low, double high) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int most = most_rank > 5 ? (least_rank > 5 ? least_rank : 5) : most_rank;
    draw_shape(draw, least_rank + (int)draw_below(draw, most - least_rank + 1), dims);
    weft_dtype dtype = draw->p->format;
    if (!(types & DRAW_FLOAT))
        dtype = types & DRAW_I32 ? WEFT_I32 : WEFT_BOOL;
    else if (types & DRAW_I32 && draw_chance(draw, 10))
        dtype = WEFT_I32;
    if (dtype == WEFT_BOOL) low = 0, high = 1;
    return draw_source(draw, &(draw_source_options){.dtype = dtype, .dims = dims, .low = low, .high = high});
}

/* ---- existing values ---- */

static draw_types type_of(const oracle_draw *draw, int value) {
    const weft_dtype dtype = draw_dtype(draw, value);
    if (dtype == WEFT_I32) return DRAW_I32;
    if (dtype == WEFT_BOOL) return DRAW_BOOL;
    return dtype == draw->p->format ? DRAW_FLOAT : 0;
}

static bool is_within(const f64_array *a, double low, double high) {
    for (size_t i = 0; i < a->count; i++)
        if (!(a->value[i] >= low && a->value[i] <= high)) return false;
    return true;
}

/* Of several candidates the later ones are chosen more often. */
static int choose(oracle_draw *draw, const int *candidates, int count) {
    if (count == 0) return -1;
    const int64_t a = draw_below(draw, count), b = draw_below(draw, count);
    return candidates[a > b ? a : b];
}

int draw_value_within(
    oracle_draw *draw, draw_types types, int least_rank, int most_rank, double low, double high) {
    int candidates[PROGRAM_VALUES], count = 0;
    for (int i = 0; i < draw->p->count; i++) {
        const int rank = draw_rank(draw, i);
        if (draw_may_read(draw, i) && rank >= least_rank && rank <= most_rank && type_of(draw, i) & types &&
            is_within(draw->arrays[i], low, high))
            candidates[count++] = i;
    }
    if (count == 0 || draw_chance(draw, 8))
        return draw_new(draw, types, least_rank, most_rank, fmax(low, -3), fmin(high, 3));
    return choose(draw, candidates, count);
}

int draw_value(oracle_draw *draw, draw_types types, int least_rank, int most_rank) {
    return draw_value_within(draw, types, least_rank, most_rank, -INFINITY, INFINITY);
}

static bool has_dims(const oracle_draw *draw, int value, const int64_t *dims) {
    const int rank = draw_rank(draw, value);
    if (rank != f64_list_length(dims)) return false;
    for (int i = 0; i < rank; i++)
        if (draw_dim(draw, value, i) != dims[i]) return false;
    return true;
}

int draw_shaped(oracle_draw *draw, weft_dtype dtype, const int64_t *dims, double low, double high) {
    int candidates[PROGRAM_VALUES], count = 0;
    for (int i = 0; i < draw->p->count; i++)
        if (draw_may_read(draw, i) && draw_dtype(draw, i) == dtype && has_dims(draw, i, dims) &&
            is_within(draw->arrays[i], low, high))
            candidates[count++] = i;
    if (count > 0 && draw_chance(draw, 70)) return choose(draw, candidates, count);
    return draw_source(draw, &(draw_source_options){.dtype = dtype,
                                 .dims = dims,
                                 .low = isfinite(low) ? low : -2,
                                 .high = isfinite(high) ? high : 2});
}

int draw_alike(oracle_draw *draw, int value, const int64_t *dims) {
    const weft_dtype dtype = draw_dtype(draw, value);
    const double most = dtype == WEFT_BOOL ? 1 : INFINITY;
    return draw_shaped(draw, dtype, dims, dtype == WEFT_BOOL ? 0 : -most, most);
}

int draw_indices(oracle_draw *draw, const int64_t *dims, int64_t below) {
    if (draw_is_number(below) && draw_chance(draw, 50))
        return draw_shaped(draw, WEFT_I32, dims, 0, (double)below - 1);
    return draw_source(draw, &(draw_source_options){.dtype = WEFT_I32, .dims = dims, .below = below});
}

/* Is it computed from what is seen in another order than it lies in? seen: the nodes by number. */
static bool has_memory_order(const weft_tensor *x, bool *seen) {
    if (seen[x->id]) return false;
    seen[x->id] = true;
    if (wi_memory_order_of(x).rank > 0) return true;
    for (int i = 0; i < x->input_count; i++)
        if (has_memory_order(x->inputs[i], seen)) return true;
    return false;
}

bool draw_is_row_major(const oracle_draw *draw, int value) {
    const weft_tensor *const x = draw->built.tensors[value];
    bool *const seen = calloc(x->id + 1, sizeof *seen);
    const bool row_major = seen && !has_memory_order(x, seen);
    free(seen);
    return row_major;
}

static bool broadcasts(const oracle_draw *draw, int a, int b) {
    for (int axis = -1; axis >= -draw_rank(draw, a) && axis >= -draw_rank(draw, b); axis--) {
        const int64_t m = draw_dim(draw, a, axis), n = draw_dim(draw, b, axis);
        if (m != n && m != 1 && n != 1) return false;
    }
    return true;
}

/* The shape of `value` with dimensions of 1, or without its first ones. */
static void draw_narrower(oracle_draw *draw, int value, int64_t *dims) {
    draw_dims(draw, value, dims);
    int rank = draw_rank(draw, value);
    if (rank > 0 && draw_chance(draw, 50)) {
        const int dropped = (int)draw_below(draw, rank + 1);
        memmove(dims, dims + dropped, (size_t)(rank - dropped + 1) * sizeof *dims);
        rank -= dropped;
    }
    for (int i = 0; i < rank; i++)
        if (draw_chance(draw, 30)) dims[i] = 1;
}

int draw_leading(oracle_draw *draw, int value, int last, int64_t *dims) {
    const int rank = draw_rank(draw, value) - last;
    const int dropped = draw_chance(draw, 30) ? (int)draw_below(draw, rank + 1) : 0;
    int count = 0;
    if (rank < 3 && dropped == 0 && draw_chance(draw, 12)) dims[count++] = draw_size(draw, 3);
    for (int i = dropped; i < rank; i++) {
        const int64_t dim = draw_dim(draw, value, i);
        const bool other = draw_chance(draw, 20);
        dims[count++] = !other ? dim : dim == 1 ? draw_size(draw, 3) : 1;
    }
    return count;
}

int draw_partner(oracle_draw *draw, int value, weft_dtype dtype, double low, double high) {
    int candidates[PROGRAM_VALUES], count = 0;
    for (int i = 0; i < draw->p->count; i++) {
        if (!draw_may_read(draw, i) || draw_dtype(draw, i) != dtype || !broadcasts(draw, value, i) ||
            !is_within(draw->arrays[i], low, high))
            continue;
        candidates[count++] = i;
    }
    if (count > 1 && draw_chance(draw, 65)) return choose(draw, candidates, count);
    int64_t dims[WEFT_MAX_RANK + 1];
    draw_narrower(draw, value, dims);
    return draw_source(draw, &(draw_source_options){.dtype = dtype,
                                 .dims = dims,
                                 .low = isfinite(low) ? low : -2,
                                 .high = isfinite(high) ? high : 2});
}
