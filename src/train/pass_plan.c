/* The plans of a pass and the sums of its accuracy, which divided passes use, too (contract in pass.h). */
#include "cl/context.h"
#include "plan/compiled_plan.h"
#include "train/pass.h"

weft_status wi_pass_create_plan(const wi_pass *pass, weft_plan **plan, int device,
    weft_tensor *const *outputs, size_t count, size_t examples) {
    *plan = NULL;
    if (pass->feed.waits) return WEFT_OK; /* planned when a dataset tells the length */
    /* Kernels that only validation needs are compiled late, so that training begins earlier. */
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)examples,
        .inference = pass->inference, .memory_limit = pass->memory_limit, .compile_late = pass->inference,
        .length = pass->feed.length};
    if (device == 0) return weft_plan_create(plan, outputs, count, &options);
    const weft_context *const context = outputs[0]->graph->context;
    const wi_plan_devices devices = {.of = &context->devices[device], .count = 1};
    return wi_plan_create_on(plan, outputs, count, &options, &devices);
}

double *wi_pass_accuracy_sums(const wi_pass *pass) {
    size_t count;
    return pass->counts ? wi_metric_sums(pass->measures.items[pass->measures.count - 1].state, &count) : NULL;
}
