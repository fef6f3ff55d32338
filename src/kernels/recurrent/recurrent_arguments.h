/* What the implementations of recurrent scans and of their gradients share: sizes, and the arguments of recurrent_cpu.cl and
 * recurrent_gpu.cl. Kernels that *walk*, which means that they compute one time step after the other, may have further arguments
 * after these. ops/recurrent/recurrent_scan.c creates the nodes. */
#ifndef WI_RECURRENT_ARGUMENTS_H
#define WI_RECURRENT_ARGUMENTS_H

#include "kernels/implementation.h"
#include "ops/recurrent/recurrent_scan.h"

typedef struct wi_recurrent {
    const wi_kernel_site *site;
    const weft_tensor *node;
    wi_cell cell;
    wi_scan_sections a;
    bool back;          /* is the node a gradient? */
    bool projects;      /* is there a projection? */
    bool kept;          /* does the forward pass keep everything for a gradient? */
    bool second;        /* does each step have a second product? */
    int w, wr, lengths; /* the numbers of these inputs; -1: there is none */
    int64_t batch, gates;
    int64_t iterations; /* steps of the walk; a gradient may have one more, for dh0 */
    /* ---- set by the implementation ---- */
    int64_t steps;            /* time steps that one launch computes */
    int64_t rows, blocks;     /* rows and panels of a work-item; 0: the kernel does not need them */
    int64_t panels, panels_r; /* of the packed w and wr; 0: the kernels read the weights where they are */
    int64_t packed;           /* elements of the packed w at the beginning of scratch memory; wr follows */
    bool states_apart; /* do steps pass their state to the next step in scratch memory, not in the result? */
} wi_recurrent;

wi_recurrent wi_recurrent_of(const wi_kernel_site *site);
/* Sets macros and flops. */
void wi_recurrent_begin(const wi_recurrent *s, wi_kernel_plan *plan);

/* The arguments of the kernel that sets the states before the first step and checks the lengths. */
void wi_recurrent_prepare_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int64_t rows);
/* The arguments of a kernel that walks. phases: the launch computes the first product of a step (1), the second (2), or both
 * (3). */
void wi_recurrent_walk_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int phases);

/* Headers of kernels without matrix engines. */
extern const char *const wi_recurrent_headers[];

#endif
