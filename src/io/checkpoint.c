/* weft_checkpoint_save and weft_checkpoint_load: checkpoints of a graph and of the caller's tensors, without a trainer. */
#include "base/platform.h"
#include "cl/context.h"
#include "io/checkpoint_extras.h"
#include "io/graph_state.h"
#include <stdio.h>
#include <string.h>

static weft_status save(wi_checkpoint_image *image, wi_saved_list *list, weft_graph *graph, const char *path,
    const weft_checkpoint_extra *extras, size_t count) {
    char folder[4096], prefix[4096];
    const char *name = NULL;
    WI_TRY(wi_list_graph(list, graph));
    WI_TRY(wi_list_extras(list, extras, count));
    wi_path_split(path, folder, sizeof folder, &name);
    snprintf(prefix, sizeof prefix, "%s.", name);
    WI_TRY(wi_file_remove_abandoned(image->allocator, folder, prefix));
    WI_TRY(wi_checkpoint_image_fill(image, path, list));
    return wi_checkpoint_image_write(image, path);
}

weft_status weft_checkpoint_save(
    weft_graph *graph, const char *path, const weft_checkpoint_extra *extras, size_t count) {
    if (!graph || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_checkpoint_save: graph and path must not be NULL");
    WI_TRY(weft_graph_status(graph));
    wi_saved_list list;
    wi_checkpoint_image image = {.allocator = graph->context->allocator};
    wi_saved_list_init(&list, image.allocator);
    const weft_status status = save(&image, &list, graph, path, extras, count);
    wi_checkpoint_image_clear(&image);
    wi_saved_list_clear(&list);
    return status;
}

static weft_status load(wi_saved_list *list, wi_checkpoint_file *file, weft_graph *graph,
    weft_checkpoint_extra *extras, size_t count) {
    WI_TRY(wi_list_graph(list, graph));
    WI_TRY(wi_list_extras_of(list, file, extras, count));
    WI_TRY(wi_checkpoint_match(file, list, wi_checkpoint_others));
    WI_TRY(wi_graph_numbers_check(graph, file));
    WI_TRY(wi_checkpoint_apply(file, list));
    wi_extras_take_sizes(list, extras, count);
    return wi_graph_numbers_apply(graph, file);
}

weft_status weft_checkpoint_load(
    weft_graph *graph, const char *path, weft_checkpoint_extra *extras, size_t count) {
    if (!graph || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_checkpoint_load: graph and path must not be NULL");
    WI_TRY(weft_graph_status(graph));
    wi_saved_list list;
    wi_checkpoint_file file;
    WI_TRY(wi_checkpoint_open(&file, graph->context->allocator, path));
    wi_saved_list_init(&list, graph->context->allocator);
    const weft_status status = load(&list, &file, graph, extras, count);
    wi_saved_list_clear(&list);
    wi_checkpoint_close(&file);
    return status;
}
