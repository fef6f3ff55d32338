/* Builds the graphs of programs and evaluates these in float64: see random_program.h. */
#include "random/random_program.h"
#include "cl/context.h"
#include "oracle/dtype_values.h"
#include "random/drawing.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

uint64_t program_random_bits(program_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

program_random program_random_of(uint64_t seed, uint64_t number, uint64_t stream) {
    program_random random = {seed};
    random.state = program_random_bits(&random) ^ number;
    random.state = program_random_bits(&random) ^ stream;
    (void)program_random_bits(&random);
    return random;
}

double program_random_between(program_random *random, double low, double high) {
    return low + (high - low) * ldexp((double)(program_random_bits(random) >> 11), -53);
}

/* ---- numbers of sources ---- */

double program_nearest(weft_dtype dtype, double value) {
    double memory = 0, back = 0;
    f64_to_dtype(dtype, &value, 1, &memory);
    f64_from_dtype(dtype, &memory, 1, &back);
    return back;
}

bool program_precision_of(const char *name, program_options *options) {
    static const struct {
        const char *name;
        weft_dtype format;
        weft_precision precision;
    } known[] = {{"f32", WEFT_F32, WEFT_PRECISION_F32}, {"bf16", WEFT_BF16, WEFT_PRECISION_F32},
        {"f16", WEFT_F16, WEFT_PRECISION_F32}, {"mixed", WEFT_F32, WEFT_PRECISION_BF16},
        {"mixed_f16", WEFT_F32, WEFT_PRECISION_F16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) != 0) continue;
        options->format = known[i].format;
        options->precision = known[i].precision;
        return true;
    }
    return false;
}

weft_dtype program_stored(const program *p) {
    return p->precision == WEFT_PRECISION_BF16  ? WEFT_BF16
           : p->precision == WEFT_PRECISION_F16 ? WEFT_F16
                                                : p->format;
}

double program_largest(weft_dtype dtype) {
    return dtype == WEFT_F16 ? 60000 : F64_LARGEST;
}

double program_rounding(weft_dtype dtype, double value) {
    size_t count;
    const f64_narrow_format *const narrow = f64_narrow_formats(&count);
    for (size_t i = 0; i < count; i++) {
        if (narrow[i].dtype != dtype || !isfinite(value)) continue;
        const int least = 2 - (1 << (narrow[i].exponent_bits - 1)),
                  exponent = value == 0 ? least : ilogb(value);
        return ldexp(1, (exponent < least ? least : exponent) - narrow[i].fraction_bits);
    }
    return 0;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void shuffle(program_random *random, f64_array *values) {
    for (size_t i = 0; i < values->count; i++) values->value[i] = (double)i;
    for (size_t i = values->count; i > 1; i--) {
        const size_t other = program_random_bits(random) % i;
        const double kept = values->value[i - 1];
        values->value[i - 1] = values->value[other];
        values->value[other] = kept;
    }
}

f64_array *program_source_values(const program *p, int value, const oracle_sizes *sizes) {
    const program_source *const source = &p->values[value].source;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_sizes_of(source->dims, sizes, dims);
    f64_array *const values = f64_zeros(rank, dims);
    program_random random = program_random_of(p->seed, p->number, 1000 + (uint64_t)value);
    const bool whole = source->dtype == WEFT_I32 || source->dtype == WEFT_BOOL;
    const weft_dtype stored = whole ? source->dtype : program_stored(p);
    double low = source->below ? 0 : source->low;
    double high = source->below ? (double)oracle_size(source->below, sizes) - 1 : source->high;
    if (whole) low = ceil(low), high = floor(high);
    for (size_t i = 0; i < values->count; i++) {
        const double x = program_random_between(&random, low, whole ? high + 1 : high);
        values->value[i] = whole ? fmin(floor(x), high) : program_nearest(stored, x);
    }
    if (source->distinct) shuffle(&random, values);
    if (source->ascending) qsort(values->value, values->count, sizeof(double), by_value);
    if (source->from_zero) values->value[0] = 0;
    return values;
}

f64_array *program_loss_weights(const program *p, int term, const f64_array *value) {
    f64_array *const weights = f64_zeros(value->rank, value->dims);
    program_random random = program_random_of(p->seed, p->number, 2000 + (uint64_t)term);
    for (size_t i = 0; i < weights->count; i++)
        weights->value[i] = program_nearest(program_stored(p), program_random_between(&random, -1, 1));
    for (size_t i = 0; i < weights->count; i++)
        if (!isfinite(value->value[i])) weights->value[i] = 0;
    return weights;
}

/* ---- the graph ---- */

oracle_sizes program_sizes(const program *p, const weft_context *context) {
    return (oracle_sizes){.batch = p->batch,
        .length = p->length,
        .inference = p->inference,
        .seed = context->seed,
        .format = program_stored(p)};
}

static weft_tensor *build_array(weft_graph *graph, const program *p, int value, const oracle_sizes *sizes) {
    const f64_mark mark = f64_pool_mark();
    const f64_array *const values = program_source_values(p, value, sizes);
    const weft_dtype dtype = p->values[value].source.dtype;
    void *const data = calloc(values->count, 8);
    if (!data) return NULL;
    f64_to_dtype(dtype, values->value, values->count, data);
    weft_tensor *const tensor = weft_array(graph, dtype, data, values->rank, values->dims);
    free(data);
    f64_pool_release(mark);
    return tensor;
}

static weft_tensor *build_source(weft_graph *graph, const program *p, int value, const oracle_sizes *sizes) {
    static const weft_initialiser zeros = {.kind = WEFT_INIT_CONSTANT};
    const program_source *const source = &p->values[value].source;
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = oracle_given_of(source->dims, sizes, dims);
    char name[16];
    snprintf(name, sizeof name, "v%d", value);
    switch (source->kind) {
    case PROGRAM_PARAMETER: return weft_parameter_dtype(graph, name, source->dtype, zeros, rank, dims);
    case PROGRAM_STATE: return weft_state_shape(graph, name, source->dtype, zeros, rank, dims);
    case PROGRAM_ARRAY: return build_array(graph, p, value, sizes);
    default: return weft_input_shape(graph, name, source->dtype, rank, dims);
    }
}

weft_tensor *program_build_call(program_graph *built, const oracle_call *call, const oracle_sizes *sizes) {
    weft_tensor *in[ORACLE_INPUTS] = {NULL};
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] >= 0) in[i] = built->tensors[call->inputs[i]];
    return call->op->build(built->graph, call, in, sizes);
}

weft_status program_build(
    program_graph *built, weft_context *context, const program *p, int count, const oracle_sizes *sizes) {
    *built = (program_graph){0};
    const weft_loss_scaling unscaled = {WEFT_LOSS_SCALING_INIT, .initial = 1};
    weft_status status = weft_graph_create(&built->graph, context);
    if (status == WEFT_OK && p->precision == WEFT_PRECISION_F16)
        status = weft_graph_set_loss_scaling(built->graph, &unscaled);
    if (status == WEFT_OK) status = weft_graph_set_precision(built->graph, p->precision);
    for (int i = 0; i < count && status == WEFT_OK; i++) {
        built->tensors[i] = p->values[i].is_call ? program_build_call(built, &p->values[i].call, sizes)
                                                 : build_source(built->graph, p, i, sizes);
        status = weft_graph_status(built->graph);
        if (status == WEFT_OK && !built->tensors[i]) status = WEFT_ERROR_ARGUMENT;
    }
    return status;
}

/* ---- float64 ---- */

/* Whole numbers are exact or off by whole numbers, and a boolean that is uncertain is the other one; floats may be changed by storing them
 * in a format of 16 bits, and by any format that has no number as large: nothing is known then, as of what follows from them. */
static double settled_error(const program *p, weft_dtype dtype, double value, double error) {
    if (dtype == WEFT_BOOL) return error < 0.5 ? 0 : 1;
    if (dtype == WEFT_I32) return nearbyint(error);
    const weft_dtype stored = program_stored(p);
    if (isfinite(value) && fabs(value) + error > program_largest(stored)) return INFINITY;
    return error + program_rounding(stored, value);
}

/* Of an integer that has no value, as a remainder by 0, nothing is known. */
static void settle_errors(const program *p, weft_dtype dtype, f64_array *a) {
    for (size_t i = 0; i < a->count; i++) {
        const bool is_unknown = dtype == WEFT_I32 && isnan(a->value[i]);
        if (is_unknown) a->value[i] = 0;
        a->error[i] = is_unknown ? INFINITY : settled_error(p, dtype, a->value[i], a->error[i]);
    }
}

/* Of what stands in base, and of the change from it: slopes that cancel out exactly are noisy in float32 because changes round apart. */
static void add_noise(f64_array *a, const f64_array *base, double noise, program_random random) {
    for (size_t i = 0; i < a->count; i++) {
        const double here = base->value[i], change = a->value[i] - here;
        a->value[i] = here * (1 + noise * program_random_between(&random, -1, 1)) +
                      change * (1 + noise * program_random_between(&random, -1, 1));
    }
}

static int stored_bits(const program *p) {
    size_t count;
    const f64_narrow_format *const narrow = f64_narrow_formats(&count);
    for (size_t i = 0; i < count; i++)
        if (narrow[i].dtype == program_stored(p)) return narrow[i].fraction_bits;
    return 0;
}

f64_array *program_evaluate_call(
    const program *p, int value, const oracle_sizes *sizes, f64_array *const *values) {
    const oracle_call *const call = &p->values[value].call;
    const f64_array *in[ORACLE_INPUTS] = {NULL};
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] >= 0) in[i] = values[call->inputs[i]];
    f64_store_with(stored_bits(p));
    f64_array *const result = call->op->evaluate(call, in, sizes);
    f64_store_with(0);
    settle_errors(p, p->values[value].source.dtype, result);
    return result;
}

void program_evaluate(
    const program *p, const oracle_sizes *sizes, f64_array **values, double noise, uint64_t noise_seed) {
    for (int i = 0; i < p->count; i++) {
        if (!p->values[i].is_call) continue;
        const f64_array *const base = noise > 0 ? values[i] : NULL;
        values[i] = program_evaluate_call(p, i, sizes, values);
        const bool whole = p->values[i].source.dtype == WEFT_I32 || p->values[i].source.dtype == WEFT_BOOL;
        if (!whole && noise > 0)
            add_noise(values[i], base, noise, program_random_of(noise_seed, 0, (uint64_t)i));
    }
}

bool program_depends(const program *p, int value, int on) {
    if (value == on) return true;
    const oracle_call *const call = &p->values[value].call;
    for (int i = 0; p->values[value].is_call && i < call->input_count; i++)
        if (call->inputs[i] >= on && program_depends(p, call->inputs[i], on)) return true;
    return false;
}

bool program_any_call(const program *p, int value, bool (*has)(const oracle_call *call)) {
    const oracle_call *const call = &p->values[value].call;
    if (!p->values[value].is_call) return false;
    if (has(call)) return true;
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] >= 0 && program_any_call(p, call->inputs[i], has)) return true;
    return false;
}

static bool has_random(const oracle_call *call) {
    return call->op->random;
}
static bool has_no_gradient(const oracle_call *call) {
    return call->op->no_gradient || call->no_gradient;
}

int program_draws_before(const program *p, int value) {
    int draws = 0;
    for (int i = 0; i < value; i++) draws += p->values[i].is_call && p->values[i].call.op->random;
    return draws;
}

bool program_is_random(const program *p, int value) {
    return program_any_call(p, value, has_random);
}
bool program_has_no_gradient(const program *p, int value) {
    return program_any_call(p, value, has_no_gradient);
}
