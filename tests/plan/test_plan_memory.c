/* Plans and memory: the figures that a plan tells, limits, steps that allocate nothing, the embedder's memory. */
/* test once */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/program.h"
#include "support/small_net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_memory_is_told_exactly(void **state) {
    (void)state;
    const small_net n = small_net_in(test_context());
    weft_plan_release(small_net_plan(n.y, 1)); /* the parameters have memory now */
    size_t before, during, after, peak;
    weft_context_memory(n.context, &before, &peak);
    weft_plan *const plan = small_net_plan(n.y, 100);
    weft_context_memory(n.context, &during, NULL);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_int_equal(info.batch, 100);
    assert_int_equal(during - before, info.total_bytes);
    assert_int_equal(info.total_bytes, info.arena_bytes + info.io_bytes);
    assert_int_equal(info.io_bytes, 100 * SMALL_NET_IN * sizeof(float));
    assert_true(info.variable_bytes >= (SMALL_NET_OUT * SMALL_NET_IN + SMALL_NET_OUT) * sizeof(float));
    assert_true(info.arena_bytes >= 100 * SMALL_NET_OUT * sizeof(float));
    assert_true(info.flops >= 2.0 * 100 * SMALL_NET_OUT * SMALL_NET_IN &&
                info.flops < 100 * (2 * SMALL_NET_OUT * SMALL_NET_IN + 20 * SMALL_NET_OUT));
    assert_true(info.launches >= 1 && info.steps >= 1 && info.kernels >= 1 && info.kernels <= info.launches);
    weft_plan_release(plan); /* at most half of it is kept */
    weft_context_memory(n.context, &after, NULL);
    assert_in_range(after, before, before + info.total_bytes / 2);
    weft_graph_release(n.graph);
}

static void test_limit_of_a_plan(void **state) {
    (void)state;
    const small_net n = small_net_in(test_context());
    weft_plan *plan = small_net_plan(n.y, 64);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    size_t before, after, peak_before, peak_after;
    weft_context_memory(n.context, &before, &peak_before);
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 64, .memory_limit = info.total_bytes - 1};
    char needed[32], limit[32];
    snprintf(needed, sizeof needed, "%zu", info.total_bytes);
    snprintf(limit, sizeof limit, "%zu", options.memory_limit);
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, weft_plan_create(&plan, &n.y, 1, &options), needed, limit);
    assert_null(plan);
    weft_context_memory(n.context, &after, &peak_after);
    assert_int_equal(after, before);
    assert_int_equal(peak_after, peak_before);
    options.memory_limit++;
    assert_weft_ok(weft_plan_create(&plan, &n.y, 1, &options));
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

/* More results of one space than a kernel can write: each read by the caller, and by those after it. */
static void test_many_results(void **state) {
    (void)state;
    enum { MANY = 70, SIZE = 5 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, SIZE);
    weft_tensor *outputs[2 * MANY];
    const float values[SIZE] = {-2, -0.5f, 0, 1, 3};
    float got[SIZE];
    weft_tensor *last = weft_square(x);
    for (int i = 0; i < MANY; i++) {
        outputs[i] = weft_mul(weft_square(x), weft_constant(graph, WEFT_F32, i + 2));
        outputs[MANY + i] = last = weft_add(last, outputs[i]);
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2 * MANY, NULL));
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    int64_t sum = 1;
    for (int i = 0; i < MANY; i++) {
        sum += i + 2;
        for (int which = 0; which < 2; which++) {
            assert_weft_ok(weft_plan_read(plan, outputs[which * MANY + i], got, sizeof got));
            for (int k = 0; k < SIZE; k++)
                assert_float_equal(got[k], values[k] * values[k] * (float)(which ? sum : i + 2), 0);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* A plan compiled late has the figures and results of another, and builds nothing before its first run. */
static void test_late_compilation(void **state) {
    (void)state;
    const small_net n = small_net_in(test_context());
    /* A kernel that no other test has. */
    weft_tensor *const y = weft_mul(n.y, weft_constant(n.graph, WEFT_F32, 3));
    assert_weft_ok(weft_graph_status(n.graph));
    const wi_program_stats *const stats = wi_programs_stats(wi_context_device(n.context));
    const size_t before = stats->built + stats->loaded;
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2, .compile_late = true};
    weft_plan *late = NULL;
    assert_weft_ok(weft_plan_create(&late, (weft_tensor *const *)&y, 1, &options));
    assert_int_equal(stats->built + stats->loaded, before);
    weft_plan *const usual = small_net_plan(y, 2);
    const size_t after = stats->built + stats->loaded;
    assert_true(after > before);
    weft_plan_info late_info, usual_info;
    assert_weft_ok(weft_plan_get_info(late, &late_info));
    assert_weft_ok(weft_plan_get_info(usual, &usual_info));
    assert_memory_equal(&late_info, &usual_info, sizeof late_info);
    float x[2 * SMALL_NET_IN], results[2][2 * SMALL_NET_OUT];
    small_net_fill(x, 2 * SMALL_NET_IN, 11);
    for (int i = 0; i < 2; i++) {
        weft_plan *const plan = i ? usual : late;
        assert_weft_ok(weft_plan_write(plan, n.x, x, sizeof x));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, y, results[i], sizeof results[i]));
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    assert_int_equal(stats->built + stats->loaded, after);
    weft_plan_release(late);
    weft_plan_release(usual);
    weft_graph_release(n.graph);
}

/* A kernel is compared with another one at its first use on a device, in buffers that the context keeps for later ones
 * and counts: this happens in another context here. */
static void use_kernels_of_batch(int64_t batch) {
    weft_context *const context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT});
    const small_net n = small_net_in(context);
    weft_plan_release(small_net_plan(n.y, batch));
    weft_graph_release(n.graph);
    weft_context_release(context);
}

static void test_limit_of_the_context(void **state) {
    (void)state;
    use_kernels_of_batch(4096);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = 40000});
    const small_net n = small_net_in(context);
    size_t before, peak;
    weft_plan *const small = small_net_plan(n.y, 16);
    weft_context_memory(context, &before, NULL);
    weft_plan *large = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 4096};
    assert_weft_fails(WEFT_ERROR_MEMORY_LIMIT, weft_plan_create(&large, &n.y, 1, &options), "40000");
    size_t after;
    weft_context_memory(context, &after, &peak);
    assert_int_equal(after, before);
    assert_true(peak <= 40000);
    weft_plan_release(small);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

/* Counts what goes through the allocator hooks. */
typedef struct counter {
    size_t calls, blocks;
} counter;

static void *counted_allocate(void *user, size_t bytes) {
    counter *const c = user;
    c->calls++;
    c->blocks++;
    return malloc(bytes);
}
static void *counted_reallocate(void *user, void *block, size_t bytes) {
    counter *const c = user;
    c->calls++;
    if (!block) c->blocks++;
    return realloc(block, bytes);
}
static void counted_release(void *user, void *block) {
    counter *const c = user;
    if (block) c->blocks--;
    free(block);
}

static void test_steps_allocate_nothing(void **state) {
    (void)state;
    counter c = {0};
    const weft_allocator allocator = {counted_allocate, counted_reallocate, counted_release, &c};
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator});
    const small_net n = small_net_in(context);
    weft_tensor *const gradient = weft_gradient(n.loss, n.weight);
    weft_tensor *const rate = weft_scalar(n.graph, "rate", 0.1f);
    weft_tensor *const outputs[] = {
        n.loss, weft_assign(n.weight, weft_sub(n.weight, weft_mul(gradient, rate)))};
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 4};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    float x[4 * SMALL_NET_IN], loss, first = 0;
    small_net_fill(x, 4 * SMALL_NET_IN, 3);
    size_t calls = 0, bytes = 0;
    for (int step = 0; step < 8; step++) {
        assert_weft_ok(weft_plan_write(plan, n.x, x, sizeof x));
        assert_weft_ok(weft_scalar_set(rate, 0.1f));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, n.loss, &loss, sizeof loss));
        if (step == 0) first = loss;
        size_t now;
        weft_context_memory(context, &now, NULL);
        if (step >= 2) { /* the second run saves the programs */
            assert_int_equal(c.calls, calls);
            assert_int_equal(now, bytes);
        }
        calls = c.calls;
        bytes = now;
    }
    assert_true(loss < first);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
    assert_true(calls > 0);
    assert_int_equal(c.blocks, 0);
}

/* ---- the embedder's memory, and moves that do not wait ---- */

static void test_memory_of_another_context(void **state) {
    (void)state;
    float x[SMALL_NET_IN], wanted[SMALL_NET_OUT], got[SMALL_NET_OUT];
    const small_net n = small_net_in(test_context());
    weft_plan *const plan = small_net_plan(n.y, 1);
    small_net_fill(x, SMALL_NET_IN, 10);
    small_net_compute(plan, &n, x, 1, wanted);
    const cl_device_id device = wi_context_device(n.context)->id;
    cl_int error;
    const cl_context other = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    const cl_mem memory = clCreateBuffer(other, CL_MEM_READ_ONLY, sizeof x, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(weft_plan_bind(plan, n.x, memory, 0), WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(weft_last_error(), "another cl_context"));
    clReleaseMemObject(memory);
    clReleaseContext(other);
    /* The plan still reads the memory that it had. */
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n.y, got, sizeof got));
    assert_memory_equal(got, wanted, sizeof got);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_bound_memory(void **state) {
    (void)state;
    enum { BATCH = 4, OFFSET = 12 };
    float x[2][BATCH * SMALL_NET_IN], buffer[OFFSET + BATCH * SMALL_NET_IN] = {0},
                                                              wanted[2][BATCH * SMALL_NET_OUT],
                                                              got[BATCH * SMALL_NET_OUT];
    const small_net n = small_net_in(test_context());
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    for (uint64_t i = 0; i < 2; i++) {
        small_net_fill(x[i], BATCH * SMALL_NET_IN, 10 + i);
        small_net_compute(plan, &n, x[i], BATCH, wanted[i]);
    }
    memcpy(buffer + OFFSET, x[0], sizeof x[0]);
    cl_int error;
    cl_mem memory = clCreateBuffer(wi_context_device(n.context)->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
        sizeof buffer, buffer, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_weft_ok(weft_plan_bind(plan, n.x, memory, OFFSET * sizeof(float)));
    clReleaseMemObject(memory); /* the plan holds it */
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n.y, got, sizeof got));
    assert_memory_equal(got, wanted[0], sizeof got);
    assert_int_equal(weft_plan_bind(plan, n.x, memory, OFFSET * sizeof(float) + 1), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_bind(plan, n.x, memory, (OFFSET + 1) * sizeof(float)), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_bind(plan, n.y, memory, 0), WEFT_ERROR_ARGUMENT);
    assert_weft_ok(weft_plan_bind(plan, n.x, NULL, 0));
    small_net_compute(plan, &n, x[1], BATCH, got);
    assert_memory_equal(got, wanted[1], sizeof got);

    size_t offset;
    assert_weft_ok(weft_plan_memory(plan, n.y, &memory, &offset));
    error = clEnqueueReadBuffer(
        wi_context_device(n.context)->queue, memory, CL_TRUE, offset, sizeof got, got, 0, NULL, NULL);
    assert_int_equal(error, CL_SUCCESS);
    assert_memory_equal(got, wanted[1], sizeof got);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

static void test_asynchronous_moves(void **state) {
    (void)state;
    enum { BATCH = 8 };
    float x[BATCH * SMALL_NET_IN], wanted[BATCH * SMALL_NET_OUT], got[BATCH * SMALL_NET_OUT] = {0};
    const small_net n = small_net_in(test_context());
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    small_net_fill(x, BATCH * SMALL_NET_IN, 20);
    small_net_compute(plan, &n, x, BATCH, wanted);
    assert_weft_ok(weft_plan_write_async(plan, n.x, x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read_async(plan, n.y, got, sizeof got));
    assert_weft_ok(weft_plan_wait(plan));
    assert_memory_equal(got, wanted, sizeof got);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_told_exactly),
        cmocka_unit_test(test_limit_of_a_plan),
        cmocka_unit_test(test_limit_of_the_context),
        cmocka_unit_test(test_steps_allocate_nothing),
        cmocka_unit_test(test_bound_memory),
        cmocka_unit_test(test_memory_of_another_context),
        cmocka_unit_test(test_asynchronous_moves),
        cmocka_unit_test(test_many_results),
        cmocka_unit_test(test_late_compilation),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
