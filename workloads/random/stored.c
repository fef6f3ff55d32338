/* What storing results, in 16 bits or in f32, may make of a gradient: see random_program.h.
 *
 * The nodes of the gradient are made once more in f32. After each of them that computes, its result is moved to a number beside it and
 * stored in the format: so the library's own rules carry what rounding does to each result of the forward and the backward pass, at
 * the sources of the program. A slope that is computed from a rounded result, as 1 - y² where y is almost 1, moves as far as it may
 * in the program itself. */
#include "ops/op_table.h"
#include "random/trained.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct stored {
    const program *p;
    trained t;
    uint32_t count;       /* nodes of the graph as the program has it */
    weft_tensor **images; /* of these nodes, by number */
    weft_tensor **noise;  /* the inputs that move their results, by number */
    bool rounds;
} stored;

/* Movement and what is in memory before the step are exact. */
static bool computes(const weft_tensor *node) {
    switch (node->op->kind) {
    case WI_SOURCE:
    case WI_GENERATOR:
    case WI_VIEW:
    case WI_JOIN: return false;
    default: return true;
    }
}

static weft_tensor *moved(stored *s, const weft_tensor *node, weft_tensor *x) {
    int64_t dims[WEFT_MAX_RANK];
    char name[24];
    for (int i = 0; i < x->shape.rank; i++) dims[i] = weft_tensor_dimension(x, i);
    snprintf(name, sizeof name, "noise%u", (unsigned)node->id);
    s->noise[node->id] = weft_input_shape(x->graph, name, WEFT_F32, x->shape.rank, dims);
    return weft_cast(weft_cast(weft_mul(x, s->noise[node->id]), program_stored(s->p)), WEFT_F32);
}

static weft_tensor *image_of(stored *s, weft_tensor *node) {
    weft_tensor *in[WI_COMPOSED_LEAVES] = {NULL};
    if (s->images[node->id]) return s->images[node->id];
    for (int i = 0; i < node->input_count && i < WI_COMPOSED_LEAVES; i++)
        if (!(in[i] = image_of(s, node->inputs[i]))) return NULL;
    const bool narrow = node->dtype == s->p->format;
    const weft_dtype dtype = narrow ? WEFT_F32 : node->dtype;
    weft_tensor *image;
    if (node->op->kind == WI_SOURCE)
        image = narrow ? weft_cast(node, WEFT_F32) : node;
    else if (node->op == &wi_op_cast)
        image = weft_cast(in[0], dtype);
    else
        image = wi_node(node->graph, node->op, in, node->input_count, dtype, &node->shape, node->attributes);
    if (image && narrow && s->rounds && computes(node)) image = moved(s, node, image);
    return s->images[node->id] = image;
}

/* By how much results move, up or down: half the spacing of a 16-bit format, and that of f32, in which half of it is none. */
static float step_of(weft_dtype format) {
    return format == WEFT_F32 ? 0x1p-23f : format == WEFT_BF16 ? 0x1p-8f : 0x1p-11f;
}

static void write_noise(const stored *s, weft_plan *plan, const oracle_sizes *sizes, uint64_t seed) {
    const float step = step_of(program_stored(s->p));
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->noise[i]) continue;
        size_t count = 1;
        for (int axis = 0; axis < weft_tensor_rank(s->noise[i]); axis++)
            count *= (size_t)oracle_size(weft_tensor_dimension(s->noise[i], axis), sizes);
        float *const data = calloc(count + 1, sizeof *data);
        program_random random = program_random_of(s->p->seed, s->p->number, 5000 + (seed << 32 | i));
        for (size_t k = 0; data && k < count; k++)
            data[k] = program_random_bits(&random) & 1 ? 1 + step : 1 - step;
        if (data) (void)weft_plan_write(plan, s->noise[i], data, count * sizeof *data);
        free(data);
    }
}

/* Random ops draw other numbers in each run of a graph: the run that is judged is repeated. */
static weft_status run_until(weft_plan *plan, uint64_t runs) {
    weft_status status = weft_plan_run(plan);
    for (uint64_t i = 0; i < runs && status == WEFT_OK; i++) status = weft_plan_run(plan);
    return status;
}

static weft_status run_image(const stored *s, weft_tensor *image, const oracle_sizes *sizes,
    f64_array *const *sources, uint64_t seed, f64_array *gradient) {
    weft_plan *plan = NULL;
    float *const data = calloc(gradient->count + 1, sizeof *data);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = sizes->batch,
        .length = s->p->free_length && !sizes->fixed ? sizes->length : 0, .inference = s->p->inference};
    weft_status status = data ? weft_plan_create(&plan, &image, 1, &options) : WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) {
        program_write_sources(&s->t, s->p, plan, sources);
        program_write_directions(&s->t, s->p, plan, sources);
        write_noise(s, plan, sizes, seed);
        status = run_until(plan, sizes->runs);
    }
    if (status == WEFT_OK) status = weft_plan_read(plan, image, data, gradient->count * sizeof *data);
    for (size_t i = 0; status == WEFT_OK && i < gradient->count; i++) gradient->value[i] = (double)data[i];
    weft_plan_release(plan);
    free(data);
    return status;
}

static int place_of(const trained *t, int source) {
    for (int i = 0; i < t->wrt_count; i++)
        if (t->wrt[i] == source) return i;
    return -1;
}

f64_array *program_stored_gradient(const program *p, weft_context *context, const oracle_sizes *sizes,
    f64_array *const *sources, int source, bool second, uint64_t seed) {
    stored s = {.p = p, .rounds = seed > 0};
    f64_array *gradient = NULL;
    const int place = program_prepare(&s.t, context, p, sizes) == WEFT_OK ? place_of(&s.t, source) : -1;
    weft_tensor *const node = place < 0 ? NULL : second ? s.t.seconds[place] : s.t.gradients[place];
    s.count = node ? s.t.built.graph->node_count : 0;
    s.images = calloc((size_t)s.count + 1, sizeof(weft_tensor *));
    s.noise = calloc((size_t)s.count + 1, sizeof(weft_tensor *));
    weft_tensor *const image = node && s.images && s.noise ? image_of(&s, node) : NULL;
    if (image) gradient = f64_zeros(sources[source]->rank, sources[source]->dims);
    if (image && run_image(&s, image, sizes, sources, seed, gradient) != WEFT_OK) gradient = NULL;
    free((void *)s.noise);
    free((void *)s.images);
    program_forget(&s.t);
    return gradient;
}
