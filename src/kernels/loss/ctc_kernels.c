/* Connectionist temporal classification. See cl_kernels/loss/ctc.cl. */
#include "base/integers.h"
#include "kernels/index_type.h"
#include "ops/loss/ctc.h"
#include <math.h>

/* HEAD: elements of a table (ctc.cl) before its rows. LEAD: elements of a row of states before the first state. LOCAL_WIDTH: the
 * most states that a row in local memory can have. */
enum { HEAD, LEAD, LOCAL_WIDTH };

static const char *const parameters[] = {
    [HEAD] = "WEFT_CTC_HEAD", [LEAD] = "WEFT_CTC_LEAD", [LOCAL_WIDTH] = "WEFT_CTC_LOCAL_WIDTH", NULL};

static const wi_variant variants[] = {{"f32", {[HEAD] = WI_CTC_HEAD, [LEAD] = 2, [LOCAL_WIDTH] = 1024}}, {0}};

/* ---- the losses ---- */

/* Are the two rows of a work-group that walks through an example in local memory? */
static bool has_local_rows(const wi_kernel_site *site, int64_t width) {
    const int *const p = site->values;
    const size_t rows = 2 * (size_t)(p[LEAD] + p[LOCAL_WIDTH]), shared = 2 * (size_t)site->device->group;
    return !site->device->item_walks && width <= p[LOCAL_WIDTH] &&
           site->device->local_bytes >= (rows + shared) * sizeof(float);
}

/* Chooses one index type for both kernels, by the larger of the table and the gradient, so that a program includes the file only
 * once. */
static void choose_index(
    const wi_kernel_site *site, wi_kernel_plan *plan, const wi_extent *log_probs, int64_t labels) {
    const double steps = (double)log_probs->dims[0].actual, batch = (double)log_probs->dims[1].actual;
    const double table = batch * (double)wi_ctc_table_size(log_probs->dims[0].actual, labels);
    wi_kernel_index_type(plan, site, fmax(table, steps * batch * (double)log_probs->dims[2].actual));
}

/* Scratch memory has the codes of all groups, then the two rows of each group. */
static weft_status prepare_loss(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const bool table = site->node->op == &wi_op_ctc_table;
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
    wi_kernel_inputs(launch, WI_CTC_INPUTS);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_scratch(launch, groups * width);
    wi_kernel_faults(launch);
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(x->dims[0].actual, x->dims[2].actual, labels, width));
    for (int i = 0; i < 3; i++) wi_kernel_long(launch, site->layouts[WI_CTC_LOG_PROBS].strides[i].actual);
    wi_kernel_ints(launch,
        WI_KERNEL_NUMBERS(site->node->attributes->ctc.blank, site->node->attributes->ctc.zero_infinity));
    return WEFT_OK;
}

/* ---- the gradient ---- */

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

static weft_status prepare_gradient(const wi_kernel_site *site, wi_kernel_plan *plan) {
    const wi_extent *y = &site->result;
    const int64_t steps = y->dims[0].actual, batch = y->dims[1].actual, rows = steps * batch;
    const int64_t labels = site->inputs[WI_CTC_SPREAD_TARGETS].dims[1].actual;
    const int64_t walkers = site->device->units * site->device->items_a_unit;
    const int64_t an_item = site->device->item_walks ? wi_divide_up(rows, walkers) : 1,
                  items = wi_divide_up(rows, an_item);
    plan->flops = 8.0 * (double)rows * (double)(2 * labels + 1);
    plan->scratch_bytes = (size_t)(batch * labels) * sizeof(int32_t);
    choose_index(site, plan, y, labels);
    wi_kernel_macro_int(plan, "WEFT_TABLE", 1);
    wi_kernel_macro_int(plan, "WEFT_LOCAL_ROWS", has_local_rows(site, wi_ctc_row_width(labels)));
    if (!site->device->item_walks)
        add_chain(site, plan, batch * labels, labels, wi_ctc_table_size(steps, labels));
    const int64_t group = site->device->group;
    wi_kernel_launch *launch = wi_kernel_launch_1d(plan, "spread", items * group, group);
    wi_kernel_inputs(launch, WI_CTC_SPREAD_INPUTS);
    wi_kernel_result(launch);
    wi_kernel_scratch(launch, 0);
    wi_kernel_indices(plan, launch, WI_KERNEL_NUMBERS(rows, an_item, batch));
    wi_kernel_ints(launch, WI_KERNEL_NUMBERS(steps, y->dims[2].actual, labels, wi_ctc_row_width(labels),
                               site->node->attributes->ctc.blank));
    return WEFT_OK;
}

#define RECORD(spelling, op, how)                                                                            \
    {                                                                                                        \
        .name = (spelling), .file = "ctc.cl", .parameters = parameters, .variants = variants,                \
        .ops = {&(op)}, .prepare = (how)                                                                     \
    }
static const wi_implementation wi_ctc_alone_kernel = RECORD("ctc", wi_op_ctc_alone, prepare_loss);
static const wi_implementation wi_ctc_table_kernel = RECORD("ctc_table", wi_op_ctc_table, prepare_loss);
static const wi_implementation wi_ctc_gradient_kernel =
    RECORD("ctc_gradient", wi_op_ctc_gradient, prepare_gradient);

const wi_implementation *const wi_loss_family[] = {
    &wi_ctc_alone_kernel, &wi_ctc_table_kernel, &wi_ctc_gradient_kernel, NULL};
