/* See cache_command.h. The folder is that of other programs: WEFT_CACHE_DIR names another one. */
#include "cache_command.h"
#include "show_warning.h"
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

static const char help[] =
    "usage: weft cache export FILE [--device SEL]\n"
    "       weft cache import FILE [--device SEL]\n"
    "Writes the compiled kernels of a device, which are in the cache folder, as one file, or adds such\n"
    "a file to the folder, so that programs find their kernels compiled. WEFT_CACHE_DIR names the\n"
    "folder. On PoCL the folder has the kernels of programs that ran with POCL_KERNEL_CACHE=0.\n"
    "The kernels are native code: import only files that you trust as a program. A file serves the\n"
    "device, driver and version of Weft that it was exported for.\n";

static int refuse(const char *what, const char *word) {
    fprintf(stderr, "weft: %s %s; see weft cache --help\n", what, word);
    return 2;
}

static int run(const char *device, const char *file, bool exports) {
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT, .device = device};
    weft_context *context = NULL;
    size_t programs = 0;
    weft_status status = exports ? weft_output_check(file) : WEFT_OK;
    if (status == WEFT_OK) status = weft_context_create(&context, &options);
    if (status == WEFT_OK)
        status = exports ? weft_cache_export(context, file, &programs)
                         : weft_cache_import(context, file, &programs);
    if (status == WEFT_OK)
        printf("%s %zu OpenCL program%s of %s\n", exports ? "exported" : "imported", programs,
            programs == 1 ? "" : "s", weft_context_device(context)->name);
    else
        fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}

int weft_cache(int argc, char **argv) {
    const char *device = NULL, *file = NULL;
    const char *const what = argc > 0 ? argv[0] : "";
    const bool exports = strcmp(what, "export") == 0;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return fputs(help, stdout) < 0;
    if (!exports && strcmp(what, "import") != 0) return refuse("cache needs export or import, not", what);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device = argv[++i];
        else if (argv[i][0] == '-' || file)
            return refuse("cache does not understand", argv[i]);
        else
            file = argv[i];
    }
    return file ? run(device, file, exports) : refuse("there is no file to", what);
}
