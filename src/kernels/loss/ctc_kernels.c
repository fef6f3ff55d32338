/* The launches of connectionist temporal classification: ctc.cl. */
#include "base/integers.h"
#include "kernels/index_type.h"
#include "ops/loss/ctc.h"
#include <math.h>

/* HEAD: elements of a table before its rows. LEAD: elements of a row of states before its first. LOCAL_WIDTH: states of a row that may be in local memory. */
enum { HEAD, LEAD, LOCAL_WIDTH };

static const char *const parameters[] = {
    [HEAD] = "WEFT_CTC_HEAD", [LEAD] = "WEFT_CTC_LEAD", [LOCAL_WIDTH] = "WEFT_CTC_LOCAL_WIDTH", NULL};

static const wi_variant variants[] = {{"f32", {[HEAD] = WI_CTC_HEAD, [LEAD] = 2, [LOCAL_WIDTH] = 1024}}, {0}};

/* ---- the losses ---- */

/* Of a group that walks through an example: its two rows, if they fit. */
static bool has_local_rows(const wi_kernel_site *site, int64_t width) {
    const int *const p = site->values;
    const size_t rows = 2 * (size_t)(p[LEAD] + p[LOCAL_WIDTH]), shared = 2 * (size_t)site->device->group;
    return !site->device->item_walks && width <= p[LOCAL_WIDTH] &&
           site->device->local_bytes >= (rows + shared) * sizeof(float);
}

/* For walk and spread alike, so that both are one inclusion of the file: tables and gradients are counted. */
static void choose_index(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_extent *log_probs, int64_t labels) {
    const double steps = (double)log_probs->dims[0].actual, batch = (double)log_probs->dims[1].actual;
    const double table = batch * (double)wi_ctc_table_size(log_probs->dims[0].actual, labels);
    wi_kernel_index_type(plan, site, fmax(table, steps * batch * (double)log_probs->dims[2].actual));
}

/* Scratch: each group's codes, then each group's two rows. */
static weft_status walk(const wi_kernel_site *site, wi_kernel_plan *plan, bool table) {
    const wi_extent *x = &site->inputs[WI_CTC_LOG_PROBS];
    const int64_t batch = x->dims[1].actual, labels = site->inputs[WI_CTC_TARGETS].dims[1].actual;
    const int64_t width = wi_ctc_row_width(labels), groups = table ? 2 * batch : batch;
    plan->scratch_bytes = (size_t)(groups * (width + 2 * (site->values[LEAD] + width))) * sizeof(float);
    plan->flops = 16.0 * (double)(groups * x->dims[0].actual) * (double)(2 * labels + 1);
    choose_index(site, plan, x, labels);
    wi_kernel_macro_int(plan, "WEFT_TABLE", table);
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", has_local_rows(site, width));
    const int64_t group = site->device->group;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "walk", groups * group, group);
    for (int i = 0; i < WI_CTC_INPUTS; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, groups * width);
    wi_kernel_faults(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(x->dims[0].actual, x->dims[2].actual, labels, width));
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, site->layouts[WI_CTC_LOG_PROBS].strides[i].actual);
    wi_kernel_int(launch, site->node->attributes->ctc.blank);
    wi_kernel_int(launch, site->node->attributes->ctc.zero_infinity);
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
    const wi_device_profile *const device = site->device;
    return device->item_walks ? wi_divide_up(rows, device->units * device->items_a_unit) : 1;
}

static void add_chain(
    const wi_kernel_site *site, wi_kernel_plan *plan, int64_t items, int64_t labels, int64_t size) {
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "chain", items, site->device->group);
    wi_kernel_input(launch, WI_CTC_SPREAD_TARGETS);
    wi_kernel_input(launch, WI_CTC_SPREAD_TARGET_LENGTHS);
    wi_kernel_input(launch, WI_CTC_SPREAD_TABLE);
    wi_kernel_scratch(launch, 0);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(items));
    wi_kernel_int(launch, labels);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(size));
}

static weft_status spread_kernel(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_extent *y = &site->result;
    const int64_t steps = y->dims[0].actual, batch = y->dims[1].actual, rows = steps * batch;
    const int64_t labels = site->inputs[WI_CTC_SPREAD_TARGETS].dims[1].actual;
    const int64_t an_item = rows_an_item(site, rows), items = wi_divide_up(rows, an_item);
    plan->flops = 8.0 * (double)rows * (double)(2 * labels + 1);
    plan->scratch_bytes = (size_t)(batch * labels) * sizeof(int32_t);
    choose_index(site, plan, y, labels);
    wi_kernel_macro_int(plan, "WEFT_TABLE", 1);
    /* as the walk has it, so that both are one inclusion of the file */
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", has_local_rows(site, wi_ctc_row_width(labels)));
    if (!site->device->item_walks)
        add_chain(site, plan, batch * labels, labels, wi_ctc_table_size(steps, labels));
    const int64_t group = site->device->group;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "spread", items * group, group);
    for (int i = 0; i < WI_CTC_SPREAD_INPUTS; i++) wi_kernel_input(launch, i);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(rows, an_item, batch));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(steps, y->dims[2].actual, labels, wi_ctc_row_width(labels),
                               site->node->attributes->ctc.blank));
    return WEFT_OK;
}

static const wi_implementation wi_ctc_alone_kernel = {.name = "ctc",
    .file = "ctc.cl",
    .parameters = parameters,
    .variants = variants,
    .ops = {&wi_op_ctc_alone},
    .prepare = alone_kernel};
static const wi_implementation wi_ctc_table_kernel = {.name = "ctc_table",
    .file = "ctc.cl",
    .parameters = parameters,
    .variants = variants,
    .ops = {&wi_op_ctc_table},
    .prepare = table_kernel};
static const wi_implementation wi_ctc_gradient_kernel = {.name = "ctc_gradient",
    .file = "ctc.cl",
    .parameters = parameters,
    .variants = variants,
    .ops = {&wi_op_ctc_gradient},
    .prepare = spread_kernel};

const wi_implementation *const wi_loss_family[] = {
    &wi_ctc_alone_kernel, &wi_ctc_table_kernel, &wi_ctc_gradient_kernel, NULL};
