/* A loop of the program's own on several processes: mpirun -n 2 example_distributed. Each computes the gradients of its part of the points; all
 * add them up, and make the same update. Alone, the program trains with all points. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { POINTS = 64, STEPS = 50 };

typedef struct model {
    weft_tensor *x, *y, *loss, *weight, *gradient, *sum, *update;
} model;

/* y = weight · x. The plan of the gradient and that of the update are separate; between them the gradients are added up. */
static model make_model(weft_graph *graph) {
    model m = {.x = weft_input(graph, "x", WEFT_F32, 1), .y = weft_input(graph, "y", WEFT_F32, 1)};
    const int64_t one[] = {1, 1};
    m.weight = weft_parameter(graph, "weight", weft_zeros(), 1, 1);
    m.loss = weft_mse(weft_matmul(m.x, m.weight), m.y);
    m.sum = weft_input_shape(graph, "sum", WEFT_F32, 2, one);
    weft_optimizer_state *const rule =
        weft_optimizer_create(graph, &(weft_optimizer){WEFT_SGD, .rate = 0.5f});
    if (weft_gradients(m.loss, &m.weight, 1, &m.gradient) == WEFT_OK)
        m.update = weft_optimizer_step(rule, &m.weight, &m.sum, 1);
    return m;
}

/* The gradient of all points is the mean of the processes' gradients, as all have equally many points. */
static weft_status train(
    weft_distributed *job, const model *m, weft_plan *gradient, weft_plan *update, float *loss) {
    float g = 0, losses[16];
    const size_t processes = weft_distributed_size(job);
    weft_status status = WEFT_OK;
    for (size_t step = 0; step < STEPS && !status; step++) {
        status = weft_plan_run(gradient);
        if (!status) status = weft_plan_read(gradient, m->gradient, &g, sizeof g);
        if (!status && job) status = weft_distributed_sum(job, &g, 1);
        g /= (float)processes;
        const weft_value values[] = {weft_value_in(m->sum, &g, sizeof g)};
        if (!status) status = weft_plan_step(update, values, 1);
    }
    if (!status) status = weft_plan_read(gradient, m->loss, loss, sizeof *loss);
    if (!job || status || processes > 16) return status;
    if ((status = weft_distributed_gather(job, loss, sizeof *loss, losses))) return status;
    for (size_t i = 0; i < processes && weft_distributed_rank(job) == 0; i++)
        printf("rank %zu: loss %.6f\n", i, (double)losses[i]);
    return status;
}

/* A table whose rows are divided among the processes: each names the rows that it needs, and sends their gradients back. */
static weft_status use_table(weft_context *context, weft_distributed *job) {
    const weft_sharded_table_options options = {
        WEFT_SHARDED_TABLE_OPTIONS_INIT, .job = job, .optimizer = weft_adagrad(0.1f)};
    weft_sharded_table *table = NULL;
    const int32_t rows[] = {3, 999, 3};
    float values[3][4], gradients[3][4] = {{1}, {0, 1}, {1}};
    weft_status status = weft_sharded_table_create(&table, context, 1000, 4, &options);
    if (!status) status = weft_sharded_table_gather(table, rows, 3, values[0]);
    if (!status) status = weft_sharded_table_update(table, rows, 3, gradients[0]);
    if (!status && weft_distributed_rank(job) == 0)
        printf("parameters here: %zu\n", weft_graph_parameter_count(weft_sharded_table_graph(table)));
    weft_sharded_table_release(table);
    return status;
}

static weft_status run(weft_context *context, weft_distributed *job) {
    const size_t points = POINTS / weft_distributed_size(job), first = points * weft_distributed_rank(job);
    weft_graph *const graph = weft_context_graph(context);
    const model m = make_model(graph);
    weft_tensor *outputs[] = {m.loss, m.gradient};
    weft_plan *gradient = NULL, *update = NULL;
    float x[POINTS], y[POINTS], loss = 0, slope = 3;
    weft_status status = WEFT_OK;
    if (job) status = weft_distributed_broadcast(job, &slope, sizeof slope, 0); /* what rank 0 decides */
    for (size_t i = 0; i < points; i++) {
        x[i] = (float)(first + i) / POINTS;
        y[i] = slope * x[i];
    }
    const weft_plan_options batch = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)points};
    if (!status) status = weft_plan_create(&gradient, outputs, 2, &batch);
    if (!status) status = weft_plan_create(&update, &m.update, 1, NULL);
    if (!status && job) status = weft_distributed_synchronise(job, graph); /* all begin alike */
    if (!status) status = weft_plan_write(gradient, m.x, x, points * sizeof *x);
    if (!status) status = weft_plan_write(gradient, m.y, y, points * sizeof *y);
    if (!status) status = train(job, &m, gradient, update, &loss);
    if (!status && job) status = weft_distributed_wait(job);
    if (!status && weft_distributed_rank(job) == 0) printf("the loss is below 0.01: %d\n", loss < 0.01f);
    weft_plan_release(gradient);
    weft_plan_release(update);
    return status;
}

int main(void) {
    weft_context *context = NULL;
    weft_distributed *job = NULL;
    const weft_distributed_options options = {WEFT_DISTRIBUTED_OPTIONS_INIT, .timeout = 60};
    weft_status status = weft_context_create(&context, NULL);
    if (!status && getenv("OMPI_COMM_WORLD_SIZE")) status = weft_distributed_open(&job, context, &options);
    weft_distributed *const own = weft_distributed_retain(job);
    if (!status) status = run(context, own);
    if (!status) status = use_table(context, own);
    if (status) fprintf(stderr, "%s\n", weft_last_error());
    weft_distributed_release(own);
    weft_distributed_release(job);
    weft_context_release(context);
    return status != WEFT_OK;
}
