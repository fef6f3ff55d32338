/* Compiling programs with the driver's compiler (contract in compile.h). */
#include "cl/compile.h"

#include "cl/build_log.h"
#include "cl/compiled_once.h"
#include "cl/driver.h"
#include "cl/kernel_source.h"
#include "cl/quirks.h"

#include <string.h>

/* For most of Intel's processors with AVX-512, LLVM splits vectors of 512 bits into two of 256 bits in functions that
 * have no such vector as an argument or result. The sums of a tile then do not fit in the registers. This attribute
 * keeps the vectors whole. */
static const char widen[] =
    "#if WEFT_LANES == 16 && defined(__clang__) && defined(__AVX512F__)\n"
    "#define WEFT_WIDENED\n"
    "#pragma clang attribute push(__attribute__((min_vector_width(512))), apply_to = function)\n"
    "#endif\n"
    "#line 1\n";
static const char widen_end[] = "\n#ifdef WEFT_WIDENED\n"
                                "#pragma clang attribute pop\n"
                                "#endif\n";

/* Tells clang to leave the program as it is parsed. PoCL 3.1 refuses options that OpenCL does not have, but it divides the
 * options at spaces alone, and clang's own at any white space. */
static const char unoptimised_program[] = " -DWEFT_PARSED_ONLY=1\t-disable-llvm-passes";

/* before: text that precedes the source, or "". */
static weft_status compile(wi_compiled *made, const wi_device *device, const char *what, const char *before,
    const char *source, const char *options) {
    const char *texts[] = {before, widen, source, widen_end};
    made->program =
        clCreateProgramWithSource(device->cl, sizeof texts / sizeof *texts, texts, NULL, &made->error);
    WI_CL(made->error, what);
    made->error = clBuildProgram(made->program, 1, &device->id, options, NULL, NULL);
    return WEFT_OK;
}

static void drop(wi_compiled *made) {
    clReleaseProgram(made->program);
    made->program = NULL;
}

/* Releases the program and sets made->program to NULL if the compiler says that the source or an option is wrong. */
static weft_status drop_refused(wi_compiled *made, const wi_device *device, const char *what) {
    char *log = NULL;
    if (made->error == CL_INVALID_BUILD_OPTIONS) drop(made);
    if (made->error != CL_BUILD_PROGRAM_FAILURE) return WEFT_OK;
    WI_TRY(wi_build_log_read(&log, device, made->program, made->error));
    if (wi_build_log_is_verdict(log)) {
        wi_log_line(device->host.log, WEFT_LOG_DEBUG,
            "%s does not compile with the source changes for this driver, and is compiled without them: %s",
            what, log);
        drop(made);
    }
    wi_release(device->host.allocator, log);
    return WEFT_OK;
}

/* Appends the source to `text`, the text that must precede it to `before`, and options to `all_options`, as compile.h
 * describes for the three quirks. _OPENCL_H_ is the include guard of the driver's header, so that the header is
 * skipped. */
static weft_status append_adapted(
    wi_text *before, wi_text *text, wi_text *all_options, unsigned quirks, const char *source) {
    const bool declares = quirks & WI_QUIRK_SLOW_HEADER;
    if (declares) WI_TRY(wi_kernel_source_append(before, "builtins.clh"));
    wi_text_append(all_options, "%s%s", declares ? " -D _OPENCL_H_" : "",
        quirks & WI_QUIRK_TWO_OPTIMISERS ? unoptimised_program : "");
    if (quirks & WI_QUIRK_KERNEL_COPIES) {
        wi_text_append(before, "%s", wi_compiled_once_function);
        wi_compiled_once_append(text, source);
    } else {
        wi_text_append(text, "%s", source);
    }
    return before->failed || text->failed || all_options->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

/* Compiles the source in the form that compiles fastest on drivers with these quirks. */
static weft_status compile_adapted(wi_compiled *made, const wi_device *device, unsigned quirks,
    const char *what, const char *source, const char *options) {
    wi_text before, text, all_options;
    wi_text_init(&before, device->host.allocator);
    wi_text_init(&text, device->host.allocator);
    wi_text_init(&all_options, device->host.allocator);
    wi_text_append(&all_options, "%s", options);
    weft_status status = append_adapted(&before, &text, &all_options, quirks, source);
    if (status == WEFT_OK) status = compile(made, device, what, before.data, text.data, all_options.data);
    if (status == WEFT_OK) status = drop_refused(made, device, what);
    wi_text_clear(&before);
    wi_text_clear(&text);
    wi_text_clear(&all_options);
    return status;
}

/* Appends the options, without WI_OPTION_UNOPTIMISED if the driver would compile this source wrongly with it. */
static void append_usable(wi_text *usable, const wi_device *device, const char *source, const char *options) {
    const char *const option = wi_quirks_need_optimisation(device->caps.quirks, source)
                                   ? strstr(options, WI_OPTION_UNOPTIMISED)
                                   : NULL;
    const size_t before = option ? (size_t)(option - options) : strlen(options);
    wi_text_append(
        usable, "%.*s%s", (int)before, options, option ? option + strlen(WI_OPTION_UNOPTIMISED) : "");
}

/* The quirks that matter with these options. Without optimisation PoCL does not inline kernels, so that each kernel is
 * compiled only once in any case, and programs are not optimised either. */
static unsigned quirks_with(unsigned quirks, const char *options) {
    const unsigned optimiser = WI_QUIRK_KERNEL_COPIES | WI_QUIRK_TWO_OPTIMISERS;
    return strstr(options, WI_OPTION_UNOPTIMISED) ? quirks & ~optimiser : quirks;
}

static weft_status compile_any(
    wi_compiled *made, const wi_device *device, const char *what, const char *source, const char *options) {
    const unsigned quirks = quirks_with(device->caps.quirks, options);
    weft_status status = WEFT_OK;
    if (quirks & (WI_QUIRK_SLOW_HEADER | WI_QUIRK_KERNEL_COPIES | WI_QUIRK_TWO_OPTIMISERS))
        status = compile_adapted(made, device, quirks, what, source, options);
    if (status == WEFT_OK && !made->program) {
        status = compile(made, device, what, "", source, options);
        made->undeclared = (quirks & WI_QUIRK_SLOW_HEADER) && status == WEFT_OK && made->error == CL_SUCCESS;
    }
    if (status != WEFT_OK && made->program) clReleaseProgram(made->program);
    return status;
}

weft_status wi_compile(
    wi_compiled *made, const wi_device *device, const char *what, const char *source, const char *options) {
    wi_text expanded, usable;
    *made = (wi_compiled){0};
    wi_text_init(&expanded, device->host.allocator);
    wi_text_init(&usable, device->host.allocator);
    weft_status status = wi_kernel_source_expand(&expanded, source, strlen(source));
    if (status == WEFT_OK) append_usable(&usable, device, expanded.data, options);
    if (status == WEFT_OK && usable.failed) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK) status = compile_any(made, device, what, expanded.data, usable.data);
    wi_text_clear(&expanded);
    wi_text_clear(&usable);
    return status;
}
