/* How long the exchange of gradients takes on a number of processes, and a training step with it: the cost model of `weft bench scale` and
 * `weft advise`.
 *
 * A rank has `shards` shards of each batch, and `bytes` bytes of gradients of each. It sends every other rank a chunk of 1 / ranks of them, in one
 * round for each shard; it adds up the chunks of all shards, and gets the sums of the other chunks in one more round. A round has as many
 * messages to each rank as there are buckets (src/dist/sum.h):
 *
 *   exchange = (shards + 1) · (ranks - 1) · (buckets · latency + bytes / ranks / bandwidth) + (shards + 1 / ranks) · bytes / adding
 *
 * Latency and bandwidth are those of one rank while all ranks send. Besides, a step has five exchanges of a few bytes, in which the ranks agree
 * what comes next and tell each other their losses. */
#ifndef SCALE_MODEL_H
#define SCALE_MODEL_H

#include <stddef.h>

typedef struct scale_link {
    double latency;   /* seconds for a message, besides its bytes */
    double bandwidth; /* bytes a second that a rank receives */
    double adding;    /* bytes a second that a rank adds up */
} scale_link;

/* Messages of several sizes, and the seconds that each took. */
typedef struct scale_message {
    double bytes, seconds;
} scale_message;
/* Finds the latency and the bandwidth with the least sum of squared relative errors. There are messages of two sizes or more. */
void scale_link_fit(double *latency, double *bandwidth, const scale_message *messages, size_t count);

/* Buckets of gradients of so many bytes. */
size_t scale_buckets(double bytes);
double scale_exchange(const scale_link *link, double bytes, size_t ranks, size_t shards);

/* What was measured of a training step on so many ranks. */
typedef struct scale_step {
    size_t ranks, shards; /* shards: of a rank */
    double bytes;         /* of the gradients of a shard */
    double step;          /* seconds */
    double exchange;      /* seconds of the exchange alone */
    double
        processor; /* seconds of the processor that a rank took in the step, with all its threads; 0: not known */
    double exposed; /* seconds of the step in which a rank only waits for the exchange, or adds */
    scale_link link;
} scale_step;

/* The part of the exchange that takes place while the rank computes, in seconds. */
double scale_hidden(const scale_step *measured);

typedef struct scale_expectation {
    double step, exchange, hidden;
} scale_expectation;
/* The step on `ranks` ranks, each of which has as many examples as the ranks of the measured step. The part of the exchange that is hidden is
 * assumed to be the measured one, but no longer than the backward pass, two thirds of what a rank computes. crowding: how many times longer
 * a rank computes, adds and sends than in the measured step, because ranks share processors; else 1. */
scale_expectation scale_expect(const scale_step *measured, size_t ranks, double crowding);

/* Bytes of host memory of a rank for the exchange. */
double scale_host_bytes(double bytes, size_t ranks, size_t shards);

#endif
