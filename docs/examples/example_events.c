/* Events of a loop of the program's own, and of a trainer, for TensorBoard. The argument is the folder of the run; default
 * a folder beside the program's temporary files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { POINTS = 64, STEPS = 20, SIDE = 8 };

/* Two classes of points in the plane, and what the network is to say of them. */
static void draw_points(float points[POINTS][2], int32_t labels[POINTS]) {
    for (int i = 0; i < POINTS; i++) {
        labels[i] = i % 2;
        points[i][0] = cosf((float)i) + (float)labels[i];
        points[i][1] = sinf((float)(3 * i));
    }
}

static weft_status report_once(weft_events *events, weft_tensor *loss) {
    const weft_hyperparameter settings[] = {{"learning_rate", .number = 0.01}, {"optimizer", .text = "adam"}};
    const char *const metrics[] = {"loss/training"};
    weft_status status = weft_events_hyperparameters(events, settings, 2, metrics, 1);
    if (!status) status = weft_events_graph(events, &loss, 1);
    return status ? status : weft_events_text(events, "notes", 1, "two classes of **points**");
}

/* A picture of the probabilities over the plane, their curve, and the distribution of the weights. */
static weft_status report_result(
    weft_events *events, weft_graph *graph, size_t step, const float *scores, const int32_t *labels) {
    const weft_png_options picture = {WEFT_PNG_OPTIONS_INIT, .height = SIDE, .width = SIDE};
    weft_status status = weft_events_images(events, "plane", step, scores, &picture);
    if (!status) status = weft_events_pr_curve(events, "points", step, scores, labels, POINTS);
    if (!status) status = weft_events_histogram(events, "scores/all", step, scores, POINTS);
    for (size_t i = 0; i < weft_graph_parameter_count(graph) && !status; i++)
        status = weft_events_tensor(events, NULL, step, weft_graph_parameter(graph, i));
    return status;
}

static weft_status train(weft_events *events, weft_context *context) {
    static float points[POINTS][2], scores[POINTS];
    static int32_t labels[POINTS];
    weft_graph *graph = weft_context_graph(context);
    weft_plan *plan = NULL;
    float now = 0;
    draw_points(points, labels);
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 2), *y = weft_input(graph, "y", WEFT_F32, 1);
    weft_tensor *logits = weft_linear(weft_tanh(weft_linear(x, 16)), 1), *score = weft_sigmoid(logits);
    weft_tensor *loss = weft_mse(score, y);
    weft_tensor *outputs[] = {loss, score, weft_train_step(loss, weft_adam(0.01f), NULL)};
    weft_status status = weft_plan_create(&plan, outputs, 3, WEFT_WITH(plan, .batch = POINTS));
    if (!status) status = report_once(events, loss);
    for (size_t step = 1; step <= STEPS && !status; step++) {
        float wanted[POINTS];
        for (int i = 0; i < POINTS; i++) wanted[i] = (float)labels[i];
        const weft_value values[] = {weft_value_in(x, points, sizeof points),
            weft_value_in(y, wanted, sizeof wanted), {loss, &now, sizeof now},
            {score, scores, sizeof scores}};
        status = weft_plan_step(plan, values, 4);
        if (!status) status = weft_events_scalar(events, "loss/training", step, (double)now);
        const weft_event_value others[] = {
            {"scores/first", (double)scores[0]}, {"scores/last", (double)scores[POINTS - 1]}};
        if (!status) status = weft_events_scalars(events, step, others, 2);
    }
    if (!status) status = report_result(events, graph, STEPS, scores, labels);
    weft_plan_release(plan);
    return status;
}

/* A trainer reports its values itself; a program adds to them. */
static weft_status let_train(weft_context *context, const char *folder) {
    float points[POINTS][2];
    int32_t labels[POINTS];
    const weft_column columns[] = {{.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {2}, .data = points},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    weft_graph *graph = NULL;
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    draw_points(points, labels);
    weft_status status = weft_graph_create(&graph, context);
    if (!status) status = weft_dataset_from_memory(&dataset, context, POINTS, columns, 2);
    weft_tensor *logits = weft_linear(weft_input(graph, "x", WEFT_F32, 2), 2);
    weft_tensor *loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .epochs = 3, .logits = logits,
        .validation = dataset, .events = folder, .log_steps = true, .histogram_epochs = 1};
    if (!status) status = weft_trainer_create(&trainer, loss, &options);
    if (!status) status = weft_trainer_run(trainer, dataset);
    if (!status) status = weft_events_text(weft_trainer_events(trainer), "notes", 3, "the end");
    weft_trainer_release(trainer), weft_dataset_release(dataset), weft_graph_release(graph);
    return status;
}

int main(int argc, char **argv) {
    const char *temporary = getenv("TMPDIR");
    char folder[512], loop[600], trained[600];
    (void)snprintf(folder, sizeof folder, "%s/example_events", temporary ? temporary : "/tmp");
    if (argc > 1) (void)snprintf(folder, sizeof folder, "%s", argv[1]);
    (void)snprintf(loop, sizeof loop, "%s/loop", folder);
    (void)snprintf(trained, sizeof trained, "%s/trainer", folder);
    weft_context *context = NULL;
    weft_events *events = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) status = weft_events_create(&events, context, WEFT_WITH(events, .folder = loop));
    if (!status) status = train(events, context);
    if (!status) status = weft_events_flush(events); /* what is queued is in the file */
    if (!status) status = let_train(context, trained);
    if (status) fprintf(stderr, "events: %s\n", weft_last_error());
    weft_events_release(weft_events_retain(events));
    weft_events_release(events), weft_context_release(context);
    return status != WEFT_OK;
}
