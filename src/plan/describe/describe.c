/* Describes a plan as text and as JSON (weft_plan_describe, weft_plan_get_info). */
#include "cl/opened_device.h"
#include "kernels/candidates.h"
#include "plan/compiled_plan.h"
#include <cjson/cJSON.h>

weft_status weft_plan_get_info(const weft_plan *plan, weft_plan_info *info) {
    if (!plan || !info) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_get_info: plan or info is NULL");
    *info = plan->info;
    return WEFT_OK;
}

void wi_step_append_ops(const weft_plan *plan, const wi_step *step, wi_text *text) {
    for (int i = 0; i < step->member_count; i++) {
        const wi_value *value = &plan->partition.values[step->members[i]];
        const char *name = value->member.copy_of >= 0 ? "copy"
                           : value->member.expression ? value->member.expression->op->name
                                                      : value->node->op->name;
        wi_text_append(text, i ? "+%s" : "%s", name);
    }
}

const char *wi_step_kind_name(const weft_plan *plan, const wi_step *step) {
    if (step->kind == WI_STEP_PRODUCT) return "product";
    if (step->kind == WI_STEP_KERNEL) return "kernel";
    if (step->kind == WI_STEP_TRANSFER) return "transfer";
    const wi_layout_conversions changes = wi_count_layout_conversions(&plan->loops, step);
    if (step->only_moves) return changes.to_last + changes.to_first ? "layout conversion" : "move";
    return step->reduced ? "reduce" : "map";
}

const char *wi_step_implementation_name(const weft_plan *plan, const wi_step *step) {
    if (step->kind == WI_STEP_TRANSFER) {
        wi_device *const *of = plan->request.devices.of;
        return of[wi_transfer_from(&plan->partition, step)]->cl == of[step->device]->cl ? "queue" : "host";
    }
    return step->selection ? step->selection->chosen->name : "generated";
}

/* ---- text ---- */

static const char *variant_separator(const wi_candidate *candidate) {
    return candidate->implementation->variants && candidate->implementation->variants[1].name ? "/" : "";
}

/* "conv_gpu/small": implementation, and variant if there is more than one. */
static void append_candidate(const wi_candidate *candidate, wi_text *text) {
    const char *const separator = variant_separator(candidate);
    wi_text_append(text, "%s%s%s", candidate->implementation->name, separator,
        *separator ? candidate->variant->name : "");
}

/* The candidates of the step; those that refused the site come last. */
static void describe_candidates(const wi_selection *selection, wi_text *text) {
    const char *separator = "      ";
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < selection->count; i++) {
            const wi_candidate *const candidate = &selection->candidates[i];
            if ((candidate->verdict == WI_VERDICT_REFUSED) != (pass == 1)) continue;
            wi_text_append(text, "%s", separator);
            append_candidate(candidate, text);
            if (candidate->seconds > 0.0)
                wi_text_append(
                    text, " %.1f us%s", candidate->seconds * 1e6, candidate->tuned ? " measured" : "");
            wi_text_append(text, " %s", wi_verdict_name(candidate->verdict));
            separator = ", ";
        }
    }
    wi_text_append(text, "\n");
}

/* Appends the device of the step if the plan has several devices. */
static void describe_device(const weft_plan *plan, const wi_step *step, wi_text *text) {
    const wi_partition *p = &plan->partition;
    if (plan->request.devices.count == 1) return;
    if (!wi_changes_device(p, step)) {
        wi_text_append(text, "  [device %d]", step->device);
        return;
    }
    wi_text_append(text, "  [device %d -> device %d, %zu bytes, %.1f us]", wi_transfer_from(p, step),
        step->device, wi_value_bytes(&p->values[step->members[0]]),
        1e6 * plan->schedule.of[step->index].seconds);
}

static void describe_step(const weft_plan *plan, size_t index, wi_text *text) {
    const wi_run *run = &plan->runs.runs[index];
    const wi_step *step = run->step;
    const wi_step_schedule *schedule = &plan->schedule.of[step->index];
    char shape[WI_SHAPE_TEXT];
    wi_text_append(text, "%4zu  %-8s%-14s%2d launch%s  %10.0f flop %10.0f byte  %s  ", index,
        wi_step_kind_name(plan, step), wi_step_implementation_name(plan, step), schedule->launch_count,
        schedule->launch_count == 1 ? "  " : "es", schedule->flops, schedule->bytes_moved,
        wi_shape_print(NULL, &step->shape, shape));
    wi_step_append_ops(plan, step, text);
    const wi_layout_conversions changes = wi_count_layout_conversions(&plan->loops, step);
    if (changes.to_last) wi_text_append(text, "  [%d (N, C, ...) -> channels-last]", changes.to_last);
    if (changes.to_first) wi_text_append(text, "  [%d channels-last -> (N, C, ...)]", changes.to_first);
    if (run->is_repeated) wi_text_append(text, "  [rematerialised]");
    describe_device(plan, step, text);
    wi_text_append(text, "\n");
    if (step->selection) describe_candidates(step->selection, text);
}

/* The cost of a memory limit. In the list of steps, those that run again are marked. */
static void describe_rematerialised(const weft_plan *plan, wi_text *text) {
    const weft_plan_info *info = &plan->info;
    if (info->rematerialised_bytes == 0) return;
    wi_text_append(text,
        "  rematerialisation saves %zu bytes: %zu steps run again, with %.0f more floating-point operations "
        "and %.0f more bytes moved, which takes an estimated %.3f of %.3f ms\n",
        info->rematerialised_bytes, info->rematerialised_steps, info->rematerialised_flops,
        plan->runs.bytes_moved, 1e3 * info->rematerialised_seconds,
        1e3 * (plan->runs.whole_seconds + info->rematerialised_seconds));
}

static void describe_devices(const weft_plan *plan, wi_text *text) {
    const wi_plan_devices *devices = &plan->request.devices;
    for (int d = 0; d < devices->count && devices->count > 1; d++)
        wi_text_append(text, "  device %d: %s, %zu bytes of intermediates and inputs\n", d,
            devices->of[d]->info.name, plan->placement.device_bytes[d]);
    if (devices->count > 1)
        wi_text_append(
            text, "  %zu transfers between devices, %zu bytes\n", plan->transfers, plan->transfer_bytes);
}

static void describe_text(const weft_plan *plan, wi_text *text) {
    const weft_plan_info *info = &plan->info;
    wi_text_append(
        text, "plan for batch %lld on %s\n", (long long)info->batch, plan->request.devices.of[0]->info.name);
    if (info->micro_batches > 1)
        wi_text_append(text, "large tensors in %lld micro-batches\n", (long long)info->micro_batches);
    wi_text_append(text,
        "  %zu steps, %zu launches, %zu kernels, %zu dtype conversions, %zu layout conversions of images\n",
        info->steps, info->launches, info->kernels, info->conversions, info->layout_conversions);
    wi_text_append(
        text, "  %.0f floating-point operations, %.0f bytes moved\n", info->flops, info->bytes_moved);
    wi_text_append(text,
        "  %zu bytes: %zu for intermediates (at least %zu are needed), %zu for inputs; in addition, %zu for "
        "the graph's parameters and states\n",
        info->total_bytes, info->arena_bytes, info->arena_lower_bound, info->io_bytes, info->variable_bytes);
    describe_rematerialised(plan, text);
    if (info->host_bytes > 0)
        wi_text_append(text,
            "  %zu bytes of parameters and states are in host memory; a run copies %zu bytes of them\n",
            info->host_bytes, info->loaded_bytes);
    describe_devices(plan, text);
    for (size_t i = 0; i < plan->runs.run_count; i++) describe_step(plan, i, text);
}

/* ---- JSON ---- */

static bool add_number(cJSON *object, const char *name, double number) {
    return cJSON_AddNumberToObject(object, name, number) != NULL;
}

static bool add_candidate(const wi_candidate *candidate, cJSON *candidates) {
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(candidates, object)) {
        cJSON_Delete(object);
        return false;
    }
    return cJSON_AddStringToObject(object, "name", candidate->implementation->name) &&
           cJSON_AddStringToObject(object, "variant", candidate->variant->name) &&
           add_number(object, "seconds", candidate->seconds) &&
           cJSON_AddBoolToObject(object, "measured", candidate->tuned) &&
           cJSON_AddStringToObject(object, "verdict", wi_verdict_name(candidate->verdict));
}

/* Adds nothing for a step without a selection. */
static bool add_candidates(const wi_selection *selection, cJSON *object) {
    cJSON *candidates = selection ? cJSON_AddArrayToObject(object, "candidates") : NULL;
    for (int i = 0; candidates && i < selection->count; i++) {
        if (!add_candidate(&selection->candidates[i], candidates)) return false;
    }
    return !selection || candidates;
}

static bool add_step(const weft_plan *plan, const wi_run *run, cJSON *steps) {
    const wi_step *step = run->step;
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(steps, object)) {
        cJSON_Delete(object);
        return false;
    }
    char shape[WI_SHAPE_TEXT];
    wi_text ops;
    wi_text_init(&ops, plan->request.allocator);
    wi_step_append_ops(plan, step, &ops);
    const wi_layout_conversions changes = wi_count_layout_conversions(&plan->loops, step);
    const wi_step_schedule *schedule = &plan->schedule.of[step->index];
    const bool added =
        !ops.failed && cJSON_AddStringToObject(object, "kind", wi_step_kind_name(plan, step)) &&
        cJSON_AddStringToObject(object, "implementation", wi_step_implementation_name(plan, step)) &&
        cJSON_AddStringToObject(object, "ops", ops.data) &&
        cJSON_AddStringToObject(object, "shape", wi_shape_print(NULL, &step->shape, shape)) &&
        add_number(object, "device", step->device) &&
        add_number(object, "launches", schedule->launch_count) &&
        add_number(object, "to_channels_last", changes.to_last) &&
        add_number(object, "to_channels_first", changes.to_first) &&
        add_number(object, "flops", schedule->flops) &&
        add_number(object, "bytes_moved", schedule->bytes_moved) &&
        cJSON_AddBoolToObject(object, "rematerialised", run->is_repeated) &&
        add_candidates(step->selection, object);
    wi_text_clear(&ops);
    return added;
}

static bool fill_json(const weft_plan *plan, cJSON *root) {
    const weft_plan_info *info = &plan->info;
    bool added = cJSON_AddStringToObject(root, "device", plan->request.devices.of[0]->info.name) &&
                 add_number(root, "batch", (double)info->batch) &&
                 add_number(root, "launches", (double)info->launches) &&
                 add_number(root, "kernels", (double)info->kernels) &&
                 add_number(root, "conversions", (double)info->conversions) &&
                 add_number(root, "layout_conversions", (double)info->layout_conversions) &&
                 add_number(root, "flops", info->flops) &&
                 add_number(root, "bytes_moved", info->bytes_moved) &&
                 add_number(root, "arena_bytes", (double)info->arena_bytes) &&
                 add_number(root, "arena_lower_bound", (double)info->arena_lower_bound) &&
                 add_number(root, "io_bytes", (double)info->io_bytes) &&
                 add_number(root, "variable_bytes", (double)info->variable_bytes) &&
                 add_number(root, "total_bytes", (double)info->total_bytes) &&
                 add_number(root, "transfers", (double)plan->transfers) &&
                 add_number(root, "transfer_bytes", (double)plan->transfer_bytes) &&
                 add_number(root, "rematerialised_steps", (double)info->rematerialised_steps) &&
                 add_number(root, "host_bytes", (double)info->host_bytes) &&
                 add_number(root, "loaded_bytes", (double)info->loaded_bytes) &&
                 add_number(root, "rematerialised_bytes", (double)info->rematerialised_bytes) &&
                 add_number(root, "rematerialised_flops", info->rematerialised_flops) &&
                 add_number(root, "rematerialised_seconds", info->rematerialised_seconds);
    cJSON *steps = added ? cJSON_AddArrayToObject(root, "steps") : NULL;
    added = steps != NULL;
    for (size_t i = 0; added && i < plan->runs.run_count; i++)
        added = add_step(plan, &plan->runs.runs[i], steps);
    return added;
}

static weft_status describe_json(const weft_plan *plan, wi_text *text) {
    cJSON *root = cJSON_CreateObject();
    char *printed = root && fill_json(plan, root) ? cJSON_Print(root) : NULL;
    if (printed) wi_text_append(text, "%s\n", printed);
    cJSON_free(printed);
    cJSON_Delete(root);
    if (!printed) WI_FAIL(WEFT_ERROR_MEMORY, "weft_plan_describe: out of memory");
    return WEFT_OK;
}

weft_status weft_plan_describe(
    const weft_plan *plan, weft_format format, char *buffer, size_t capacity, size_t *length) {
    if (!plan || (!buffer && capacity > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_plan_describe: plan or buffer is NULL");
    if (format != WEFT_FORMAT_TEXT && format != WEFT_FORMAT_JSON)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_plan_describe: format is %d, which is not a weft_format", (int)format);
    wi_text text;
    wi_text_init(&text, plan->request.allocator);
    weft_status status = WEFT_OK;
    if (format == WEFT_FORMAT_JSON)
        status = describe_json(plan, &text);
    else
        describe_text(plan, &text);
    if (status == WEFT_OK) status = wi_text_deliver(&text, buffer, capacity, length);
    wi_text_clear(&text);
    return status;
}
