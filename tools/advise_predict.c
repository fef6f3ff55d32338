/* See advise_predict.h. A plan is made, and thrown away: its estimates are what is wanted. */
#include "advise_predict.h"
#include "base/platform.h"
#include "cl/context.h"
#include "cl/device_open.h"
#include "console.h"
#include "kernels/candidates.h"
#include "plan/compiled_plan.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>

/* What the chosen kernel expects for itself, where it says so; else the least that arithmetic and memory allow. */
static double step_seconds(const weft_plan *plan, int index) {
    const double least = plan->schedule.of[index].seconds;
    const wi_selection *const selection = plan->partition.steps[index]->selection;
    for (int i = 0; selection && i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->implementation == selection->chosen && candidate->variant == selection->variant)
            return candidate->seconds > least ? candidate->seconds : least;
    }
    return least;
}

static void add_up(advise_prediction *expected, const bench_model *model) {
    const weft_plan *const plan = model->plan;
    weft_plan_info info = {0};
    expected->seconds = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) expected->seconds += step_seconds(plan, (int)i);
    (void)weft_plan_get_info(plan, &info);
    expected->bytes = (double)info.total_bytes + (double)info.variable_bytes;
    expected->gradient_bytes = bench_parameter_bytes(model->graph);
}

/* The class is read as the device is opened; what the user's environment says comes back. */
static weft_status open_as(weft_context **context, const advise_figures *figures) {
    static const char variable[] = "WEFT_DEVICE_CLASS";
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT, .device = figures->selector};
    const char *const before = wi_environment(variable);
    char kept[64] = "";
    if (before) snprintf(kept, sizeof kept, "%s", before);
    if (figures->known) console_set_variable(variable, "gpu");
    const weft_status status = weft_context_create(context, &options);
    console_set_variable(variable, before ? kept : NULL);
    return status;
}

weft_status advise_predict(
    advise_prediction *expected, const advise_figures *figures, const bench_network *network, int64_t batch) {
    weft_context *context = NULL;
    bench_model model = {0};
    const bench_setting setting = {.batch = batch};
    WI_TRY(open_as(&context, figures));
    wi_device *const device = wi_context_device(context);
    if (figures->known)
        wi_device_estimate_as_known(device, figures->known);
    else
        wi_device_estimate_as(device, figures->units, figures->flops, figures->bandwidth);
    const weft_status status = bench_model_create(&model, context, network, &setting);
    if (status == WEFT_OK) add_up(expected, &model);
    bench_model_clear(&model);
    weft_context_release(context);
    return status;
}
