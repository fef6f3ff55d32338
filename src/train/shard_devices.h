/* Which device of the context computes which of the process's shards.
 *
 * Equal devices get the shards in turn. For different devices, one step runs the shards one after the other and measures each device; from
 * then on each shard goes to the device that is expected to finish it first. The order in which gradients are added does not depend on the
 * division, but devices of different kinds round differently. */
#ifndef WI_SHARD_DEVICES_H
#define WI_SHARD_DEVICES_H

#include "cl/max_devices.h"
#include <stdbool.h>
#include <stddef.h>

enum { WI_MAX_OWN_SHARDS = 64 };

typedef struct wi_shard_devices {
    size_t count, shards;
    size_t of[WI_MAX_OWN_SHARDS]; /* by shard of this process: the index of its device */
    size_t waits;                 /* whole batches until the devices are measured; 0: not measured any more */
    double seconds[WI_MAX_DEVICES]; /* of a shard */
} wi_shard_devices;

/* are_equal: the devices are of one kind. */
void wi_shard_devices_init(wi_shard_devices *devices, size_t count, size_t shards, bool are_equal);
/* Called at the beginning of each step with a whole batch: does this step measure the devices? */
bool wi_shard_devices_measure(wi_shard_devices *devices);
/* Divides the shards by the measured seconds. */
void wi_shard_devices_divide(wi_shard_devices *devices);
/* The next shard of the device, from this process's shard number `from` on; devices->shards: there is none. */
size_t wi_shard_devices_next(const wi_shard_devices *devices, size_t device, size_t from);

#endif
