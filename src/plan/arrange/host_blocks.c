/* Chooses the blocks that a plan keeps in host memory (contract in loads.h). */
#include "cl/context.h"
#include "graph/weft_graph.h"
#include "plan/arrange/accesses.h"
#include "plan/arrange/loads.h"

static wi_block *block_of(const wi_partition *p, size_t storage) {
    return &p->request->graph->blocks[p->storages[storage].block];
}

/* A block stays on the device if kernels of another plan have its address. */
static bool may_move(const wi_partition *p, size_t storage) {
    const wi_storage *const own = &p->storages[storage];
    return own->kind == WI_STORAGE_BLOCK && !own->on_host && own->bytes > 0 &&
           block_of(p, storage)->users == 0;
}

/* The bytes that steps read and write in the storage. */
static double count_copied(const wi_partition *p, const wi_loops *loops, int storage) {
    wi_access of[WI_MOST_ACCESSES];
    wi_step_accesses accesses = {of, 0};
    double bytes = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        wi_find_accesses(loops, (int)i, &accesses);
        for (int k = 0; k < accesses.count; k++)
            if (of[k].storage == storage) bytes += (double)(of[k].end - of[k].first);
    }
    return bytes;
}

/* The storage that frees the most bytes on the device for each byte that a run must copy; -1: no block can move. */
static int choose(const wi_partition *p, const double *copied) {
    int best = -1;
    double most = 0;
    for (size_t i = 0; i < p->storage_count; i++) {
        const double bytes = (double)p->storages[i].bytes;
        const double worth = bytes * (bytes / (copied[i] + 1));
        if (!may_move(p, i) || worth <= most) continue;
        best = (int)i;
        most = worth;
    }
    return best;
}

/* The pieces of a variable move together. */
static size_t mark(wi_partition *p, int chosen) {
    const size_t first = block_of(p, (size_t)chosen)->first;
    size_t bytes = 0;
    for (size_t i = 0; i < p->storage_count; i++) {
        wi_storage *const own = &p->storages[i];
        if (own->kind != WI_STORAGE_BLOCK || block_of(p, i)->first != first) continue;
        own->on_host = true;
        bytes += own->bytes;
    }
    return bytes;
}

bool wi_choose_host_blocks(wi_partition *p, const wi_loops *loops, size_t missing) {
    if (p->request->graph->context->device_count > 1) return false; /* each device has its own copies */
    double *const copied = wi_arena_take(p->request->arena, (p->storage_count + 1) * sizeof *copied);
    size_t freed = 0;
    if (!copied) return false;
    for (size_t i = 0; i < p->storage_count; i++)
        if (may_move(p, i)) copied[i] = count_copied(p, loops, (int)i);
    for (int next = choose(p, copied); next >= 0 && freed < missing; next = choose(p, copied))
        freed += mark(p, next);
    return freed > 0;
}

size_t wi_bytes_to_move(const wi_partition *p) {
    size_t bytes = 0;
    for (size_t i = 0; i < p->storage_count; i++) {
        if (!p->storages[i].on_host) continue;
        const wi_block *const block = block_of(p, i);
        if (block->buffer.memory && !block->buffer.on_host) bytes += block->bytes;
    }
    return bytes;
}

weft_status wi_move_host_blocks(const wi_partition *p) {
    for (size_t i = 0; i < p->storage_count; i++)
        if (p->storages[i].on_host) WI_TRY(wi_graph_block_to_host(p->request->graph, p->storages[i].block));
    return WEFT_OK;
}
