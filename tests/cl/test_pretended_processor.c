/* Processors that are not here: their drivers' answers, given by functions that come before those of the loader. */
#define _GNU_SOURCE
#include "cl/device_list.h"
#include "support/checks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <weft/weft.h>

typedef cl_int(CL_API_CALL *device_query)(cl_device_id, cl_device_info, size_t, void *, size_t *);
typedef cl_int(CL_API_CALL *platform_query)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);

/* What every device says; a name of NULL: each says what it is. */
static struct {
    const char *platform, *name;
    cl_device_type type;
    cl_uint width;
} pretended;

static cl_int answer(const void *from, size_t length, size_t bytes, void *value, size_t *size) {
    if (size) *size = length;
    if (value && bytes < length) return CL_INVALID_VALUE;
    if (value) memcpy(value, from, length);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clGetDeviceInfo(
    cl_device_id device, cl_device_info what, size_t bytes, void *value, size_t *size) {
    device_query next;
    *(void **)&next = dlsym(RTLD_NEXT, "clGetDeviceInfo"); /* as POSIX shows it */
    if (!pretended.name) return next(device, what, bytes, value, size);
    switch (what) {
    case CL_DEVICE_NAME: return answer(pretended.name, strlen(pretended.name) + 1, bytes, value, size);
    case CL_DEVICE_TYPE: return answer(&pretended.type, sizeof pretended.type, bytes, value, size);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return answer(&pretended.width, sizeof pretended.width, bytes, value, size);
    default: return next(device, what, bytes, value, size);
    }
}

cl_int CL_API_CALL clGetPlatformInfo(
    cl_platform_id platform, cl_platform_info what, size_t bytes, void *value, size_t *size) {
    platform_query next;
    *(void **)&next = dlsym(RTLD_NEXT, "clGetPlatformInfo");
    if (!pretended.name || what != CL_PLATFORM_NAME) return next(platform, what, bytes, value, size);
    return answer(pretended.platform, strlen(pretended.platform) + 1, bytes, value, size);
}

static void assert_class(
    const char *platform, const char *name, cl_device_type type, cl_uint width, weft_device_class wanted) {
    weft_device_info info;
    const char *const forced = getenv("WEFT_DEVICE_CLASS");
    char *const kept = forced ? strdup(forced) : NULL;
    unsetenv("WEFT_DEVICE_CLASS");
    pretended.platform = platform;
    pretended.name = name;
    pretended.type = type;
    pretended.width = width;
    assert_ok(weft_device_get(0, &info));
    pretended.name = NULL;
    if (kept) setenv("WEFT_DEVICE_CLASS", kept, 1);
    free(kept);
    assert_string_equal(info.name, name);
    if (info.device_class != wanted) fail_msg("%s (%s): class %d", name, platform, (int)info.device_class);
}

static void processors_are_of_class_cpu(void **state) {
    const cl_device_type all = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
    (void)state;
    assert_class("Portable Computing Language", "pthread-cortex-a72", CL_DEVICE_TYPE_CPU, 1, WEFT_CLASS_CPU);
    assert_class("Portable Computing Language", "pthread-haswell", CL_DEVICE_TYPE_CPU, 8, WEFT_CLASS_CPU);
    assert_class("Oclgrind", "Oclgrind Simulator", all, 4, WEFT_CLASS_CPU);
}

static void others_are_of_class_gpu(void **state) {
    const cl_device_type all = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
    (void)state;
    assert_class("rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)", CL_DEVICE_TYPE_CPU, 1, WEFT_CLASS_GPU);
    assert_class("Some", "Any simulator", all, 1, WEFT_CLASS_GPU);
    assert_class("NVIDIA CUDA", "GeForce", CL_DEVICE_TYPE_GPU, 1, WEFT_CLASS_GPU);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_are_of_class_cpu),
        cmocka_unit_test(others_are_of_class_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
