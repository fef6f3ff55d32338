/* Launches of several steps as one: a plan that trains packs weights and adds gradients' parts up in fewer launches, and computes
 * the same bits as one that has them step by step, which a plan for inference does. */
/* test gpu:optimised */
#include "support/fixture.h"

#include "plan/bundles.h"
#include "plan/compiled_plan.h"
#include <string.h>

enum { BATCH = 6, SIDE = 14, CHANNELS = 8, STEPS = 3, IMAGE = BATCH * CHANNELS * SIDE * SIDE };
/* For interpreters of OpenCL. */
enum { REDUCED_BATCH = 1, REDUCED_SIDE = 9, REDUCED_STEPS = 2 };

static int batch(void) {
    return test_reduced() ? REDUCED_BATCH : BATCH;
}

static int side(void) {
    return test_reduced() ? REDUCED_SIDE : SIDE;
}

static int steps(void) {
    return test_reduced() ? REDUCED_STEPS : STEPS;
}

typedef struct training {
    weft_graph *graph;
    weft_tensor *outputs[1 + 16]; /* the loss, updates */
    weft_plan *plan;
    float losses[STEPS];
} training;

/* Some have the same kernel and other sizes. */
static weft_tensor *make_loss(weft_tensor *x) {
    static const int filters[] = {8, 16, 16, 24}, fewer[] = {8, 8, 8, 12};
    for (int i = 0; i < 4; i++) x = weft_tanh(weft_conv2d(x, (test_reduced() ? fewer : filters)[i], 3));
    return weft_mean(weft_square(x));
}

static void begin(training *t, bool inference) {
    const weft_optimizer rule = weft_sgd(0.5f);
    size_t count = 0;
    test_random random = test_random_named("bundles", 1);
    float image[IMAGE];
    const size_t count_of_image = (size_t)(batch() * CHANNELS * side() * side());
    for (size_t i = 0; i < count_of_image; i++) image[i] = (float)test_random_between(&random, -1, 1);
    t->graph = test_graph();
    weft_tensor *const x = weft_input(t->graph, "x", WEFT_F32, CHANNELS, side(), side());
    t->outputs[0] = make_loss(x);
    assert_weft_ok(weft_minimize(t->outputs[0], &rule, t->outputs + 1, 16, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch(), .inference = inference};
    assert_weft_ok(weft_plan_create(&t->plan, t->outputs, 1 + count, &options));
    assert_weft_ok(weft_plan_write(t->plan, x, image, count_of_image * sizeof *image));
}

static void train(training *t) {
    for (int i = 0; i < steps(); i++) {
        assert_weft_ok(weft_plan_run(t->plan));
        assert_weft_ok(weft_plan_read(t->plan, t->outputs[0], &t->losses[i], sizeof t->losses[i]));
    }
}

static void end(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

/* How many launches of steps are in bundles of a kind. */
static int count_bundled(const weft_plan *plan, bool packs) {
    int count = 0;
    for (const wi_bundle *b = plan->schedule.bundles; b; b = b->next)
        count += b->packs == packs ? b->launches * b->count : 0;
    return count;
}

/* How many launches they have become. */
static int count_bundles(const weft_plan *plan) {
    int count = 0;
    for (const wi_bundle *b = plan->schedule.bundles; b; b = b->next) count += b->launches;
    return count;
}

/* What a bundle reads stays where it is until its launches have run. */
static void assert_operands_stay(const weft_plan *plan) {
    const wi_placement *const m = &plan->placement;
    int count = 0;
    for (const wi_bundle *b = plan->schedule.bundles; b; b = b->next) {
        for (const wi_bundled *s = b->steps; s && b->reads; s = s->next) {
            const wi_loop *const loop = &plan->loops.of[s->step];
            for (int o = 0; o < loop->operand_count; o++, count++) {
                const int value = loop->operands[o].value;
                const int place = wi_place_of_value(&plan->runs, &plan->runs.runs[s->step], value, NULL);
                const wi_place *const root = &m->places[wi_place_root(m, place, NULL)];
                assert_true(root->keep || root->kind != WI_STORAGE_ARENA || root->last >= b->last);
            }
        }
    }
    print_message("%d operands of launches that wait\n", count);
}

static void test_the_same_bits(void **state) {
    training bundled, plain;
    weft_plan_info info, other;
    (void)state;
    begin(&bundled, false);
    begin(&plain, true);
    assert_weft_ok(weft_plan_get_info(bundled.plan, &info));
    assert_weft_ok(weft_plan_get_info(plain.plan, &other));
    const int packed = count_bundled(bundled.plan, true), added = count_bundled(bundled.plan, false);
    const int bundles = count_bundles(bundled.plan);
    print_message("%d launches pack, %d end a step, in %d; %zu launches, %zu without\n", packed, added,
        bundles, info.launches, other.launches);
    assert_true(packed >= 2 && added >= 2 && bundles < packed + added);
    assert_int_equal(plain.plan->schedule.bundle_count, 0);
    assert_int_equal(info.launches + (size_t)(packed + added - bundles), other.launches);
    assert_operands_stay(bundled.plan);
    train(&bundled);
    train(&plain);
    assert_true(plain.losses[0] != plain.losses[steps() - 1]);
    assert_memory_equal(bundled.losses, plain.losses, (size_t)steps() * sizeof *plain.losses);
    end(&bundled);
    end(&plain);
}

/* Launches of a step that may be bundled. */
static int count_bundling(const wi_step_code *own) {
    int count = 0;
    for (int k = 0; own->kernel && k < own->kernel->count; k++) count += own->kernel->launches[k]->bundles;
    return count;
}

/* Steps with fewer such launches than others whose piece they have. */
static int count_joined(const weft_plan *plan) {
    const wi_step_code *const of = plan->code.of;
    int count = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        int most = count_bundling(&of[i]);
        for (size_t j = 0; j < plan->partition.step_count && of[i].kernel; j++)
            if (of[j].kernel && of[j].whole.piece == of[i].whole.piece && count_bundling(&of[j]) > most)
                most = count_bundling(&of[j]);
        count += most > count_bundling(&of[i]);
    }
    return count;
}

/* The first layer's weights have few tiles of their gradient, and so a launch that adds splits up; those of the second have
 * enough. Nothing is compiled: only the text counts. */
static void test_one_template(void **state) {
    weft_tensor *outputs[1 + 8];
    weft_graph *const graph = test_graph();
    weft_plan *plan = NULL;
    const weft_optimizer rule = weft_sgd(0.5f);
    size_t count = 0;
    (void)state;
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 3, 32, 32);
    x = weft_conv2d(weft_tanh(weft_max_pool2d(weft_conv2d(x, 32, 3), 2)), 32, 5);
    outputs[0] = weft_mean(weft_square(x));
    assert_weft_ok(weft_minimize(outputs[0], &rule, outputs + 1, 8, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 16, .compile_late = true};
    assert_weft_ok(weft_plan_create(&plan, outputs, 1 + count, &options));
    const int joined = count_joined(plan);
    print_message("%d steps have a template with kernels of others' bundles\n", joined);
    if (weft_context_device(test_context())->device_class == WEFT_CLASS_GPU) assert_int_equal(joined, 1);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_bits), cmocka_unit_test(test_one_template)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
