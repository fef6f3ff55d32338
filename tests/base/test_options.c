/* The rule for structs of options, for every public one: known fields are taken, unknown ones must be zero,
 * struct_size has a bound, and no byte beyond it is read. */
#include "base/options_outputs.h"
#include "support/fixture.h"

#include "base/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- one call for each way in which a struct is read: the status of what it makes ---- */

static weft_status of_graph(weft_tensor *x, weft_tensor *y) {
    weft_graph *const graph = weft_tensor_graph(x);
    const weft_status status = weft_graph_status(graph);
    assert_int_equal(status == WEFT_OK, y != NULL);
    weft_graph_release(graph);
    return status;
}

static weft_tensor *input(int rank) {
    return weft_input_shape(test_graph(), "x", WEFT_F32, rank, (const int64_t[]){2, 4, 6, 6});
}

#define EXPRESSION(name, type, rank, call)                                                                   \
    static weft_status call_##name(const void *given) {                                                      \
        const type *const o = given;                                                                         \
        weft_tensor *const x = input(rank);                                                                  \
        return of_graph(x, call);                                                                            \
    }
#define GRAPH        weft_tensor_graph(x)
#define LABELS       weft_input_shape(GRAPH, "labels", WEFT_I32, 1, (const int64_t[]){2})
#define IMAGE_WEIGHT weft_parameter_shape(GRAPH, "w", weft_zeros(), 4, (const int64_t[]){4, 4, 3, 3})

EXPRESSION(conv, weft_conv_options, 4, weft_conv_with(x, IMAGE_WEIGHT, NULL, o))
EXPRESSION(transposed, weft_conv_options, 4, weft_conv_transpose_with(x, IMAGE_WEIGHT, NULL, o))
EXPRESSION(conv_layer, weft_conv_layer_options, 4, weft_conv_layer(x, 4, (const int64_t[]){3, 3}, o))
EXPRESSION(linear, weft_linear_options, 2, weft_linear_layer(x, 3, o))
EXPRESSION(batch_norm, weft_batch_norm_options, 4, weft_batch_norm_layer(x, o))
EXPRESSION(instance_norm, weft_instance_norm_options, 4, weft_instance_norm_layer(x, o))
EXPRESSION(group_norm, weft_norm_options, 4, weft_group_norm_layer(x, 2, o))
EXPRESSION(layer_norm, weft_norm_options, 4, weft_layer_norm_layer(x, o))
EXPRESSION(rms_norm, weft_norm_options, 4, weft_rms_norm_layer(x, o))
EXPRESSION(max_pool, weft_pool_options, 4, weft_max_pool(x, o))
EXPRESSION(lp_pool, weft_pool_options, 4, weft_lp_pool(x, 2, o))
EXPRESSION(max_pool2d, weft_pool_options, 4, weft_max_pool2d_with(x, 2, o))
EXPRESSION(resample, weft_resample_options, 4, weft_resample(x, o))
EXPRESSION(grid_sample, weft_grid_sample_options, 4,
    weft_grid_sample(x, weft_permute(weft_slice(x, 1, 0, 2), 0, 2, 3, 1), o))
EXPRESSION(attention, weft_attention_options, 3, weft_attention(x, x, x, o))
EXPRESSION(multi_head, weft_multi_head_options, 3, weft_multi_head_attention(x, x, x, 2, o))
EXPRESSION(categorical, weft_categorical_options, 2, weft_categorical_with(x, o))
EXPRESSION(cell, weft_cell_options, 2, weft_lstm_cell_layer(x, 3, NULL, NULL, o).h)
EXPRESSION(lstm, weft_recurrent_options, 3, weft_lstm(x, 3, o).y)
EXPRESSION(embedding, weft_embedding_options, 2, weft_embedding_layer(LABELS, 5, 3, o))
EXPRESSION(bag, weft_bag_options, 2,
    weft_embedding_bag_with(weft_parameter(GRAPH, "table", weft_zeros(), 5, 3),
        weft_input_shape(GRAPH, "tokens", WEFT_I32, 2, (const int64_t[]){2, 3}), o))
EXPRESSION(mse, weft_loss_options, 2, weft_mse_loss(x, x, o))
EXPRESSION(class_loss, weft_class_loss_options, 2, weft_cross_entropy_loss(x, LABELS, o))
EXPRESSION(sequence_loss, weft_class_loss_options, 2, weft_sequence_cross_entropy_loss(x, LABELS, NULL, o))
EXPRESSION(model, weft_model_options, 0,
    weft_model(weft_input(GRAPH, "image", WEFT_F32, 1, 32, 32), "lenet5", 10, o))
EXPRESSION(bert, weft_bert_options, 0, weft_bert(weft_input(GRAPH, "tokens", WEFT_I32, 3), o, NULL))
EXPRESSION(sequence, weft_sequence_options, 3,
    weft_rnn_with(x,
        &(weft_recurrent_weights){weft_parameter(GRAPH, "a", weft_zeros(), 3, 6),
            weft_parameter(GRAPH, "b", weft_zeros(), 3, 3), NULL, NULL, NULL},
        o)
        .y)
EXPRESSION(ctc, weft_ctc_loss_options, 3,
    weft_ctc_loss(x, weft_input_shape(GRAPH, "targets", WEFT_I32, 2, (const int64_t[]){4, 1}),
        weft_input_shape(GRAPH, "inputs", WEFT_I32, 1, (const int64_t[]){4}),
        weft_input_shape(GRAPH, "lengths", WEFT_I32, 1, (const int64_t[]){4}), o))
EXPRESSION(adaptive, weft_adaptive_softmax_options, 2,
    weft_adaptive_softmax_log_prob(weft_adaptive_softmax_layer(GRAPH, 4, 9, (const int64_t[]){3}, 1, o), x))
EXPRESSION(sampled, weft_sampled_softmax_options, 2,
    weft_sampled_softmax_logits(weft_sampled_softmax_layer(GRAPH, 4, 9, 3, o), x))
EXPRESSION(mach, weft_mach_options, 2, weft_mach_probabilities(weft_mach_layer(GRAPH, 4, 9, 2, 3, o), x))

#define CREATES(name, type, create)                                                                          \
    static weft_status call_##name(const void *given) {                                                      \
        type *object = NULL;                                                                                 \
        const weft_status status = create;                                                                   \
        type##_release(object);                                                                              \
        return status;                                                                                       \
    }
CREATES(context, weft_context, weft_context_create(&object, given))
CREATES(table, weft_sharded_table, weft_sharded_table_create(&object, test_context(), 3, 2, given))
CREATES(vocabulary, weft_vocabulary, weft_vocabulary_from_text(&object, test_context(), "abc", 3, given))

static weft_status call_scaling(const void *given) {
    weft_graph *const graph = test_graph();
    const weft_status status = weft_graph_set_loss_scaling(graph, given);
    weft_graph_release(graph);
    return status;
}

static weft_status call_plan(const void *given) {
    weft_plan *plan = NULL;
    weft_tensor *const x = input(2), *const y = weft_relu(x);
    const weft_status status = weft_plan_create(&plan, &y, 1, given);
    weft_plan_release(plan);
    weft_graph_release(GRAPH);
    return status;
}

static weft_status call_trainer(const void *given) {
    weft_trainer *trainer = NULL;
    weft_tensor *const x = input(2);
    const weft_status status = weft_trainer_create(&trainer, weft_mse(weft_linear(x, 4), x), given);
    weft_trainer_release(trainer);
    weft_graph_release(GRAPH);
    return status;
}

static weft_status call_weights(const void *given) {
    const char *const path = test_path("weights");
    weft_graph *const graph = test_graph();
    assert_non_null(weft_parameter(graph, "w", weft_zeros(), 3));
    assert_weft_ok(weft_weights_save(graph, path));
    const weft_status status = weft_weights_load(graph, path, given);
    weft_graph_release(graph);
    return status;
}

static weft_status call_weights_save(const void *given) {
    weft_graph *const graph = test_graph();
    assert_non_null(weft_parameter(graph, "w", weft_zeros(), 3));
    const weft_status status = weft_weights_save_with(graph, test_path("weights"), given);
    weft_graph_release(graph);
    return status;
}

static weft_status call_onnx_save(const void *given) {
    weft_graph *const graph = test_graph();
    weft_tensor *const y = weft_relu(weft_input(graph, "x", WEFT_F32, 2));
    const weft_status status = weft_onnx_save(test_path("saved.onnx"), &y, 1, given);
    weft_graph_release(graph);
    return status;
}

static weft_status call_onnx(const void *given) {
    weft_onnx_model *model = NULL;
    assert_weft_ok(call_onnx_save(NULL));
    weft_graph *const graph = test_graph();
    const weft_status status = weft_onnx_load(&model, graph, test_path("saved.onnx"), given);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    return status;
}

/* What the call has made is known after it: so by its address. */
static weft_status made(weft_status status, weft_dataset *const *dataset) {
    weft_dataset_release(*dataset);
    return status;
}

static const char *table(void) {
    const char *const path = test_path("table.csv");
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs("x\n", file);
    for (int i = 0; i < 40; i++) fprintf(file, "%d\n", i);
    assert_int_equal(fclose(file), 0);
    return path;
}

static weft_status call_csv(const void *given) {
    weft_dataset *dataset = NULL;
    return made(weft_dataset_open_csv(&dataset, test_context(), table(), given), &dataset);
}

static weft_status call_series(const void *given) {
    weft_dataset *dataset = NULL;
    return made(weft_dataset_open_series(&dataset, NULL, NULL, test_context(), table(), given), &dataset);
}

static weft_status call_text(const void *given) {
    static const int32_t tokens[2000];
    weft_dataset *dataset = NULL;
    return made(weft_dataset_from_tokens(&dataset, test_context(), tokens, 2000, given), &dataset);
}

static weft_status call_images(const void *given) {
    const unsigned char pixels[4] = {0};
    const weft_image_block block = {.examples = 1, .channels = 1, .height = 2, .width = 2, .pixels = pixels};
    weft_dataset *dataset = NULL;
    return made(weft_dataset_from_images(&dataset, test_context(), &block, given), &dataset);
}

/* Options are checked before there is a look at the folder. */
static weft_status call_folder(const void *given) {
    weft_dataset *dataset = NULL;
    const weft_status status =
        weft_dataset_open_image_folder(&dataset, test_context(), test_path("nowhere"), given);
    assert_null(dataset);
    return status == WEFT_ERROR_FILE ? WEFT_OK : status;
}

static weft_status call_loader(const void *given) {
    const float numbers[3] = {0};
    weft_dataset *dataset = NULL;
    weft_loader *loader = NULL;
    assert_weft_ok(weft_dataset_from_memory(
        &dataset, test_context(), 3, &(weft_column){.name = "x", .dtype = WEFT_F32, .data = numbers}, 1));
    const weft_status status = weft_loader_create(&loader, dataset, given);
    weft_loader_release(loader);
    return made(status, &dataset);
}

static weft_status call_lbfgs(const void *given) {
    weft_lbfgs *optimizer = NULL;
    weft_graph *const graph = test_graph();
    weft_tensor *const loss = weft_sum(weft_square(weft_parameter(graph, "w", weft_zeros(), 3)));
    const weft_status status = weft_lbfgs_create(&optimizer, loss, given);
    weft_lbfgs_release(optimizer);
    weft_graph_release(graph);
    return status;
}

static weft_status call_metric_rows(const void *given) {
    const weft_metric metric = {.kind = WEFT_ACCURACY};
    weft_metric_state *state = NULL;
    assert_weft_ok(weft_metric_create(&state, test_context(), &metric, 2));
    const weft_status status = weft_metric_add(state, given);
    weft_metric_release(state);
    return status;
}

/* ---- every struct ---- */

static const weft_png_options one_pixel = {WEFT_PNG_OPTIONS_INIT, .height = 1, .width = 1};
static const weft_pool_options pooled = {WEFT_POOL_OPTIONS_INIT, .windows = {2, 2}};
static const weft_metric_rows counted = {
    WEFT_METRIC_ROWS_INIT, .rows = 1, .outputs = (const float[]){0, 1}, .labels = (const int32_t[]){1}};
static const weft_resample_options resized = {WEFT_RESAMPLE_OPTIONS_INIT, .sizes = {3, 3}};

typedef struct reader {
    const char *macro;
    size_t bytes;
    weft_status (*call)(const void *options);
    const void *valid; /* NULL: all defaults are */
    size_t needed;     /* bytes of valid that cannot be left out */
} reader;

#define READER(MACRO, type, name)                                                                            \
    { #MACRO, sizeof(type), call_##name, NULL, 0 }
#define NEEDS(MACRO, type, name, valid, field)                                                               \
    { #MACRO, sizeof(type), call_##name, &valid, offsetof(type, field) }

static const reader readers[] = {
    READER(WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, weft_adaptive_softmax_options, adaptive),
    READER(WEFT_ATTENTION_OPTIONS_INIT, weft_attention_options, attention),
    READER(WEFT_BAG_OPTIONS_INIT, weft_bag_options, bag),
    READER(WEFT_BATCH_NORM_OPTIONS_INIT, weft_batch_norm_options, batch_norm),
    READER(WEFT_BERT_OPTIONS_INIT, weft_bert_options, bert),
    READER(WEFT_CATEGORICAL_OPTIONS_INIT, weft_categorical_options, categorical),
    READER(WEFT_CELL_OPTIONS_INIT, weft_cell_options, cell),
    READER(WEFT_CLASS_LOSS_OPTIONS_INIT, weft_class_loss_options, class_loss),
    READER(WEFT_CLASS_LOSS_OPTIONS_INIT, weft_class_loss_options, sequence_loss),
    READER(WEFT_CONTEXT_OPTIONS_INIT, weft_context_options, context),
    READER(WEFT_CONV_LAYER_OPTIONS_INIT, weft_conv_layer_options, conv_layer),
    READER(WEFT_CONV_OPTIONS_INIT, weft_conv_options, conv),
    READER(WEFT_CONV_OPTIONS_INIT, weft_conv_options, transposed),
    READER(WEFT_CSV_OPTIONS_INIT, weft_csv_options, csv),
    READER(WEFT_CTC_LOSS_OPTIONS_INIT, weft_ctc_loss_options, ctc),
    READER(WEFT_DISTRIBUTED_OPTIONS_INIT, weft_distributed_options, distributed),
    READER(WEFT_EMBEDDING_OPTIONS_INIT, weft_embedding_options, embedding),
    READER(WEFT_EVENTS_OPTIONS_INIT, weft_events_options, events),
    READER(WEFT_IMAGE_OPTIONS_INIT, weft_image_options, images),
    READER(WEFT_IMAGE_OPTIONS_INIT, weft_image_options, folder),
    READER(WEFT_INSTANCE_NORM_OPTIONS_INIT, weft_instance_norm_options, instance_norm),
    READER(WEFT_LBFGS_OPTIONS_INIT, weft_lbfgs_options, lbfgs),
    READER(WEFT_LINEAR_OPTIONS_INIT, weft_linear_options, linear),
    READER(WEFT_LOADER_OPTIONS_INIT, weft_loader_options, loader),
    READER(WEFT_LOSS_OPTIONS_INIT, weft_loss_options, mse),
    READER(WEFT_LOSS_SCALING_INIT, weft_loss_scaling, scaling),
    READER(WEFT_MACH_OPTIONS_INIT, weft_mach_options, mach),
    NEEDS(WEFT_METRIC_ROWS_INIT, weft_metric_rows, metric_rows, counted, targets),
    READER(WEFT_MODEL_OPTIONS_INIT, weft_model_options, model),
    READER(WEFT_MULTI_HEAD_OPTIONS_INIT, weft_multi_head_options, multi_head),
    READER(WEFT_NORM_OPTIONS_INIT, weft_norm_options, group_norm),
    READER(WEFT_NORM_OPTIONS_INIT, weft_norm_options, layer_norm),
    READER(WEFT_NORM_OPTIONS_INIT, weft_norm_options, rms_norm),
    READER(WEFT_ONNX_OPTIONS_INIT, weft_onnx_options, onnx),
    READER(WEFT_ONNX_SAVE_OPTIONS_INIT, weft_onnx_save_options, onnx_save),
    READER(WEFT_PLAN_OPTIONS_INIT, weft_plan_options, plan),
    NEEDS(WEFT_PNG_OPTIONS_INIT, weft_png_options, png, one_pixel, channels_last),
    NEEDS(WEFT_POOL_OPTIONS_INIT, weft_pool_options, max_pool, pooled, stride),
    NEEDS(WEFT_POOL_OPTIONS_INIT, weft_pool_options, lp_pool, pooled, stride),
    READER(WEFT_POOL_OPTIONS_INIT, weft_pool_options, max_pool2d),
    READER(WEFT_GRID_SAMPLE_OPTIONS_INIT, weft_grid_sample_options, grid_sample),
    READER(WEFT_RECORDS_OPTIONS_INIT, weft_records_options, records),
    READER(WEFT_RECURRENT_OPTIONS_INIT, weft_recurrent_options, lstm),
    NEEDS(WEFT_RESAMPLE_OPTIONS_INIT, weft_resample_options, resample, resized, factor),
    READER(WEFT_SAMPLED_SOFTMAX_OPTIONS_INIT, weft_sampled_softmax_options, sampled),
    READER(WEFT_SEQUENCE_OPTIONS_INIT, weft_sequence_options, sequence),
    READER(WEFT_SHARDED_TABLE_OPTIONS_INIT, weft_sharded_table_options, table),
    READER(WEFT_SERIES_OPTIONS_INIT, weft_series_options, series),
    READER(WEFT_TEXT_OPTIONS_INIT, weft_text_options, text),
    READER(WEFT_TRAINER_OPTIONS_INIT, weft_trainer_options, trainer),
    READER(WEFT_VOCABULARY_OPTIONS_INIT, weft_vocabulary_options, vocabulary),
    READER(WEFT_WEIGHTS_OPTIONS_INIT, weft_weights_options, weights),
    READER(WEFT_WEIGHTS_SAVE_OPTIONS_INIT, weft_weights_save_options, weights_save),
};
enum { READERS = sizeof readers / sizeof *readers };

/* ---- options at the very end of the memory that may be read ---- */

enum { LARGEST_PAGE = 65536 };
static unsigned char *fence; /* no byte from here on can be read */

static int make_fence(void **state) {
    static unsigned char room[3 * LARGEST_PAGE];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)room % page;
    (void)state;
    assert_true(page <= LARGEST_PAGE);
    fence = room + (before ? page - before : 0) + page;
    return mprotect(fence, page, PROT_NONE);
}

static int remove_fence(void **state) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    return mprotect(fence, page, PROT_READ | PROT_WRITE);
}

/* The valid options of `bytes` bytes, with that struct_size; the last byte is `last`. */
static weft_status call_with(
    const reader *r, size_t bytes, size_t struct_size, unsigned char last, const char **line) {
    unsigned char *const start = fence - (bytes + 7) / 8 * 8;
    memset(start, 0, (size_t)(fence - start));
    if (r->valid) memcpy(start, r->valid, bytes < r->bytes ? bytes : r->bytes);
    if (last) start[bytes - 1] = last;
    memcpy(start, &struct_size, sizeof struct_size);
    const weft_status status = r->call(start);
    *line = weft_last_error();
    return status;
}

static void expect(
    const reader *r, size_t bytes, size_t struct_size, unsigned char last, weft_status wanted) {
    const char *line = "";
    if (strstr(r->macro, "ONNX") && strstr(weft_build_options(), "onnx=no")) return;
    const weft_status status = call_with(r, bytes, struct_size, last, &line);
    const char *const part = wanted == WEFT_ERROR_ARGUMENT ? r->macro : "does not know";
    if (status == wanted && (wanted == WEFT_OK || strstr(line, part))) return;
    fail_msg("%s with struct_size %zu of %zu: %s, '%s'", r->macro, struct_size, r->bytes,
        weft_status_name(status), line);
}

static void known_fields_are_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < READERS; i++) {
        const reader *const r = &readers[i];
        const size_t least = r->needed > 2 * sizeof(size_t) ? r->needed : 2 * sizeof(size_t);
        expect(r, r->bytes, r->bytes, 0, WEFT_OK);
        expect(r, least, least, 0, WEFT_OK);
    }
}

static void unknown_fields_must_be_zero(void **state) {
    (void)state;
    for (size_t i = 0; i < READERS; i++) {
        const reader *const r = &readers[i];
        const size_t sizes[] = {r->bytes + sizeof(size_t), WI_OPTIONS_MOST};
        for (size_t k = 0; k < 2; k++) {
            expect(r, sizes[k], sizes[k], 0, WEFT_OK);
            expect(r, sizes[k], sizes[k], 1, WEFT_ERROR_UNSUPPORTED);
        }
    }
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < READERS; i++) {
        const reader *const r = &readers[i];
        const size_t sizes[] = {0, 1, sizeof(size_t), r->bytes - 1, r->bytes + 1, WI_OPTIONS_MOST + 8,
            SIZE_MAX / 2 + 1, SIZE_MAX - 7, SIZE_MAX};
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            expect(r, r->bytes, sizes[k], 0, WEFT_ERROR_ARGUMENT);
    }
}

/* The options of a convolution are in those of its layer, where nothing beyond them is theirs. */
static void nested_options_end_where_their_struct_ends(void **state) {
    weft_conv_layer_options options = {
        WEFT_CONV_LAYER_OPTIONS_INIT, .conv = {WEFT_CONV_OPTIONS_INIT}, .name = "named"};
    (void)state;
    assert_weft_ok(call_conv_layer(&options));
    options.conv.struct_size += 8;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, call_conv_layer(&options), "WEFT_CONV_OPTIONS_INIT");
    options.conv.struct_size = 0;
    assert_weft_ok(call_conv_layer(&options));
}

/* ---- the rows are complete ---- */
static bool has_reader(const char *macro) {
    size_t i = 0;
    while (i < READERS && strcmp(readers[i].macro, macro) != 0) i++;
    return i < READERS;
}

static size_t check_header(const char *header) {
    char path[512], line[512], macro[128];
    size_t structs = 0, macros = 0;
    snprintf(path, sizeof path, "%s/include/weft/%s", WEFT_SOURCE_DIR, header);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        structs += strstr(line, "size_t struct_size;") != NULL;
        if (sscanf(line, "#define %127s .struct_size", macro) != 1 || !strstr(line, ".struct_size")) continue;
        macros++;
        if (!has_reader(macro)) fail_msg("%s: %s has no row in this test", header, macro);
    }
    fclose(file);
    assert_int_equal(structs, macros);
    return macros;
}

static void every_public_struct_is_here(void **state) {
    (void)state;
    char path[512], line[512], header[128];
    size_t macros = check_header("weft.h"), headers = 0;
    snprintf(path, sizeof path, "%s/include/weft/weft.h", WEFT_SOURCE_DIR);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "#include <weft/%127[a-z_.]>", header) != 1) continue;
        macros += check_header(header);
        headers++;
    }
    fclose(file);
    assert_true(headers >= 10);
    assert_true(macros >= 28);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_fields_are_taken),
        cmocka_unit_test(unknown_fields_must_be_zero),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(nested_options_end_where_their_struct_ends),
        cmocka_unit_test(every_public_struct_is_here),
    };
    return test_finish(cmocka_run_group_tests(tests, make_fence, remove_fence));
}
