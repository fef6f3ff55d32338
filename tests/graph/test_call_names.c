/* Errors and nodes name the public call that the program made, whatever was made within it: all expressions of the public
 * headers, with each argument in turn of another dtype or shape, or out of range. */
/* test once */
#include "graph/weft_graph.h"
#include "support/fixture.h"
#include "support/public_calls.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- sources of arguments: what is usual, but for one ---- */

typedef enum change { NOTHING, OTHER_DTYPE, OTHER_RANK, OTHER_SIZE, OTHER_NUMBER } change;

typedef struct changed {
    change what;
    int at, asked; /* which argument of that kind, and how many so far */
    int variant;
} changed;

static bool is_changed(changed *c, change what) {
    return c->what == what && c->asked++ == c->at;
}

static int64_t whole(call_source *self, int64_t usual) {
    static const int64_t others[] = {-7, 0, 1000003, INT64_C(1) << 40};
    changed *const c = self->user;
    return is_changed(c, OTHER_NUMBER) ? others[c->variant] : usual;
}

static double number(call_source *self, double usual) {
    static const double others[] = {NAN, -1, INFINITY, (double)WEFT_LENGTH};
    changed *const c = self->user;
    return is_changed(c, OTHER_NUMBER) ? others[c->variant] : usual;
}

static weft_tensor *tensor(call_source *self, weft_dtype dtype, int rank, const int64_t *dims) {
    static const weft_dtype dtypes[] = {WEFT_U8, WEFT_I32, WEFT_BOOL, WEFT_F32};
    changed *const c = self->user;
    int64_t own[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) own[i] = dims[i];
    if (c->what >= OTHER_NUMBER || c->what == NOTHING || c->asked++ != c->at)
        return weft_input_shape(self->graph, "x", dtype, rank, own);
    if (c->what == OTHER_DTYPE) dtype = dtypes[c->variant];
    if (c->what == OTHER_SIZE) own[c->variant % rank] += 5;
    if (c->what == OTHER_RANK) own[rank] = own[rank + 1] = 7;
    const int ranks[] = {rank + 1, rank - 1, rank + 2, 0};
    return weft_input_shape(self->graph, "x", dtype, c->what == OTHER_RANK ? ranks[c->variant] : rank, own);
}

/* ---- names ---- */

/* The function of a row. */
static const char *function_of(const public_call *call, char name[64]) {
    const char *const end = strstr(call->name, "__");
    snprintf(name, 64, "%.*s", end ? (int)(end - call->name) : 63, call->name);
    return name;
}

/* As it is written, where a macro stands for it: weft_linear(x, 3, .no_bias = true) for weft_linear_layer. */
static void without_form(char name[64]) {
    static const char *const forms[] = {"_layer", "_axes", "_shape", "_pool2d_with"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t form = strlen(forms[i]);
        if (length > form && strcmp(name + length - form, forms[i]) == 0)
            name[length - (i == 3 ? sizeof "_with" - 1 : form)] = '\0';
    }
}

static bool is_word_at(const char *text, const char *name) {
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && !isalnum((unsigned char)text[length]) && text[length] != '_';
}

/* "name: ..." or "name takes ...", or weft_name anywhere. */
static bool says(const char *line, const char *name) {
    if (is_word_at(line, name)) return true;
    for (const char *at = strstr(line, "weft_"); at; at = strstr(at + 1, "weft_"))
        if (is_word_at(at + 5, name)) return true;
    return false;
}

static bool names_the_call(const public_call *call, const char *line) {
    char name[64];
    if (says(line, function_of(call, name))) return true;
    without_form(name);
    return says(line, name);
}

/* Rows whose function is given the results of others, which may fail first, or are of calls of their own. */
enum { MOST_OTHERS = 4 };
static const struct {
    const char *row, *others[MOST_OTHERS];
} composed[] = {{"gradient", {"square", "sum"}}, {"gradient_vector", {"mul", "sum"}},
    {"train_step", {"mul", "sum"}}, {"optimizer_minimize", {"optimizer_create", "mul", "sum"}},
    {"optimizer_step", {"optimizer_create", "mul"}}, {"assign", {"state", "add_number"}},
    {"assign_after", {"state"}}, {"linear__shared", {"scope_begin"}}, {"scope_copy", {"state"}},
    {"carry_start", {"carried_state"}}, {"adaptive_softmax_loss", {"adaptive_softmax_layer"}},
    {"sampled_softmax_loss", {"sampled_softmax_layer"}},
    {"sampled_softmax_logits", {"sampled_softmax_layer"}}, {"mach_loss", {"mach_layer"}},
    {"mach_probabilities", {"mach_layer"}}, {"batch_norm_with", {"state"}}, {"instance_norm_with", {"state"}},
    {"model", {"input"}}};
enum { COMPOSED = sizeof composed / sizeof *composed };

static bool is_composed(const public_call *call) {
    for (size_t i = 0; i < COMPOSED; i++)
        if (strcmp(composed[i].row, call->name) == 0) return true;
    return false;
}

static bool names_another(const public_call *call, const char *line) {
    for (size_t i = 0; i < COMPOSED; i++)
        for (int k = 0; k < MOST_OTHERS && composed[i].others[k]; k++)
            if (strcmp(composed[i].row, call->name) == 0 && says(line, composed[i].others[k])) return true;
    return false;
}

/* ---- errors ---- */

static int wrong, refusals;

/* Returns false when the call has no argument `at` of that kind. */
static bool refuse(const public_call *call, change what, int at, int variant) {
    weft_graph *const graph = test_graph();
    changed c = {.what = what, .at = at, .variant = variant};
    call_source source = {graph, whole, number, tensor, &c};
    (void)call->make(&source);
    if (weft_graph_status(graph) != WEFT_OK) {
        refusals++;
        if (!names_the_call(call, weft_last_error()) && !names_another(call, weft_last_error())) {
            wrong++;
            print_error("weft_%s: %s\n", call->name, weft_last_error());
        }
    }
    weft_graph_release(graph);
    return c.asked > at;
}

static void errors_name_the_call(void **state) {
    (void)state;
    wrong = refusals = 0;
    for (size_t i = 0; i < public_call_count; i++) {
        const int before = refusals;
        for (int what = OTHER_DTYPE; what <= OTHER_NUMBER; what++)
            for (int variant = 0; variant < 4; variant++)
                for (int at = 0; refuse(&public_calls[i], (change)what, at, variant); at++) continue;
        if (refusals > before || strcmp(public_calls[i].name, "stop_gradient") == 0) continue;
        print_error("weft_%s: nothing is refused\n", public_calls[i].name);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_true(refusals > 2000);
}

/* A network is given an image that is too small for one of its layers, and a wrong number of classes. */
typedef weft_tensor *network(weft_tensor *x, int64_t classes, const char *prefix);

static void networks_name_themselves(void **state) {
    (void)state;
    wrong = 0;
#define NETWORK(name)                                                                                        \
    { weft_##name, #name }
    const struct {
        network *build;
        const char *name;
    } networks[] = {NETWORK(lenet5), NETWORK(alexnet_s), NETWORK(alexnet_r), NETWORK(vgg11), NETWORK(vgg16),
        NETWORK(googlenet), NETWORK(inception_v3), NETWORK(resnet18), NETWORK(resnet34), NETWORK(resnet50),
        NETWORK(resnet101), NETWORK(resnet20), NETWORK(resnet56), NETWORK(mobilenet_v2),
        NETWORK(mobilenet_v3_large), NETWORK(mobilenet_v3_small), NETWORK(efficientnet_b0),
        NETWORK(vit_b_16)};
    const size_t count = sizeof networks / sizeof *networks;
    for (size_t i = 0; i < 4 * count; i++) {
        const char *const name = networks[i / 4].name;
        const int64_t size = i % 4 == 0 ? 1 : 32, classes = i % 4 == 1 ? -1 : i % 4 == 3 ? INT64_MAX : 10;
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", i % 4 == 2 ? WEFT_F16 : WEFT_F32, 3, size, size);
        if (!networks[i / 4].build(x, classes, NULL) && !says(weft_last_error(), name)) {
            print_error("weft_%s: %s\n", name, weft_last_error());
            wrong++;
        }
        weft_graph_release(graph);
    }
    assert_null(weft_model_name(count));
    assert_int_equal(wrong, 0);
}

/* ---- nodes ---- */

enum { MOST_NODES = 4096 };
typedef struct nodes {
    const weft_tensor *of[MOST_NODES];
    int count;
} nodes;

static void collect(nodes *found, const weft_tensor *node) {
    for (int i = 0; i < found->count; i++)
        if (found->of[i] == node) return;
    assert_true(found->count < MOST_NODES);
    found->of[found->count++] = node;
    for (int i = 0; i < node->input_count; i++) collect(found, node->inputs[i]);
}

static void check_origins(const public_call *call, const weft_tensor *result) {
    static nodes found;
    const char *other = NULL;
    int made = 0;
    found.count = 0;
    collect(&found, result);
    for (int i = 0; i < found.count; i++) {
        const weft_tensor *const node = found.of[i];
        if (node->op->kind == WI_SOURCE) continue;
        const char *const name = node->origin ? node->graph->origins.of[node->origin - 1].call : NULL;
        made++;
        if (!name || !names_the_call(call, name)) other = node->op->name;
    }
    if (made < 2 || !other) return;
    print_error("weft_%s: %d nodes, and %s is not known to be of it\n", call->name, made, other);
    wrong++;
}

/* What a plan or a run says of a node within a call names the call. */
static void nodes_know_the_call(void **state) {
    (void)state;
    wrong = 0;
    for (size_t i = 0; i < public_call_count; i++) {
        if (is_composed(&public_calls[i])) continue;
        weft_graph *const graph = test_graph();
        changed c = {.what = NOTHING};
        call_source source = {graph, whole, number, tensor, &c};
        weft_tensor *const result = public_calls[i].make(&source);
        assert_weft_ok(weft_graph_status(graph));
        check_origins(&public_calls[i], result);
        weft_graph_release(graph);
    }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_name_the_call),
        cmocka_unit_test(networks_name_themselves), cmocka_unit_test(nodes_know_the_call)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
