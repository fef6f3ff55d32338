/* Inputs that are copied on a second queue, beside the kernels, into a second buffer: on this machine's device, which would not
 * need it, with WEFT_UPLOAD_QUEUE=1. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/uploads.h"
#include "plan/compiled_plan.h"
#include "support/small_net.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 6, NUMBERS = BATCH * SMALL_NET_IN, RESULTS = BATCH * SMALL_NET_OUT, STEPS = 5 };

static int use_queue(void **state) {
    (void)state;
    return setenv("WEFT_UPLOAD_QUEUE", "1", 1);
}

static int use_default(void **state) {
    (void)state;
    return unsetenv("WEFT_UPLOAD_QUEUE");
}

static weft_context *open_context(void) {
    return test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 5});
}

typedef struct inputs {
    float of[STEPS][NUMBERS];
} inputs;

static inputs make_inputs(void) {
    inputs x;
    for (int i = 0; i < STEPS; i++) small_net_fill(x.of[i], NUMBERS, (uint64_t)i + 1);
    return x;
}

/* What each batch gives by itself, on one queue. */
typedef struct answers {
    float of[STEPS][RESULTS];
} answers;

static answers compute_alone(const inputs *x) {
    answers y;
    assert_int_equal(unsetenv("WEFT_UPLOAD_QUEUE"), 0);
    weft_context *const context = open_context();
    const small_net n = small_net_in(context);
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    assert_null(wi_context_device(context)->uploads);
    for (int i = 0; i < STEPS; i++) small_net_compute(plan, &n, x->of[i], BATCH, y.of[i]);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
    assert_int_equal(setenv("WEFT_UPLOAD_QUEUE", "1", 1), 0);
    return y;
}

/* ---- the device is busy ---- */

/* A queue of the program's, whose device is at work until the gate opens. */
typedef struct held_queue {
    cl_context cl;
    cl_command_queue queue;
    cl_event gate;
} held_queue;

static weft_context *open_held(held_queue *h) {
    cl_device_id id = wi_context_device(test_context())->id;
    cl_int error;
    h->cl = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    h->queue = clCreateCommandQueue(h->cl, id, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    return test_context_open((weft_context_options){
        WEFT_CONTEXT_OPTIONS_INIT, .seed = 5, .cl_context = h->cl, .cl_device = id, .cl_queue = h->queue});
}

static void close_gate(held_queue *h) {
    cl_int error;
    h->gate = clCreateUserEvent(h->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clEnqueueBarrierWithWaitList(h->queue, 1, &h->gate, NULL), CL_SUCCESS);
}

static void open_gate(held_queue *h) {
    assert_int_equal(clSetUserEventStatus(h->gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(h->gate), CL_SUCCESS);
}

/* The run before has not begun, and the next batch is on the device already: a write that waited for the kernels would wait for
 * ever. What both runs compute is right all the same. */
static void a_write_does_not_wait_for_the_kernels(void **state) {
    const inputs x = make_inputs();
    const answers wanted = compute_alone(&x);
    float y[2][RESULTS];
    held_queue h;
    (void)state;
    weft_context *const context = open_held(&h);
    const small_net n = small_net_in(context);
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    for (int i = 2; i < 4; i++) /* after the first run binaries are fetched, which waits */
        small_net_compute(plan, &n, x.of[i], BATCH, y[0]);
    close_gate(&h);
    alarm(60);
    assert_weft_ok(weft_plan_write(plan, n.x, x.of[0], sizeof x.of[0]));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read_async(plan, n.y, y[0], sizeof y[0]));
    alarm(0);
    open_gate(&h);
    assert_weft_ok(weft_plan_wait(plan));
    close_gate(&h);
    alarm(60);
    assert_weft_ok(weft_plan_run(plan)); /* of x 0, again */
    assert_weft_ok(weft_plan_read_async(plan, n.y, y[0], sizeof y[0]));
    assert_weft_ok(weft_plan_write(plan, n.x, x.of[1], sizeof x.of[1]));
    alarm(0);
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read_async(plan, n.y, y[1], sizeof y[1]));
    open_gate(&h);
    assert_weft_ok(weft_plan_wait(plan));
    for (int i = 0; i < 2; i++) assert_memory_equal(y[i], wanted.of[i], sizeof y[i]);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
    clReleaseCommandQueue(h.queue);
    clReleaseContext(h.cl);
}

/* Two batches ahead is one too many for two buffers: the third waits for the first run, in its turn. */
static void many_steps_are_in_order(void **state) {
    const inputs x = make_inputs();
    const answers wanted = compute_alone(&x);
    answers y;
    (void)state;
    weft_context *const context = open_context();
    assert_non_null(wi_context_device(context)->uploads);
    const small_net n = small_net_in(context);
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    for (int round = 0; round < 20; round++) {
        memset(&y, 0, sizeof y);
        for (int i = 0; i < STEPS; i++) {
            if (i % 2) /* written twice: the last one counts */
                assert_weft_ok(weft_plan_write_async(plan, n.x, x.of[0], sizeof x.of[0]));
            assert_weft_ok(weft_plan_write_async(plan, n.x, x.of[i], sizeof x.of[i]));
            assert_weft_ok(weft_plan_run(plan));
            assert_weft_ok(weft_plan_read_async(plan, n.y, y.of[i], sizeof y.of[i]));
        }
        assert_weft_ok(weft_plan_wait(plan));
        assert_memory_equal(&y, &wanted, sizeof y);
    }
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

/* ---- what else an input's memory is used for ---- */

static void assert_computes(weft_plan *plan, const small_net *n, const float *wanted) {
    float y[RESULTS];
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n->y, y, sizeof y));
    assert_memory_equal(y, wanted, sizeof y);
}

/* Memory of the program is written where it is, on the queue of the kernels. */
static void bound_memory_stays(void **state) {
    const inputs x = make_inputs();
    const answers wanted = compute_alone(&x);
    cl_int error;
    (void)state;
    weft_context *const context = open_context();
    const small_net n = small_net_in(context);
    weft_plan *const plan = small_net_plan(n.y, BATCH);
    cl_mem const own =
        clCreateBuffer(wi_context_device(context)->cl, CL_MEM_READ_WRITE, sizeof x.of[0], NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_weft_ok(weft_plan_write_async(plan, n.x, x.of[0], sizeof x.of[0]));
    assert_computes(plan, &n, wanted.of[0]);
    assert_weft_ok(weft_plan_bind(plan, n.x, own, 0));
    assert_weft_ok(weft_plan_write(plan, n.x, x.of[1], sizeof x.of[1]));
    assert_computes(plan, &n, wanted.of[1]);
    assert_weft_ok(weft_plan_bind(plan, n.x, NULL, 0));
    assert_computes(plan, &n, wanted.of[0]);
    assert_weft_ok(weft_plan_write(plan, n.x, x.of[2], sizeof x.of[2]));
    assert_computes(plan, &n, wanted.of[2]);
    weft_plan_release(plan);
    clReleaseMemObject(own);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

/* The caller writes an input's memory by itself, wherever weft_plan_write has been since. */
static void shown_memory_stays(void **state) {
    const inputs x = make_inputs();
    const answers wanted = compute_alone(&x);
    weft_plan *plan = NULL;
    cl_mem memory;
    size_t offset;
    (void)state;
    weft_context *const context = open_context();
    const small_net n = small_net_in(context);
    weft_tensor *const outputs[] = {n.y, n.x};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
    assert_weft_ok(weft_plan_write(plan, n.x, x.of[0], sizeof x.of[0]));
    assert_weft_ok(weft_plan_memory(plan, n.x, &memory, &offset));
    for (int i = 1; i < 4; i++) {
        if (i % 2)
            assert_weft_ok(weft_plan_write(plan, n.x, x.of[i], sizeof x.of[i]));
        else
            assert_int_equal(clEnqueueWriteBuffer(wi_context_device(context)->queue, memory, CL_TRUE, offset,
                                 sizeof x.of[i], x.of[i], 0, NULL, NULL),
                CL_SUCCESS);
        assert_computes(plan, &n, wanted.of[i]);
    }
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

/* ---- memory ---- */

static size_t total_bytes(weft_context *context, size_t limit, size_t *held) {
    const small_net n = small_net_in(context);
    weft_plan *plan = NULL;
    weft_plan_info info;
    size_t before;
    weft_plan_release(small_net_plan(n.y, 1)); /* the parameters have memory now */
    weft_context_memory(context, &before, NULL);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 100, .memory_limit = limit};
    assert_weft_ok(weft_plan_create(&plan, &n.y, 1, &options));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    weft_context_memory(context, held, NULL);
    *held -= before;
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    return info.total_bytes;
}

/* The second buffers are in what a plan says of itself, and only where limits allow them. */
static void second_buffers_are_counted(void **state) {
    const size_t input = 100 * SMALL_NET_IN * sizeof(float);
    size_t held[3], bytes[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        weft_context *const context = open_context();
        bytes[i] = total_bytes(context, i == 1 ? bytes[0] - 1 : i == 2 ? bytes[0] : 0, &held[i]);
        assert_int_equal(held[i], bytes[i]);
        weft_context_release(context);
    }
    assert_int_equal(bytes[0], bytes[1] + input);
    assert_int_equal(bytes[0], bytes[2]);
}

static void one_queue_is_an_option(void **state) {
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .one_queue = true});
    assert_null(wi_context_device(context)->uploads);
    weft_context_release(context);
}

/* This machine's devices share its memory; those that the environment says nothing of take the quicker way. */
static void the_device_says_which_way(void **state) {
    (void)state;
    weft_context *const context = open_context();
    const wi_device *const device = wi_context_device(context);
    assert_int_equal(device->uploads != NULL, device->caps.own_memory);
    weft_context_release(context);
}

#define WITH_QUEUE(test) cmocka_unit_test_setup_teardown(test, use_queue, use_default)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_QUEUE(a_write_does_not_wait_for_the_kernels),
        WITH_QUEUE(many_steps_are_in_order),
        WITH_QUEUE(bound_memory_stays),
        WITH_QUEUE(shown_memory_stays),
        WITH_QUEUE(second_buffers_are_counted),
        WITH_QUEUE(one_queue_is_an_option),
        cmocka_unit_test(the_device_says_which_way),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
