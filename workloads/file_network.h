/* Networks of files among those that are measured. */
#ifndef FILE_NETWORK_H
#define FILE_NETWORK_H

#include "bench_networks.h"

/* Is it the name of an ONNX file? */
bool file_network_is_path(const char *name);
/* path is kept. Its batch is what the file says, or 16. Errors: WEFT_ERROR_FILE, WEFT_ERROR_FORMAT; WEFT_ERROR_UNSUPPORTED: built without
 * protobuf-c. */
weft_status file_network_open(bench_network *network, const char *path);
/* The expressions of a model whose network is a file's: its inputs and its loss, which is the mean of the squares of all outputs, as files of
 * trained networks have none. */
weft_status file_network_build(bench_model *model);

#endif
