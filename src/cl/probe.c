/* Test kernels and their remembered results (contract in probe.h). */
#include "cl/probe.h"
#include "cl/buffer.h"
#include "cl/device_values.h"
#include "cl/disk_cache.h"
#include "cl/driver.h"
#include "cl/kernel_source.h"
#include "cl/program_cache.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static weft_status run(
    const wi_probe *probe, wi_device *device, wi_program *program, cl_mem inputs, cl_mem results) {
    wi_launch launch = {
        .dimensions = 1, .global = {probe->items, 1, 1}, .local = {probe->group, 1, 1}, .name = "the probe"};
    weft_status status = wi_program_kernel(&launch.kernel, program, probe->kernel);
    if (status != WEFT_OK) return status;
    WI_TRY_DONE(
        wi_cl_check(clSetKernelArg(launch.kernel, 0, sizeof inputs, &inputs), "setting the probe's input"));
    WI_TRY_DONE(wi_cl_check(
        clSetKernelArg(launch.kernel, 1, sizeof results, &results), "setting the probe's output"));
    WI_TRY_DONE(wi_buffer_write(device, inputs, 0, probe->inputs, probe->input_bytes));
    WI_TRY_DONE(wi_launch_run(&launch, device));
    WI_TRY_DONE(wi_buffer_read(device, results, 0, probe->results, probe->result_bytes));
done:
    wi_launch_clear(&launch);
    return status;
}

static weft_status append_source(
    wi_text *source, const char *const *headers, const char *file, const char *text) {
    WI_TRY(wi_kernel_source_include(source, "common.clh"));
    for (; headers && *headers; headers++) WI_TRY(wi_kernel_source_include(source, *headers));
    if (file) WI_TRY(wi_kernel_source_include(source, file));
    wi_text_append(source, "%s", text ? text : "");
    return source->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

weft_status wi_probe_program(
    wi_program **program, wi_device *device, const char *name, const char *file, const char *text) {
    wi_text source;
    wi_text_init(&source, device->host.allocator);
    weft_status status = append_source(&source, NULL, file, text);
    if (status == WEFT_OK) status = wi_program_get(program, device, name, source.data, NULL);
    wi_text_clear(&source);
    return status;
}

weft_status wi_probe_run(const wi_probe *probe, wi_device *device, wi_program *program) {
    cl_int error = CL_SUCCESS;
    cl_mem results = NULL;
    weft_status status = WEFT_OK;
    cl_mem inputs = clCreateBuffer(device->cl, CL_MEM_READ_ONLY, probe->input_bytes, NULL, &error);
    WI_TRY_DONE(wi_cl_check(error, "creating the probe's input"));
    results = clCreateBuffer(device->cl, CL_MEM_READ_WRITE, probe->result_bytes, NULL, &error);
    WI_TRY_DONE(wi_cl_check(error, "creating the probe's output"));
    status = run(probe, device, program, inputs, results);
done:
    if (inputs) clReleaseMemObject(inputs);
    if (results) clReleaseMemObject(results);
    return status;
}

/* ---- questions ---- */

void wi_probe_name(char name[WI_PROBE_NAME], const char *question, const char *text) {
    const wi_cache_key hash = wi_text_key(text, strlen(text));
    snprintf(
        name, WI_PROBE_NAME, "answer %016" PRIx64 "%016" PRIx64 " of %.190s", hash.high, hash.low, question);
}

static weft_status name_of(char name[WI_PROBE_NAME], wi_device *device, const wi_question *question) {
    wi_text source;
    wi_text_init(&source, device->host.allocator);
    const weft_status status = append_source(&source, question->headers, question->file, question->text);
    if (status == WEFT_OK) wi_probe_name(name, question->name, source.data);
    wi_text_clear(&source);
    return status;
}

static bool find_answer(bool *right, wi_device *device, const char *name) {
    double known = 0.0;
    if (!wi_device_value_get(device, name, &known)) return false;
    *right = known == 1.0;
    if (known == 0.0 || known == 1.0) return true;
    wi_log_line(device->host.log, WEFT_LOG_WARNING,
        "cache folder: the entry '%s' is not a valid test result and is ignored", name);
    return false;
}

/* A build that was interrupted and a device that failed say nothing about what was tried; the next context tries it
 * again. */
static bool is_answer(weft_status status, const wi_device *device) {
    return status == WEFT_OK || (status == WEFT_ERROR_BUILD && wi_programs_stats(device)->interrupted == 0);
}

static weft_status answer(bool *right, wi_device *device, const wi_question *question, const char *name) {
    const weft_status status = question->answer(right, device, question->user);
    *right = status == WEFT_OK && *right;
    if (wi_is_lack_of_memory(status)) return status;
    if (!*right)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "%s: %s", question->unused,
            status == WEFT_OK ? question->fault : weft_last_error());
    if (is_answer(status, device)) wi_device_value_set(device, name, *right ? 1.0 : 0.0);
    return WEFT_OK;
}

/* The source cannot change while the device is open. The answer is therefore also noted under the question alone, so
 * that the source is composed only once. */
weft_status wi_probe_ask(bool *right, wi_device *device, const wi_question *question) {
    char name[WI_PROBE_NAME], known[WI_PROBE_NAME], error[WI_ERROR_LINE];
    *right = false;
    wi_probe_name(known, question->name, "");
    if (find_answer(right, device, known)) return WEFT_OK;
    wi_error_save(error, sizeof error);
    WI_TRY(name_of(name, device, question));
    if (!find_answer(right, device, name)) WI_TRY(answer(right, device, question, name));
    wi_device_value_note(device, known, *right ? 1.0 : 0.0);
    wi_error_restore(error);
    return WEFT_OK;
}

bool wi_probe_passes(wi_device *device, const wi_question *question) {
    char error[WI_ERROR_LINE];
    bool right = false;
    wi_error_save(error, sizeof error);
    if (wi_probe_ask(&right, device, question) != WEFT_OK) right = false;
    wi_error_restore(error);
    return right;
}
