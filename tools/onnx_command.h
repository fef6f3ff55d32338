/* `weft onnx`: shows, runs, checks and trains networks of ONNX files. */
#ifndef ONNX_COMMAND_H
#define ONNX_COMMAND_H

#include "onnx_options.h"
#include <weft/base.h>

/* argv: the words after `weft onnx`. Returns the exit status of the process. */
int weft_onnx(int argc, char **argv);

/* The commands; the options are theirs. */
weft_status onnx_info(const onnx_options *options);
weft_status onnx_run(const onnx_options *options);
weft_status onnx_check(const onnx_options *options); /* WEFT_ERROR_INTERNAL: results differ */
weft_status onnx_train(const onnx_options *options);

#endif
