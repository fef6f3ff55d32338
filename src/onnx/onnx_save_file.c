/* Writes the collected values and nodes as an ONNX file. Only one variable at a time is in memory. Names and numbers of fields are those of
 * the ONNX specification (https://github.com/onnx/onnx/blob/main/docs/IR.md). */
#include "base/platform.h"
#include "onnx/onnx_import.h"
#include "onnx/onnx_save.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- messages ---- */

enum { VARINT = 0, BYTES = 2, FIXED = 5, ALIGNMENT = 64, PORTION = 1 << 24 };

static void varint(wi_text *text, uint64_t value) {
    char bytes[10];
    size_t count = 0;
    for (; value > 127; value >>= 7) bytes[count++] = (char)(value | 128);
    bytes[count++] = (char)value;
    wi_text_append_bytes(text, bytes, count);
}

static void number(wi_text *text, unsigned field, int64_t value) {
    varint(text, field << 3 | VARINT);
    varint(text, (uint64_t)value);
}

/* Writes the key and the length of a field of `length` bytes. */
static void begin(wi_text *text, unsigned field, uint64_t length) {
    varint(text, field << 3 | BYTES);
    varint(text, length);
}

static void bytes_of(wi_text *text, unsigned field, const char *bytes, size_t length) {
    begin(text, field, length);
    wi_text_append_bytes(text, bytes, length);
}

static void string(wi_text *text, unsigned field, const char *value) {
    bytes_of(text, field, value, strlen(value));
}

/* Writes a message as a field, and frees the message. */
static void message(wi_text *text, unsigned field, wi_text *own) {
    if (own->failed) text->failed = true;
    if (!own->failed) bytes_of(text, field, own->data ? own->data : "", own->length);
    wi_text_clear(own);
}

static wi_text message_like(const wi_text *text) {
    wi_text own;
    wi_text_init(&own, text->allocator);
    return own;
}

static void real(wi_text *text, unsigned field, double value) {
    const float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    varint(text, field << 3 | FIXED);
    for (int i = 0; i < 4; i++) wi_text_append_bytes(text, &(const char){(char)(bits >> 8 * i)}, 1);
}

void wi_export_encode(wi_text *text, const wi_export_attribute *a) {
    wi_text own = message_like(text);
    string(&own, 1, a->name);
    if (a->kind == WI_EXPORT_REAL) real(&own, 2, a->real);
    if (a->kind == WI_EXPORT_WHOLE) number(&own, 3, a->whole);
    if (a->kind == WI_EXPORT_TEXT) string(&own, 4, a->text);
    if (a->kind == WI_EXPORT_TEXTS) string(&own, 9, a->text);
    for (int64_t i = 0; a->kind == WI_EXPORT_WHOLES && i < a->whole; i++) number(&own, 8, a->wholes[i]);
    number(&own, 20, a->kind);
    message(text, 5, &own);
}

/* ---- the parts of a graph ---- */

static void write_node(wi_text *text, const wi_export_node *node) {
    wi_text own = message_like(text);
    int outputs = 0;
    for (int i = 0; i < WI_EXPORT_OUTPUTS; i++)
        if (node->outputs[i] && node->outputs[i]->needed) outputs = i + 1;
    for (wi_export_value **input = node->inputs; *input; input++) string(&own, 1, (*input)->name);
    for (int i = 0; i < outputs; i++) {
        const wi_export_value *const output = node->outputs[i];
        string(&own, 2, output && output->needed ? output->name : "");
    }
    string(&own, 3, node->outputs[0]->name);
    string(&own, 4, node->op);
    if (node->attributes.length) wi_text_append_bytes(&own, node->attributes.data, node->attributes.length);
    message(text, 1, &own);
}

/* Writes a dimension of an input or output: a number, or a name for the batch, the length, or an expression of them. */
static void write_dim(const wi_export *e, wi_text *text, int64_t dim) {
    wi_text own = message_like(text);
    char printed[WI_SHAPE_TEXT];
    const wi_shape one = {.rank = 1, .dims = {dim}};
    if (!wi_export_is_open(dim)) {
        number(&own, 1, dim);
    } else if (dim == WEFT_BATCH) {
        string(&own, 2, e->options.batch_name);
    } else if (dim == WEFT_LENGTH) {
        string(&own, 2, e->options.length_name);
    } else {
        wi_shape_print(e->graph, &one, printed);
        bytes_of(&own, 2, printed + 1, strlen(printed) - 2);
    }
    message(text, 1, &own);
}

static void write_port(const wi_export *e, wi_text *text, unsigned field, const wi_export_port *port) {
    wi_text own = message_like(text), type = own, tensor = own, shape = own;
    for (int i = 0; i < port->tensor->shape.rank; i++) write_dim(e, &shape, port->tensor->shape.dims[i]);
    number(&tensor, 1, wi_export_type(port->tensor->dtype));
    message(&tensor, 2, &shape);
    message(&type, 1, &tensor);
    string(&own, 1, port->value->name);
    message(&own, 2, &type);
    message(text, field, &own);
}

/* ---- initializers ---- */

static bool lies_beside(const wi_export *e, const wi_export_stored *s) {
    return e->options.weights_beside && !s->data;
}

static void write_pair(wi_text *text, unsigned field, const char *key, const char *value) {
    wi_text own = message_like(text);
    string(&own, 1, key);
    string(&own, 2, value);
    message(text, field, &own);
}

/* Writes all fields of an initializer before its data. If the data is not in a separate file, it follows as the last field. */
static void write_stored_head(
    const wi_export *e, wi_text *text, const wi_export_stored *s, const char *beside, uint64_t offset) {
    char printed[32];
    for (int i = 0; i < s->rank; i++) number(text, 1, s->dims[i]);
    number(text, 2, s->type);
    string(text, 8, s->value.name);
    if (!lies_beside(e, s)) {
        begin(text, 9, s->bytes);
        return;
    }
    write_pair(text, 13, "location", beside);
    snprintf(printed, sizeof printed, "%" PRIu64, offset);
    write_pair(text, 13, "offset", printed);
    snprintf(printed, sizeof printed, "%zu", s->bytes);
    write_pair(text, 13, "length", printed);
    number(text, 14, 1);
}

static weft_status append_part(wi_file_writer *writer, const wi_export_part *part, char *scratch) {
    for (size_t done = 0; done < part->bytes;) {
        const size_t left = part->bytes - done, bytes = left < PORTION ? left : PORTION;
        if (part->variable)
            WI_TRY(wi_variable_read(part->variable, part->offset + done, scratch, bytes));
        else
            memset(scratch, 0, bytes);
        WI_TRY(wi_file_writer_append(writer, scratch, bytes));
        done += bytes;
    }
    return WEFT_OK;
}

static weft_status append_bytes(wi_file_writer *writer, const wi_export_stored *s, char *scratch) {
    if (s->data) return wi_file_writer_append(writer, s->data, s->bytes);
    for (size_t i = 0; i < s->part_count; i++) WI_TRY(append_part(writer, &s->parts[i], scratch));
    return WEFT_OK;
}

/* ---- the file ---- */

typedef struct file {
    const wi_export *e;
    const char *path, *beside; /* beside: the path of the separate file with the data; NULL: none */
    const char *beside_name;
    wi_file_writer *writer;
    wi_text *heads; /* of initializers that are needed; others are empty */
    wi_text start, end;
    char *scratch;
    uint64_t beside_bytes;
} file;

static void write_versions(const wi_export *e, wi_text *text) {
    static const int64_t formats[] = {8, 8, 9, 9, 10, 10, 11}; /* of opsets 17, 18, ... */
    wi_text own = message_like(text);
    number(text, 1, formats[e->options.opset - 17]);
    string(text, 2, "weft");
    string(text, 3, weft_version());
    if (weft_onnx_metadata(e->options.from, "doc_string"))
        string(text, 6, weft_onnx_metadata(e->options.from, "doc_string"));
    string(&own, 1, "");
    number(&own, 2, e->options.opset);
    message(text, 8, &own);
    const WiOnnx__ModelProto *const from = e->options.from ? wi_onnx_import_of(e->options.from)->model : NULL;
    for (size_t i = 0; from && i < from->n_metadata_props; i++)
        write_pair(text, 14, from->metadata_props[i]->key, from->metadata_props[i]->value);
}

static uint64_t head_size(uint64_t length) {
    uint64_t size = 1;
    do size++;
    while (length >>= 7);
    return size;
}

/* Composes everything except the initializers. Their heads must exist, because the length of the graph includes the initializers. */
static weft_status compose(file *f) {
    const wi_export *const e = f->e;
    wi_text nodes = message_like(&f->start), ports = nodes;
    uint64_t length = 0;
    for (size_t i = 0; i < e->node_count; i++)
        if (e->nodes[i]->outputs[0]->needed) write_node(&nodes, e->nodes[i]);
    string(&nodes, 2, "weft");
    for (size_t i = 0; i < e->input_count; i++) write_port(e, &ports, 11, &e->inputs[i]);
    for (size_t i = 0; i < e->output_count; i++) write_port(e, &ports, 12, &e->outputs[i]);
    for (size_t i = 0; i < e->stored_count; i++) {
        const wi_export_stored *const s = e->stored[i];
        if (!s->value.needed) continue;
        write_stored_head(e, &f->heads[i], s, f->beside_name, f->beside_bytes);
        const bool beside = lies_beside(e, s);
        const uint64_t own = f->heads[i].length + (beside ? 0 : s->bytes);
        if (beside) f->beside_bytes = (f->beside_bytes + s->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        length += head_size(own) + own;
        if (f->heads[i].failed) return WEFT_ERROR_MEMORY;
    }
    length += nodes.length + ports.length;
    const bool failed = nodes.failed || ports.failed;
    write_versions(e, &f->start);
    begin(&f->start, 7, length);
    if (!failed) wi_text_append_bytes(&f->start, nodes.data, nodes.length);
    if (!failed) wi_text_append_bytes(&f->end, ports.data ? ports.data : "", ports.length);
    wi_text_clear(&nodes);
    wi_text_clear(&ports);
    if (length > INT32_MAX - 1024)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "'%s': the file would have %" PRIu64
            " bytes, but at most 2^31 are possible: set the option weights_beside",
            f->path, length);
    return failed || f->start.failed || f->end.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static weft_status write_model(file *f) {
    WI_TRY(wi_file_writer_begin(&f->writer, f->e->arena.allocator, f->path));
    WI_TRY(wi_file_writer_append(f->writer, f->start.data, f->start.length));
    for (size_t i = 0; i < f->e->stored_count; i++) {
        const wi_export_stored *const s = f->e->stored[i];
        const bool beside = lies_beside(f->e, s);
        wi_text head = message_like(&f->start);
        if (!s->value.needed) continue;
        begin(&head, 5, f->heads[i].length + (beside ? 0 : s->bytes));
        weft_status status =
            head.failed ? WEFT_ERROR_MEMORY : wi_file_writer_append(f->writer, head.data, head.length);
        wi_text_clear(&head);
        if (status == WEFT_OK)
            status = wi_file_writer_append(f->writer, f->heads[i].data, f->heads[i].length);
        if (status == WEFT_OK && !beside) status = append_bytes(f->writer, s, f->scratch);
        WI_TRY(status);
    }
    return wi_file_writer_append(f->writer, f->end.data, f->end.length);
}

static weft_status write_beside(file *f) {
    static const char zeros[ALIGNMENT] = {0};
    WI_TRY(wi_file_writer_begin(&f->writer, f->e->arena.allocator, f->beside));
    for (size_t i = 0; i < f->e->stored_count; i++) {
        const wi_export_stored *const s = f->e->stored[i];
        if (!s->value.needed || !lies_beside(f->e, s)) continue;
        WI_TRY(append_bytes(f->writer, s, f->scratch));
        WI_TRY(wi_file_writer_append(f->writer, zeros, (ALIGNMENT - s->bytes % ALIGNMENT) % ALIGNMENT));
    }
    return WEFT_OK;
}

static weft_status commit(file *f, weft_status status) {
    wi_file_writer *const writer = f->writer;
    f->writer = NULL;
    if (status == WEFT_OK) return wi_file_writer_commit(writer);
    wi_file_writer_abandon(writer);
    return status;
}

weft_status wi_export_write(const wi_export *e, const char *path) {
    const weft_allocator *const allocator = e->arena.allocator;
    char folder[4096];
    file f = {.e = e, .path = path};
    wi_text beside;
    weft_status status = WEFT_ERROR_MEMORY;
    wi_text_init(&beside, allocator);
    wi_text_init(&f.start, allocator);
    wi_text_init(&f.end, allocator);
    wi_text_append(&beside, "%s.data", path);
    f.heads = wi_allocate_array(allocator, e->stored_count + 1, sizeof *f.heads);
    f.scratch = wi_allocate(allocator, PORTION);
    if (!f.heads || !f.scratch || beside.failed) goto done;
    for (size_t i = 0; i < e->stored_count; i++) wi_text_init(&f.heads[i], allocator);
    f.beside = beside.data;
    wi_path_split(f.beside, folder, sizeof folder, &f.beside_name);
    WI_TRY_DONE(compose(&f));
    if (f.beside_bytes) WI_TRY_DONE(commit(&f, write_beside(&f)));
    status = commit(&f, write_model(&f));
done:
    for (size_t i = 0; f.heads && i < e->stored_count; i++) wi_text_clear(&f.heads[i]);
    wi_release(allocator, f.heads);
    wi_release(allocator, f.scratch);
    wi_text_clear(&f.start);
    wi_text_clear(&f.end);
    wi_text_clear(&beside);
    return status;
}
