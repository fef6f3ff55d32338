/* See scale_model.h. */
#include "scale_model.h"
#include "dist/sum.h"
#include <math.h>

enum { MEETINGS = 5, LEAST_FLOATS = 1 << 18 };

/* Least squares of (latency + bytes / bandwidth) / seconds - 1: short messages count as much as long ones. */
void scale_link_fit(double *latency, double *bandwidth, const scale_message *messages, size_t count) {
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    for (size_t i = 0; i < count; i++) {
        const double a = 1 / messages[i].seconds, b = messages[i].bytes / messages[i].seconds;
        aa += a * a;
        ab += a * b;
        bb += b * b;
        a1 += a;
        b1 += b;
    }
    const double divisor = aa * bb - ab * ab;
    *latency = (a1 * bb - b1 * ab) / divisor;
    double slope = (b1 * aa - a1 * ab) / divisor;
    if (*latency < 0) { /* noise; the best line through the origin */
        *latency = 0;
        slope = b1 / bb;
    }
    if (!(slope >
            0)) { /* long messages took no longer than short ones: the largest message bounds the bandwidth */
        const scale_message *const last = &messages[count - 1];
        slope = last->seconds / last->bytes;
    }
    *bandwidth = 1 / slope;
}

size_t scale_buckets(double bytes) {
    const double count = floor(bytes / sizeof(float) / LEAST_FLOATS);
    return count < 1 ? 1 : count < WI_SUM_BUCKETS - 1 ? (size_t)count : WI_SUM_BUCKETS - 1;
}

double scale_exchange(const scale_link *link, double bytes, size_t ranks, size_t shards) {
    const double n = (double)ranks, rounds = (double)shards + 1;
    if (ranks < 2) return 0;
    return rounds * (n - 1) * ((double)scale_buckets(bytes) * link->latency + bytes / n / link->bandwidth) +
           ((double)shards + 1 / n) * bytes / link->adding;
}

double scale_hidden(const scale_step *measured) {
    return measured->exchange > measured->exposed ? measured->exchange - measured->exposed : 0;
}

scale_expectation scale_expect(const scale_step *measured, size_t ranks, double crowding) {
    const double computing = (measured->step - measured->exposed) * crowding;
    const double meetings = MEETINGS * ((double)ranks - (double)measured->ranks) * measured->link.latency;
    const double share = measured->exchange > 0 ? scale_hidden(measured) / measured->exchange : 0;
    scale_expectation e = {
        .exchange = scale_exchange(&measured->link, measured->bytes, ranks, measured->shards) * crowding};
    e.hidden = e.exchange * share < computing * 2 / 3 ? e.exchange * share : computing * 2 / 3;
    e.step = computing + meetings + e.exchange - e.hidden;
    return e;
}

/* The gradients of its shards, its chunk of those of all, and the sums. */
double scale_host_bytes(double bytes, size_t ranks, size_t shards) {
    return ranks < 2 ? 0 : bytes * (2 * (double)shards + 1);
}
