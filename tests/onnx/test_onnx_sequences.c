/* Sequences, optional values, bodies of loops and functions of ONNX: what the host resolves while it reads a file. */
#include "support/fixture.h"
#include "support/onnx_case.h"
#include <string.h>

static onnx_bytes file;

enum { INFO_OUTPUT = 12, INFO_VALUE = 13, ATTRIBUTE = 5, GRAPH_OF_ATTRIBUTE = 6 };

/* An output, or a value within, with a type and a shape. */
static void put_typed(int field, const char *name, int type, int64_t size) {
    const size_t info = onnx_begin(&file, field);
    onnx_put_text(&file, 1, name);
    const size_t kind = onnx_begin(&file, 2), tensor = onnx_begin(&file, 1);
    onnx_put_whole(&file, 1, type);
    const size_t shape = onnx_begin(&file, 2), dim = onnx_begin(&file, 1);
    onnx_put_whole(&file, 1, size);
    onnx_end(&file, dim);
    onnx_end(&file, shape);
    onnx_end(&file, tensor);
    onnx_end(&file, kind);
    onnx_end(&file, info);
}

/* A node with a graph, which is written until end_body. */
typedef struct body {
    size_t node, attribute, graph;
} body;

static body begin_body(const char *op, const char *inputs, const char *outputs, const char *name) {
    body b;
    b.node = onnx_begin_node(&file, op, inputs, outputs);
    b.attribute = onnx_begin(&file, ATTRIBUTE);
    onnx_put_text(&file, 1, name);
    onnx_put_whole(&file, 20, 5);
    b.graph = onnx_begin(&file, GRAPH_OF_ATTRIBUTE);
    return b;
}

static void end_body(body b) {
    onnx_end(&file, b.graph);
    onnx_end(&file, b.attribute);
    onnx_end(&file, b.node);
}

/* A model of the inputs a, b, c (2) and, as constants, 0, 1 and -1. */
static size_t begin_network(void) {
    const size_t model = onnx_begin_model(&file);
    for (const char *name = "abc"; *name; name++) onnx_input(&file, (const char[]){*name, 0}, "2");
    onnx_wholes(&file, "zero", "", (const int64_t[]){0});
    onnx_wholes(&file, "one", "", (const int64_t[]){1});
    onnx_wholes(&file, "last", "", (const int64_t[]){-1});
    return model;
}

/* SequenceMap by a graph that adds a tensor. */
static void put_map(const char *inputs, const char *output, bool one_input) {
    const body b = begin_body("SequenceMap", inputs, output, "body");
    onnx_input(&file, "element", "2");
    if (!one_input) onnx_input(&file, "other", "2");
    onnx_node(&file, "Mul", one_input ? "element element" : "element other", "product");
    onnx_output(&file, "product");
    end_body(b);
}

static const double first[] = {1, 2}, second[] = {3, 5}, third[] = {7, 11};
static const onnx_case_input inputs[] = {{first, 2}, {second, 2}, {third, 2}};

static void test_sequences(void **state) {
    static onnx_case_result results[8];
    static const double mapped[] = {7, 22, 21, 55}, squares[] = {3, 10}, at[] = {3, 5},
                        two[] = {1, 2, 7, 11, 3, 5}, three[] = {3}, rest[] = {1, 2, 7, 11}, split[] = {2};
    (void)state;
    const size_t model = begin_network();
    onnx_node(&file, "SequenceConstruct", "a b", "pair");
    onnx_node(&file, "SequenceConstruct", "b a", "turned");
    put_map("pair c", "by_c", false);
    onnx_case_node(&file, "ConcatFromSequence", "by_c", "mapped", "axis=0");
    put_map("pair turned", "together", false);
    onnx_node(&file, "SequenceAt", "together zero", "squares");
    onnx_node(&file, "Identity", "pair", "same");
    onnx_node(&file, "SequenceAt", "same last", "at");
    onnx_node(&file, "SequenceInsert", "pair c one", "three_of");
    onnx_case_node(&file, "ConcatFromSequence", "three_of", "all", "axis=0 new_axis=1");
    onnx_node(&file, "SequenceLength", "three_of", "count");
    onnx_node(&file, "SequenceErase", "three_of last", "two_of");
    onnx_case_node(&file, "ConcatFromSequence", "two_of", "rest", "axis=0");
    onnx_case_node(&file, "SplitToSequence", "a", "numbers", "axis=-1 keepdims=0");
    onnx_node(&file, "SequenceAt", "numbers one", "number");
    for (const char *const *name =
             (const char *const[]){"mapped", "squares", "at", "all", "count", "rest", "number", NULL};
         *name; name++)
        onnx_output(&file, *name);
    onnx_end_model(&file, model);
    onnx_case_run(&file, inputs, results);
    onnx_case_compare("SequenceMap with a tensor", &results[0], mapped, 4, 0);
    onnx_case_compare("SequenceMap of two", &results[1], squares, 2, 0);
    onnx_case_compare("SequenceAt", &results[2], at, 2, 0);
    onnx_case_compare("SequenceInsert", &results[3], two, 6, 0);
    onnx_case_compare("SequenceLength", &results[4], three, 1, 0);
    onnx_case_compare("SequenceErase", &results[5], rest, 4, 0);
    onnx_case_compare("SplitToSequence", &results[6], split, 1, 0);
}

static void test_optional(void **state) {
    static onnx_case_result results[4];
    static const double yes[] = {1}, no[] = {0};
    (void)state;
    const size_t model = begin_network();
    onnx_node(&file, "Optional", "a", "some");
    onnx_node(&file, "Optional", "", "none");
    onnx_node(&file, "Identity", "none", "none_too");
    onnx_node(&file, "OptionalHasElement", "some", "has");
    onnx_node(&file, "OptionalHasElement", "none_too", "has_not");
    onnx_node(&file, "OptionalHasElement", "", "has_nothing");
    onnx_node(&file, "OptionalGetElement", "some", "element");
    onnx_node(&file, "Mul", "element b", "y");
    onnx_node(&file, "Mul", "y c", "z");
    for (const char *const *name = (const char *const[]){"has", "has_not", "has_nothing", "z", NULL}; *name;
         name++)
        onnx_output(&file, *name);
    onnx_end_model(&file, model);
    onnx_case_run(&file, inputs, results);
    onnx_case_compare("a value", &results[0], yes, 1, 0);
    onnx_case_compare("no value", &results[1], no, 1, 0);
    onnx_case_compare("no input", &results[2], no, 1, 0);
    onnx_case_compare("its element", &results[3], (const double[]){1 * 3 * 7, 2 * 5 * 11}, 2, 0);
}

/* ---- loops without turns ---- */

/* parts: what each turn gives; size -1: its shape is not fixed. */
static void put_loop(int64_t size) {
    const body b = begin_body("Loop", "zero - a", "state parts", "body");
    onnx_input_typed(&file, "i", CASE_INT64, "");
    onnx_input_typed(&file, "goes", CASE_BOOL, "");
    onnx_input(&file, "v", "2");
    onnx_node(&file, "Identity", "goes", "on");
    onnx_node(&file, "Add", "v v", "w");
    onnx_node(&file, "Abs", "w", "part");
    onnx_output(&file, "on");
    onnx_output(&file, "w");
    put_typed(INFO_OUTPUT, "part", CASE_FLOAT, size);
    end_body(b);
}

static void test_no_turns(void **state) {
    static onnx_case_result results[2];
    (void)state;
    size_t model = begin_network();
    put_loop(2);
    onnx_node(&file, "Shape", "parts", "shape");
    onnx_node(&file, "Mul", "state b", "u");
    onnx_node(&file, "Mul", "u c", "y");
    put_typed(INFO_VALUE, "u", CASE_FLOAT, 2);
    onnx_output(&file, "shape");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    onnx_case_run(&file, inputs, results);
    onnx_case_compare("the shape of no parts", &results[0], (const double[]){0, 2}, 2, 0);
    onnx_case_compare("the state of no turns", &results[1], (const double[]){21, 110}, 2, 0);
    model = begin_network();
    put_loop(-1);
    onnx_node(&file, "Shape", "parts", "shape");
    onnx_output(&file, "shape");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "Loop", "it has no iterations, and output 1 has no fixed shape");
}

/* ---- scans ---- */

/* A scan of x with the state s, which becomes s + e for each row e of x and gives (s + e) · e; from the last row on if `back`
 * names an attribute. */
static void put_scan(const char *taken, const char *back) {
    const body b = begin_body("Scan", taken, "end y", "body");
    onnx_input(&file, "before", "2");
    onnx_input(&file, "e", "2");
    onnx_node(&file, "Add", "before e", "after");
    onnx_node(&file, "Mul", "after e", "part");
    onnx_output(&file, "after");
    onnx_output(&file, "part");
    onnx_end(&file, b.graph);
    onnx_end(&file, b.attribute);
    onnx_attribute_whole(&file, "num_scan_inputs", 1);
    if (back) {
        const size_t attribute = onnx_begin(&file, ATTRIBUTE);
        onnx_put_text(&file, 1, back);
        onnx_put_whole(&file, 8, 1);
        onnx_put_whole(&file, 20, 7);
        onnx_end(&file, attribute);
    }
    onnx_end(&file, b.node);
}

/* In operator set 8, scans have a batch, and may have lengths. */
static void test_scans(void **state) {
    static const double s[] = {1, 2, 0, 1}, x[] = {1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1};
    static const struct {
        int version;
        const char *taken, *back;
        double end[4], y[12];
    } rows[] = {{17, "s x", NULL, {10, 14}, {2, 8, 15, 32, 50, 84}},
        {17, "s x", "scan_input_directions", {10, 14}, {30, 48, 27, 48, 10, 28}},
        {8, "- s x", NULL, {10, 14, 3, 4}, {2, 8, 15, 32, 50, 84, 1, 2, 2, 3, 3, 4}},
        {8, "- s x", "directions", {10, 14, 3, 4}, {30, 48, 27, 48, 10, 28, 1, 2, 2, 3, 3, 4}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static onnx_case_result results[2];
        const size_t examples = rows[i].version == 8 ? 2 : 1, model = onnx_begin_model(&file);
        onnx_input(&file, "s", examples == 2 ? "2 2" : "2");
        onnx_input(&file, "x", examples == 2 ? "2 3 2" : "3 2");
        put_scan(rows[i].taken, rows[i].back);
        onnx_output(&file, "end");
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        onnx_case_version(&file, rows[i].version);
        onnx_case_run(&file, (const onnx_case_input[]){{s, 2 * examples}, {x, 6 * examples}}, results);
        onnx_case_compare("the state", &results[0], rows[i].end, 2 * examples, 1e-6);
        onnx_case_compare("the parts", &results[1], rows[i].y, 6 * examples, 1e-6);
    }
    static const char *const refused[][2] = {{"x s x", "lengths of examples are not supported"},
        {"- open x", "it needs a known number of examples"}};
    for (int i = 0; i < 2; i++) {
        const size_t model = onnx_begin_model(&file);
        onnx_input(&file, "s", "2 2");
        onnx_input(&file, "open", "batch 2");
        onnx_input(&file, "x", "2 3 2");
        put_scan(refused[i][0], NULL);
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        onnx_case_version(&file, 8);
        onnx_case_refused(&file, "Scan", refused[i][1]);
    }
}

/* ---- refusals ---- */

static void put_refused(int i) {
    switch (i) {
    case 0: onnx_node(&file, "SequenceAt", "pair three", "y"); break;
    case 1: onnx_node(&file, "SequenceInsert", "pair", "more"); break;
    case 2:
        onnx_node(&file, "SequenceEmpty", "", "empty");
        onnx_node(&file, "ConcatFromSequence", "empty", "y");
        break;
    case 3: onnx_case_node(&file, "SplitToSequence", "a", "more", "axis=4"); break;
    case 4:
        onnx_node(&file, "SequenceConstruct", "a", "one_of");
        put_map("pair one_of", "more", false);
        break;
    case 5: put_map("pair a", "more", true); break;
    case 6:
        onnx_node(&file, "Optional", "", "none");
        onnx_node(&file, "OptionalGetElement", "none", "y");
        break;
    case 7: {
        const body b = begin_body("Loop", "one - a", "y", "body");
        onnx_output(&file, "a");
        end_body(b);
        break;
    }
    case 8: {
        const body b = begin_body("Loop", "one - a b", "y", "body");
        for (const char *name = "ijkl"; *name; name++) onnx_input(&file, (const char[]){*name, 0}, "2");
        onnx_output(&file, "j");
        onnx_output(&file, "k");
        end_body(b);
        break;
    }
    case 9: {
        const body b = begin_body("Scan", "a zero", "y", "body");
        onnx_end(&file, b.graph);
        onnx_end(&file, b.attribute);
        onnx_attribute_whole(&file, "num_scan_inputs", 2);
        onnx_end(&file, b.node);
        break;
    }
    default: break;
    }
}

static void test_refusals(void **state) {
    static const char *const errors[][2] = {{"SequenceAt", "not within the sequence"},
        {"SequenceInsert", "there is nothing to insert"}, {"ConcatFromSequence", "the sequence is empty"},
        {"SplitToSequence", "there is no axis 4"}, {"SequenceMap", "its sequences have different lengths"},
        {"SequenceMap", "its graph has other inputs or outputs"},
        {"OptionalGetElement", "the optional value is absent"},
        {"Loop", "its graph has 0 inputs and 1 outputs, expected 3 and 2"},
        {"Loop", "its graph has too few outputs"}, {"Scan", "the axes that are scanned need one size"}};
    (void)state;
    for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++) {
        const size_t model = begin_network();
        onnx_wholes(&file, "three", "", (const int64_t[]){3});
        onnx_node(&file, "SequenceConstruct", "a b", "pair");
        put_refused(i);
        if (i == 1 || i == 3 || i == 4 || i == 5) onnx_node(&file, "SequenceAt", "more zero", "y");
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        onnx_case_refused(&file, errors[i][0], errors[i][1]);
    }
}

/* An input of each kind of value that is no tensor: their fields in the message of a type. */
static void test_kinds(void **state) {
    static const struct {
        int field;
        const char *error;
    } kinds[] = {{4, "is a sequence"}, {5, "is a map"}, {9, "is an optional value"},
        {8, "is a sparse tensor"}, {0, "is an input without a type"}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t model = begin_network(), input = onnx_begin(&file, 11);
        onnx_put_text(&file, 1, "strange");
        if (kinds[i].field) {
            const size_t type = onnx_begin(&file, 2);
            onnx_end(&file, onnx_begin(&file, kinds[i].field));
            onnx_end(&file, type);
        }
        onnx_end(&file, input);
        onnx_node(&file, "Neg", "strange", "y");
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        onnx_case_refused(&file, "'strange'", kinds[i].error);
    }
    size_t model = begin_network();
    onnx_input(&file, "deep", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
    onnx_node(&file, "Neg", "deep", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "'deep'", "has 17 dimensions");
    model = begin_network();
    onnx_end(&file, onnx_begin(&file, 15));
    onnx_node(&file, "Neg", "a", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    onnx_case_refused(&file, "", "sparse initializers are not supported");
}

/* ---- functions ---- */

/* y = my.Pass(a) · b · c, where Pass gives its input; `version` of its operators, 0: it says none. */
static void write_function(int64_t version) {
    const size_t model = begin_network(), node = onnx_begin_node(&file, "Pass", "a", "x");
    onnx_put_text(&file, 7, "my");
    onnx_end(&file, node);
    onnx_node(&file, "Mul", "x b", "u");
    onnx_node(&file, "Mul", "u c", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    const size_t function = onnx_begin(&file, 25);
    onnx_put_text(&file, 1, "Pass");
    onnx_put_text(&file, 4, "v");
    onnx_put_text(&file, 5, "v");
    if (version) {
        const size_t set = onnx_begin(&file, 9);
        onnx_put_whole(&file, 2, version);
        onnx_end(&file, set);
    }
    onnx_put_text(&file, 10, "my");
    onnx_end(&file, function);
}

static void test_functions(void **state) {
    static onnx_case_result result;
    (void)state;
    write_function(0);
    onnx_case_run(&file, inputs, &result);
    onnx_case_compare("a function that gives its input", &result, (const double[]){21, 110}, 2, 0);
    write_function(9);
    onnx_case_refused(&file, "Pass", "the function has another opset than the model");
}

/* y = my.Scale(a) · b · c, where Scale multiplies by an attribute of the function, which has a default, and which a call may give. */
static void write_scaled(float given) {
    const size_t model = begin_network(), node = onnx_begin_node(&file, "Scale", "a", "x");
    onnx_put_text(&file, 7, "my");
    if (given != 0) {
        const size_t attribute = onnx_begin(&file, ATTRIBUTE);
        onnx_put_text(&file, 1, "factor");
        onnx_put_real(&file, 2, given);
        onnx_put_whole(&file, 20, 1);
        onnx_end(&file, attribute);
    }
    onnx_end(&file, node);
    onnx_node(&file, "Mul", "x b", "u");
    onnx_node(&file, "Mul", "u c", "y");
    onnx_output(&file, "y");
    onnx_end_model(&file, model);
    const size_t function = onnx_begin(&file, 25);
    onnx_put_text(&file, 1, "Scale");
    onnx_put_text(&file, 4, "v");
    onnx_put_text(&file, 5, "w");
    const size_t constant = onnx_begin(&file, 7);
    onnx_put_text(&file, 2, "number");
    onnx_put_text(&file, 4, "Constant");
    const size_t value = onnx_begin(&file, 5);
    onnx_put_text(&file, 1, "value_float");
    onnx_put_text(&file, 21, "factor");
    onnx_put_whole(&file, 20, 1);
    onnx_end(&file, value);
    onnx_end(&file, constant);
    const size_t product = onnx_begin(&file, 7);
    onnx_put_text(&file, 1, "v");
    onnx_put_text(&file, 1, "number");
    onnx_put_text(&file, 2, "w");
    onnx_put_text(&file, 4, "Mul");
    onnx_end(&file, product);
    onnx_put_text(&file, 10, "my");
    const size_t usual = onnx_begin(&file, 11);
    onnx_put_text(&file, 1, "factor");
    onnx_put_real(&file, 2, 0.5f);
    onnx_put_whole(&file, 20, 1);
    onnx_end(&file, usual);
    onnx_end(&file, function);
}

static void test_attributes_of_functions(void **state) {
    static onnx_case_result result;
    (void)state;
    write_scaled(0);
    onnx_case_run(&file, inputs, &result);
    onnx_case_compare("the default", &result, (const double[]){10.5, 55}, 2, 0);
    write_scaled(2);
    onnx_case_run(&file, inputs, &result);
    onnx_case_compare("a given number", &result, (const double[]){42, 220}, 2, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attributes_of_functions),
        cmocka_unit_test(test_sequences), cmocka_unit_test(test_optional), cmocka_unit_test(test_no_turns),
        cmocka_unit_test(test_scans), cmocka_unit_test(test_refusals), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_functions)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
