/* See onnx_case.h. */
#include "support/onnx_case.h"
#include "support/fixture.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STORED = 4096, MOST_OUTPUTS = 64, INITIALIZER = 5, ATTRIBUTE = 5 };

/* ---- writing ---- */

static size_t put_dims(onnx_bytes *b, const char *dims) {
    size_t count = 1;
    char *end;
    for (long long dim = strtoll(dims, &end, 10); end != dims; dim = strtoll(dims, &end, 10)) {
        onnx_put_whole(b, 1, dim);
        count *= (size_t)dim;
        dims = end;
    }
    return count;
}

void onnx_case_constant(onnx_bytes *b, const char *name, int type, const char *dims, const double *numbers) {
    static union {
        float f[MOST_STORED];
        int64_t i[MOST_STORED];
        int32_t s[MOST_STORED];
        unsigned char u[MOST_STORED];
    } raw;
    const size_t tensor = onnx_begin(b, INITIALIZER), count = put_dims(b, dims);
    size_t size = 1;
    if (count > MOST_STORED) abort();
    for (size_t i = 0; i < count; i++) {
        switch (type) {
        case CASE_FLOAT: raw.f[i] = (float)numbers[i], size = sizeof(float); break;
        case CASE_INT64: raw.i[i] = (int64_t)numbers[i], size = sizeof(int64_t); break;
        case CASE_INT32: raw.s[i] = (int32_t)numbers[i], size = sizeof(int32_t); break;
        default: raw.u[i] = (unsigned char)(int)numbers[i]; break;
        }
    }
    onnx_put_whole(b, 2, type);
    onnx_put_text(b, 8, name);
    onnx_put_bytes(b, 9, &raw, count * size);
    onnx_end(b, tensor);
}

static bool is_number(const char *text) {
    return isdigit((unsigned char)*text) || (*text == '-' && isdigit((unsigned char)text[1]));
}

/* Writes a list of names such as "[Tanh,Relu]". */
static void put_names(onnx_bytes *b, const char *text) {
    while (*text && *text != ']') {
        const size_t length = strcspn(++text, ",]");
        onnx_put_bytes(b, 9, text, length);
        text += length;
    }
    onnx_put_whole(b, 20, 8);
}

/* Writes a list of whole numbers or floats, such as "[1,2]" or "[0.5,1.0]". */
static void put_list(onnx_bytes *b, const char *text) {
    const bool real = strchr(text, '.') != NULL;
    for (char *at = (char *)(uintptr_t)text; *at && *at != ']';) {
        const char *const number = at + 1;
        if (real)
            onnx_put_real(b, 7, strtof(number, &at));
        else
            onnx_put_whole(b, 8, strtoll(number, &at, 10));
        if (at == number) break;
    }
    onnx_put_whole(b, 20, real ? 6 : 7);
}

void onnx_case_node(
    onnx_bytes *b, const char *op, const char *inputs, const char *outputs, const char *attributes) {
    const size_t node = onnx_begin_node(b, op, inputs, outputs);
    char name[32], text[200];
    int read = 0;
    for (; attributes && sscanf(attributes, " %31[^=]=%199s%n", name, text, &read) == 2; attributes += read) {
        const size_t attribute = onnx_begin(b, ATTRIBUTE);
        onnx_put_text(b, 1, name);
        if (*text == '[' && isalpha((unsigned char)text[1])) {
            put_names(b, text);
        } else if (*text == '[') {
            put_list(b, text);
        } else if (is_number(text) && strchr(text, '.')) {
            onnx_put_real(b, 2, strtof(text, NULL));
            onnx_put_whole(b, 20, 1);
        } else if (is_number(text)) {
            onnx_put_whole(b, 3, strtoll(text, NULL, 10));
            onnx_put_whole(b, 20, 2);
        } else {
            onnx_put_text(b, 4, text);
            onnx_put_whole(b, 20, 3);
        }
        onnx_end(b, attribute);
    }
    onnx_end(b, node);
}

void onnx_case_version(onnx_bytes *b, int version) {
    char *const set = memchr(b->data, 17, 32);
    assert_non_null(set);
    *set = (char)version;
}

/* ---- running ---- */

static size_t size_of(weft_dtype dtype) {
    return dtype == WEFT_BOOL || dtype == WEFT_U8 ? 1 : dtype == WEFT_I64 ? 8 : 4;
}

static size_t count_of(const weft_tensor *x) {
    size_t count = 1;
    for (int d = 0; d < weft_tensor_rank(x); d++) count *= (size_t)weft_tensor_dimension(x, d);
    return count;
}

static void write_input(weft_plan *plan, weft_tensor *x, const onnx_case_input *input) {
    static union {
        float f[MOST_STORED];
        int32_t i[MOST_STORED];
        unsigned char u[MOST_STORED];
    } raw;
    const weft_dtype dtype = weft_tensor_dtype(x);
    assert_true(input->count <= MOST_STORED && input->count == count_of(x));
    for (size_t i = 0; i < input->count; i++) {
        switch (dtype) {
        case WEFT_F32: raw.f[i] = (float)input->numbers[i]; break;
        case WEFT_I32: raw.i[i] = (int32_t)input->numbers[i]; break;
        case WEFT_BOOL: raw.u[i] = (unsigned char)(input->numbers[i] != 0); break;
        default: fail_msg("input %s has an unexpected type", weft_tensor_name(x));
        }
    }
    assert_weft_ok(weft_plan_write(plan, x, &raw, input->count * size_of(dtype)));
}

static void read_output(weft_plan *plan, weft_tensor *y, onnx_case_result *result) {
    static union {
        float f[CASE_MOST];
        int32_t i[CASE_MOST];
        unsigned char u[CASE_MOST];
    } raw;
    const weft_dtype dtype = weft_tensor_dtype(y);
    result->count = count_of(y);
    assert_true(result->count <= CASE_MOST);
    assert_weft_ok(weft_plan_read(plan, y, &raw, result->count * size_of(dtype)));
    for (size_t i = 0; i < result->count; i++) {
        switch (dtype) {
        case WEFT_F32: result->numbers[i] = (double)raw.f[i]; break;
        case WEFT_I32: result->numbers[i] = raw.i[i]; break;
        case WEFT_BOOL: result->numbers[i] = raw.u[i]; break;
        default: fail_msg("an output has an unexpected type");
        }
    }
}

static void run(weft_onnx_model *model, const onnx_case_input *inputs, onnx_case_result *results) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    weft_tensor *outputs[MOST_OUTPUTS];
    weft_plan *plan;
    const size_t count = weft_onnx_output_count(model);
    assert_true(count <= MOST_OUTPUTS);
    for (size_t i = 0; i < count; i++) outputs[i] = weft_onnx_output(model, i);
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    for (size_t i = 0; i < weft_onnx_input_count(model); i++)
        write_input(plan, weft_onnx_input(model, i), &inputs[i]);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) read_output(plan, outputs[i], &results[i]);
    weft_plan_release(plan);
}

void onnx_case_run(const onnx_bytes *b, const onnx_case_input *inputs, onnx_case_result *results) {
    weft_graph *const graph = test_graph();
    weft_onnx_model *model;
    assert_weft_ok(weft_onnx_load_from_memory(&model, graph, b->data, b->length, NULL));
    run(model, inputs, results);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

void onnx_case_run_path(const char *path, const onnx_case_input *inputs, onnx_case_result *results) {
    weft_graph *const graph = test_graph();
    weft_onnx_model *model;
    assert_weft_ok(weft_onnx_load(&model, graph, path, NULL));
    run(model, inputs, results);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}

void onnx_case_compare(
    const char *what, const onnx_case_result *result, const double *wanted, size_t count, double error) {
    if (result->count != count) fail_msg("%s has %zu numbers, not %zu", what, result->count, count);
    for (size_t i = 0; i < count; i++) {
        const double got = result->numbers[i], most = error * fmax(1, fabs(wanted[i]));
        const bool same = got == wanted[i] || (isnan(got) && isnan(wanted[i]));
        if (!same && !(fabs(got - wanted[i]) <= most))
            fail_msg("%s: number %zu is %.9g, not %.9g", what, i, got, wanted[i]);
    }
}

void onnx_case_refused(const onnx_bytes *b, const char *op, const char *text) {
    weft_graph *const graph = test_graph();
    weft_onnx_model *model;
    const weft_status status = weft_onnx_load_from_memory(&model, graph, b->data, b->length, NULL);
    if (status == WEFT_OK || !strstr(weft_last_error(), text) || !strstr(weft_last_error(), op))
        fail_msg("%s: \"%s\" does not say \"%s\"", op, weft_last_error(), text);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
}
