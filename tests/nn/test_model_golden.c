/* Networks of weft/models.h beside PyTorch (tests/golden/model_golden.json): the logits of 2 images, to
 * 1e-4 of the largest; of one step at batch 2 the loss and the norm of every parameter's gradient, and 20 steps of SGD
 * with momentum of ResNet-20 and AlexNet-R, to 1e-3. A gradient whose true norm is nearly 0 (a bias before a norm) is compared with 1e-4 of
 * the largest.
 *
 * The kernels of class gpu are slow on a CPU: there, unless the device is a GPU, the networks of 32² alone.
 */
/* test slow optimised */
#include "nn/model_values.h"
#include "support/checks.h"
#include "support/golden_file.h"
#include <weft/weft.h>

static const double tolerance = 1e-3, floor_of_norms = 1e-4, tolerance_of_logits = 1e-4;

static weft_context *context;
static cJSON *golden;

typedef struct network {
    const char *name;
    int64_t image[3];
    int classes;
    weft_graph *graph;
    weft_tensor *x, *label, *logits, *loss;
} network;

static void write_values(weft_tensor *variable, const cJSON *item) {
    const size_t bytes = model_count(variable) * sizeof(float);
    float *const values = malloc(bytes);
    assert_non_null(values);
    model_values(variable, weft_tensor_name(variable), (float)golden_number(item, "shift", 1), values);
    assert_ok(weft_tensor_write(variable, values, bytes));
    free(values);
}

static void write_parameters(weft_graph *graph, const cJSON *item) {
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++)
        write_values(weft_graph_parameter(graph, i), item);
}

static network build(const cJSON *item) {
    network net = {.name = cJSON_GetStringValue(golden_member(item, "name")),
        .classes = (int)golden_number(item, "classes", 0)};
    for (int i = 0; i < 3; i++)
        net.image[i] = (int64_t)cJSON_GetArrayItem(golden_member(item, "image"), i)->valuedouble;
    assert_ok(weft_graph_create(&net.graph, context));
    net.x = weft_input(net.graph, "image", WEFT_F32, net.image[0], net.image[1], net.image[2]);
    net.label = weft_input(net.graph, "label", WEFT_I32);
    const weft_model_options options = {WEFT_MODEL_OPTIONS_INIT, .no_dropout = true};
    net.logits = weft_model(net.x, net.name, net.classes, &options);
    net.loss = weft_cross_entropy(net.logits, net.label);
    assert_ok(weft_graph_status(net.graph));
    return net;
}

static void feed_image(weft_plan *plan, const network *net, size_t batch, int step) {
    const size_t count = batch * (size_t)(net->image[0] * net->image[1] * net->image[2]);
    float *const image = malloc(count * sizeof *image);
    char name[32];
    assert_non_null(image);
    snprintf(name, sizeof name, "image%d", step);
    model_image(name, image, count);
    assert_ok(weft_plan_write(plan, net->x, image, count * sizeof *image));
    free(image);
}

static void feed(weft_plan *plan, const network *net, size_t batch, int step) {
    int32_t labels[64];
    assert_true(batch <= 64);
    feed_image(plan, net, batch, step);
    model_labels(labels, batch, step, net->classes);
    assert_ok(weft_plan_write(plan, net->label, labels, batch * sizeof *labels));
}

static float read_loss(weft_plan *plan, const network *net) {
    float loss = 0;
    assert_ok(weft_plan_read(plan, net->loss, &loss, sizeof loss));
    return loss;
}

static double norm_of(weft_plan *plan, weft_tensor *gradient) {
    const size_t count = model_count(gradient);
    float *const values = malloc(count * sizeof *values);
    double sum = 0;
    assert_non_null(values);
    assert_ok(weft_plan_read(plan, gradient, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
    free(values);
    return sqrt(sum);
}

static bool near(const char *name, const char *what, double got, double wanted, double floor) {
    if (fabs(got - wanted) <= tolerance * fmax(fabs(wanted), floor)) return true;
    print_error("%s, %s: %.9g, PyTorch has %.9g\n", name, what, got, wanted);
    return false;
}

/* Names and number of parameters are PyTorch's, loss and norms near its. */
static bool compare_step(weft_plan *plan, const network *net, const cJSON *item, weft_tensor **gradients) {
    const cJSON *const norms = golden_member(item, "norms");
    const size_t count = weft_graph_parameter_count(net->graph);
    double largest = 0;
    const cJSON *norm;
    cJSON_ArrayForEach(norm, norms) largest = fmax(largest, norm->valuedouble);
    assert_int_equal(count, cJSON_GetArraySize(norms));
    bool good = near(net->name, "loss", (double)read_loss(plan, net), golden_number(item, "loss", 0), 0);
    for (size_t i = 0; i < count; i++) {
        const char *const name = weft_tensor_name(weft_graph_parameter(net->graph, i));
        const cJSON *const wanted = golden_member(norms, name);
        if (!wanted) fail_msg("%s: PyTorch has no parameter %s", net->name, name);
        good = near(net->name, name, norm_of(plan, gradients[i]), wanted->valuedouble,
                   floor_of_norms * largest) &&
               good;
    }
    return good;
}

/* With the running statistics that the formula gives. */
static void check_logits(const cJSON *item) {
    const network net = build(item);
    float logits[64], wanted[64];
    double largest = 0, worst = 0;
    const size_t count = golden_numbers(golden_member(item, "logits"), wanted, 64);
    assert_int_equal(count, 2 * net.classes);
    weft_plan *plan = NULL;
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = 2, .inference = true, .compile_late = true};
    assert_ok(weft_plan_create(&plan, &net.logits, 1, &options));
    write_parameters(net.graph, item);
    for (size_t i = 0; i < weft_graph_state_count(net.graph); i++)
        write_values(weft_graph_state(net.graph, i), item);
    feed_image(plan, &net, 2, 0);
    assert_ok(weft_plan_run(plan));
    assert_ok(weft_plan_read(plan, net.logits, logits, count * sizeof *logits));
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)wanted[i]));
        worst = fmax(worst, fabs((double)logits[i] - (double)wanted[i]));
    }
    if (!(worst <= tolerance_of_logits * largest))
        fail_msg("%s: a logit differs by %g, the largest is %g", net.name, worst, largest);
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

static void check_step(const cJSON *item) {
    const network net = build(item);
    const size_t count = weft_graph_parameter_count(net.graph);
    weft_tensor **const outputs = calloc(2 * count + 1, sizeof(weft_tensor *));
    assert_non_null(outputs);
    weft_tensor **const parameters = outputs + count + 1;
    for (size_t i = 0; i < count; i++) parameters[i] = weft_graph_parameter(net.graph, i);
    outputs[0] = net.loss;
    assert_ok(weft_gradients(net.loss, parameters, count, outputs + 1));
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2, .compile_late = true};
    assert_ok(weft_plan_create(&plan, outputs, count + 1, &options));
    write_parameters(net.graph, item);
    feed(plan, &net, 2, 0);
    assert_ok(weft_plan_run(plan));
    assert_true(compare_step(plan, &net, item, outputs + 1));
    weft_plan_release(plan);
    free(outputs);
    weft_graph_release(net.graph);
}

/* 20 steps of SGD; the images come again after a few. */
static void check_curve(const cJSON *item, const cJSON *curve) {
    const network net = build(item);
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1] = {net.loss};
    const size_t batch = (size_t)golden_number(curve, "batch", 0);
    const int images = (int)golden_number(golden, "images", 0);
    const weft_optimizer sgd = weft_sgd_momentum(
        (float)golden_number(curve, "rate", 0), (float)golden_number(golden, "momentum", 0), 0);
    size_t count = 0;
    assert_ok(weft_minimize(net.loss, &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)batch};
    assert_ok(weft_plan_create(&plan, outputs, count + 1, &options));
    write_parameters(net.graph, item);
    const cJSON *const losses = golden_member(curve, "losses");
    bool good = cJSON_GetArraySize(losses) == 20;
    for (int step = 0; step < cJSON_GetArraySize(losses); step++) {
        char what[32];
        feed(plan, &net, batch, step % images);
        assert_ok(weft_plan_run(plan));
        snprintf(what, sizeof what, "loss of step %d", step);
        const double wanted = cJSON_GetArrayItem(losses, step)->valuedouble;
        good = near(net.name, what, (double)read_loss(plan, &net), wanted, 0) && good;
    }
    assert_true(good);
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

/* ---- which of them ---- */

/* $WEFT_TEST_MODEL names one, for work on it. */
static bool is_chosen(const cJSON *item) {
    const char *const only = getenv("WEFT_TEST_MODEL");
    const weft_device_info *const device = weft_context_device(context);
    const char *const name = cJSON_GetStringValue(golden_member(item, "name"));
    const double side = cJSON_GetArrayItem(golden_member(item, "image"), 1)->valuedouble;
    if (only && strcmp(only, name) != 0) return false;
    const bool emulated = device->is_cpu && device->device_class == WEFT_CLASS_GPU;
    const bool is_large = side > 32 || strncmp(name, "vgg", 3) == 0 || strcmp(name, "resnet56") == 0 ||
                          strcmp(name, "vit_b_16") == 0;
    if (!is_large || (!emulated && !getenv("WEFT_TEST_REDUCED"))) return true;
    print_message("%s is left out: too slow by the kernels of class gpu on a CPU, or an interpreter\n", name);
    return false;
}

static void logits_are_as_pytorch_has_them(void **state) {
    (void)state;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_member(golden, "networks")) if (is_chosen(item)) check_logits(item);
}

static void steps_are_as_pytorch_has_them(void **state) {
    (void)state;
    const cJSON *const networks = golden_member(golden, "networks");
    const cJSON *item;
    cJSON_ArrayForEach(item, networks) if (is_chosen(item)) check_step(item);
}

static void training_is_as_pytorch_has_it(void **state) {
    (void)state;
    int curves = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_member(golden, "networks")) {
        const cJSON *const curve = golden_member(item, "curve");
        if (!curve) continue;
        curves++;
        if (is_chosen(item)) check_curve(item, curve);
    }
    assert_int_equal(curves, 2);
}

static int set_up(void **state) {
    (void)state;
    golden = golden_file("model_golden.json");
    assert_ok(weft_context_create(&context, NULL));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    weft_context_release(context);
    cJSON_Delete(golden);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(logits_are_as_pytorch_has_them),
        cmocka_unit_test(steps_are_as_pytorch_has_them), cmocka_unit_test(training_is_as_pytorch_has_it)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
