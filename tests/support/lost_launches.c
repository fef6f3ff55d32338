/* See lost_launches.h. */
#include "support/fixture.h"

#include "support/lost_launches.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t launches; /* the index of clEnqueueNDRangeKernel among the functions of the layer */

void lost_launches_open(char **argv) {
    const fault_function *functions;
    const size_t count = fault_layer_functions(&functions);
    if (!getenv("OPENCL_LAYERS")) {
        setenv("OPENCL_LAYERS", FAULT_LAYER_FILE, 1);
        execv("/proc/self/exe", argv);
    }
    while (launches < count && strcmp(functions[launches].name, "clEnqueueNDRangeKernel") != 0) launches++;
}

void lost_launches_lose(long nth) {
    fault_layer_arm(launches, nth, CL_OUT_OF_RESOURCES, true);
}

void lost_launches_assert_nothing_left(void) {
    char left[256];
    fault_layer_describe_live(left, sizeof left);
    if (fault_layer_live() != 0) fail_msg("left behind: %s", left);
}
