/* The metrics of divided passes, and what processes tell one another at the ends of passes (contract in shards.h). */
#include "train/shards.h"
#include <string.h>

/* Copies the sums of all metrics to one list, or back. */
static void copy_sums(const wi_pass *pass, double *list, bool back) {
    for (size_t i = 0; i < pass->measures.count - pass->counts; i++) {
        size_t count = 0;
        double *const sums = wi_metric_sums(pass->measures.items[i].state, &count);
        memcpy(back ? sums : list, back ? list : sums, count * sizeof *sums);
        list += count;
    }
}

void wi_shards_note_metrics(wi_pass *pass) {
    copy_sums(pass, pass->shards->metrics, false);
}

/* What each process has added since the last time is added to what all had then, in the order of ranks. */
static weft_status join_metrics(wi_pass *pass) {
    wi_shards *const shards = pass->shards;
    const size_t ranks = weft_distributed_size(shards->group), numbers = shards->metric_numbers;
    double *const own = shards->metrics + numbers, *const all = own + numbers;
    if (ranks == 1 || pass->measures.count == pass->counts) return WEFT_OK;
    copy_sums(pass, own, false);
    for (size_t i = 0; i < numbers; i++) own[i] -= shards->metrics[i];
    WI_TRY(wi_group_gather_equal(shards->group, own, numbers * sizeof *own, all));
    for (size_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < numbers; i++) shards->metrics[i] += all[r * numbers + i];
    copy_sums(pass, shards->metrics, true);
    return WEFT_OK;
}

weft_status wi_shards_join(wi_pass *pass) {
    WI_TRY(wi_shards_gather_carries(pass->shards));
    return join_metrics(pass);
}

weft_status wi_shards_join_early(wi_pass *pass, bool wanted) {
    const bool any = pass->shards && (pass->measures.count > pass->counts || pass->shards->carries);
    if (!any || weft_distributed_size(pass->shards->group) == 1) return WEFT_OK;
    WI_TRY(wi_group_any(pass->shards->group, &wanted));
    return wanted ? wi_shards_join(pass) : WEFT_OK;
}
