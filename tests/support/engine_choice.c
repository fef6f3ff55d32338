/* See engine_choice.h. */
#include "support/engine_choice.h"
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "plan/compiled_plan.h"
#include <stdlib.h>
#include <string.h>

weft_context *engine_context(const char *engines, const char *cache) {
    weft_context *context = NULL;
    setenv("WEFT_MATRIX_ENGINES", engines, 1);
    assert_weft_ok(weft_context_create(
        &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = cache}));
    unsetenv("WEFT_MATRIX_ENGINES");
    return context;
}

bool engine_test_skipped(size_t local_bytes) {
    const wi_device *const device = wi_context_device(test_context());
    if (device->caps.device_class != WEFT_CLASS_GPU) {
        print_message("skipped: the kernels are of class gpu\n");
        return true;
    }
    if (device->profile.local_bytes >= local_bytes) return false;
    print_message("skipped: the device has less local memory than the engine's kernels take\n");
    return true;
}

const char *engine_of_device(void) {
    static const struct {
        unsigned engine;
        const char *name;
    } engines[] = {{WI_ENGINE_MMA, "mma"}, {WI_ENGINE_WMMA, "wmma"}, {WI_ENGINE_WMMA12, "wmma12"},
        {WI_ENGINE_MFMA, "mfma"}, {WI_ENGINE_XMX8, "xmx8"}, {WI_ENGINE_XMX16, "xmx16"}};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (wi_context_device(test_context())->caps.engines & engines[i].engine) return engines[i].name;
    print_message("skipped: no engine of a GPU, and no model of one (WEFT_MATRIX_ENGINES=model)\n");
    return NULL;
}

bool plan_has_step(const weft_plan *plan, const char *implementation) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const char *const name = wi_step_implementation_name(plan, plan->partition.steps[i]);
        if (name && strcmp(name, implementation) == 0) return true;
    }
    return false;
}
