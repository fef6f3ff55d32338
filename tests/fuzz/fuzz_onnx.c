/* ONNX files: a model in memory becomes a network, or an error of one short line. The options fix open sizes, freeze the
 * weights or allow new operator sets, by the last byte. Plans are not created, as random sizes are. */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t choice = fuzz_take_byte(data, &size);
    char *const bytes = fuzz_copy(data, size);
    const weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .frozen = choice & 1,
        .any_opset = choice >> 1 & 1, .tied = choice >> 2 & 1, .inference = choice >> 3 & 1,
        .scope = choice >> 4 & 1 ? "scope" : NULL};
    weft_onnx_model *model = NULL;
    weft_graph *graph;
    fuzz_assert(weft_graph_create(&graph, fuzz_opened_context()) == WEFT_OK);
    const weft_status status = weft_onnx_load_from_memory(&model, graph, bytes, size, &options);
    fuzz_check_status(status);
    fuzz_assert((status == WEFT_OK) == (model != NULL));
    if (status != WEFT_OK) fuzz_assert(strlen(weft_last_error()) < 500);
    for (size_t i = 0; i < weft_onnx_output_count(model); i++)
        fuzz_assert(weft_onnx_output(model, i) != NULL);
    for (size_t i = 0; i < weft_onnx_input_count(model); i++)
        fuzz_assert(weft_onnx_input_name(model, i) != NULL);
    weft_onnx_model_release(model);
    weft_graph_release(graph);
    free(bytes);
    return 0;
}
