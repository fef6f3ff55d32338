/* Each query of a device or platform fails in turn: an error that names it, or another device is used and the log
 * names it; nothing leaks, and the next context opens. The functions of OpenCL that stand here come before those of
 * the loader. */
#define _GNU_SOURCE
#include "support/checks.h"
#include "support/scratch.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <weft/device.h>

typedef cl_int(CL_API_CALL *device_query)(cl_device_id, cl_device_info, size_t, void *, size_t *);
typedef cl_int(CL_API_CALL *platform_query)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);

static long calls, failing; /* from 1; 0: none fails */
static cl_int injected;

static bool fails_now(void) {
    return ++calls == failing;
}

cl_int CL_API_CALL clGetDeviceInfo(
    cl_device_id device, cl_device_info what, size_t bytes, void *value, size_t *size) {
    device_query next;
    *(void **)&next = dlsym(RTLD_NEXT, "clGetDeviceInfo"); /* as POSIX shows it */
    return fails_now() ? injected : next(device, what, bytes, value, size);
}

cl_int CL_API_CALL clGetPlatformInfo(
    cl_platform_id platform, cl_platform_info what, size_t bytes, void *value, size_t *size) {
    platform_query next;
    *(void **)&next = dlsym(RTLD_NEXT, "clGetPlatformInfo");
    return fails_now() ? injected : next(platform, what, bytes, value, size);
}

/* The platform whose devices cannot be listed, from 0, and how often each platform stands in the list of platforms. */
static cl_uint unlisted = UINT_MAX, lists;
static cl_uint repeated = 1;

cl_int CL_API_CALL clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    cl_int(CL_API_CALL * next)(cl_uint, cl_platform_id *, cl_uint *);
    cl_uint found = 0;
    *(void **)&next = dlsym(RTLD_NEXT, "clGetPlatformIDs");
    const cl_int error = next(room, platforms, &found);
    for (cl_uint i = found; platforms && i < room && i < repeated * found; i++)
        platforms[i] = platforms[i - found];
    if (count) *count = repeated * found < room || !platforms ? repeated * found : room;
    return error;
}

cl_int CL_API_CALL clGetDeviceIDs(
    cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *count) {
    cl_int(CL_API_CALL * next)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    *(void **)&next = dlsym(RTLD_NEXT, "clGetDeviceIDs");
    if (lists++ >= unlisted) return CL_OUT_OF_RESOURCES;
    return next(platform, type, room, devices, count);
}

static void fail_from(long call, cl_int error) {
    calls = 0;
    failing = call;
    injected = error;
}

static bool names_a_query(const char *text, const char *error) {
    return (strstr(text, "clGetDeviceInfo(CL_D") || strstr(text, "clGetPlatformInfo(CL_PLATFORM_")) &&
           strstr(text, error);
}

/* Whether the query that was to fail was reached. */
static bool open_with_failure(long call, cl_int error, const char *name, weft_status wanted) {
    scratch_log log = {0};
    scratch_allocator allocator;
    weft_context *context = NULL;
    scratch_allocator_init(&allocator, -1);
    fail_from(call, error);
    const weft_status status = weft_context_create(
        &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "",
                      .allocator = &allocator.hooks, .log = scratch_log_line, .log_user = &log});
    const bool reached = calls >= call;
    fail_from(0, CL_SUCCESS);
    if (status == WEFT_OK && reached && !names_a_query(log.text, name))
        fail_msg("query %ld failed, and nothing says so:\n%s", call, log.text);
    if (status != WEFT_OK) assert_int_equal(status, wanted);
    if (status != WEFT_OK && !names_a_query(weft_last_error(), name))
        fail_msg("query %ld: '%s'", call, weft_last_error());
    weft_context_release(context);
    assert_int_equal(atomic_load(&allocator.live), 0);
    return reached;
}

static void every_query_of_a_context_is_checked(void **state) {
    (void)state;
    long call = 1;
    while (open_with_failure(call, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", WEFT_ERROR_OPENCL)) call++;
    assert_in_range(call, 20, 400);
    call = 1;
    while (open_with_failure(call, CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", WEFT_ERROR_DEVICE_MEMORY))
        call++;
    assert_in_range(call, 20, 400);
}

static void every_query_of_a_list_is_checked(void **state) {
    size_t count = 0, expected = 0;
    weft_device_info info;
    bool reached = true;
    (void)state;
    assert_ok(weft_device_count(&expected));
    assert_true(expected > 0);
    for (long call = 1; reached; call++) {
        fail_from(call, CL_INVALID_VALUE);
        assert_ok(weft_device_count(&count)); /* one bad device hides no other */
        assert_int_equal(count, expected);
        reached = calls >= call;
        bool told = false;
        for (size_t i = 0; i < expected && reached; i++) {
            fail_from(call, CL_INVALID_VALUE);
            if (weft_device_get(i, &info) == WEFT_OK) continue;
            told = names_a_query(weft_last_error(), "CL_INVALID_VALUE");
        }
        fail_from(0, CL_SUCCESS);
        if (reached && !told) fail_msg("query %ld is not checked: '%s'", call, weft_last_error());
    }
    assert_ok(weft_device_get(0, &info));
}

/* Without devices, the error of a platform is that of the call; otherwise the log tells of it. */
static void a_platform_that_lists_no_devices_is_told(void **state) {
    static const char line[] = "listing the devices of platform";
    scratch_log log = {0};
    weft_context *context = NULL;
    const weft_context_options options = {
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "", .log = scratch_log_line, .log_user = &log};
    cl_uint platforms = 0;
    size_t count = 0;
    (void)state;
    assert_int_equal(clGetPlatformIDs(0, NULL, &platforms), CL_SUCCESS);
    lists = unlisted = 0;
    assert_fails(weft_device_count(&count), WEFT_ERROR_OPENCL, line);
    assert_fails(weft_context_create(&context, &options), WEFT_ERROR_OPENCL, line);
    assert_null(context);
    lists = 0, unlisted = platforms, repeated = 2;
    assert_ok(weft_context_create(&context, &options));
    unlisted = UINT_MAX, repeated = 1;
    weft_context_release(context);
    if (!strstr(log.text, "an OpenCL platform is ignored: listing the devices of platform"))
        fail_msg("%s", log.text);
}

static void a_device_that_is_not_described_fits_its_place_only(void **state) {
    weft_context *context = NULL;
    (void)state;
    fail_from(1, CL_OUT_OF_RESOURCES);
    assert_status(weft_context_create(&context,
                      &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "", .device = "63:9"}),
        WEFT_ERROR_NO_DEVICE);
    fail_from(0, CL_SUCCESS);
    assert_null(context);
}

/* Its own queries are an error; those of the list, in which it has a place, change nothing of what is known of it. */
static bool open_own_with_failure(cl_context own, cl_device_id device, long call) {
    weft_context *context = NULL;
    fail_from(call, CL_OUT_OF_RESOURCES);
    const weft_status status =
        weft_context_create(&context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = "",
                                          .cl_context = own, .cl_device = device});
    const bool reached = calls >= call;
    fail_from(0, CL_SUCCESS);
    if (status != WEFT_OK) assert_true(names_a_query(weft_last_error(), "CL_OUT_OF_RESOURCES"));
    if (status == WEFT_OK) {
        const weft_device_info *const info = weft_context_device(context);
        assert_true(info->global_memory > 0 && info->largest_allocation > 0);
        assert_true(info->name[0] && info->opencl[0] && info->selector[0]);
    }
    weft_context_release(context);
    return reached;
}

static void every_query_of_an_own_device_is_checked(void **state) {
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_int error = CL_SUCCESS;
    long call = 1;
    (void)state;
    assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    cl_context const own = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    while (open_own_with_failure(own, device, call)) call++;
    assert_in_range(call, 30, 400);
    clReleaseContext(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_query_of_a_context_is_checked),
        cmocka_unit_test(every_query_of_a_list_is_checked),
        cmocka_unit_test(every_query_of_an_own_device_is_checked),
        cmocka_unit_test(a_platform_that_lists_no_devices_is_told),
        cmocka_unit_test(a_device_that_is_not_described_fits_its_place_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
