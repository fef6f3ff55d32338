/* Saved graphs compute what Weft computes: the file of every op with PyTorch's numbers is loaded again and compared with them. With a folder
 * as its argument, the program only writes the files there, for check_onnx_save.sh. */
/* test slow */
#include "base/memory.h"
#include "graph/node.h"
#include "recorded_json.h"
#include "recorded_ops.h"
#include "support/fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <weft/onnx.h>

enum { PATH = 1024 };

/* The case in a graph of its own; inputs are named x0, x1, ... */
static weft_status build_case(recorded_case *r, weft_graph *graph, const cJSON *json) {
    recorded_inputs shared = {0};
    WI_TRY(recorded_build(r, &shared, graph, json));
    for (size_t i = 0; i < r->input_count; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", i);
        wi_name_node(r->inputs[i], name);
    }
    return weft_graph_status(graph);
}

/* ---- files for other programs ---- */

static void write_text(const char *path, const cJSON *json) {
    char *const text = cJSON_PrintUnformatted(json);
    FILE *const file = fopen(path, "w");
    if (file && text) fputs(text, file);
    if (file) fclose(file);
    free(text);
}

static int write_cases(const char *folder, int opset) {
    cJSON *const all = recorded_cases();
    const cJSON *json;
    int number = 0, missing = 0;
    cJSON_ArrayForEach(json, all) {
        recorded_case r;
        char path[PATH];
        weft_graph *const graph = test_graph();
        const weft_onnx_save_options options = {WEFT_ONNX_SAVE_OPTIONS_INIT, .opset = opset};
        weft_status status = build_case(&r, graph, json);
        snprintf(path, sizeof path, "%s/%04d.%s.onnx", folder, number, r.op);
        if (status == WEFT_OK) status = weft_onnx_save(path, &r.output, 1, &options);
        if (status != WEFT_OK) {
            printf("%s %s: %s\n", r.op, r.name, weft_last_error());
            missing++;
        } else {
            snprintf(path, sizeof path, "%s/%04d.%s.json", folder, number, r.op);
            write_text(path, json);
        }
        number++;
        weft_graph_release(graph);
    }
    printf("%d cases written, %d not\n", number - missing, missing);
    cJSON_Delete(all);
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1) {
        write_cases(arguments[1], count > 2 ? atoi(arguments[2]) : 0);
        return test_finish(0);
    }
    return test_finish(0);
}
