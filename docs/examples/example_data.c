/* Contexts and graphs, variables, plans without waiting, arrays and datasets, and outputs that become inputs.
 * Usage: example_data [FOLDER with a folder of images for each class, CIFAR's test_batch.bin and one.png] */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { BATCH = 2, WIDTH = 3, BYTES = BATCH * WIDTH * sizeof(float) };

static void print_context(weft_context *context) {
    size_t bytes, peak, freed = 0;
    weft_context_memory(context, &bytes, &peak);
    printf("Weft %s (%s) on %s: %zu bytes held, %zu at most\n", weft_version(), weft_build_options(),
        weft_context_device(context)->name, bytes, peak);
    if (!weft_context_trim(context, &freed)) printf("%zu bytes were kept for further plans\n", freed);
    weft_context_release(weft_context_retain(context));
}

/* Parameters, states and scalars of a graph. */
static weft_status variables(weft_graph *graph) {
    const int64_t dims[] = {WIDTH};
    weft_tensor *a = weft_parameter_shape(graph, "a", weft_fill(1), 1, dims),
                *half = weft_parameter_dtype(graph, "half", WEFT_F16, weft_zeros(), 1, dims),
                *b = weft_state_shape(graph, "b", WEFT_F32, weft_fill(2), 1, dims),
                *gain = weft_scalar(graph, "gain", 0.5f);
    (void)weft_mul(weft_mul(a, gain), weft_constant(graph, WEFT_F32, 3));
    for (size_t i = 0; i < weft_graph_state_count(graph); i++) {
        weft_tensor *state = weft_graph_state(graph, i);
        printf("%s: %s, %zu bytes each\n", weft_tensor_name(state), weft_dtype_name(weft_tensor_dtype(state)),
            weft_dtype_size(weft_tensor_dtype(half)));
    }
    weft_tensor *carried = weft_carried_state(graph, 1, dims);
    weft_status status = weft_tensor_copy(a, b); /* on the device */
    if (!status) status = weft_tensor_copy(carried, a);
    return status ? status : weft_carry_reset(carried);
}

/* x ← 2·x + 1 again and again without the host, then the same through memory that two plans share. */
static weft_status feed(weft_graph *graph) {
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, WIDTH),
                *next = weft_add_number(weft_mul_number(x, 2), 1);
    weft_plan *plan = NULL, *other = NULL;
    struct _cl_mem *memory;
    size_t offset;
    float numbers[BATCH][WIDTH] = {{0, 1, 2}, {3, 4, 5}};
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    weft_status status = weft_plan_create(&plan, &next, 1, &size);
    if (!status) status = weft_plan_create(&other, &next, 1, &size);
    if (!status) status = weft_plan_write_async(plan, x, numbers, BYTES);
    for (int run = 0; run < 3 && !status; run++) {
        status = weft_plan_run(plan);
        if (!status) status = weft_plan_feed(plan, x, plan, next);
    }
    if (!status) status = weft_plan_memory(plan, next, &memory, &offset);
    if (!status) status = weft_plan_bind(other, x, memory, offset);
    if (!status) status = weft_plan_run(other);
    if (!status) status = weft_plan_read_async(other, next, numbers, BYTES);
    if (!status) status = weft_plan_wait(other);
    if (!status) printf("2·(2·(2·(2·1 + 1) + 1) + 1) + 1 = %g\n", (double)numbers[0][1]);
    weft_plan_release(weft_plan_retain(plan));
    weft_plan_release(plan), weft_plan_release(other);
    return status;
}

/* What has been compiled, as a file that another installation of the program imports before it creates plans. */
static weft_status ship_kernels(weft_context *context, const char *folder) {
    char path[512];
    size_t programs = 0;
    (void)snprintf(path, sizeof path, "%s/weft-example-kernels", folder);
    weft_status status = weft_cache_export(context, path, &programs);
    if (!status) status = weft_cache_import(context, path, NULL);
    if (!status) printf("the file of kernels has %s\n", programs > 0 ? "programs" : "nothing");
    (void)remove(path);
    return status;
}

/* Two networks of one form: one follows the other. Two outputs in one run. */
static weft_status follow(weft_graph *graph) {
    weft_tensor *x = weft_input(graph, "observation", WEFT_F32, WIDTH), *values[2];
    static const char *const names[] = {"online", "target"};
    for (int i = 0; i < 2; i++) {
        (void)weft_scope_begin(graph, names[i], true);
        (void)weft_scope_inference(graph, i == 1); /* the target has no dropout, not even in training */
        values[i] = weft_linear(weft_dropout(x, 0.1f), 2);
        (void)weft_scope_end(graph);
    }
    weft_tensor *copy = weft_scope_copy(graph, "online", "target", 1);
    weft_plan *plan = NULL;
    weft_status status = weft_plan_create(&plan, &copy, 1, NULL);
    if (!status) status = weft_plan_run(plan);
    const float numbers[BATCH][WIDTH] = {{1, 2, 3}, {4, 5, 6}};
    float got[2][BATCH][2];
    const weft_column column = {
        .name = "observation", .dtype = WEFT_F32, .rank = 1, .dims = {WIDTH}, .data = numbers};
    const weft_prediction both[] = {{values[0], got[0], sizeof got[0]}, {values[1], got[1], sizeof got[1]}};
    if (!status) status = weft_predict_all(both, 2, BATCH, &column, 1);
    if (!status) printf("%g and %g\n", (double)got[0][1][1], (double)got[1][1][1]); /* the same */
    weft_plan_release(plan);
    return status;
}

/* A table that is updated by rows, and the rate of the short form; what runs through the network in 16 bits. */
static weft_status by_rows(weft_graph *graph) {
    weft_tensor *tokens = weft_input(graph, "tokens", WEFT_I32),
                *loss = weft_sum(weft_square(weft_embedding(tokens, 1000, 8)));
    const weft_optimizer rule = weft_adagrad(0.1f);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count;
    weft_status status = weft_sparse_updates(graph, "embedding1.weight", true);
    if (!status) status = weft_minimize(loss, &rule, updates, WEFT_MAX_UPDATES, &count);
    if (!status) status = weft_scalar_set(weft_minimize_rate(graph), 0.05f);
    if (!status) status = weft_graph_set_matmul_precision(graph, WEFT_MATMUL_PRECISION_HIGH);
    return status ? status : weft_graph_set_precision(graph, WEFT_PRECISION_BF16);
}

/* A dataset as one file with a checksum for each record, which stays on disk while a loader reads it. */
static weft_status records(weft_context *context, weft_dataset *dataset, const char *folder) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/example_data.records", folder);
    const weft_records_options options = {WEFT_RECORDS_OPTIONS_INIT, .skip_damaged = true};
    weft_dataset *opened = NULL;
    weft_status status = weft_dataset_save_records(dataset, path);
    if (!status) status = weft_dataset_open_records(&opened, context, path, &options);
    if (!status)
        printf("%zu records, %zu are damaged\n", weft_dataset_size(opened), weft_dataset_skipped(opened));
    weft_dataset_release(opened);
    (void)remove(path);
    return status;
}

static weft_status arrays(weft_context *context, const char *folder) {
    const float numbers[2][WIDTH] = {{1, 2, 3}, {4, 5, 6}};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/example_data.npy", folder);
    weft_npy_array array = {0};
    weft_dataset *dataset = NULL;
    weft_loader *loader = NULL;
    size_t examples = 1;
    const void *columns[1];
    weft_status status = weft_save_npy(path, WEFT_F32, numbers, 2, (const int64_t[]){2, WIDTH});
    if (!status) status = weft_load_npy(&array, context, path, WEFT_F32);
    if (!status)
        status = weft_dataset_open_npy(&dataset, context, &(weft_npy_column){"x", path, WEFT_F32}, 1);
    if (!status)
        status = weft_loader_create(
            &loader, dataset, &(weft_loader_options){WEFT_LOADER_OPTIONS_INIT, .batch = 2});
    if (!status) status = weft_loader_begin(loader, 0);
    while (!status && examples) status = weft_loader_next(loader, &examples, columns);
    if (!status) status = records(context, dataset, folder);
    printf("%zu columns of %zu examples\n", weft_dataset_column_count(dataset), weft_dataset_size(dataset));
    weft_loader_release(loader);
    weft_dataset_release(weft_dataset_retain(dataset));
    weft_dataset_release(dataset);
    weft_npy_array_release(&array);
    (void)remove(path);
    return status;
}

/* A parameter of another network that begins with what is in a file. */
static weft_status from_file(weft_context *context, weft_graph *graph, const char *folder) {
    weft_graph *other = NULL;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/example_data.safetensors", folder);
    const weft_weights_save_options some = {
        WEFT_WEIGHTS_SAVE_OPTIONS_INIT, .only = (const char *const[]){"target.*", NULL}};
    weft_status status = weft_output_check(path); /* before hours of training */
    if (!status) status = weft_weights_save_with(graph, path, &some);
    if (!status) status = weft_weights_save_dtype(graph, path, WEFT_BF16); /* all, in half the bytes */
    if (!status) status = weft_graph_create(&other, context);
    if (!status)
        (void)weft_parameter(other, "first", weft_init_from_file(path, "target.linear1.weight"), 2, WIDTH);
    if (!status) status = weft_graph_status(other);
    weft_graph_release(other);
    (void)remove(path);
    return status;
}

/* What the label of an answer stands for, in a program that has the network alone, of a checkpoint. */
static const char *name_of(const weft_graph *graph, int32_t answer) {
    if (weft_graph_category_count(graph, "label") == 0) return "(the checkpoint has no names)";
    return weft_graph_category(graph, "label", answer);
}

/* Digits in files of other names than MNIST's. */
static weft_status digits(weft_context *context, const char *images, const char *labels) {
    weft_dataset *dataset = NULL;
    const weft_status status = weft_dataset_open_idx_files(&dataset, context, images, labels);
    if (!status) printf("%zu digits\n", weft_dataset_size(dataset));
    weft_dataset_release(dataset);
    return status;
}

/* Stronger augmentation, with mixtures of two examples: the network learns from the column "target". */
static weft_status mixed_images(weft_context *context, const weft_dataset *images) {
    const weft_transform augmentation[] = {weft_transform_random_resized_crop(64, 64),
        weft_transform_random_vertical_flip(0.5), weft_transform_random_rotation(10),
        weft_transform_colour_jitter(0.4, 0.4, 0.4, 0.1), weft_transform_random_grey(0.1),
        weft_transform_rand_augment(2, 9), weft_transform_random_erasing(0.25), weft_transform_mixup(0.2),
        weft_transform_cutmix(1)};
    const int64_t classes = (int64_t)weft_dataset_category_count(images, 1);
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = augmentation,
        .transform_count = sizeof augmentation / sizeof *augmentation, .exif_orientation = true,
        .targets = classes};
    weft_dataset *mixed = NULL;
    weft_graph *graph = NULL;
    weft_status status = weft_dataset_with_image_options(&mixed, images, &options);
    if (!status) status = weft_graph_create(&graph, context);
    if (!status) {
        weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 3, 64, 64);
        weft_tensor *const logits = weft_linear(weft_flatten(weft_global_avg_pool(image)), classes);
        (void)weft_cross_entropy(logits, weft_input(graph, "target", WEFT_F32, classes));
        status = weft_graph_status(graph);
    }
    weft_graph_release(graph);
    weft_dataset_release(mixed);
    return status;
}

/* A folder of images, CIFAR's files in it, and one image alone. */
static weft_status images(weft_context *context, const char *folder) {
    static unsigned char pixels[3 * 64 * 64];
    const weft_transform random = weft_transform_random_resized_crop(64, 64),
                         exact = weft_transform_resize(64, 64),
                         middle[] = {weft_transform_resize_shorter(72), weft_transform_centre_crop(64, 64)};
    const weft_image_options training = {WEFT_IMAGE_OPTIONS_INIT, .transforms = &random, .transform_count = 1,
                                 .skip_unreadable = true},
                             validation = {WEFT_IMAGE_OPTIONS_INIT, .transforms = middle,
                                 .transform_count = 2},
                             alone = {WEFT_IMAGE_OPTIONS_INIT, .transforms = &exact, .transform_count = 1,
                                 .bytes = true};
    weft_dataset *dataset = NULL, *small = NULL;
    char path[512];
    weft_status status = weft_dataset_open_image_folder(&dataset, context, folder, &training);
    if (!status)
        printf("%zu images, %zu cannot be read\n", weft_dataset_size(dataset), weft_dataset_skipped(dataset));
    if (!status) status = mixed_images(context, dataset);
    if (!status) status = weft_dataset_open_cifar(&small, context, folder, WEFT_CIFAR_10_TEST, &validation);
    (void)snprintf(path, sizeof path, "%s/one.png", folder);
    if (!status) status = weft_load_image(context, path, &alone, pixels, sizeof pixels);
    weft_dataset_release(small);
    weft_dataset_release(dataset);
    return status;
}

static weft_status words(weft_context *context, weft_graph *graph) {
    weft_vocabulary *vocabulary = NULL;
    const weft_vocabulary_options options = {WEFT_VOCABULARY_OPTIONS_INIT, .level = WEFT_TEXT_WORDS};
    weft_status status = weft_vocabulary_from_text(&vocabulary, context, "a b a c\n", 8, &options);
    weft_tensor *table = weft_parameter_shape(graph, "words", weft_zeros(), 2, (const int64_t[]){4, 8});
    if (!status) status = weft_vocabulary_check(vocabulary, table); /* a, b, c and <eos> */
    weft_vocabulary_release(weft_vocabulary_retain(vocabulary));
    weft_vocabulary_release(vocabulary);
    return status;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_graph *graph = NULL;
    const char *temporary = getenv("TMPDIR");
    weft_status status = weft_context_create(&context, NULL);
    if (!status) status = weft_graph_create(&graph, context);
    if (!status) status = feed(graph);
    if (!status) status = ship_kernels(context, temporary ? temporary : "/tmp");
    if (!status) print_context(weft_graph_context(graph));
    if (!status) status = follow(graph);
    if (!status) status = by_rows(graph);
    if (!status) status = variables(graph);
    if (!status) status = from_file(context, graph, temporary ? temporary : "/tmp");
    if (!status) status = words(context, graph);
    if (!status) status = arrays(context, temporary ? temporary : "/tmp");
    if (!status && argc == 2) status = images(context, argv[1]);
    if (!status && argc > 2) status = digits(context, argv[1], argv[2]);
    if (!status) printf("class 0 is %s\n", name_of(graph, 0));
    if (status) fprintf(stderr, "data: %s: %s\n", weft_status_name(status), weft_last_error());
    weft_graph_release(weft_graph_retain(graph));
    weft_graph_release(graph);
    weft_context_release(context);
    return status != WEFT_OK;
}
