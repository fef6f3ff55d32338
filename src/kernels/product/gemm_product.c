/* See gemm_product.h. */
#include "kernels/product/gemm_product.h"
#include "cl/driver.h"
#include "cl/kernel_source.h"
#include "cl/program.h"
#include <stdio.h>

static weft_status set_pointer(cl_kernel kernel, cl_uint *next, cl_mem memory, int64_t offset) {
    const cl_long elements = offset;
    WI_CL(clSetKernelArg(kernel, (*next)++, sizeof memory, &memory), "clSetKernelArg");
    WI_CL(clSetKernelArg(kernel, (*next)++, sizeof elements, &elements), "clSetKernelArg");
    return WEFT_OK;
}

/* The template's own arguments; *next becomes the index of the epilogue's first, *iteration that of the repetition's
 * number, which is set as it runs. */
static weft_status set_arguments(cl_kernel kernel, const wi_kernel_launch *launch, const wi_gemm_operands *at,
    cl_uint *next, int *iteration) {
    *iteration = -1;
    for (int i = 0; i < launch->argument_count; i++) {
        const wi_kernel_argument *const argument = &launch->arguments[i];
        const bool is_a = argument->number == 0;
        const cl_int small = (cl_int)argument->number;
        const cl_long large = argument->number;
        switch (argument->kind) {
        case WI_KERNEL_INPUT:
            WI_TRY(set_pointer(kernel, next, is_a ? at->a : at->b, is_a ? at->a_offset : at->b_offset));
            break;
        case WI_KERNEL_SCRATCH:
            WI_TRY(set_pointer(kernel, next, at->scratch, at->scratch_offset + argument->number));
            break;
        case WI_KERNEL_INT:
            WI_CL(clSetKernelArg(kernel, (*next)++, sizeof small, &small), "clSetKernelArg");
            break;
        case WI_KERNEL_LONG:
            WI_CL(clSetKernelArg(kernel, (*next)++, sizeof large, &large), "clSetKernelArg");
            break;
        case WI_KERNEL_RESULT: WI_TRY(set_pointer(kernel, next, at->c, at->c_offset)); break;
        case WI_KERNEL_ITERATION: *iteration = (int)(*next)++; break;
        case WI_KERNEL_FLOAT:
        case WI_KERNEL_FAULTS:
        case WI_KERNEL_RANDOM:
            WI_FAIL(WEFT_ERROR_INTERNAL, "a matrix product's kernel takes no such argument");
        }
    }
    return WEFT_OK;
}

/* C (batch, m, n) contiguous, on either class. */
static const wi_gemm_epilogue plain_epilogue = {
    .parameters = ", __global float *c, long c_offset, long c_batch, long c_row",
    .store = "weft_store_lanes(c + c_offset + (batch) * c_batch + (row) * c_row + (column), acc, lanes)"};

/* Where it stores, for templates that ask for memory early. */
static const char plain_places[] = "#define WEFT_EPILOGUE_WRITE(batch, row, column) \\\n"
                                   "((size_t)(c + c_offset + (batch) * c_batch + (row) * c_row + (column)))\n"
                                   "#define WEFT_EPILOGUE_WRITE_SIZE 4\n"
                                   "#define WEFT_EPILOGUE_WRITE_STEP (4 * c_row)\n";

static const char store_lanes[] =
    "#if WEFT_LANES == 1\n"
    "#define weft_store_lanes(p, acc, lanes) (p)[0] = (acc)\n"
    "#else\n"
    "static inline void weft_store_lanes(__global float *p, float16 value, int lanes) {\n"
    "    if (lanes == 16) {\n"
    "        WEFT_LANES_WRITE(f32, p) = value;\n"
    "    } else {\n"
    "        for (int lane = 0; lane < lanes; ++lane) p[lane] = ((const float *)&value)[lane];\n"
    "    }\n"
    "}\n"
    "#endif\n";

static weft_status build(wi_program **program, const wi_gemm_product *product, wi_device *device,
    const wi_kernel_plan *plan, const wi_gemm_epilogue *epilogue) {
    const char *const file = product->implementation->file;
    wi_text source;
    weft_status status;
    wi_text_init(&source, device->host.allocator);
    WI_TRY_DONE(wi_kernel_source_include(&source, "common.clh"));
    wi_text_append(&source, "\n%s#define WEFT_NAME(suffix) gemm_##suffix\n", store_lanes);
    wi_text_append(&source, "#define WEFT_EPILOGUE_PARAMETERS %s\n", epilogue->parameters);
    wi_text_append(&source, "#define WEFT_STORE(acc, batch, row, column, lanes) %s\n", epilogue->store);
    if (epilogue == &plain_epilogue) wi_text_append(&source, "%s", plain_places);
    wi_kernel_macros_define(plan, &source);
    WI_TRY_DONE(wi_kernel_headers_include(plan, &source));
    WI_TRY_DONE(wi_kernel_source_include(&source, file));
    if (source.failed) WI_FAIL_DONE(WEFT_ERROR_MEMORY, "out of host memory for the source of %s", file);
    status = wi_program_get(program, device, file, source.data, NULL);
done:
    wi_text_clear(&source);
    return status;
}

static weft_status set_plain(cl_kernel kernel, cl_uint first, const wi_gemm_product *product) {
    const cl_mem c = product->operands.c;
    const cl_long numbers[] = {
        product->operands.c_offset, product->shape.m * product->shape.n, product->shape.n};
    WI_CL(clSetKernelArg(kernel, first, sizeof c, &c), "clSetKernelArg");
    for (cl_uint i = 0; i < 3; i++)
        WI_CL(clSetKernelArg(kernel, first + 1 + i, sizeof numbers[i], &numbers[i]), "clSetKernelArg");
    return WEFT_OK;
}

static weft_status make_launch(wi_gemm_product *product, wi_program *program, const wi_kernel_launch *from,
    double longest, const wi_gemm_epilogue *epilogue) {
    wi_launch *const launch = &product->launches[product->count];
    wi_gemm_repetition *const repetition = &product->repetitions[product->count];
    char name[64];
    cl_uint next = 0;
    snprintf(name, sizeof name, "gemm_%s", from->suffix);
    *launch = (wi_launch){.dimensions = from->dimensions, .name = product->implementation->name};
    for (int i = 0; i < 3; i++) {
        launch->global[i] = from->global[i];
        launch->local[i] = from->local[i];
    }
    wi_launch_cut(launch, product->seconds, longest, from->whole);
    WI_TRY(wi_program_kernel(&launch->kernel, program, name));
    product->count++;
    *repetition = (wi_gemm_repetition){from->iterations, from->launches_per_iteration, -1};
    WI_TRY(set_arguments(launch->kernel, from, &product->operands, &next, &repetition->argument));
    if (!from->has_epilogue) return WEFT_OK;
    return epilogue->set ? epilogue->set(launch->kernel, next, epilogue->user)
                         : set_plain(launch->kernel, next, product);
}

static weft_status make_launches(wi_gemm_product *product, wi_device *device, const wi_kernel_plan *plan,
    const wi_gemm_epilogue *epilogue) {
    wi_program *program = NULL;
    if (plan->scratch_bytes > 0) {
        WI_TRY(wi_buffer_create(&product->scratch, device, plan->scratch_bytes));
        product->operands.scratch = product->scratch.memory;
        product->operands.scratch_offset = 0;
    }
    WI_TRY(build(&program, product, device, plan, epilogue));
    if (plan->count > WI_GEMM_LAUNCHES)
        WI_FAIL(WEFT_ERROR_INTERNAL, "%s has more than %d launches", product->implementation->name,
            WI_GEMM_LAUNCHES);
    for (int i = 0; i < plan->count; i++)
        WI_TRY(make_launch(product, program, plan->launches[i], device->profile.longest_launch, epilogue));
    return WEFT_OK;
}

static weft_status create(wi_gemm_product *product, wi_device *device, const wi_variant *variant,
    const wi_kernel_site *site, const wi_gemm_epilogue *epilogue) {
    const wi_implementation *const implementation = product->implementation;
    wi_arena arena;
    wi_kernel_plan plan;
    wi_arena_init(&arena, device->host.allocator);
    weft_status status = wi_implementation_prepare(implementation, variant, site, &arena, &plan);
    product->seconds = wi_implementation_cost(implementation, variant, site);
    if (status == WEFT_OK)
        status = make_launches(product, device, &plan, epilogue ? epilogue : &plain_epilogue);
    wi_arena_clear(&arena);
    return status;
}

weft_status wi_gemm_product_create(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_gemm_shape *shape,
    const wi_gemm_operands *operands, const wi_gemm_epilogue *epilogue) {
    *product = (wi_gemm_product){.implementation = implementation, .shape = *shape, .operands = *operands};
    if (!implementation->file) {
        if (epilogue) WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s has no epilogue", implementation->name);
        return WEFT_OK;
    }
    const wi_kernel_site site = {.device = &device->profile,
        .product = shape,
        .formats = {operands->formats[0], operands->formats[1]},
        .precision = operands->precision,
        .products = operands->products};
    return create(product, device, variant, &site, epilogue);
}

weft_status wi_gemm_product_create_at(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site,
    const wi_gemm_operands *operands) {
    *product = (wi_gemm_product){.implementation = implementation, .operands = *operands};
    if (site->product) product->shape = *site->product;
    return implementation->file ? create(product, device, variant, site, NULL) : WEFT_OK;
}

static weft_status run_launch(
    const wi_gemm_product *product, wi_device *device, int index, int64_t iteration) {
    const wi_launch *const launch = &product->launches[index];
    const int argument = product->repetitions[index].argument;
    const cl_int number = (cl_int)iteration;
    if (argument >= 0)
        WI_CL(clSetKernelArg(launch->kernel, (cl_uint)argument, sizeof number, &number), "clSetKernelArg");
    return wi_launch_run(launch, device);
}

weft_status wi_gemm_product_run(const wi_gemm_product *product, wi_device *device) {
    const wi_gemm_operands *const at = &product->operands;
    if (!product->implementation->file)
        return product->implementation->run(device, &product->shape, at->a, (size_t)at->a_offset, at->b,
            (size_t)at->b_offset, at->c, (size_t)at->c_offset, NULL);
    for (int i = 0, together; i < product->count; i += together) {
        const wi_gemm_repetition *const repetition = &product->repetitions[i];
        together = repetition->iterations > 0 ? repetition->launches : 1;
        for (int64_t iteration = 0; iteration == 0 || iteration < repetition->iterations; iteration++)
            for (int k = i; k < i + together; k++) WI_TRY(run_launch(product, device, k, iteration));
    }
    return WEFT_OK;
}

void wi_gemm_product_clear(wi_gemm_product *product, wi_device *device) {
    for (int i = 0; i < product->count; i++) wi_launch_clear(&product->launches[i]);
    wi_buffer_release(&product->scratch, device);
    *product = (wi_gemm_product){0};
}
