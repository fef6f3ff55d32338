/* Recurrent scans where groups multiply tiles in local memory: recurrent_gpu.cl. Every step is a launch, or two
 * where a step has two products. */
#include "base/integers.h"
#include "kernels/recurrent/recurrent_kernels.h"

enum { GROUP = 16, ROWS = 32, STEP = 16, PREPARE_GROUP = 64 }; /* as in recurrent_gpu.cl */
/* Tiles of the states and, of each of up to four gates, the weights. */
enum { LOCAL_BYTES = (STEP * (ROWS + 1) + 4 * STEP * (GROUP + 1)) * 4 };

static wi_kernel_launch *launch_phase(const wi_recurrent *s, wi_kernel_plan *plan, int phase) {
    const bool to_width =
        s->back == (phase == 1); /* the product's columns: the width rather than the units */
    wi_kernel_launch *const launch =
        wi_kernel_launch_1d(plan, s->back ? "back" : "forward", to_width ? s->a.width : s->a.units, GROUP);
    launch->dimensions = 2;
    launch->global[1] = (size_t)(wi_divide_up(s->batch, ROWS) * GROUP);
    launch->local[1] = GROUP;
    return launch;
}

static void add_steps(const wi_recurrent *s, wi_kernel_plan *plan) {
    void (*const add)(const wi_recurrent *, wi_kernel_launch *, int) =
        s->back ? wi_recurrent_back_arguments : wi_recurrent_forward_arguments;
    const int first = plan->count;
    for (int phase = 1; phase <= (s->second ? 2 : 1); phase++) add(s, launch_phase(s, plan, phase), phase);
    wi_kernel_repeat(plan, first, s->turns);
}

static weft_status prepare_forward(const wi_kernel_site *site, wi_kernel_plan *plan) {
    wi_recurrent s = wi_recurrent_of(site, false);
    s.steps = 1;
    wi_recurrent_begin(&s, plan);
    wi_recurrent_prepare_arguments(
        &s, wi_kernel_launch_1d(plan, "prepare", s.batch * wi_max64(s.a.units, s.a.width), PREPARE_GROUP), 0);
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

const wi_implementation wi_recurrent_gpu = {.name = "recurrent_gpu",
    .ops = {&wi_op_recurrent_forward},
    .file = "recurrent_gpu.cl",
    .needs = {.classes = WI_ON_GPU, .group = GROUP * GROUP, .local_bytes = LOCAL_BYTES},
    .prepare = prepare_forward};

const wi_implementation wi_recurrent_gpu_gradient = {.name = "recurrent_gpu_gradient",
    .ops = {&wi_op_recurrent_back},
    .file = "recurrent_gpu.cl",
    .needs = {.classes = WI_ON_GPU, .group = GROUP * GROUP, .local_bytes = LOCAL_BYTES},
    .prepare = prepare_gradient};
