/* What reads and writes files beside a training: tables, arrays, vocabularies, data sets, weights, a plan's description. */
#include "fault_subject.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weft/profile.h>
#include <zlib.h>

typedef struct fault_made {
    weft_graph *graph;
    weft_dataset *data, *drawn, *others;
    weft_vocabulary *words, *loaded;
    weft_npy_array array;
    weft_tensor *y;
} fault_made;

static fault_made made;

static void note(fault_world *world, double value) {
    world->result[world->result_count++] = value;
}

static void forget_data(void) {
    weft_dataset_release(made.data);
    weft_dataset_release(made.drawn);
    weft_dataset_release(made.others);
    made.data = made.drawn = made.others = NULL;
}

/* ---- the files ---- */

static void put_text(const fault_world *world, const char *name, const char *text) {
    FILE *const file = fopen(fault_path(world->data, name), "wb");
    fputs(text, file);
    fclose(file);
}

/* Big-endian sizes, then bytes. */
static void put_idx(const fault_world *world, const char *name, int rank, unsigned char count, int bytes) {
    const unsigned char head[] = {0, 0, 8, (unsigned char)rank, 0, 0, 0, count, 0, 0, 0, 3, 0, 0, 0, 2};
    const gzFile file = gzopen(fault_path(world->data, name), "wb");
    gzwrite(file, head, 4 + 4 * (unsigned)rank);
    for (int i = 0; i < bytes; i++) gzputc(file, i % 10);
    gzclose(file);
}

static weft_status prepare(fault_world *world) {
    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    put_text(
        world, "table.csv", "colour,\"a \"\"size\"\"\",weight\nred,1.5,2\n\"dark\nblue\",2.5,3\nred,3.5,4\n");
    put_text(world, "text", "to be or not to be\nthat is the question\n");
    put_idx(world, "some-images-idx3-ubyte.gz", 3, 5, 30);
    put_idx(world, "some-labels-idx1-ubyte.gz", 1, 5, 5);
    put_text(world, "test_batch.bin", "");
    if (truncate(fault_path(world->data, "test_batch.bin"), 10000L * 3073) != 0) return WEFT_ERROR_FILE;
    put_text(world, "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
    return weft_save_npy(fault_path(world->data, "numbers.npy"), WEFT_F32, numbers, 2, (int64_t[]){3, 2});
}

/* ---- tables and arrays ---- */

static weft_status read_table(fault_world *world) {
    const weft_status status =
        weft_dataset_open_csv(&made.data, world->context, fault_path(world->data, "table.csv"), NULL);
    if (status != WEFT_OK) return status;
    note(world, (double)weft_dataset_category_count(made.data, 0));
    note(world, (double)((const float *)weft_dataset_column(made.data, 1)->data)[2]);
    return weft_dataset_split(&made.drawn, &made.others, made.data, 1, 7);
}

static weft_status read_idx(fault_world *world) {
    const weft_status status = weft_dataset_open_idx(&made.data, world->context, world->data, "some");
    if (status == WEFT_OK) note(world, (double)((const float *)weft_dataset_column(made.data, 0)->data)[7]);
    return status;
}

static weft_status read_cifar(fault_world *world) {
    const weft_status status =
        weft_dataset_open_cifar(&made.data, world->context, world->data, WEFT_CIFAR_10_TEST, NULL);
    if (status == WEFT_OK) note(world, (double)weft_dataset_category_count(made.data, 1));
    return status;
}

static weft_status read_series(fault_world *world) {
    const weft_series_options options = {WEFT_SERIES_OPTIONS_INIT, .window = 1, .validation = 0.4};
    weft_series_scale scale;
    const weft_status status = weft_dataset_open_series(
        &made.data, &made.others, &scale, world->context, fault_path(world->data, "table.csv"), &options);
    if (status == WEFT_OK) note(world, scale.mean[0]);
    return status;
}

static weft_status read_arrays(fault_world *world) {
    const char *const copy = fault_path(world->folder, "copy.npy");
    const weft_npy_column column = {"numbers", copy, WEFT_F32};
    weft_status status =
        weft_load_npy(&made.array, world->context, fault_path(world->data, "numbers.npy"), WEFT_F32);
    if (status == WEFT_OK)
        status = weft_save_npy(copy, WEFT_F32, made.array.data, made.array.rank, made.array.dims);
    if (status == WEFT_OK) status = weft_dataset_open_npy(&made.data, world->context, &column, 1);
    if (status == WEFT_OK) note(world, (double)((const float *)weft_dataset_column(made.data, 0)->data)[5]);
    weft_npy_array_release(&made.array);
    return status;
}

/* A table as a file of records, whose loader reads one after the other. */
static weft_status read_records(fault_world *world) {
    const char *const path = fault_path(world->folder, "table.records");
    const weft_records_options options = {WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = true};
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[3];
    weft_status status =
        weft_dataset_open_csv(&made.data, world->context, fault_path(world->data, "table.csv"), NULL);
    if (status == WEFT_OK) status = weft_dataset_save_records(made.data, path);
    if (status == WEFT_OK) status = weft_dataset_open_records(&made.drawn, world->context, path, &options);
    if (status == WEFT_OK) status = weft_loader_create(&loader, made.drawn, NULL);
    if (status == WEFT_OK) status = weft_loader_begin(loader, 0);
    if (status == WEFT_OK) status = weft_loader_next(loader, &examples, columns);
    if (status == WEFT_OK) note(world, (double)((const float *)columns[1])[2]);
    weft_loader_release(loader);
    return status;
}

/* ---- text ---- */

static weft_status read_text(fault_world *world) {
    const weft_vocabulary_options options = {WEFT_VOCABULARY_OPTIONS_INIT, .level = WEFT_TEXT_WORDS};
    const weft_text_options windows = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 2};
    const char *const text = fault_path(world->data, "text"), *const saved =
                                                                  fault_path(world->folder, "words");
    weft_status status = weft_vocabulary_from_file(&made.words, world->context, text, &options);
    if (status == WEFT_OK) status = weft_vocabulary_save(made.words, saved);
    if (status == WEFT_OK) status = weft_vocabulary_load(&made.loaded, world->context, saved);
    if (status == WEFT_OK)
        status = weft_dataset_open_text(&made.data, world->context, text, made.loaded, &windows);
    note(world, (double)weft_vocabulary_size(made.loaded));
    weft_vocabulary_release(made.words);
    weft_vocabulary_release(made.loaded);
    made.words = made.loaded = NULL;
    return status;
}

/* ---- a graph ---- */

static weft_status make_graph(fault_world *world) {
    const weft_status status = weft_graph_create(&made.graph, world->context);
    if (status != WEFT_OK) return status;
    weft_tensor *const x = weft_input(made.graph, "x", WEFT_F32, 6);
    made.y = weft_softmax(weft_linear(x, 3), -1);
    return weft_graph_status(made.graph);
}

static weft_status predict(fault_world *world) {
    const float x[12] = {0.5f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {6}, .data = x};
    float y[6] = {0};
    const weft_status status = weft_predict(made.y, 2, &column, 1, y, sizeof y);
    note(world, (double)y[4]);
    return status;
}

static weft_status save_and_load(fault_world *world) {
    const char *const only[] = {"*.bias", NULL};
    const weft_weights_options options = {WEFT_WEIGHTS_OPTIONS_INIT, .only = only, .allow_extra = true};
    const char *const path = fault_path(world->folder, "weights.safetensors");
    weft_status status = weft_weights_save(made.graph, path);
    if (status == WEFT_OK) status = weft_weights_load(made.graph, path, &options);
    if (status == WEFT_OK) status = weft_weights_load(made.graph, path, NULL);
    return status;
}

static weft_status describe(fault_world *world) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    static char text[65536];
    weft_plan *plan = NULL;
    size_t length[2] = {0};
    weft_status status = weft_plan_create(&plan, &made.y, 1, &options);
    if (status == WEFT_OK) status = weft_plan_describe(plan, WEFT_FORMAT_JSON, text, sizeof text, &length[0]);
    if (status == WEFT_OK) status = weft_plan_describe(plan, WEFT_FORMAT_TEXT, text, sizeof text, &length[1]);
    weft_plan_release(plan);
    note(world, (double)length[0]);
    note(world, (double)length[1]);
    return status;
}

/* ---- all ---- */

static weft_status read_all(fault_world *world) {
    static weft_status (*const readers[])(fault_world *) = {read_table, read_idx, read_cifar, read_series,
        read_arrays, read_records, read_text, predict, save_and_load, describe};
    weft_status status = WEFT_OK;
    world->result_count = 0;
    for (size_t i = 0; i < sizeof readers / sizeof *readers && status == WEFT_OK; i++) {
        status = readers[i](world);
        forget_data();
    }
    return status;
}

static void clear_graph(fault_world *world) {
    (void)world;
    weft_graph_release(made.graph);
    made.graph = NULL;
}

static void clear_nothing(fault_world *world) {
    (void)world;
}

const fault_subject fault_readers = {.name = "readers",
    .prepare = prepare,
    .steps = {fault_open_context, make_graph, read_all},
    .clear = {fault_close_context, clear_graph, clear_nothing},
    .again = 2};
