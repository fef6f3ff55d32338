/* Plans that tests damage on purpose (contract in broken_plan.h). */
#include "support/broken_plan.h"

/* The plan has products, ops with their own kernels, reductions that are divided among work-groups, assignments, and scalars. */
enum { OUTPUTS = 9 };

static weft_plan *make_plan(weft_graph *graph) {
    weft_plan *plan = NULL;
    weft_tensor *outputs[OUTPUTS];
    size_t updates = 0;
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 3, 40, 40);
    weft_tensor *const maps = weft_relu(weft_conv2d(image, 8, 3));
    weft_tensor *const hidden = weft_relu(weft_linear(weft_flatten(weft_max_pool2d(maps, 2)), 24));
    weft_tensor *const scores = weft_linear(hidden, 10);
    const weft_optimizer adam = weft_adam(1e-3f);
    outputs[0] = weft_cross_entropy(scores, weft_input(graph, "label", WEFT_I32));
    outputs[1] = weft_softmax(scores, 1);
    outputs[2] = weft_sum(image);
    assert_weft_ok(weft_minimize(outputs[0], &adam, outputs + 3, OUTPUTS - 3, &updates));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 16};
    assert_weft_ok(weft_plan_create(&plan, outputs, 3 + updates, &options));
    return plan;
}

static void check(const breakage *own, void (*repair)(weft_plan *plan)) {
    weft_graph *const graph = test_graph();
    weft_plan *const plan = make_plan(graph);
    for (int pass = 0; pass < WI_PASSES; pass++) assert_weft_ok(wi_verify_pass(plan, (wi_plan_pass)pass));
    own->damage(plan);
    assert_weft_fails(WEFT_ERROR_INTERNAL, wi_verify_pass(plan, own->pass), "plan verifier: ", own->line,
        wi_pass_name(own->pass));
    if (repair) repair(plan);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

void broken_plan_check(const breakage *breakages, size_t count, void (*repair)(weft_plan *plan)) {
    for (size_t i = 0; i < count; i++) check(&breakages[i], repair);
}

wi_step *broken_plan_step(weft_plan *plan, wi_step_kind kind) {
    for (size_t i = 0; i < plan->partition.step_count; i++)
        if (plan->partition.steps[i]->kind == kind) return plan->partition.steps[i];
    fail_msg("no step of kind %d", (int)kind);
    return NULL;
}

wi_step *broken_plan_loop(weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        wi_step *const step = plan->partition.steps[i];
        const wi_loop *const loop = &plan->loops.of[i];
        const wi_operand *const last = &loop->operands[loop->operand_count - 1];
        if (step->kind == WI_STEP_LOOP && step->member_count > 2 && !loop->operands[0].is_output &&
            loop->operands[0].value >= 0 && last->is_output)
            return step;
    }
    fail_msg("no loop of several members");
    return NULL;
}
