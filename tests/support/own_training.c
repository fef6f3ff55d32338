/* Trainings that share nothing (contract in own_training.h). */
#include "support/own_training.h"
#include "base/status.h"
#include "support/image_tree.h"

#include <stdio.h>
#include <string.h>

enum { IMAGES = 24, SIDE = 6, BATCH = 4, CLASSES = 4 };

static weft_status open_memory(weft_dataset **data, weft_context *context, const weft_image_options *how) {
    unsigned char pixels[IMAGES][3][SIDE][SIDE];
    int32_t labels[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        labels[i] = i % CLASSES;
        memset(pixels[i], 40 * labels[i] + i, sizeof pixels[i]);
    }
    const weft_image_block block = {.examples = IMAGES,
        .channels = 3,
        .height = SIDE,
        .width = SIDE,
        .pixels = &pixels[0][0][0][0],
        .labels = labels};
    return weft_dataset_from_images(data, context, &block, how);
}

static weft_status open_images(weft_dataset **data, weft_context *context, const own_training *t) {
    const weft_transform moves[] = {weft_transform_resize(SIDE, SIDE),
        weft_transform_random_crop(SIDE, SIDE, 2), weft_transform_random_flip(0.5)};
    const weft_image_options how = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = moves, .transform_count = 3, .layout = WEFT_CHANNELS_LAST};
    return t->images ? weft_dataset_open_image_folder(data, context, t->images, &how)
                     : open_memory(data, context, &how);
}

static weft_status make_trainer(
    weft_trainer **trainer, weft_tensor **weights, weft_graph *graph, const own_training *t) {
    weft_tensor *h = weft_image_input(graph, "image", 3, SIDE, SIDE);
    h = weft_relu(weft_batch_norm(weft_conv2d(h, 4, 3)));
    h = weft_linear(weft_dropout(weft_flatten(h), 0.25f), CLASSES);
    weft_tensor *const loss = weft_cross_entropy(h, weft_input(graph, "label", WEFT_I32));
    WI_TRY(weft_graph_status(graph));
    *weights = weft_graph_find(graph, "conv1.weight");
    return weft_trainer_create(trainer, loss,
        &(weft_trainer_options){WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd_momentum(0.01f, 0.9f, 1e-3f),
            .epochs = t->epochs, .batch = BATCH, .loader_threads = 2, .checkpoint = t->checkpoints,
            .checkpoint_every = {.steps = 4}, .on_step = t->on_step, .user = t->user});
}

weft_status own_training_run(own_training *t) {
    weft_context *context = NULL;
    weft_dataset *data = NULL;
    weft_trainer *trainer = NULL;
    weft_tensor *weights = NULL;
    weft_status status =
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "",
                                          .seed = 5, .allocator = t->allocator});
    if (status != WEFT_OK) return status;
    snprintf(t->platform, sizeof t->platform, "%s", weft_context_device(context)->platform);
    WI_TRY_DONE(open_images(&data, context, t));
    WI_TRY_DONE(make_trainer(&trainer, &weights, weft_context_graph(context), t));
    WI_TRY_DONE(weft_trainer_run(trainer, data));
    WI_TRY_DONE(weft_tensor_read(weights, t->weights, sizeof t->weights));
done:
    weft_trainer_release(trainer);
    weft_dataset_release(data);
    weft_context_release(context);
    return status;
}

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
const char *own_training_files(void) {
    image_tree_begin("images of a training");
    for (unsigned i = 0; i < IMAGES; i++) {
        char folder[32], name[64];
        snprintf(folder, sizeof folder, "class%u", i % CLASSES);
        if (i < CLASSES) image_tree_folder(folder);
        snprintf(name, sizeof name, "%s/%02u.%s", folder, i, i % 3 ? "png" : "jpg");
        image_tree_put_sized(name, SIDE + i % 3, SIDE + i % 2, 40 * (i % CLASSES) + i);
    }
    return image_tree_root();
}
#endif
