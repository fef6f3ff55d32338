/* See advise_scale.h. */
#include "advise_scale.h"
#include <stdio.h>

/* A link of PCIe 4.0 with 16 lanes as transfers reach it, additions of one core, and Ethernet of 10 Gbit/s. */
static const double host_bandwidth = 12e9, adding = 4e9, usual_latency = 30e-6, usual_bandwidth = 1.25e9;

static scale_link link_of(const advise_scale *scale) {
    return (scale_link){.latency = scale->latency > 0 ? scale->latency : usual_latency,
        .bandwidth = scale->bandwidth > 0 ? scale->bandwidth : usual_bandwidth,
        .adding = adding};
}

int64_t advise_scale_count(const advise_scale *scale) {
    const int64_t count = scale->devices > scale->ranks ? scale->devices : scale->ranks;
    return count > 1 ? count : 1;
}

/* Every device's gradients are read to host memory, and the sums written back. */
double advise_scale_step(const advise_scale *scale, double step, double gradient_bytes) {
    const double moved = step + 2 * gradient_bytes / host_bandwidth;
    if (scale->ranks < 2) return moved + (double)scale->devices * gradient_bytes / adding;
    const scale_step one = {
        .ranks = 1, .shards = 1, .bytes = gradient_bytes, .step = moved, .link = link_of(scale)};
    return scale_expect(&one, (size_t)scale->ranks, 1).step;
}

double advise_scale_device_bytes(double bytes, double gradient_bytes) {
    return bytes + 2 * gradient_bytes;
}

void advise_scale_print(const advise_scale *scale, double gradient_bytes) {
    const double n = (double)advise_scale_count(scale), mega = 1 / 0x1p20;
    const scale_link link = link_of(scale);
    if (n < 2) return;
    printf("%.0f devices add up %.1f MiB of gradients after each step", n, mega * gradient_bytes);
    if (scale->ranks > 1)
        printf(", %.2f ms between processes with a latency of %.1f us and %.2f GB/s; a process holds %.1f "
               "MiB of "
               "host memory for them",
            1e3 * scale_exchange(&link, gradient_bytes, (size_t)n, 1), 1e6 * link.latency,
            1e-9 * link.bandwidth, mega * scale_host_bytes(gradient_bytes, (size_t)n, 1));
    else
        printf(" in %.1f MiB of host memory", mega * gradient_bytes * (n + 1));
    printf(
        ".\nTheir times are estimates in which the backward pass hides nothing of that; 'weft bench scale' "
        "measures how much it hides.\n");
}
