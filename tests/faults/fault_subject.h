/* Whole programs in which things fail: each is a few steps, of which a later one can be taken again after it failed. */
#ifndef FAULT_SUBJECT_H
#define FAULT_SUBJECT_H

#include <weft/weft.h>

enum { FAULT_STEPS = 3, FAULT_PATH = 512, FAULT_GRAPHS = 2, FAULT_NUMBERS = 64 };

/* What a program holds. Everything is NULL before its first step. */
typedef struct fault_world {
    char data[FAULT_PATH];   /* a folder that was filled once */
    char folder[FAULT_PATH]; /* a folder of this attempt, for what is saved */
    char cache[FAULT_PATH];  /* of compiled kernels */
    weft_context *context;
    struct fault_made *made; /* by the second step */
    double result[64];       /* what the last step computed */
    size_t result_count;
    double used[FAULT_NUMBERS]; /* what the use of a graph gives; unused ones are 0 */
} fault_world;

typedef struct fault_subject {
    const char *name;
    weft_status (*prepare)(fault_world *world); /* fills world->data, with nothing failing */
    /* Opens the context; makes graph and plan; trains, saves, loads, goes on, and leaves a result. */
    weft_status (*steps[FAULT_STEPS])(fault_world *world);
    void (*clear[FAULT_STEPS])(fault_world *world); /* undoes a step, whether it failed or not */
    /* After a failure in the last step: the step that is taken again, once it and those after it are cleared. */
    int again;
    /* After a failure, with nothing failing any more: uses a graph that is left, whatever call has failed, if all its
     * expressions were evaluated; else *there is false. It gives the same numbers for every graph. NULL: there is no graph. */
    weft_status (*use)(fault_world *world, int graph, double numbers[FAULT_NUMBERS], bool *there);
} fault_subject;

extern const fault_subject fault_cnn, fault_lstm, fault_images, fault_readers, fault_devices;

/* The first step of all. */
weft_status fault_open_context(fault_world *world);
void fault_close_context(fault_world *world);
/* A path in the attempt's folder; valid until the fourth call of this thread after it. */
const char *fault_path(const char *folder, const char *name);

#endif
