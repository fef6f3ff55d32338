/* Programs whose calls of OpenCL go through the layer of pretended devices. */
#ifndef PRETENDED_H
#define PRETENDED_H

#include "pretend_layer.h"
#include "support/checks.h"
#include <stdlib.h>
#include <unistd.h>
#include <weft/weft.h>

/* At the beginning of main: the loader reads the name of the layer as the process starts. A kernel whose launch is left out
 * writes nothing, which a self-test of an unknown driver would take for a fault, and remember. What vendors' compilers alone
 * take, the machine's may end the process for. */
static inline void pretended_start(char **argv) {
    unsetenv("WEFT_DEVICE_CLASS"); /* what is reported says which */
    setenv("WEFT_SELF_TEST", "0", 1);
    setenv("WEFT_MATRIX_ENGINES", "0", 1);
    setenv("WEFT_ASYNC_COPIES", "0", 1);
    setenv("WEFT_SUB_GROUPS", "0", 1);
    if (getenv("OPENCL_LAYERS")) return;
    setenv("OPENCL_LAYERS", PRETEND_LAYER_FILE, 1);
    execv("/proc/self/exe", argv);
}

/* A context on the device of this name. */
static inline weft_context *pretended_open(const char *name) {
    weft_context *context = NULL;
    assert_true(pretend_layer_choose(name));
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .seed = 3};
    assert_ok(weft_context_create(&context, &options));
    assert_true(pretend_layer_present());
    pretend_layer_begin();
    return context;
}

#endif
