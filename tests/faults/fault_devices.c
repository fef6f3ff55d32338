/* A program that has OpenCL objects of its own: its context, queue and a buffer are given to Weft, a plan runs on three
 * devices (the second in the same OpenCL context, the third in another) and is profiled, and a run is predicted. One state is
 * as large as what is kept in large pages. */
#include "cl/context.h"
#include "fault_use.h"
#include "graph/weft_graph.h"
#include "plan/compiled_plan.h"
#include <stdio.h>
#include <weft/profile.h>

enum { BATCH = 2, IN = 5, HIDDEN = 6, OUT = 3, DEVICES = 3, MOST_NODES = 4096, LARGE = 1 << 20 };

typedef struct fault_made {
    weft_graph *graph;
    weft_tensor *x, *target, *y, *outputs[2 + WEFT_MAX_UPDATES];
    bool built; /* all expressions */
    weft_plan *plan;
    weft_profile *profile;
} fault_made;

static fault_made made;

/* The program's own, made once with nothing failing. */
static struct {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_mem x;
} own;

static weft_status prepare(fault_world *world) {
    const float x[BATCH * IN] = {1, 2, 3, 4, 5, -1, -2, -3, -4, -5};
    cl_platform_id platform = NULL;
    cl_int error = CL_SUCCESS;
    (void)world;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &own.device, NULL) != CL_SUCCESS)
        return WEFT_ERROR_NO_DEVICE;
    own.context = clCreateContext(NULL, 1, &own.device, NULL, NULL, &error);
    if (error == CL_SUCCESS) own.queue = clCreateCommandQueue(own.context, own.device, 0, &error);
    if (error == CL_SUCCESS) own.x = clCreateBuffer(own.context, CL_MEM_READ_WRITE, sizeof x, NULL, &error);
    if (error == CL_SUCCESS)
        error = clEnqueueWriteBuffer(own.queue, own.x, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL);
    return error == CL_SUCCESS ? WEFT_OK : WEFT_ERROR_OPENCL;
}

static weft_status open_devices(fault_world *world) {
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = world->cache, .seed = 5,
        .cl_context = own.context, .cl_device = own.device, .cl_queue = own.queue};
    weft_status status = weft_context_create(&world->context, &options);
    options.cl_queue = NULL;
    if (status == WEFT_OK) status = wi_context_open_device(world->context, &options);
    options.cl_context = NULL;
    options.cl_device = NULL;
    options.device = status == WEFT_OK ? weft_context_device(world->context)->selector : NULL;
    return status == WEFT_OK ? wi_context_open_device(world->context, &options) : status;
}

/* A layer on each device. */
static weft_status make_plan(fault_world *world) {
    static int wanted[MOST_NODES];
    const int64_t large[] = {LARGE};
    const weft_optimizer adam = weft_adam(0.01f);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    size_t updates = 0;
    weft_status status = weft_graph_create(&made.graph, world->context);
    if (status != WEFT_OK) return status;
    made.x = weft_input(made.graph, "x", WEFT_F32, IN);
    made.target = weft_input(made.graph, "target", WEFT_F32, OUT);
    weft_tensor *h = weft_relu(weft_linear(made.x, HIDDEN));
    const uint32_t first = made.graph->node_count;
    h = weft_tanh(weft_linear(h, HIDDEN));
    const uint32_t second = made.graph->node_count;
    made.y = weft_linear(h, OUT);
    made.outputs[0] = weft_mse(made.y, made.target);
    made.outputs[1] = weft_sum(weft_state_shape(made.graph, "large", WEFT_F32, weft_zeros(), 1, large));
    for (uint32_t i = 0; i < made.graph->node_count && i < MOST_NODES; i++)
        wanted[i] = i < first ? 0 : i < second ? 1 : 2;
    const wi_plan_devices on = {.of = world->context->devices,
        .count = DEVICES,
        .wanted = wanted,
        .wanted_count = made.graph->node_count};
    if ((status = weft_graph_status(made.graph)) != WEFT_OK) return status;
    made.built = true;
    status = weft_minimize(made.outputs[0], &adam, made.outputs + 2, WEFT_MAX_UPDATES, &updates);
    return status == WEFT_OK ? wi_plan_create_on(&made.plan, made.outputs, 2 + updates, &options, &on)
                             : status;
}

static weft_status run_steps(int steps, float *loss) {
    weft_status status = WEFT_OK;
    for (int i = 0; i < steps && status == WEFT_OK; i++) status = weft_plan_run(made.plan);
    if (status == WEFT_OK) status = weft_plan_wait(made.plan);
    return status == WEFT_OK ? weft_plan_read(made.plan, made.outputs[0], loss, sizeof *loss) : status;
}

static weft_status profile(void) {
    static char text[65536];
    weft_status status = weft_profile_run(&made.profile, made.plan);
    if (status == WEFT_OK)
        status = weft_profile_describe(made.profile, WEFT_FORMAT_JSON, NULL, text, sizeof text, NULL);
    return status;
}

static weft_status train(fault_world *world) {
    const float target[BATCH * OUT] = {1, 0, -1, 0.5f, 0.25f, 0};
    float loss[2] = {0};
    weft_status status = weft_plan_bind(made.plan, made.x, own.x, 0);
    if (status == WEFT_OK) status = weft_plan_write(made.plan, made.target, target, sizeof target);
    if (status == WEFT_OK) status = run_steps(2, &loss[0]);
    if (status == WEFT_OK) status = profile();
    if (status == WEFT_OK) status = run_steps(1, &loss[1]);
    world->result_count = 0;
    for (int i = 0; i < 2; i++) world->result[world->result_count++] = (double)loss[i];
    return status;
}

/* On the first device. */
static weft_status use(fault_world *world, int graph, double numbers[FAULT_NUMBERS], bool *there) {
    static const float x[BATCH * IN] = {1, -2, 3, 0.5f, 2}, target[BATCH * OUT] = {0, 1, 0.5f};
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {IN}, .data = x},
        {.name = "target", .dtype = WEFT_F32, .rank = 1, .dims = {OUT}, .data = target}};
    *there = graph == 0 && made.built;
    if (!*there) return WEFT_OK;
    return fault_use_graph(world,
        &(fault_use){.graph = made.graph,
            .loss = made.outputs[0],
            .output = made.y,
            .batch = BATCH,
            .columns = columns,
            .column_count = 2,
            .output_columns = 1},
        numbers);
}

static void clear_plan(fault_world *world) {
    (void)world;
    weft_plan_release(made.plan);
    weft_graph_release(made.graph);
    made.plan = NULL;
    made.graph = NULL;
    made.built = false;
}

static void clear_profile(fault_world *world) {
    (void)world;
    weft_profile_release(made.profile);
    made.profile = NULL;
}

const fault_subject fault_devices = {.name = "devices",
    .prepare = prepare,
    .steps = {open_devices, make_plan, train},
    .clear = {fault_close_context, clear_plan, clear_profile},
    .again = 1,
    .use = use};
