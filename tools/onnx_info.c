/* weft onnx info: what is in an ONNX file, also in one that Weft cannot build. */
#include "onnx/onnx_node.h"
#include "onnx_command.h"
#include "onnx_network.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

enum { TYPES = 27 };
static const char *const type_names[TYPES] = {"no type", "float", "uint8", "int8", "uint16", "int16", "int32",
    "int64", "string", "bool", "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16",
    "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1",
    "float8e8m0", "uint2", "int2"};

static const char *type_name(int number) {
    return number >= 0 && number < TYPES ? type_names[number] : "an unknown type";
}

/* "int64 as i32": what the numbers become; "string (not supported)". */
static const char *type_text(char text[64], int number) {
    weft_dtype dtype;
    if (wi_onnx_dtype(&dtype, number, "") != WEFT_OK)
        snprintf(text, 64, "%s (not supported)", type_name(number));
    else
        snprintf(text, 64, "%s as %s", type_name(number), weft_dtype_name(dtype));
    return text;
}

/* ---- inputs and outputs ---- */

static void show_dims(const WiOnnx__ShapeProto *shape) {
    if (!shape) {
        printf("no shape");
        return;
    }
    printf("(");
    for (size_t d = 0; d < shape->n_dim; d++) {
        const WiOnnx__DimensionProto *const dim = shape->dim[d];
        const char *const name = dim->dim_param && dim->dim_param[0] ? dim->dim_param : "?";
        if (d) printf(", ");
        if (onnx_is_open(dim))
            printf("%s", onnx_plain(name));
        else
            printf("%lld", (long long)dim->dim_value);
    }
    printf(shape->n_dim == 1 ? ",)" : ")");
}

static void show_value(const WiOnnx__ValueInfoProto *info) {
    char text[64];
    const WiOnnx__TensorTypeProto *const type = info->type ? info->type->tensor_type : NULL;
    printf("  %s: ", onnx_plain(info->name));
    if (!type) {
        printf("not a tensor, which is not supported");
        return;
    }
    printf("%s ", type_text(text, type->elem_type));
    show_dims(type->shape);
}

static void show_interface(const onnx_network *network) {
    const WiOnnx__GraphProto *const graph = network->file.model->graph;
    printf("inputs\n");
    for (size_t i = 0; i < network->input_count; i++) {
        show_value(network->inputs[i].info);
        printf(network->inputs[i].decides ? "; decides a shape, a count or a condition: give its value\n"
                                          : "\n");
    }
    printf("outputs\n");
    for (size_t i = 0; i < graph->n_output; i++) show_value(graph->output[i]), printf("\n");
}

/* ---- constants ---- */

typedef struct constant_total {
    size_t count;
    double numbers;
} constant_total;

static void add_constant(constant_total totals[TYPES], const WiOnnx__TensorProto *tensor) {
    double numbers = 1;
    const int type = tensor->data_type;
    if (type < 0 || type >= TYPES) return;
    for (size_t d = 0; d < tensor->n_dims; d++) numbers *= (double)tensor->dims[d];
    totals[type].count++;
    totals[type].numbers += numbers;
}

static void show_constants(const WiOnnx__GraphProto *graph) {
    char text[64];
    constant_total totals[TYPES] = {{0}};
    for (size_t i = 0; i < graph->n_initializer; i++) add_constant(totals, graph->initializer[i]);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++)
            if (graph->node[i]->attribute[k]->t) add_constant(totals, graph->node[i]->attribute[k]->t);
    printf("constants\n");
    for (int type = 0; type < TYPES; type++)
        if (totals[type].count)
            printf("  %s: %.0f numbers in %zu tensors\n", type_text(text, type), totals[type].numbers,
                totals[type].count);
}

/* ---- operators ---- */

typedef struct operator_count {
    wi_onnx_node *first;
    size_t count;
} operator_count;

static const char *text_of(const char *text) {
    return text ? text : "";
}

static bool is_same(wi_onnx_node *one, wi_onnx_node *other) {
    return strcmp(text_of(one->op_type), text_of(other->op_type)) == 0 &&
           strcmp(text_of(one->domain), text_of(other->domain)) == 0;
}

/* The most frequent first, then by name. */
static int compare_counts(const void *a, const void *b) {
    const operator_count *const one = a, *const other = b;
    if (one->count != other->count) return one->count < other->count ? 1 : -1;
    return strcmp(text_of(one->first->op_type), text_of(other->first->op_type));
}

static void show_operator(const operator_count *op, bool first) {
    const char *const domain = text_of(op->first->domain);
    printf(first ? "" : ", ");
    printf("%s%s%s %zu", onnx_plain(domain), domain[0] ? "." : "", onnx_plain(op->first->op_type), op->count);
}

typedef struct operator_list {
    operator_count *all;
    size_t count, capacity;
} operator_list;

/* A function of the file is computed by its nodes. */
static bool is_supported(const WiOnnx__ModelProto *model, wi_onnx_node *node) {
    for (size_t i = 0; i < model->n_functions; i++)
        if (strcmp(text_of(model->functions[i]->name), text_of(node->op_type)) == 0 &&
            strcmp(text_of(model->functions[i]->domain), text_of(node->domain)) == 0)
            return true;
    return wi_onnx_op_of(node) != NULL;
}

/* All of one kind in one line, behind a heading. */
static void show_operators(
    const operator_list *list, const WiOnnx__ModelProto *model, bool supported, const char *heading) {
    bool first = true;
    for (size_t i = 0; i < list->count; i++) {
        if (is_supported(model, list->all[i].first) != supported) continue;
        if (first) printf("%s\n  ", heading);
        show_operator(&list->all[i], first);
        first = false;
    }
    if (!first) printf("\n");
}

static weft_status count_graph(operator_list *list, const WiOnnx__GraphProto *graph);

static weft_status count_node(operator_list *list, wi_onnx_node *node) {
    size_t k = 0;
    while (k < list->count && !is_same(list->all[k].first, node)) k++;
    if (k == list->count) {
        WI_TRY(wi_grow(NULL, (void **)&list->all, &list->capacity, k + 1, sizeof *list->all));
        list->all[list->count++] = (operator_count){node, 0};
    }
    list->all[k].count++;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const WiOnnx__AttributeProto *const attribute = node->attribute[i];
        if (attribute->g) WI_TRY(count_graph(list, attribute->g));
        for (size_t g = 0; g < attribute->n_graphs; g++) WI_TRY(count_graph(list, attribute->graphs[g]));
    }
    return WEFT_OK;
}

/* Also the nodes of branches and loops. */
static weft_status count_graph(operator_list *list, const WiOnnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_node; i++) WI_TRY(count_node(list, graph->node[i]));
    return WEFT_OK;
}

static weft_status count_operators(const WiOnnx__ModelProto *model) {
    operator_list list = {0};
    weft_status status = count_graph(&list, model->graph);
    for (size_t i = 0; i < model->n_functions; i++)
        for (size_t k = 0; status == WEFT_OK && k < model->functions[i]->n_node; k++)
            status = count_node(&list, model->functions[i]->node[k]);
    if (status == WEFT_OK) {
        if (list.count) qsort(list.all, list.count, sizeof *list.all, compare_counts);
        show_operators(&list, model, true, "operators");
        show_operators(&list, model, false, "operators that are not supported");
    }
    wi_release(NULL, list.all);
    return status;
}

/* ---- weights ---- */

/* The first node that reads the constant itself. */
static void show_reader(const WiOnnx__GraphProto *graph, const char *name) {
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            if (strcmp(graph->node[i]->input[k], name) == 0) {
                printf("  input %zu of %s '%s'", k, onnx_plain(graph->node[i]->op_type),
                    onnx_plain(graph->node[i]->name));
                return;
            }
}

static void show_weight(const WiOnnx__GraphProto *graph, const wi_onnx_value *weight) {
    char text[ONNX_SHAPE_TEXT];
    wi_onnx_numbers shape;
    if (wi_onnx_tensor_describe(&shape, weight->stored) != WEFT_OK) return;
    printf("  %s %s", onnx_plain(weight->name), onnx_shape_text(text, shape.rank, shape.dims));
    show_reader(graph, weight->name);
    printf("\n");
}

/* What the loader would train, also if it would refuse the network for its operators. */
static void show_weights(const wi_onnx_file *file) {
    const weft_onnx_options loading = {WEFT_ONNX_OPTIONS_INIT};
    wi_onnx_import import = {0};
    if (wi_onnx_import_begin(&import, file, &loading) == WEFT_OK) {
        printf("weights, which are trained\n");
        for (const wi_onnx_value *value = import.values; value; value = value->hh.next)
            if (value->is_trained) show_weight(import.model->graph, value);
    }
    wi_onnx_import_clear(&import);
}

/* Why a network cannot be built is not an error of this command. */
static void show_loading(onnx_network *network, const onnx_options *options) {
    const weft_context_options device = {TOOL_CONTEXT_OPTIONS_INIT, .device = options->device};
    const weft_onnx_options loading = {WEFT_ONNX_OPTIONS_INIT};
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, &device);
    if (status == WEFT_OK) status = onnx_network_build(network, context, &loading);
    if (status == WEFT_OK)
        printf("Weft loads this file, with %lld numbers in %zu weights\n",
            (long long)weft_graph_element_count(network->graph, NULL),
            weft_graph_parameter_count(network->graph));
    else
        printf("Weft cannot load this file: %s\n", weft_last_error());
    onnx_network_release(network);
    weft_context_release(context);
}

/* ---- the whole ---- */

static void show_model(const onnx_network *network) {
    const WiOnnx__ModelProto *const file = network->file.model;
    printf("%s: IR version %lld, opset", network->options->path, (long long)file->ir_version);
    for (size_t i = 0; i < file->n_opset_import; i++) {
        const char *const domain = text_of(file->opset_import[i]->domain);
        printf("%s %s%s%lld", i ? "," : "", onnx_plain(domain), domain[0] ? " " : "",
            (long long)file->opset_import[i]->version);
    }
    if (file->producer_name)
        printf(", by %s %s", onnx_plain(file->producer_name), onnx_plain(file->producer_version));
    printf("\n");
}

weft_status onnx_info(const onnx_options *options) {
    onnx_network network;
    weft_status status = onnx_network_open(&network, options, ONNX_CLOSED);
    if (status == WEFT_OK) {
        show_model(&network);
        show_interface(&network);
        show_constants(network.file.model->graph);
        status = count_operators(network.file.model);
    }
    if (status == WEFT_OK) {
        show_weights(&network.file);
        show_loading(&network, options);
    }
    onnx_network_clear(&network);
    return status;
}
