/* Operators of the domain com.microsoft against their formulas in float64. */
#include "onnx/onnx_node.h"
#include "onnx_microsoft_references.h"
#include "support/fixture.h"
#include "support/onnx_case.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node. inputs: the letters of `kinds` with dimensions, "X 2 3,u,-,N7 2"; capitals are inputs of the network, others constants. */
typedef struct example {
    const char *op, *inputs, *attributes, *outputs;
} example;

static onnx_bytes file;
static const example *now;
static microsoft_node node;

/* ---- models of one node ---- */

/* Numbers from low on and below high, or below a bound that follows the letter, which is included of 'p'. */
static const struct {
    char letter;
    int type;
    double low, high;
} kinds[] = {{'x', ONNX_FLOAT, -2, 2}, {'s', ONNX_FLOAT, 0.01, 0.03}, {'u', ONNX_UINT8, 0, 256},
    {'i', ONNX_INT8, -128, 128}, {'n', ONNX_INT32, 0, 0}, {'l', ONNX_INT64, 0, 0}, {'p', ONNX_INT32, 1, 1}};

/* Reads a value and gives it numbers of its own. Returns the text after it. */
static const char *read_value(microsoft_input *v, const char *text, size_t index) {
    test_random random = test_random_named(now->op, index);
    size_t kind = 0;
    double bound = 0;
    char *end;
    *v = (microsoft_input){0};
    if (*text == '-') return text + 1;
    while (kinds[kind].letter != tolower((unsigned char)*text)) kind++;
    v->type = kinds[kind].type;
    v->is_open = isupper((unsigned char)*text++) != 0;
    v->count = 1;
    if (isdigit((unsigned char)*text)) {
        bound = strtod(text, &end);
        text = end;
    }
    for (; *text == ' '; text = end) {
        v->dims[v->rank] = strtoul(text, &end, 10);
        v->count *= v->dims[v->rank++];
    }
    assert_true(v->count <= MICROSOFT_MOST);
    for (size_t k = 0; k < v->count; k++) {
        const double number = test_random_between(&random, kinds[kind].low, kinds[kind].high + bound);
        v->data[k] = v->type == ONNX_FLOAT ? (double)(float)number : floor(number);
    }
    return text;
}

/* The elements as a type has them; returns their bytes. */
static size_t pack(const microsoft_input *v, int type, char *bytes) {
    const size_t size = type == ONNX_FLOAT || type == ONNX_INT32 ? 4 : type == ONNX_INT64 ? 8 : 1;
    for (size_t k = 0; k < v->count; k++) {
        const float real = (float)v->data[k];
        const int64_t whole = (int64_t)v->data[k];
        memcpy(bytes + k * size, type == ONNX_FLOAT ? (const void *)&real : (const void *)&whole, size);
    }
    return v->count * size;
}

static void put_value(const microsoft_input *v, const char *name) {
    static char bytes[8 * MICROSOFT_MOST];
    char dims[64] = "";
    if (v->is_open) {
        for (size_t d = 0; d < v->rank; d++) sprintf(dims + strlen(dims), "%zu ", v->dims[d]);
        onnx_input_typed(&file, name, v->type, dims);
        return;
    }
    const size_t tensor = onnx_begin(&file, 5);
    for (size_t d = 0; d < v->rank; d++) onnx_put_whole(&file, 1, (int64_t)v->dims[d]);
    onnx_put_whole(&file, 2, v->type);
    onnx_put_text(&file, 8, name);
    onnx_put_bytes(&file, 9, bytes, pack(v, v->type, bytes));
    onnx_end(&file, tensor);
}

/* "alpha=1.5 transA=1 pads=0,1 activation=Relu": floats have a point, lists a comma. */
static void put_attributes(const char *text) {
    char name[32], own[48];
    int length;
    for (; sscanf(text, " %31[^=]=%47s%n", name, own, &length) == 2; text += length) {
        const bool is_list = strchr(own, ',') != NULL, is_real = strchr(own, '.') != NULL,
                   is_text = isalpha((unsigned char)own[0]) != 0;
        const size_t attribute = onnx_begin(&file, 5);
        onnx_put_text(&file, 1, name);
        if (is_text) onnx_put_text(&file, 4, own);
        for (char *at = own; !is_text && *at; at += *at == ',') {
            const double number = strtod(at, &at);
            if (is_real)
                onnx_put_real(&file, is_list ? 7 : 2, (float)number);
            else
                onnx_put_whole(&file, is_list ? 8 : 3, (int64_t)number);
        }
        onnx_put_whole(&file, 20, is_text ? 3 : (is_real ? 1 : 2) + (is_list ? 5 : 0));
        onnx_end(&file, attribute);
    }
}

/* Reads `now` into `node`. */
static void read_example(void) {
    const char *text = now->inputs;
    memset(&node, 0, sizeof node);
    node.op = now->op;
    node.attributes = now->attributes;
    for (size_t i = 0; *text; i++, text += *text == ',') text = read_value(&node.in[i], text, i);
}

/* The node of `now`, whose values have the number of the example in their names. */
static void put_example(size_t number) {
    char inputs[256] = "", outputs[128] = "", name[48], word[16];
    int length;
    read_example();
    for (size_t i = 0; i < MICROSOFT_INPUTS; i++) {
        const bool is_given = node.in[i].count > 0;
        snprintf(name, sizeof name, "e%zu_v%zu", number, i);
        if (is_given) put_value(&node.in[i], name);
        sprintf(inputs + strlen(inputs), "%s ", is_given ? name : "-");
    }
    while (strlen(inputs) >= 2 && strcmp(inputs + strlen(inputs) - 2, "- ") == 0)
        inputs[strlen(inputs) - 2] = '\0';
    for (const char *at = now->outputs; sscanf(at, "%15s%n", word, &length) == 1; at += length) {
        snprintf(name, sizeof name, "e%zu_%s", number, word);
        sprintf(outputs + strlen(outputs), "%s ", word[0] == '-' ? "-" : name);
        if (word[0] != '-') onnx_output(&file, name);
    }
    const size_t begun = onnx_begin_node(&file, now->op, inputs, outputs);
    onnx_put_text(&file, 7, "com.microsoft");
    put_attributes(now->attributes);
    onnx_end(&file, begun);
}

static void write_examples(const example *examples, size_t count) {
    const size_t model = onnx_begin_model(&file);
    for (size_t i = 0; i < count; i++) {
        now = &examples[i];
        put_example(i);
    }
    onnx_end_model(&file, model);
    const size_t set = onnx_begin(&file, 8);
    onnx_put_text(&file, 1, "com.microsoft");
    onnx_put_whole(&file, 2, 1);
    onnx_end(&file, set);
}

/* ---- examples ---- */

#define LSTM "DynamicQuantizeLSTM"
#define CONV "X 2 3 5 7,x 4 3 3 2,x 4,X 2 4 5 7"

static const example examples[] = {{"Gelu", "X 3 5 7", "", "y"}, {"FastGelu", "X 3 5 7", "", "y"},
    {"FastGelu", "X 3 5 7,x 7", "", "y"}, {"BiasGelu", "X 3 5 7,x 7", "", "y"},
    {"QuickGelu", "X 3 5", "", "y"}, {"QuickGelu", "X 3 5", "alpha=0.7", "y"},
    {"FusedMatMul", "X 2 3 5,X 2 5 7", "", "y"},
    {"FusedMatMul", "X 2 5 3,X 2 5 7", "transA=1 alpha=1.5", "y"},
    {"FusedMatMul", "X 2 3 5,X 2 7 5", "transB=1 alpha=-.5", "y"},
    {"FusedMatMul", "X 2 5 3,X 2 7 5", "transA=1 transB=1", "y"},
    {"FusedConv", "X 2 3 5 7,x 4 3 3 2", "activation=Relu", "y"},
    {"FusedConv", CONV, "pads=1,0,1,1 activation=Relu", "y"},
    {"FusedConv", CONV, "pads=0,1,2,0 activation=Tanh", "y"},
    {"FusedConv", CONV, "pads=2,1,0,0 activation=Sigmoid", "y"},
    {"FusedConv", CONV, "pads=1,0,1,1 activation=LeakyRelu activation_params=0.3,", "y"},
    {"FusedConv", CONV, "pads=1,0,1,1 activation=Clip activation_params=-1.5,2.5", "y"},
    {"FusedConv", CONV, "pads=1,0,1,1 activation=HardSigmoid activation_params=0.1,0.4", "y"},
    {"SkipLayerNormalization", "X 2 3 5,X 2 3 5,x 5,x 5,x 5", "epsilon=0.5", "y - - s"},
    {"SkipLayerNormalization", "X 2 3 5,X 3 5,x 5", "", "y - - s"},
    {"SkipSimplifiedLayerNormalization", "X 2 3 5,X 2 3 5,x 5,x 5", "epsilon=0.5", "y - - s"},
    {"EmbedLayerNormalization", "N7 2 3,N2 2 3,x 7 5,x 4 5,x 2 5,x 5,x 5,-,N4 2 3", "epsilon=0.5", "y - s"},
    {"EmbedLayerNormalization", "N7 2 3,-,x 7 5,x 4 5,-,x 5,x 5", "", "y - s"},
    {"Attention", "X 2 3 5,x 5 12,x 12", "num_heads=2", "y"},
    {"Attention", "X 2 3 5,x 5 12,x 12", "num_heads=2 unidirectional=1 scale=0.3", "y"},
    {"Attention", "X 2 3 5,x 5 12,x 12,N2 2 3,-,X 2 2 3 3", "num_heads=2 mask_filter_value=-1.5", "y"},
    {"MultiHeadAttention", "X 2 3 4,X 2 5 4,X 2 5 6", "num_heads=2 scale=0.3", "y"},
    {"MultiHeadAttention", "X 2 3 4,X 2 5 4,X 2 5 6,x 14,N3 2 5,X 1 2 3 5", "num_heads=2", "y"},
    {"RotaryEmbedding", "X 2 3 12,L7 2 3,x 7 2,x 7 2", "num_heads=3", "y"},
    {"RotaryEmbedding", "X 2 3 5 4,L2 1,x 7 2,x 7 2", "interleaved=1", "y"},
    {"RotaryEmbedding", "X 2 3 12,L7 2 3,x 7 1,x 7 1", "num_heads=2 rotary_embedding_dim=2", "y"},
    {"QLinearAdd", "U 3 5,s,u,U 3 5,s,u,s,u", "", "y"}, {"QLinearAdd", "I 3 5,s,i,I 5,s,i,s,i", "", "y"},
    {"QLinearMul", "U 3 5,s,u,U 3 5,s,u,s,u", "", "y"}, {"QLinearMul", "I 3 5,s,i,I 3 5,s,i,s,i", "", "y"},
    {"QLinearSigmoid", "U 5 7,s,u,s,u", "", "y"}, {"QLinearSigmoid", "I 5 7,s,i,s,i", "", "y"},
    {"QLinearLeakyRelu", "U 5 7,s,u,s,u", "", "y"}, {"QLinearLeakyRelu", "I 5 7,s,i,s,i", "alpha=0.6", "y"},
    {"QLinearAveragePool", "U 2 3 5 7,s,u,s,u", "kernel_shape=2,3 pads=0,1,0,0", "y"},
    {"QLinearAveragePool", "I 2 3 5 7,s,i,s,i", "kernel_shape=3,2", "y"},
    {"QLinearGlobalAveragePool", "U 2 3 5 7,s,u,s,u", "", "y"},
    {"QLinearConcat", "s,u,U 2 3 5,s,u,U 2 2 5,s,u", "axis=1", "y"},
    {"QLinearConcat", "s,i,I 2 3 5,s,i,I 2 2 5,s,i", "axis=1", "y"},
    {"MatMulIntegerToFloat", "U 2 3 5,i 5 7,s,s 7,u,i 7,x 7", "", "y"},
    {"MatMulIntegerToFloat", "I 2 3 5,i 5 7,s,s", "", "y"},
    {"DynamicQuantizeMatMul", "X 2 3 5,i 5 7,s 7,i 7,x 7", "", "y"},
    {"DynamicQuantizeMatMul", "X 2 3 5,u 5 7,s,u", "", "y"},
    {LSTM, "X 4 3 5,i 1 5 8,i 1 2 8,x 1 16,-,-,-,-,s 1,i 1,s 1,i 1", "hidden_size=2", "y h c"},
    {LSTM, "X 4 3 5,u 1 5 8,u 1 2 8,-,-,-,-,-,s 1,u 1,s 1,u 1", "hidden_size=2 direction=reverse", "y h c"},
    {LSTM, "X 4 3 5,i 2 5 8,i 2 2 8,x 2 16,P4 3,X 2 3 2,X 2 3 2,x 2 6,s 2,i 2,s 2,i 2",
        "hidden_size=2 direction=bidirectional", "y h c"},
    {LSTM, "X 4 3 5,i 2 5 8,i 2 2 8,x 2 16,-,-,-,-,s 2 8,i 2 8,s 2 8,i 2 8",
        "hidden_size=2 direction=bidirectional", "y h c"}};

/* How many elements of an output are wrong. */
static size_t count_wrong(weft_plan *plan, weft_tensor *tensor, const microsoft_output *wanted) {
    float reals[MICROSOFT_MOST];
    int32_t wholes[MICROSOFT_MOST];
    size_t wrong = 0;
    assert_int_equal(weft_tensor_dtype(tensor), wanted->is_whole ? WEFT_I32 : WEFT_F32);
    if (wanted->is_whole)
        assert_weft_ok(weft_plan_read(plan, tensor, wholes, wanted->count * sizeof *wholes));
    else
        assert_weft_ok(weft_plan_read(plan, tensor, reals, wanted->count * sizeof *reals));
    for (size_t k = 0; k < wanted->count; k++) {
        const double given = wanted->is_whole ? (double)wholes[k] : (double)reals[k];
        const double most = wanted->is_whole ? 0.501 : 1e-5 * (1 + fabs(wanted->data[k]));
        if (!(fabs(given - wanted->data[k]) <= most)) wrong++;
    }
    return wrong;
}

enum { EXAMPLES = sizeof examples / sizeof *examples, MOST_RESULTS = EXAMPLES * MICROSOFT_OUTPUTS };

/* Writes the inputs of all examples, in the order of the file. */
static void write_inputs(weft_plan *plan, const weft_onnx_model *model) {
    static char bytes[8 * MICROSOFT_MOST];
    size_t given = 0;
    for (now = examples; now < examples + EXAMPLES; now++) {
        read_example();
        for (size_t i = 0; i < MICROSOFT_INPUTS; i++)
            if (node.in[i].is_open)
                assert_weft_ok(weft_plan_write(plan, weft_onnx_input(model, given++), bytes,
                    pack(&node.in[i], node.in[i].type == ONNX_FLOAT ? ONNX_FLOAT : ONNX_INT32, bytes)));
    }
}

/* All examples are one network, so that they are one plan. */
static void test_examples(void **state) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    weft_onnx_model *model;
    weft_tensor *outputs[MOST_RESULTS], *const *output = outputs;
    weft_plan *plan;
    weft_graph *const graph = test_graph();
    size_t failed = 0;
    (void)state;
    write_examples(examples, EXAMPLES);
    assert_weft_ok(weft_onnx_load_from_memory(&model, graph, file.data, file.length, NULL));
    const size_t count = weft_onnx_output_count(model);
    assert_true(count <= MOST_RESULTS);
    for (size_t i = 0; i < count; i++) outputs[i] = weft_onnx_output(model, i);
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    write_inputs(plan, model);
    assert_weft_ok(weft_plan_run(plan));
    for (now = examples; now < examples + EXAMPLES; now++) {
        size_t wrong = 0, i = 0;
        read_example();
        microsoft_compute(&node);
        for (const char *at = now->outputs; *at; at += *at == ' ')
            if (*at++ != '-') wrong += count_wrong(plan, *output++, &node.out[i++]);
        if (wrong == 0) continue;
        print_error("%s (%s) %s: %zu numbers are wrong\n", now->op, now->inputs, now->attributes, wrong);
        failed++;
    }
    assert_int_equal(failed, 0);
    assert_int_equal(output - outputs, count);
    weft_plan_release(plan);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    static const struct {
        example node;
        const char *error;
    } refused[] = {{{"FusedMatMul", "X 2 3 5,X 2 5 7", "transBatchA=1", "y"}, "transBatchA, transBatchB"},
        {{"FusedMatMul", "X 5,X 5 7", "", "y"}, "vectors are not supported"},
        {{"EmbedLayerNormalization", "N7 2 3,-,x 7 5,x 4 5,-,x 5,x 5", "", "y m"}, "mask_index"},
        {{"Attention", "X 2 3 5,x 5 12,x 12", "num_heads=3", "y"}, "num_heads that divide its width"},
        {{"Attention", "X 2 3 5,x 5 12,x 12", "num_heads=2 do_rotary=1", "y"}, "do_rotary are not supported"},
        {{"MultiHeadAttention", "X 2 3 4", "num_heads=2", "y"}, "packed inputs and a past"},
        {{"RotaryEmbedding", "X 2 3 12,L7 2 3,x 7 2,x 7 2", "num_heads=3 scale=0.5", "y"},
            "is_packed_batching and scale"},
        {{"QLinearAveragePool", "U 2 3 5 7,s,u,s,u", "kernel_shape=2,3 channels_last=1", "y"},
            "channels_last is not supported"},
        {{"QLinearConcat", "s,u,U 2 3 5,s", "axis=1", "y"}, "the number of its inputs is 4"}};
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        write_examples(&refused[i].node, 1);
        onnx_case_refused(&file, now->op, refused[i].error);
    }
}

/* Each operator has an example. */
static void test_operators(void **state) {
    const wi_onnx_op *const lists[] = {wi_onnx_microsoft_ops, wi_onnx_microsoft_quantised_ops};
    (void)state;
    for (size_t l = 0; l < 2; l++)
        for (const wi_onnx_op *op = lists[l]; op->name; op++) {
            size_t i = 0;
            while (i < EXAMPLES && strcmp(examples[i].op, op->name) != 0) i++;
            if (i == EXAMPLES) fail_msg("%s has no example", op->name);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators), cmocka_unit_test(test_examples), cmocka_unit_test(test_refusals)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
