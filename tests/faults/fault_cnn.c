/* Images by convolutions, through plans and checkpoint files without a trainer. */
#include "fault_use.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 8, BATCH = 4, CLASSES = 3, STEPS = 3 };

/* Everything stands in memory that is not allocated: only the library's allocations are counted. */
typedef struct fault_made {
    weft_graph *graph;
    weft_tensor *image, *label, *logits, *loss, *outputs[1 + WEFT_MAX_UPDATES];
    bool built; /* all expressions */
    size_t updates;
    weft_plan *plan;
} fault_made;

static fault_made first, second;

/* As far as it has not been done. */
static weft_status prepare_training(fault_made *m) {
    const weft_optimizer momentum = weft_sgd_momentum(0.05f, 0.9f, 1e-3f);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    weft_status status = WEFT_OK;
    m->outputs[0] = m->loss;
    if (m->updates == 0)
        status = weft_minimize(m->loss, &momentum, m->outputs + 1, WEFT_MAX_UPDATES, &m->updates);
    if (status == WEFT_OK && !m->plan)
        status = weft_plan_create(&m->plan, m->outputs, 1 + m->updates, &options);
    return status;
}

static weft_status build(weft_context *context, fault_made *m) {
    const int64_t label[] = {WEFT_BATCH};
    weft_status status = weft_graph_create(&m->graph, context);
    if (status != WEFT_OK) return status;
    m->image = weft_input(m->graph, "image", WEFT_F32, 1, SIDE, SIDE);
    m->label = weft_input_shape(m->graph, "label", WEFT_I32, 1, label);
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d(m->image, 4, 3)));
    h = weft_dropout(weft_flatten(weft_max_pool2d(h, 2)), 0.25f);
    m->logits = weft_linear(h, CLASSES);
    m->loss = weft_cross_entropy(m->logits, m->label);
    if ((status = weft_graph_status(m->graph)) != WEFT_OK) return status;
    m->built = true;
    return prepare_training(m);
}

static void unbuild(fault_made *m) {
    weft_plan_release(m->plan);
    weft_graph_release(m->graph);
    *m = (fault_made){0};
}

static weft_status train(fault_made *m, int steps, float *loss) {
    static const int32_t labels[BATCH] = {0, 2, 1, 2};
    static float images[BATCH * SIDE * SIDE];
    weft_status status = WEFT_OK;
    for (int step = 0; step < steps && status == WEFT_OK; step++) {
        for (int i = 0; i < BATCH * SIDE * SIDE; i++) images[i] = (float)(i * 7 % 11 - 5) * 0.2f;
        status = weft_plan_write(m->plan, m->image, images, sizeof images);
        if (status == WEFT_OK) status = weft_plan_write(m->plan, m->label, labels, sizeof labels);
        if (status == WEFT_OK) status = weft_plan_run(m->plan);
    }
    if (status == WEFT_OK) status = weft_plan_wait(m->plan);
    return status == WEFT_OK ? weft_plan_read(m->plan, m->loss, loss, sizeof *loss) : status;
}

static weft_status build_first(fault_world *world) {
    return build(world->context, &first);
}

static weft_status read_result(fault_world *world) {
    float bias[CLASSES] = {0};
    weft_tensor *const tensor =
        weft_graph_parameter(second.graph, weft_graph_parameter_count(second.graph) - 1);
    const weft_status status = weft_tensor_read(tensor, bias, sizeof bias);
    for (int i = 0; i < CLASSES; i++) world->result[world->result_count++] = (double)bias[i];
    return status;
}

/* From the prepared beginning, so that it can be done again with the same graph and plan. */
static weft_status train_and_resume(fault_world *world) {
    float loss[2] = {0};
    world->result_count = 0;
    weft_status status = weft_checkpoint_load(first.graph, fault_path(world->data, "begin"), NULL, 0);
    if (status == WEFT_OK) status = train(&first, STEPS, &loss[0]);
    if (status == WEFT_OK)
        status = weft_checkpoint_save(first.graph, fault_path(world->folder, "middle.safetensors"), NULL, 0);
    if (status == WEFT_OK) status = build(world->context, &second);
    if (status == WEFT_OK)
        status = weft_checkpoint_load(second.graph, fault_path(world->folder, "middle.safetensors"), NULL, 0);
    if (status == WEFT_OK) status = train(&second, 2, &loss[1]);
    if (status == WEFT_OK)
        status = weft_weights_save(second.graph, fault_path(world->folder, "end.safetensors"));
    for (int i = 0; i < 2; i++) world->result[world->result_count++] = (double)loss[i];
    return status == WEFT_OK ? read_result(world) : status;
}

static weft_status prepare(fault_world *world) {
    weft_status status = fault_open_context(world);
    if (status == WEFT_OK) status = build_first(world);
    if (status == WEFT_OK)
        status = weft_checkpoint_save(first.graph, fault_path(world->data, "begin"), NULL, 0);
    unbuild(&first);
    fault_close_context(world);
    return status;
}

/* It trains from the prepared beginning, too, which has a place for each state, counter and scalar. */
static weft_status use(fault_world *world, int graph, double numbers[FAULT_NUMBERS], bool *there) {
    static const int32_t labels[BATCH] = {1, 0, 2, 0};
    static float images[BATCH * SIDE * SIDE];
    fault_made *const m = graph ? &second : &first;
    float loss = 0;
    *there = m->built;
    if (!*there) return WEFT_OK;
    for (int i = 0; i < BATCH * SIDE * SIDE; i++) images[i] = (float)(i * 5 % 9 - 4) * 0.3f;
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {1, SIDE, SIDE}, .data = images},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    weft_status status = prepare_training(m);
    if (status == WEFT_OK) status = weft_checkpoint_load(m->graph, fault_path(world->data, "begin"), NULL, 0);
    if (status == WEFT_OK) status = train(m, 1, &loss);
    if (status == WEFT_OK)
        status = fault_use_graph(world,
            &(fault_use){.graph = m->graph,
                .loss = m->loss,
                .output = m->logits,
                .batch = BATCH,
                .columns = columns,
                .column_count = 2,
                .output_columns = 1},
            numbers);
    numbers[FAULT_NUMBERS - 1] = (double)loss;
    return status;
}

static void clear_first(fault_world *world) {
    (void)world;
    unbuild(&first);
}

static void clear_second(fault_world *world) {
    (void)world;
    unbuild(&second);
}

const fault_subject fault_cnn = {.name = "cnn",
    .prepare = prepare,
    .steps = {fault_open_context, build_first, train_and_resume},
    .clear = {fault_close_context, clear_first, clear_second},
    .again = 2,
    .use = use};
