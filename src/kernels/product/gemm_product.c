/* Contractions outside of plans (contract in gemm_product.h). */
#include "kernels/product/gemm_product.h"
#include "cl/driver.h"
#include "cl/kernel_source.h"
#include "cl/program.h"

/* Stores C (batch, m, n) contiguously. weft_store_lanes is defined below, for both classes. */
static const wi_gemm_epilogue plain_epilogue = {
    .parameters = ", __global float *c, long c_offset, long c_batch, long c_row",
    .store = "weft_store_lanes(c + c_offset + (batch) * c_batch + (row) * c_row + (column), acc, lanes)"};

/* Addresses that the plain epilogue writes, for templates that prefetch them. */
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

static weft_status prepare(wi_gemm_product *product, wi_device *device, const wi_kernel_plan *plan,
    const wi_gemm_epilogue *epilogue) {
    wi_program *program = NULL;
    WI_TRY(build(&program, product, device, plan, epilogue));
    WI_TRY(wi_kernel_run_prepare(&product->run, plan, program, "gemm"));
    for (int i = 0; i < plan->count; i++) {
        const wi_prepared_launch *const launch = &product->run.launches[i];
        const cl_kernel kernel = launch->launch.kernel;
        if (!plan->launches[i]->has_epilogue) continue;
        WI_TRY(epilogue->set ? epilogue->set(kernel, launch->arguments, epilogue->user)
                             : set_plain(kernel, launch->arguments, product));
    }
    return WEFT_OK;
}

static weft_status create(wi_gemm_product *product, wi_device *device, const wi_variant *variant,
    const wi_kernel_site *site, const wi_gemm_epilogue *epilogue) {
    const wi_implementation *const implementation = product->implementation;
    const wi_gemm_operands *const at = &product->operands;
    wi_arena arena;
    wi_kernel_plan plan;
    product->run = (wi_kernel_run){.device = device,
        .name = implementation->name,
        .seconds = wi_implementation_cost(implementation, variant, site),
        .operands = {
            .inputs = {{at->a, at->a_offset}, {at->b, at->b_offset}}, .result = {at->c, at->c_offset}}};
    wi_arena_init(&arena, device->host.allocator);
    weft_status status = wi_implementation_prepare(implementation, variant, site, &arena, &plan);
    if (status == WEFT_OK) status = prepare(product, device, &plan, epilogue ? epilogue : &plain_epilogue);
    wi_arena_clear(&arena);
    return status;
}

weft_status wi_gemm_product_create(wi_gemm_product *product, wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_gemm_shape *shape,
    const wi_gemm_operands *operands, const wi_gemm_epilogue *epilogue) {
    *product = (wi_gemm_product){
        .implementation = implementation, .shape = *shape, .operands = *operands, .run = {.device = device}};
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
    *product =
        (wi_gemm_product){.implementation = implementation, .operands = *operands, .run = {.device = device}};
    if (site->product) product->shape = *site->product;
    return implementation->file ? create(product, device, variant, site, NULL) : WEFT_OK;
}

weft_status wi_gemm_product_run(const wi_gemm_product *product) {
    const wi_gemm_operands *const at = &product->operands;
    if (product->implementation->file) return wi_kernel_run_enqueue(&product->run);
    return product->implementation->run(product->run.device, &product->shape, at->a, (size_t)at->a_offset,
        at->b, (size_t)at->b_offset, at->c, (size_t)at->c_offset, NULL);
}

void wi_gemm_product_clear(wi_gemm_product *product) {
    if (product->run.device) wi_kernel_run_clear(&product->run);
    *product = (wi_gemm_product){0};
}
