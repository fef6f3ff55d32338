/* Messages of event files (contract in event_message.h). The numbers of fields are those of TensorFlow's event.proto,
 * summary.proto, tensor.proto and graph.proto, and of the plugins hparams, pr_curves and text of TensorBoard. */
#include "train/event_message.h"
#include "base/protobuf.h"
#include <string.h>

/* Event, SessionLog */
enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, GRAPH_DEF = 4, SUMMARY = 5, SESSION_LOG = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
/* Summary and its Value, SummaryMetadata and its PluginData */
enum { VALUE = 1, TAG = 1, SIMPLE_VALUE = 2, IMAGE = 4, HISTOGRAM = 5, TENSOR = 8, METADATA = 9 };
enum { PLUGIN_DATA = 1, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2, DATA_CLASS = 4, CLASS_TENSOR = 2 };
/* Image, HistogramProto */
enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH, IMAGE_CHANNELS, IMAGE_FILE };
enum { LEAST = 1, MOST, COUNT, SUM, SUM_OF_SQUARES, LIMITS, COUNTS };
/* TensorProto, TensorShapeProto and its Dim, DataType */
enum { DTYPE = 1, SHAPE = 2, FLOATS = 5, STRINGS = 8, DIM = 2, DIM_SIZE = 1 };
enum {
    DT_FLOAT = 1,
    DT_DOUBLE,
    DT_INT32,
    DT_UINT8,
    DT_STRING = 7,
    DT_INT64 = 9,
    DT_BOOL,
    DT_BFLOAT16 = 14,
    DT_HALF = 19
};
/* GraphDef, VersionDef, NodeDef, AttrValue and its ListValue */
enum { NODE = 1, VERSIONS = 4, PRODUCER = 1, PRODUCER_OF_TENSORFLOW_1 = 22 };
enum { NODE_NAME = 1, NODE_OP, NODE_INPUT, NODE_ATTRIBUTE = 5 };
enum { KEY = 1, MAPPED = 2, ATTRIBUTE_LIST = 1, ATTRIBUTE_TYPE = 6, LIST_SHAPE = 7 };
/* HParamsPluginData, Experiment, HParamInfo, MetricInfo, MetricName, SessionStartInfo, SessionEndInfo, Value */
enum { EXPERIMENT = 2, SESSION_START_INFO, SESSION_END_INFO };
enum { TIME_CREATED = 3, SETTING_INFOS, METRIC_INFOS, INFO_NAME = 1, INFO_TYPE = 4, METRIC_TAG = 2 };
enum {
    TYPE_STRING = 1,
    TYPE_NUMBER = 3,
    SETTINGS = 1,
    START_TIME = 5,
    END_STATUS = 1,
    END_TIME = 2,
    SUCCESS = 1
};
enum { NUMBER_VALUE = 2, STRING_VALUE = 3, VERSION = 1 };

static void begin_event(wi_text *m, double time, size_t step) {
    wi_protobuf_double(m, WALL_TIME, time);
    if (step) wi_protobuf_integer(m, STEP, step);
}

void wi_event_message_version(wi_text *m, double time) {
    begin_event(m, time, 0);
    wi_protobuf_string(m, FILE_VERSION, "brain.Event:2");
}

void wi_event_message_start(wi_text *m, double time, size_t first_step) {
    begin_event(m, time, first_step);
    const size_t log = wi_protobuf_begin(m, SESSION_LOG);
    wi_protobuf_integer(m, SESSION_STATUS, SESSION_START);
    wi_protobuf_end(m, log);
}

/* ---- values of a summary ---- */

static void put_plugin(wi_text *m, const char *name, const wi_text *content) {
    const size_t metadata = wi_protobuf_begin(m, METADATA), plugin = wi_protobuf_begin(m, PLUGIN_DATA);
    wi_protobuf_string(m, PLUGIN_NAME, name);
    if (content) wi_protobuf_bytes(m, PLUGIN_CONTENT, content->data, content->length);
    wi_protobuf_end(m, plugin);
    wi_protobuf_integer(m, DATA_CLASS, CLASS_TENSOR);
    wi_protobuf_end(m, metadata);
}

static void put_shape(wi_text *m, uint32_t field, const int64_t *dims, int rank) {
    const size_t shape = wi_protobuf_begin(m, field);
    for (int i = 0; i < rank; i++) {
        const size_t dim = wi_protobuf_begin(m, DIM);
        wi_protobuf_integer(m, DIM_SIZE, (uint64_t)dims[i]);
        wi_protobuf_end(m, dim);
    }
    wi_protobuf_end(m, shape);
}

static void put_scalars(wi_text *m, const wi_event *event) {
    for (size_t i = 0; i < event->of.scalars.count; i++) {
        const size_t value = wi_protobuf_begin(m, VALUE);
        wi_protobuf_string(m, TAG, event->of.scalars.values[i].tag);
        wi_protobuf_float(m, SIMPLE_VALUE, (float)event->of.scalars.values[i].value);
        wi_protobuf_end(m, value);
    }
}

static void put_histogram(wi_text *m, const wi_event_histogram *h) {
    const size_t message = wi_protobuf_begin(m, HISTOGRAM);
    wi_protobuf_double(m, LEAST, h->least);
    wi_protobuf_double(m, MOST, h->most);
    wi_protobuf_double(m, COUNT, h->count);
    wi_protobuf_double(m, SUM, h->sum);
    wi_protobuf_double(m, SUM_OF_SQUARES, h->sum_of_squares);
    wi_protobuf_doubles(m, LIMITS, h->limits, h->buckets);
    wi_protobuf_doubles(m, COUNTS, h->counts, h->buckets);
    wi_protobuf_end(m, message);
}

/* The header of a PNG file has the width in bytes 16 to 19, the height in the next four, and the type of colour in byte 25. */
static void put_image(wi_text *m, const wi_event_image *image) {
    static const unsigned char channels[] = {[0] = 1, [2] = 3, [4] = 2, [6] = 4};
    const unsigned char *const b = image->png + 16;
    const size_t message = wi_protobuf_begin(m, IMAGE);
    wi_protobuf_integer(
        m, IMAGE_HEIGHT, (uint64_t)b[4] << 24 | (uint64_t)b[5] << 16 | (uint64_t)b[6] << 8 | b[7]);
    wi_protobuf_integer(
        m, IMAGE_WIDTH, (uint64_t)b[0] << 24 | (uint64_t)b[1] << 16 | (uint64_t)b[2] << 8 | b[3]);
    wi_protobuf_integer(m, IMAGE_CHANNELS, channels[b[9]]);
    wi_protobuf_bytes(m, IMAGE_FILE, image->png, image->bytes);
    wi_protobuf_end(m, message);
}

static void put_text(wi_text *m, const char *text) {
    put_plugin(m, "text", NULL);
    const size_t tensor = wi_protobuf_begin(m, TENSOR);
    wi_protobuf_integer(m, DTYPE, DT_STRING);
    put_shape(m, SHAPE, (const int64_t[]){1}, 1);
    wi_protobuf_string(m, STRINGS, text);
    wi_protobuf_end(m, tensor);
}

static void put_pr_curve(wi_text *m, const wi_event_pr_curve *curve) {
    char content[] = {2 << 3, WI_EVENT_THRESHOLDS}; /* PrCurvePluginData.num_thresholds */
    put_plugin(m, "pr_curves", &(wi_text){.data = content, .length = sizeof content});
    const size_t tensor = wi_protobuf_begin(m, TENSOR);
    wi_protobuf_integer(m, DTYPE, DT_FLOAT);
    put_shape(m, SHAPE, (const int64_t[]){WI_PR_ROWS, WI_EVENT_THRESHOLDS}, 2);
    wi_protobuf_floats(m, FLOATS, curve->values[0], (size_t)WI_PR_ROWS * WI_EVENT_THRESHOLDS);
    wi_protobuf_end(m, tensor);
}
_Static_assert(WI_EVENT_THRESHOLDS < 128, "the number of thresholds is a varint of one byte");

static void put_tagged_value(wi_text *m, const wi_event *event) {
    const size_t value = wi_protobuf_begin(m, VALUE);
    wi_protobuf_string(m, TAG, event->tag);
    switch (event->kind) {
    case WI_EVENT_HISTOGRAM: put_histogram(m, event->of.histogram); break;
    case WI_EVENT_IMAGE: put_image(m, &event->of.image); break;
    case WI_EVENT_TEXT: put_text(m, event->of.text); break;
    case WI_EVENT_PR_CURVE: put_pr_curve(m, event->of.pr_curve); break;
    default: break;
    }
    wi_protobuf_end(m, value);
}

/* ---- networks ---- */

static uint64_t type_of(weft_dtype dtype) {
    static const unsigned char types[] = {[WEFT_F32] = DT_FLOAT,
        [WEFT_I32] = DT_INT32,
        [WEFT_F16] = DT_HALF,
        [WEFT_BF16] = DT_BFLOAT16,
        [WEFT_I64] = DT_INT64,
        [WEFT_U8] = DT_UINT8,
        [WEFT_BOOL] = DT_BOOL,
        [WEFT_F64] = DT_DOUBLE};
    return types[dtype];
}

static void put_node(wi_text *m, const wi_event_graph *graph, const wi_event_node *node) {
    const size_t message = wi_protobuf_begin(m, NODE);
    wi_protobuf_string(m, NODE_NAME, node->name);
    wi_protobuf_string(m, NODE_OP, node->op);
    for (size_t i = 0; i < node->input_count; i++)
        wi_protobuf_string(m, NODE_INPUT, graph->nodes[node->inputs[i]].name);
    size_t attribute = wi_protobuf_begin(m, NODE_ATTRIBUTE);
    wi_protobuf_string(m, KEY, "dtype");
    size_t mapped = wi_protobuf_begin(m, MAPPED);
    wi_protobuf_integer(m, ATTRIBUTE_TYPE, type_of(node->dtype));
    wi_protobuf_end(m, mapped);
    wi_protobuf_end(m, attribute);
    attribute = wi_protobuf_begin(m, NODE_ATTRIBUTE);
    wi_protobuf_string(m, KEY, "_output_shapes");
    mapped = wi_protobuf_begin(m, MAPPED);
    const size_t list = wi_protobuf_begin(m, ATTRIBUTE_LIST);
    put_shape(m, LIST_SHAPE, node->dims, node->rank);
    wi_protobuf_end(m, list);
    wi_protobuf_end(m, mapped);
    wi_protobuf_end(m, attribute);
    wi_protobuf_end(m, message);
}

static void put_graph(wi_text *m, const wi_event_graph *graph) {
    const size_t message = wi_protobuf_begin(m, GRAPH_DEF);
    for (size_t i = 0; i < graph->count; i++) put_node(m, graph, &graph->nodes[i]);
    const size_t versions = wi_protobuf_begin(m, VERSIONS);
    wi_protobuf_integer(m, PRODUCER, PRODUCER_OF_TENSORFLOW_1);
    wi_protobuf_end(m, versions);
    wi_protobuf_end(m, message);
}

void wi_event_message(wi_text *m, const wi_event *event) {
    begin_event(m, event->time, event->step);
    if (event->kind == WI_EVENT_GRAPH) {
        put_graph(m, &event->of.graph);
        return;
    }
    const size_t summary = wi_protobuf_begin(m, SUMMARY);
    if (event->kind == WI_EVENT_SCALARS)
        put_scalars(m, event);
    else
        put_tagged_value(m, event);
    wi_protobuf_end(m, summary);
}

/* ---- settings: values without data, whose metadata has the content ---- */

static void put_settings(wi_text *m, double time, const char *tag, uint32_t field, const wi_text *content) {
    wi_text data = {.allocator = m->allocator};
    wi_protobuf_integer(&data, VERSION, 0);
    wi_protobuf_bytes(&data, field, content->data, content->length);
    begin_event(m, time, 0);
    const size_t summary = wi_protobuf_begin(m, SUMMARY), value = wi_protobuf_begin(m, VALUE);
    wi_protobuf_string(m, TAG, tag);
    put_plugin(m, "hparams", &data);
    wi_protobuf_end(m, value);
    wi_protobuf_end(m, summary);
    m->failed = m->failed || data.failed || content->failed;
    wi_text_clear(&data);
}

void wi_event_message_experiment(wi_text *m, const wi_event *event) {
    const wi_event_settings *const of = &event->of.settings;
    wi_text content = {.allocator = m->allocator};
    wi_protobuf_double(&content, TIME_CREATED, event->time);
    for (size_t i = 0; i < of->count; i++) {
        const size_t info = wi_protobuf_begin(&content, SETTING_INFOS);
        wi_protobuf_string(&content, INFO_NAME, of->settings[i].name);
        wi_protobuf_integer(&content, INFO_TYPE, of->settings[i].text ? TYPE_STRING : TYPE_NUMBER);
        wi_protobuf_end(&content, info);
    }
    for (size_t i = 0; i < of->metric_count; i++) {
        const size_t info = wi_protobuf_begin(&content, METRIC_INFOS);
        const size_t name = wi_protobuf_begin(&content, INFO_NAME);
        wi_protobuf_string(&content, METRIC_TAG, of->metrics[i]);
        wi_protobuf_end(&content, name);
        wi_protobuf_end(&content, info);
    }
    put_settings(m, event->time, "_hparams_/experiment", EXPERIMENT, &content);
    wi_text_clear(&content);
}

void wi_event_message_session(wi_text *m, const wi_event *event) {
    const wi_event_settings *const of = &event->of.settings;
    wi_text content = {.allocator = m->allocator};
    for (size_t i = 0; i < of->count; i++) {
        const size_t entry = wi_protobuf_begin(&content, SETTINGS);
        wi_protobuf_string(&content, KEY, of->settings[i].name);
        const size_t value = wi_protobuf_begin(&content, MAPPED);
        if (of->settings[i].text)
            wi_protobuf_string(&content, STRING_VALUE, of->settings[i].text);
        else
            wi_protobuf_double(&content, NUMBER_VALUE, of->settings[i].number);
        wi_protobuf_end(&content, value);
        wi_protobuf_end(&content, entry);
    }
    wi_protobuf_double(&content, START_TIME, event->time);
    put_settings(m, event->time, "_hparams_/session_start_info", SESSION_START_INFO, &content);
    wi_text_clear(&content);
}

void wi_event_message_end(wi_text *m, double time) {
    wi_text content = {.allocator = m->allocator};
    wi_protobuf_integer(&content, END_STATUS, SUCCESS);
    wi_protobuf_double(&content, END_TIME, time);
    put_settings(m, time, "_hparams_/session_end_info", SESSION_END_INFO, &content);
    wi_text_clear(&content);
}
