/* Dividing shards among devices (contract in shard_devices.h). */
#include "train/shard_devices.h"

/* Steps before the one that is measured: the first compiles kernels, and the second stores them on disk. */
enum { STEPS_BEFORE = 3 };

void wi_shard_devices_init(wi_shard_devices *devices, size_t count, size_t shards, bool are_equal) {
    *devices = (wi_shard_devices){.count = count, .shards = shards};
    devices->waits = are_equal || shards <= count ? 0 : STEPS_BEFORE;
    for (size_t i = 0; i < shards; i++) devices->of[i] = i % count;
}

bool wi_shard_devices_measure(wi_shard_devices *devices) {
    return devices->waits > 0 && --devices->waits == 0;
}

void wi_shard_devices_divide(wi_shard_devices *devices) {
    double ends[WI_MAX_DEVICES] = {0}; /* when a device has finished the shards that it has */
    for (size_t i = 0; i < devices->shards; i++) {
        size_t best = 0;
        for (size_t d = 1; d < devices->count; d++)
            if (ends[d] + devices->seconds[d] < ends[best] + devices->seconds[best]) best = d;
        devices->of[i] = best;
        ends[best] += devices->seconds[best];
    }
}

size_t wi_shard_devices_next(const wi_shard_devices *devices, size_t device, size_t from) {
    while (from < devices->shards && devices->of[from] != device) from++;
    return from;
}
