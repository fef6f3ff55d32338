/* weft bench conv: convolutions forward, with regard to the image and to the weight, beside the peak. */
#ifndef BENCH_CONV_H
#define BENCH_CONV_H

/* Arguments after "conv"; returns the exit status. */
int weft_bench_conv(int argc, char **argv);

#endif
