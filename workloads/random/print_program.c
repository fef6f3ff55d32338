/* Writes a program as a whole program of C, with the numbers of its inputs: see random_program.h. */
#include "oracle/dtype_values.h"
#include "random/print.h"
#include "random/trained.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static bool is_narrow(weft_dtype dtype) {
    return dtype == WEFT_BF16 || dtype == WEFT_F16;
}

static const char *element_type(weft_dtype dtype) {
    return is_narrow(dtype)     ? "uint16_t"
           : dtype == WEFT_I32  ? "int32_t"
           : dtype == WEFT_BOOL ? "uint8_t"
                                : "float";
}

static void add_element(text *t, weft_dtype dtype, double value) {
    if (is_narrow(dtype))
        program_text_add(t, "0x%04x", dtype == WEFT_F16 ? f64_half_of(value) : f64_bfloat_of(value));
    else if (dtype == WEFT_I32 || dtype == WEFT_BOOL)
        program_text_add(t, "%d", (int)value);
    else
        program_text_add(t, "%.9g", value);
}

/* An array of the file: what the input of this letter and number holds. */
static void add_numbers(text *t, char letter, int number, weft_dtype dtype, const f64_array *values) {
    program_text_add(t, "static const %s data_%c%d[] = {", element_type(dtype), letter, number);
    for (size_t i = 0; i < values->count; i++) {
        if (i > 0) program_text_add(t, i % 20 ? ", " : ",\n    ");
        add_element(t, dtype, values->value[i]);
    }
    program_text_add(t, "};\n");
}

static bool is_wrt(const program *p, int value) {
    bool depends = false;
    for (int term = 0; term < p->loss_count; term++)
        depends = depends || program_depends(p, p->loss[term], value);
    return depends && !p->values[value].is_call && !p->values[value].source.changed &&
           p->values[value].source.dtype == p->format;
}

/* The first two of the sources that gradients are for have second gradients. */
static bool has_second(const program *p, int value) {
    int before = 0;
    for (int i = 0; i < value; i++) before += is_wrt(p, i);
    return p->second && is_wrt(p, value) && before < 2;
}

static void add_all_numbers(text *t, const program *p, f64_array *const *values) {
    for (int i = 0; i < p->count; i++)
        if (!p->values[i].is_call) add_numbers(t, 'v', i, p->values[i].source.dtype, values[i]);
    for (int term = 0; term < p->loss_count; term++)
        add_numbers(t, 'w', term, p->format, program_loss_weights(p, term, values[p->loss[term]]));
    for (int i = 0; i < p->count; i++)
        if (has_second(p, i)) add_numbers(t, 'u', i, p->format, program_direction(p, i, values[i]));
}

/* ---- what stands in every program ---- */

static const char helpers[] =
    "static int fail(void) {\n"
    "    fprintf(stderr, \"%s\\n\", weft_last_error());\n"
    "    return 1;\n"
    "}\n\n"
    "static inline weft_tensor *input_like(weft_graph *graph, const char *name, weft_dtype dtype, "
    "weft_tensor *x) {\n"
    "    int64_t dims[WEFT_MAX_RANK];\n"
    "    for (int i = 0; i < weft_tensor_rank(x); i++) dims[i] = weft_tensor_dimension(x, i);\n"
    "    return weft_input_shape(graph, name, dtype, weft_tensor_rank(x), dims);\n"
    "}\n\n"
    "/* Element i: 16-bit formats as their bits. */\n"
    "static void show_element(weft_dtype dtype, const void *data, size_t i) {\n"
    "    switch (dtype) {\n"
    "    case WEFT_BF16:\n"
    "    case WEFT_F16: printf(\" 0x%04x\", (unsigned)((const uint16_t *)data)[i]); break;\n"
    "    case WEFT_I32: printf(\" %d\", (int)((const int32_t *)data)[i]); break;\n"
    "    case WEFT_BOOL: printf(\" %d\", (int)((const uint8_t *)data)[i]); break;\n"
    "    default: printf(\" %.9g\", (double)((const float *)data)[i]);\n"
    "    }\n"
    "}\n\n"
    "static int show(weft_plan *plan, const char *name, weft_tensor *x, size_t count) {\n"
    "    void *const data = calloc(count + 1, 4);\n"
    "    const weft_dtype dtype = weft_tensor_dtype(x);\n"
    "    if (!data || weft_plan_read(plan, x, data, count * weft_dtype_size(dtype)) != WEFT_OK) return "
    "fail();\n"
    "    printf(\"%s:\", name);\n"
    "    for (size_t i = 0; i < count; i++) show_element(dtype, data, i);\n"
    "    printf(\"\\n\");\n"
    "    free(data);\n"
    "    return 0;\n"
    "}\n\n";

/* ---- the graph ---- */

static const char *precision_word(const program *p) {
    return p->precision == WEFT_PRECISION_BF16  ? "WEFT_PRECISION_BF16"
           : p->precision == WEFT_PRECISION_F16 ? "WEFT_PRECISION_F16"
                                                : NULL;
}

static void add_source(text *t, const program_source *source, int value) {
    const char *const dtype = program_dtype_word(source->dtype);
    switch (source->kind) {
    case PROGRAM_PARAMETER:
        program_text_add(t, "weft_parameter_dtype(graph, \"v%d\", %s, zeros, ", value, dtype);
        break;
    case PROGRAM_STATE:
        program_text_add(t, "weft_state_shape(graph, \"v%d\", %s, zeros, ", value, dtype);
        break;
    case PROGRAM_ARRAY: program_text_add(t, "weft_array(graph, %s, data_v%d, ", dtype, value); break;
    default: program_text_add(t, "weft_input_shape(graph, \"v%d\", %s, ", value, dtype);
    }
    program_text_add_shape(t, source->dims);
    program_text_add(t, ");\n");
}

static bool writes_parts(const program *p) {
    bool parts = false;
    for (int i = 0; i < p->count; i++)
        parts = parts || (p->values[i].is_call && strstr(p->values[i].call.op->code, "parts"));
    return parts;
}

static void add_values(text *t, const program *p) {
    program_text_add(
        t, "    const weft_initialiser zeros = {.kind = WEFT_INIT_CONSTANT};\n    (void)zeros;\n");
    if (writes_parts(p)) program_text_add(t, "    weft_tensor *parts[8];\n");
    for (int i = 0; i < p->count; i++) {
        program_text_add(t, "    weft_tensor *v%d = ", i);
        if (!p->values[i].is_call) {
            add_source(t, &p->values[i].source, i);
            continue;
        }
        program_text_add_call(t, &p->values[i].call);
        program_text_add(t, ";\n");
    }
}

static void add_loss(text *t, const program *p) {
    for (int term = 0; term < p->loss_count; term++) {
        const int value = p->loss[term];
        program_text_add(t, "    weft_tensor *w%d = input_like(graph, \"w%d\", %s, v%d);\n", term, term,
            program_dtype_word(p->format), value);
        program_text_add(t, "    %sloss = %s(weft_mul(v%d, w%d))%s;\n", term ? "" : "weft_tensor *",
            term ? "weft_add(loss, weft_sum" : "weft_sum", value, term, term ? ")" : "");
    }
}

static void add_second(text *t, const program *p, int value, int place) {
    program_text_add(t, "    weft_tensor *u%d = input_like(graph, \"u%d\", %s, v%d);\n", value, value,
        program_dtype_word(p->format), value);
    program_text_add(t,
        "    weft_tensor *second_v%d = weft_gradient(weft_sum(weft_mul(gradients[%d], u%d)), v%d);\n", value,
        place, value, value);
}

/* Returns for how many sources there are gradients. */
static int add_gradients(text *t, const program *p) {
    int count = 0;
    for (int i = 0; i < p->count; i++) {
        if (!is_wrt(p, i)) continue;
        program_text_add(t, count++ ? ", v%d" : "    weft_tensor *wrt[] = {v%d", i);
    }
    if (count == 0) return 0;
    program_text_add(t, "};\n    weft_tensor *gradients[%d] = {NULL};\n", count);
    program_text_add(
        t, "    if (weft_gradients(loss, wrt, %d, gradients) != WEFT_OK) return fail();\n", count);
    for (int i = 0, place = 0; i < p->count; i++) {
        if (has_second(p, i)) add_second(t, p, i, place);
        place += is_wrt(p, i);
    }
    return count;
}

static bool updates(const program *p, int value) {
    return is_wrt(p, value) && p->values[value].source.kind == PROGRAM_PARAMETER;
}

/* Returns whether there is an update. */
static bool add_update(text *t, const program *p) {
    int count = 0, moving = 0;
    for (int i = 0; i < p->count; i++) moving += updates(p, i) && !program_is_frozen(p, i);
    if (!p->minimizes || moving == 0) return false;
    for (int i = 0; i < p->count; i++)
        if (updates(p, i) && program_is_frozen(p, i))
            program_text_add(t, "    (void)weft_freeze(graph, \"v%d\", true);\n", i);
    program_text_add(t, "    weft_tensor *updated[] = {");
    for (int i = 0; i < p->count; i++)
        if (updates(p, i)) program_text_add(t, count++ ? ", v%d" : "v%d", i);
    program_text_add(t, "}, *moves[] = {");
    for (int i = 0, place = 0, done = 0; i < p->count; i++) {
        if (updates(p, i)) program_text_add(t, done++ ? ", gradients[%d]" : "gradients[%d]", place);
        place += is_wrt(p, i);
    }
    program_text_add(t,
        "};\n    weft_optimizer rule = weft_sgd((float)%.9g);\n    rule.clip_norm = (float)%.9g;\n",
        (double)PROGRAM_RATE, (double)p->clip_norm);
    program_text_add(t,
        "    weft_tensor *update = weft_optimizer_step(weft_optimizer_create(graph, &rule), updated, moves, "
        "%d);\n",
        count);
    return true;
}

/* ---- the plan ---- */

static void add_outputs(text *t, const program *p, bool update) {
    program_text_add(t, "    weft_tensor *outputs[] = {");
    for (int i = 0; i < p->count; i++)
        if (p->values[i].shown) program_text_add(t, "v%d, ", i);
    for (int i = 0, place = 0; i < p->count; i++) {
        if (is_wrt(p, i)) program_text_add(t, "gradients[%d], ", place++);
        if (has_second(p, i)) program_text_add(t, "second_v%d, ", i);
    }
    for (int i = 0; i < p->count; i++)
        if (p->values[i].assigned) program_text_add(t, "weft_assign(v%d, v%d), ", i, p->values[i].assigned);
    program_text_add(t, "%s};\n", update ? "update" : "");
}

static void add_plan(text *t, const program *p, const oracle_sizes *sizes) {
    program_text_add(t,
        "    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = %lld, .length = %lld, "
        ".inference = %s};\n",
        (long long)sizes->batch, p->free_length ? (long long)sizes->length : 0LL,
        p->inference ? "true" : "false");
    program_text_add(t,
        "    if (weft_plan_create(&plan, outputs, sizeof outputs / sizeof *outputs, &options) != "
        "WEFT_OK) return fail();\n");
}

/* Inputs that no output needs are none of the plan's: writing them is an error that means nothing. */
static void add_writes(text *t, const program *p) {
    for (int i = 0; i < p->count; i++) {
        const program_source *const source = &p->values[i].source;
        if (p->values[i].is_call || source->kind == PROGRAM_ARRAY) continue;
        const bool input = source->kind == PROGRAM_INPUT;
        program_text_add(t, "    (void)%sv%d, data_v%d, sizeof data_v%d);\n",
            input ? "weft_plan_write(plan, " : "weft_tensor_write(", i, i, i);
    }
    for (int term = 0; term < p->loss_count; term++)
        program_text_add(
            t, "    (void)weft_plan_write(plan, w%d, data_w%d, sizeof data_w%d);\n", term, term, term);
    for (int i = 0; i < p->count; i++)
        if (has_second(p, i))
            program_text_add(
                t, "    (void)weft_plan_write(plan, u%d, data_u%d, sizeof data_u%d);\n", i, i, i);
}

static void add_show(text *t, const char *name, int value, const char *tensor, const f64_array *like) {
    program_text_add(
        t, "    if (show(plan, \"%s%d\", %s, %zu)) return 1;\n", name, value, tensor, like->count);
}

static void add_shows(text *t, const program *p, f64_array *const *values) {
    char tensor[32];
    for (int i = 0, place = 0; i < p->count; i++) {
        snprintf(tensor, sizeof tensor, "v%d", i);
        if (p->values[i].shown) add_show(t, "v", i, tensor, values[i]);
        snprintf(tensor, sizeof tensor, "gradients[%d]", place);
        if (is_wrt(p, i)) add_show(t, "gradient of v", i, tensor, values[i]), place++;
        snprintf(tensor, sizeof tensor, "second_v%d", i);
        if (has_second(p, i)) add_show(t, "second gradient of v", i, tensor, values[i]);
    }
}

static void add_main(text *t, const program *p, const oracle_sizes *sizes, f64_array *const *values) {
    program_text_add(t,
        "int main(void) {\n    weft_context *context = NULL;\n    weft_graph *graph = NULL;\n    weft_plan "
        "*plan = NULL;\n"
        "    const weft_context_options seeded = {WEFT_CONTEXT_OPTIONS_INIT, .seed = %llu};\n"
        "    if (weft_context_create(&context, &seeded) != WEFT_OK) return fail();\n"
        "    if (weft_graph_create(&graph, context) != WEFT_OK) return fail();\n",
        (unsigned long long)sizes->seed);
    if (p->precision == WEFT_PRECISION_F16)
        program_text_add(t, "    const weft_loss_scaling unscaled = {WEFT_LOSS_SCALING_INIT, .initial = 1};\n"
                            "    (void)weft_graph_set_loss_scaling(graph, &unscaled);\n");
    if (precision_word(p))
        program_text_add(t, "    (void)weft_graph_set_precision(graph, %s);\n", precision_word(p));
    add_values(t, p);
    add_loss(t, p);
    const bool update = add_gradients(t, p) > 0 && add_update(t, p);
    program_text_add(t, "    if (weft_graph_status(graph) != WEFT_OK) return fail();\n");
    add_outputs(t, p, update);
    add_plan(t, p, sizes);
    add_writes(t, p);
    program_text_add(t, "    if (weft_plan_run(plan) != WEFT_OK) return fail();\n");
    add_shows(t, p, values);
    program_text_add(t, "    weft_plan_release(plan);\n    weft_graph_release(graph);\n"
                        "    weft_context_release(context);\n    return 0;\n}\n");
}

char *program_text(const program *p, const oracle_sizes *sizes) {
    text t = {0};
    f64_array *values[PROGRAM_VALUES];
    const f64_mark mark = f64_pool_mark();
    for (int i = 0; i < p->count; i++)
        if (!p->values[i].is_call) values[i] = program_source_values(p, i, sizes);
    program_evaluate(p, sizes, values, 0, 0);
    program_text_add(&t,
        "/* Program %llu of seed %llu of `weft check --random`. Build: cc FILE -lweft -lm */\n",
        (unsigned long long)p->number, (unsigned long long)p->seed);
    program_text_add(
        &t, "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <weft/weft.h>\n\n");
    add_all_numbers(&t, p, values);
    program_text_add(&t, "\n%s", helpers);
    add_main(&t, p, sizes, values);
    f64_pool_release(mark);
    if (t.failed) free(t.data);
    return t.failed ? NULL : t.data;
}
