/* Lists the OpenCL devices of this machine, and which one Weft would choose. */
#include "command_line.h"
#include <stdio.h>
#include <weft/weft.h>

int main(int argc, char **argv) {
    command_line line = {.program = "devices",
        .purpose = "Lists the OpenCL devices of this machine, and which one Weft would choose."};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    size_t count = 0;
    weft_context *context = NULL;
    weft_status status = weft_device_count(&count);

    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        weft_device_info info;
        status = weft_device_get(i, &info);
        if (status == WEFT_OK)
            printf("%s  %s, %s, %u compute units, %llu MiB\n", info.selector, info.name, info.platform,
                info.compute_units, (unsigned long long)(info.global_memory >> 20));
    }
    if (status == WEFT_OK) status = weft_context_create(&context, NULL);
    if (status == WEFT_OK) printf("chosen: %s\n", weft_context_device(context)->name);

    if (status != WEFT_OK) fprintf(stderr, "devices: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
