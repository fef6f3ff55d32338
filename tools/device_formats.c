/* See device_formats.h. */
#include "device_formats.h"
#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "kernels/registry.h"
#include "show_warning.h"
#include <stdio.h>

static void show_engines(unsigned engines, double rate) {
    static const struct {
        unsigned bit;
        const char *name;
    } known[] = {{WI_ENGINE_AMX_BF16, "AMX"}, {WI_ENGINE_MMA, "mma.sync"}, {WI_ENGINE_WMMA, "WMMA"},
        {WI_ENGINE_WMMA12, "WMMA of gfx12"}, {WI_ENGINE_MFMA, "MFMA"}, {WI_ENGINE_XMX8, "XMX of 8 lanes"},
        {WI_ENGINE_XMX16, "XMX of 16 lanes"}, {WI_ENGINE_AVX512_BF16, "AVX-512 BF16"}};
    const char *before = "     matrix engines: ";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!(engines & known[i].bit) ||
            (known[i].bit == WI_ENGINE_AMX_BF16 && engines & WI_ENGINE_AVX512_BF16))
            continue;
        printf("%s%s", before, known[i].name);
        before = ", ";
    }
    printf(engines ? "\n" : "     matrix engines: none that Weft supports\n");
    if (engines == 0 && rate > 0.0)
        printf("     AVX-512 BF16 is available at %.2f times the speed of f32 multiply-adds; it is used only "
               "with WEFT_MATRIX_ENGINES=avx512\n",
            rate);
}

weft_status device_formats_show(const weft_device_info *info) {
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT, .device = info->selector};
    const weft_dtype narrow[] = {WEFT_BF16, WEFT_F16};
    weft_context *context = NULL;
    const weft_status status = weft_context_create(&context, &options);
    if (status != WEFT_OK) return status;
    const wi_device *const device = wi_context_device(context);
    printf("     f32 native; f64 %s", device->caps.fp64 ? "native" : "missing");
    for (int i = 0; i < 2; i++)
        printf("; %s %s", weft_dtype_name(narrow[i]),
            wi_engines_multiply(&device->profile, narrow[i]) ? "products native, other ops computed in f32"
                                                             : "computed in f32");
    printf("\n");
    show_engines(device->profile.engines, device->caps.engine_rate);
    if (device->profile.device_class == WEFT_CLASS_GPU)
        printf("     reductions: %s\n", device->caps.exchange ? "by sub-groups" : "in local memory");
    weft_context_release(context);
    return WEFT_OK;
}
