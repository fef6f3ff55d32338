/* The launches of connectionist temporal classification: ctc.cl. */
#include "kernels/families.h"
#include "ops/loss/ctc.h"

enum { LEAD = 2, LOCAL_WIDTH = 1024, GROUP = 64 }; /* as in ctc.cl and common.clh */

/* ---- the losses ---- */

static void add_ints(wi_kernel_launch *launch, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) wi_kernel_int(launch, numbers[i]);
}

/* Scratch: each group's codes, then each group's two rows. */
static weft_status walk(const wi_kernel_site *site, wi_kernel_plan *plan, bool table) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    const wi_extent *x = &site->inputs[WI_CTC_LOG_PROBS];
    const int64_t batch = x->dims[1].actual, labels = site->inputs[WI_CTC_TARGETS].dims[1].actual;
    const int64_t width = wi_ctc_row_width(labels), groups = table ? 2 * batch : batch;
    plan->scratch_bytes = (size_t)(groups * (width + 2 * (LEAD + width))) * sizeof(float);
    plan->flops = 16.0 * (double)(groups * x->dims[0].actual) * (double)(2 * labels + 1);
    wi_kernel_macro_int(plan, "WEFT_TABLE", table);
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", !cpu && width <= LOCAL_WIDTH);
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(plan, "walk", cpu ? groups : groups * GROUP, cpu ? 1 : GROUP);
    for (int i = 0; i < WI_CTC_INPUTS; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, groups * width);
    wi_kernel_faults(launch);
    const int64_t sizes[] = {x->dims[0].actual, x->dims[2].actual, labels, width};
    add_ints(launch, sizes, sizeof sizes / sizeof *sizes);
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, site->layouts[WI_CTC_LOG_PROBS].strides[i].actual);
    wi_kernel_int(launch, site->node->attributes.start);
    wi_kernel_int(launch, site->node->attributes.axis);
    return WEFT_OK;
}

static weft_status table_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return walk(site, plan, true);
}
static weft_status alone_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    return walk(site, plan, false);
}

/* ---- the gradient ---- */

static int64_t rows_an_item(const wi_kernel_site *site, int64_t rows) {
    const int64_t items = (int64_t)site->device->units * 4;
    return (rows + items - 1) / items;
}

static void add_chain(wi_kernel_plan *plan, int64_t items, int64_t labels, int64_t size) {
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "chain", items, GROUP);
    wi_kernel_input(launch, WI_CTC_SPREAD_TARGETS);
    wi_kernel_input(launch, WI_CTC_SPREAD_TARGET_LENGTHS);
    wi_kernel_input(launch, WI_CTC_SPREAD_TABLE);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, items);
    wi_kernel_int(launch, labels);
    wi_kernel_long(launch, size);
}

static weft_status spread_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool cpu = site->device->device_class == WEFT_CLASS_CPU;
    const wi_extent *y = &site->result;
    const int64_t steps = y->dims[0].actual, batch = y->dims[1].actual, rows = steps * batch;
    const int64_t labels = site->inputs[WI_CTC_SPREAD_TARGETS].dims[1].actual;
    const int64_t an_item = cpu ? rows_an_item(site, rows) : 1, items = (rows + an_item - 1) / an_item;
    plan->flops = 8.0 * (double)rows * (double)(2 * labels + 1);
    plan->scratch_bytes = (size_t)(batch * labels) * sizeof(int32_t);
    wi_kernel_macro_int(plan, "WEFT_TABLE", 1);
    /* as the walk has it, so that both are one inclusion of the file */
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", !cpu && wi_ctc_row_width(labels) <= LOCAL_WIDTH);
    if (!cpu) add_chain(plan, batch * labels, labels, wi_ctc_table_size(steps, labels));
    wi_kernel_launch *launch =
        wi_kernel_launch_1d(plan, "spread", cpu ? items : items * GROUP, cpu ? 1 : GROUP);
    for (int i = 0; i < WI_CTC_SPREAD_INPUTS; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_long(launch, rows);
    wi_kernel_long(launch, an_item);
    wi_kernel_long(launch, batch);
    const int64_t sizes[] = {
        steps, y->dims[2].actual, labels, wi_ctc_row_width(labels), site->node->attributes.start};
    add_ints(launch, sizes, sizeof sizes / sizeof *sizes);
    return WEFT_OK;
}

static const wi_implementation wi_ctc_alone_kernel = {
    .name = "ctc", .file = "ctc.cl", .ops = {&wi_op_ctc_alone}, .prepare = alone_kernel};
static const wi_implementation wi_ctc_table_kernel = {
    .name = "ctc_table", .file = "ctc.cl", .ops = {&wi_op_ctc_table}, .prepare = table_kernel};
static const wi_implementation wi_ctc_gradient_kernel = {
    .name = "ctc_gradient", .file = "ctc.cl", .ops = {&wi_op_ctc_gradient}, .prepare = spread_kernel};

const wi_implementation *const wi_loss_family[] = {
    &wi_ctc_alone_kernel, &wi_ctc_table_kernel, &wi_ctc_gradient_kernel, NULL};
