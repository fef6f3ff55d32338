/* Creates a plan for a program. Assignments that come after all others (weft_assign_after) are a second plan, which runs after the
 * first: each of their values then reads what the first plan left in the variables, whichever assignments that plan does in place. */
#include "base/log.h"
#include "base/options.h"
#include "cl/context.h"
#include "ops/loss_scale.h"
#include "ops/op_descriptors.h"
#include "plan/compiled_plan.h"

/* ---- devices ---- */

bool wi_updates_parameters(const weft_tensor *output) {
    while (output->op == &wi_op_assign_all) output = output->inputs[0];
    if (output->op->kind != WI_ASSIGN) return false;
    const weft_tensor *variable = output->inputs[0];
    while (variable->op->kind == WI_VIEW) variable = variable->inputs[0];
    return variable->op == &wi_op_flat || (variable->variable && variable->variable->trainable);
}

/* May the devices of the context share the batch of the plan? They do in training, unless steps have to run again to meet a limit of the plan. */
static bool may_share_batch(weft_tensor *const *outputs, size_t count, const weft_plan_options *given) {
    weft_plan_options options;
    bool trains = false;
    for (size_t i = 0; outputs && i < count; i++) {
        if (!outputs[i] || weft_graph_status(outputs[i]->graph) != WEFT_OK) return false;
        trains = trains || wi_updates_parameters(outputs[i]);
    }
    const int devices = trains ? outputs[0]->graph->context->device_count : 1;
    if (devices == 1 || !given) return false;
    if (WI_OPTIONS(&options, given, "weft_plan_create", WEFT_PLAN_OPTIONS_INIT) != WEFT_OK) return false;
    return options.batch >= devices && !options.inference && options.memory_limit == 0;
}

weft_status wi_plan_create_unowned(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    if (!may_share_batch(outputs, count, options))
        return wi_plan_create_on(plan, outputs, count, options, NULL);
    const weft_context *const context = outputs[0]->graph->context;
    const wi_plan_devices all = {.of = context->devices, .count = context->device_count, .share_batch = true};
    const weft_status status = wi_plan_create_on(plan, outputs, count, options, &all);
    if (status == WEFT_OK) return WEFT_OK;
    wi_log_line(&context->log, WEFT_LOG_INFO, "a plan runs on the first device alone: %s", weft_last_error());
    return wi_plan_create_on(plan, outputs, count, options, NULL);
}

/* ---- assignments after all others ---- */

typedef struct halves {
    weft_tensor **first, **after;
    size_t first_count, after_count;
} halves;

static bool is_after(const weft_tensor *output) {
    return output && output->op == &wi_op_assign_after;
}

/* If an overflow of loss scaling skips the update, it also skips these assignments. */
static weft_tensor *assignment_of(const weft_tensor *output, bool guarded) {
    weft_tensor *const variable = output->inputs[0], *const value = output->inputs[1];
    return weft_assign(variable, guarded ? wi_unless_overflow(variable, value) : value);
}

static weft_status split(halves *h, weft_tensor *const *outputs, size_t count) {
    bool guarded = false;
    for (size_t i = 0; i < count; i++)
        if (!is_after(outputs[i])) h->first[h->first_count++] = outputs[i];
    WI_TRY(wi_checks_gradients(h->first, h->first_count, &guarded));
    for (size_t i = 0; i < count; i++)
        if (is_after(outputs[i])) h->after[h->after_count++] = assignment_of(outputs[i], guarded);
    return weft_graph_status(outputs[0]->graph);
}

/* Fails if a value that the second plan assigns depends on an input, because inputs belong to the first plan. */
static weft_status check_sources(const weft_plan *after) {
    const wi_partition *const p = &after->partition;
    for (size_t i = 0; i < p->value_count; i++)
        if (p->values[i].node->op == &wi_op_input)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "weft_assign_after: the value depends on the input '%s', but may depend only on parameters, "
                "states and constants: store what is needed of the input in a state with weft_assign, and "
                "use the state",
                weft_tensor_name(p->values[i].node));
    return WEFT_OK;
}

static void add_info(weft_plan_info *to, const weft_plan_info *from) {
    to->steps += from->steps;
    to->launches += from->launches;
    to->kernels += from->kernels;
    to->conversions += from->conversions;
    to->layout_conversions += from->layout_conversions;
    to->flops += from->flops;
    to->bytes_moved += from->bytes_moved;
    to->arena_bytes += from->arena_bytes;
    to->arena_lower_bound += from->arena_lower_bound;
    to->io_bytes += from->io_bytes;
    to->total_bytes += from->total_bytes;
}

/* Creates both plans within one memory limit. */
static weft_status create_both(weft_plan **plan, const halves *h, const weft_plan_options *given) {
    weft_plan_options options;
    weft_plan *after = NULL;
    WI_TRY(WI_OPTIONS(&options, given, "weft_plan_create", WEFT_PLAN_OPTIONS_INIT));
    weft_status status = wi_plan_create_unowned(&after, h->after, h->after_count, given);
    if (status == WEFT_OK) status = check_sources(after);
    const size_t taken = status == WEFT_OK ? after->info.total_bytes : 0;
    if (options.memory_limit)
        options.memory_limit = options.memory_limit > taken ? options.memory_limit - taken : 1;
    if (status == WEFT_OK) status = wi_plan_create_unowned(plan, h->first, h->first_count, &options);
    if (status != WEFT_OK) {
        weft_plan_release(after);
        return status;
    }
    (*plan)->after = after;
    add_info(&(*plan)->info, &after->info);
    return WEFT_OK;
}

static weft_status create(weft_plan **plan, weft_tensor *const *outputs, size_t count,
    const weft_plan_options *options, halves *h) {
    WI_TRY(split(h, outputs, count));
    return h->first_count > 0 ? create_both(plan, h, options)
                              : wi_plan_create_unowned(plan, h->after, h->after_count, options);
}

static weft_status create_with_after(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    bool any = false, all = plan && outputs;
    for (size_t i = 0; all && i < count; i++) {
        any = any || is_after(outputs[i]);
        all = outputs[i] != NULL;
    }
    if (!any || !all) return wi_plan_create_unowned(plan, outputs, count, options);
    const weft_allocator *const allocator = outputs[0]->graph->context->allocator;
    halves h = {wi_allocate_array(allocator, count, sizeof *h.first),
        wi_allocate_array(allocator, count, sizeof *h.after), 0, 0};
    *plan = NULL;
    const weft_status status =
        h.first && h.after ? create(plan, outputs, count, options, &h) : WEFT_ERROR_MEMORY;
    wi_release(allocator, h.first);
    wi_release(allocator, h.after);
    return status;
}

weft_status weft_plan_create(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options) {
    WI_TRY(create_with_after(plan, outputs, count, options));
    (*plan)->owns_graph = true;
    weft_graph_retain((*plan)->request.graph);
    return WEFT_OK;
}
