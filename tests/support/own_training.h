/* A training that creates its own context, for tests with several threads, long runs or many contexts: a small convolutional network
 * over augmented images, with batch norm, dropout, two threads that load, and checkpoints if wanted. */
#ifndef OWN_TRAINING_H
#define OWN_TRAINING_H

#include <weft/weft.h>

enum { OWN_TRAINING_EPOCH = 6, OWN_TRAINING_WEIGHTS = 4 * 3 * 3 * 3 };

typedef struct own_training {
    const char *images;      /* a folder of files, as own_training_files makes; NULL: images in memory */
    const char *checkpoints; /* one is saved every 4 steps; NULL: none */
    size_t epochs;           /* of OWN_TRAINING_EPOCH steps */
    const weft_allocator *allocator;
    weft_progress_callback on_step;
    void *user;
    char platform[128];                  /* result: the device's platform */
    float weights[OWN_TRAINING_WEIGHTS]; /* result: the weights of the convolution at the end */
} own_training;

/* Runs the training. Any thread may call this, because it uses no assertions of cmocka; after an error, weft_last_error says why. */
weft_status own_training_run(own_training *t);

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
/* Makes the image tree of image_tree.h that `images` may name. */
const char *own_training_files(void);
#endif

#endif
