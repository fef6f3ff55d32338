/* Recurrent scans where groups multiply tiles in local memory: recurrent_gpu.cl. Every step is a launch, or two
 * where a step has two products. */
#include "base/integers.h"
#include "kernels/recurrent/recurrent_kernels.h"

/* A work-group of GROUP x GROUP items has GROUP units of LINES rows an item; PREPARE items prepare. The device
 * alone decides which variant it is, so a program has one. */
enum { GROUP, LINES, PREPARE };

static const char *const parameters[] = {
    [GROUP] = "WEFT_R_GROUP", [LINES] = "WEFT_R_LINES", [PREPARE] = "WEFT_R_PREPARE", NULL};

static const wi_variant variants[] = {{"256", {[GROUP] = 16, [LINES] = 2, [PREPARE] = 64}},
    {"64", {[GROUP] = 8, [LINES] = 2, [PREPARE] = 64}}, {0}};

/* Local memory has a tile of the states and one of the weights of each of up to four gates. */
static wi_limits limits(const int *p) {
    const size_t group = (size_t)p[GROUP], rows = group * (size_t)p[LINES];
    return (wi_limits){.group = group * group,
        .items = {(size_t)wi_max64(p[GROUP], p[PREPARE]), group},
        .local_bytes = group * (rows + 1 + 4 * (group + 1)) * sizeof(float)};
}

static wi_kernel_launch *launch_phase(const wi_recurrent *s, wi_kernel_plan *plan, int phase) {
    const bool to_width =
        s->back == (phase == 1); /* the product's columns: the width rather than the units */
    const int *const p = s->site->values;
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, s->back ? "back" : "forward", to_width ? s->a.width : s->a.units, p[GROUP]);
    launch->dimensions = 2;
    launch->global[1] = (size_t)(wi_divide_up(s->batch, p[GROUP] * p[LINES]) * p[GROUP]);
    launch->local[1] = (size_t)p[GROUP];
    return launch;
}

static void add_steps(const wi_recurrent *s, wi_kernel_plan *plan) {
    void (*const add)(const wi_recurrent *, wi_kernel_launch *, int) =
        s->back ? wi_recurrent_back_arguments : wi_recurrent_forward_arguments;
    const int first = plan->count;
    for (int phase = 1; phase <= (s->second ? 2 : 1); phase++) add(s, launch_phase(s, plan, phase), phase);
    wi_kernel_repeat(plan, first, s->iterations);
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    wi_recurrent s = wi_recurrent_of(site, false);
    s.steps = 1;
    wi_recurrent_begin(&s, plan);
    wi_recurrent_prepare_arguments(&s,
        wi_kernel_launch_1d(plan, "prepare", s.batch * wi_max64(s.a.units, s.a.width), site->values[PREPARE]),
        0);
    add_steps(&s, plan);
    return WEFT_OK;
}

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    wi_recurrent s = wi_recurrent_of(site, true);
    s.steps = 1;
    wi_recurrent_begin(&s, plan);
    add_steps(&s, plan);
    return WEFT_OK;
}

const wi_implementation wi_recurrent_gpu = {.name = "recurrent_forward_gpu",
    .ops = {&wi_op_recurrent_forward},
    .file = "recurrent_gpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .prepare = prepare_forward};

const wi_implementation wi_recurrent_gpu_gradient = {.name = "recurrent_back_gpu",
    .ops = {&wi_op_recurrent_back},
    .file = "recurrent_gpu.cl",
    .headers = wi_recurrent_headers,
    .parameters = parameters,
    .variants = variants,
    .needs = {.classes = WI_ON_GPU, .limits = limits},
    .prepare = prepare_gradient};
