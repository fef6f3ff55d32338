/* The layer of pretended devices itself: a launch or a buffer above what it reports fails, and is noted. */
#include "cl/context.h"
#include "cl/launch.h"
#include "cl/program.h"
#include "cl/program_cache.h"
#include "pretended.h"
#include <stdio.h>

static const char source[] = "__kernel void plain(__global float *x) { x[get_global_id(0)] = 1.0f; }\n"
                             "__kernel void big(__global float *x) {\n"
                             "    __local float room[5000];\n"
                             "    const int i = (int)get_local_id(0);\n"
                             "    room[i] = x[i];\n"
                             "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                             "    x[i] = room[(i * 7) % 64] + room[4999 - i];\n"
                             "}\n"
                             "__kernel void given(__global float *x, __local float *room) {\n"
                             "    room[get_local_id(0)] = 1.0f;\n"
                             "    x[get_global_id(0)] = room[get_local_id(0)];\n"
                             "}\n"
                             "#ifdef cl_khr_fp64\n"
                             "#error the extension is still here\n"
                             "#endif\n";

typedef struct subject {
    weft_context *context;
    wi_device *device;
    wi_program *program;
    cl_mem memory;
    wi_launch launch;
} subject;

static subject open_subject(const char *kernel) {
    cl_int error = CL_SUCCESS;
    subject s = {.context = pretended_open("least")};
    s.device = wi_context_device(s.context);
    assert_ok(wi_program_get(&s.program, s.device, "limits", source, ""));
    s.memory = clCreateBuffer(s.device->cl, CL_MEM_READ_WRITE, 4096, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    s.launch = (wi_launch){.dimensions = 1, .global = {128, 1, 1}, .local = {64, 1, 1}, .name = kernel};
    assert_ok(wi_program_kernel(&s.launch.kernel, s.program, kernel));
    assert_int_equal(clSetKernelArg(s.launch.kernel, 0, sizeof s.memory, &s.memory), CL_SUCCESS);
    return s;
}

static void close_subject(subject *s) {
    wi_launch_clear(&s->launch);
    assert_ok(wi_queue_finish(s->device));
    clReleaseMemObject(s->memory);
    wi_program_forget(s->device, s->program);
    weft_context_release(s->context);
}

/* note NULL: the launch is right. */
static void assert_noted(long above, const char *note) {
    const pretend_record record = pretend_layer_record();
    assert_int_equal(record.above, above);
    if (note && !strstr(record.first, note)) fail_msg("'%s' is not in '%s'", note, record.first);
}

static void groups_above_the_limit_fail(void **state) {
    subject s = open_subject("plain");
    (void)state;
    assert_ok(wi_launch_run(&s.launch, s.device));
    assert_noted(0, NULL);
    s.launch.local[0] = 128;
    assert_fails(wi_launch_run(&s.launch, s.device), WEFT_ERROR_OPENCL, "CL_INVALID_WORK_ITEM_SIZE");
    assert_noted(1, "items along a dimension: 128, the limit is 64");
    pretend_layer_begin();
    s.launch.dimensions = 2;
    s.launch.local[0] = 16;
    s.launch.global[1] = s.launch.local[1] = 8;
    assert_fails(wi_launch_run(&s.launch, s.device), WEFT_ERROR_OPENCL, "CL_INVALID_WORK_GROUP_SIZE");
    assert_noted(1, "items of a group: 128, the limit is 64");
    pretend_layer_begin();
    s.launch.dimensions = 1;
    s.launch.local[0] = 48;
    assert_fails(wi_launch_run(&s.launch, s.device), WEFT_ERROR_OPENCL, "CL_INVALID_WORK_GROUP_SIZE");
    assert_noted(1, "no whole groups");
    assert_int_equal(pretend_layer_record().launches, 0);
    close_subject(&s);
}

static void local_memory_above_the_limit_fails(void **state) {
    subject s = open_subject("big");
    (void)state;
    assert_fails(wi_launch_run(&s.launch, s.device), WEFT_ERROR_OPENCL, "CL_OUT_OF_RESOURCES");
    assert_noted(1, "bytes of local memory: 2"); /* 20000, or what the driver makes of that */
    close_subject(&s);
    s = open_subject("given");
    assert_int_equal(clSetKernelArg(s.launch.kernel, 1, 16384, NULL), CL_SUCCESS);
    assert_ok(wi_launch_run(&s.launch, s.device));
    assert_int_equal(clSetKernelArg(s.launch.kernel, 1, 16388, NULL), CL_SUCCESS);
    assert_fails(wi_launch_run(&s.launch, s.device), WEFT_ERROR_OPENCL, "CL_OUT_OF_RESOURCES");
    assert_noted(1, "bytes of local memory: 16388, the limit is 16384");
    close_subject(&s);
}

static void buffers_above_the_limit_fail(void **state) {
    enum { MIB = 1 << 20, MOST = 65 };
    weft_context *const context = pretended_open("tiny");
    cl_context const cl = wi_context_device(context)->cl;
    cl_int error = CL_SUCCESS;
    cl_mem all[MOST] = {0};
    int count = 0;
    (void)state;
    assert_null(clCreateBuffer(cl, CL_MEM_READ_WRITE, MIB + 1, NULL, &error));
    assert_int_equal(error, CL_INVALID_BUFFER_SIZE);
    assert_noted(1, "bytes of a buffer: 1048577, the limit is 1048576");
    while (count < MOST && (all[count] = clCreateBuffer(cl, CL_MEM_READ_WRITE, MIB, NULL, &error))) count++;
    assert_int_equal(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_int_equal(count, 64); /* of 64 MiB */
    while (count > 0) clReleaseMemObject(all[--count]);
    assert_int_equal(pretend_layer_record().held, 0);
    weft_context_release(context);
}

static void the_device_says_what_it_pretends(void **state) {
    char text[64] = "";
    (void)state;
    for (int i = 0; pretend_layer_device(i); i++) {
        const pretend_device *const d = pretend_layer_device(i);
        weft_context *const context = pretended_open(d->name);
        const weft_device_info *const info = weft_context_device(context);
        const wi_capabilities *const caps = &wi_context_device(context)->caps;
        const wi_device_profile *const profile = &wi_context_device(context)->profile;
        snprintf(text, sizeof text, "Pretended %s", d->name);
        assert_string_equal(info->name, d->reported ? d->reported : text);
        if (d->plain)
            assert_string_equal(info->opencl, "OpenCL 1.2 Pretended");   /* without the blank behind it */
        const bool groups = d->group == 0 || d->group >= WI_LEAST_GROUP; /* that kernels of class gpu need */
        const bool is_gpu = d->type == CL_DEVICE_TYPE_GPU && groups;
        assert_int_equal(info->device_class, is_gpu ? WEFT_CLASS_GPU : WEFT_CLASS_CPU);
        if (d->units) assert_int_equal(info->compute_units, d->units);
        if (d->group) assert_int_equal(caps->max_work_group_size, d->group);
        if (d->group) assert_int_equal(profile->max_group, d->required ? d->required : d->group);
        if (d->local) assert_int_equal(info->local_memory, d->local);
        if (d->largest) assert_int_equal(info->largest_allocation, d->largest);
        if (d->plain) assert_false(caps->fp64 || caps->fp16);
        weft_context_release(context);
    }
    assert_false(pretend_layer_choose("nothing"));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_above_the_limit_fail),
        cmocka_unit_test(local_memory_above_the_limit_fails),
        cmocka_unit_test(buffers_above_the_limit_fail),
        cmocka_unit_test(the_device_says_what_it_pretends),
    };
    (void)argc;
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
