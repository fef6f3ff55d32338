/* What the implementations of recurrent scans share (nodes: ops/recurrent/recurrent_scan.c): the scan's sizes,
 * and arguments in the order in which recurrent_cpu.cl and recurrent_gpu.cl take them. Each kernel that walks
 * through time may take arguments of its own after these. */
#ifndef WI_RECURRENT_ARGUMENTS_H
#define WI_RECURRENT_ARGUMENTS_H

#include "kernels/implementation.h"
#include "ops/recurrent/recurrent_scan.h"

typedef struct wi_recurrent {
    const wi_kernel_site *site;
    const weft_tensor *node;
    wi_cell cell;
    wi_scan_sections a;
    bool back, projects, kept;
    bool second;        /* each step has a second product */
    int w, wr, lengths; /* inputs; -1: there is none */
    int64_t batch, gates;
    int64_t iterations; /* steps to walk through; the gradient's last one is dh0, where it is wanted */
    /* ---- set by the implementation ---- */
    int64_t steps;            /* of one launch */
    int64_t rows, blocks;     /* of a work-item; 0: the kernel needs none */
    int64_t panels, panels_r; /* of the packed weights; 0: the kernels read them where they are */
    int64_t packed;           /* elements of the packed w at the beginning of scratch memory, wr after it */
    bool states_apart;        /* what steps leave to the next is in scratch memory, a place for each step */
} wi_recurrent;

wi_recurrent wi_recurrent_of(const wi_kernel_site *site, bool back);
/* Macros and flops. */
void wi_recurrent_begin(const wi_recurrent *s, wi_kernel_plan *plan);

/* Of the kernel that sets the states before the first step and checks the lengths. */
void wi_recurrent_prepare_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int64_t rows);
/* Of a kernel that walks through steps. phases: 1 the first product of a step, 2 the second, 3 both. */
void wi_recurrent_forward_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int phases);
void wi_recurrent_back_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int phases);

extern const char *const wi_recurrent_headers[];

#endif
