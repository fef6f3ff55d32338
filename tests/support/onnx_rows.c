/* See onnx_rows.h. */
#include "support/onnx_rows.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

static onnx_bytes file;

enum { NAME = 40 };

static void name_of(char *name, char kind, size_t i, int k) {
    snprintf(name, NAME, "%c%zu_%d", kind, i, k);
}

/* Writes all rows as one network. is_known: all operands are constants; otherwise those of `given` are inputs, and rows that only the host
 * can compute are left out. */
static void write_rows(const row *rows, size_t count, bool is_known, onnx_case_input *inputs) {
    const size_t model = onnx_begin_model(&file);
    char name[NAME], in[MOST_OPERANDS * NAME], out[2 * NAME];
    for (size_t i = 0; i < count; i++) {
        *in = '\0';
        if (!is_known && rows[i].given == 0) continue;
        for (int k = 0; k < MOST_OPERANDS && rows[i].in[k].type; k++) {
            const operand *const x = &rows[i].in[k];
            const bool is_input = !is_known && rows[i].given >> k & 1;
            name_of(name, 'x', i, k);
            snprintf(in + strlen(in), sizeof in - strlen(in), "%s ", x->type < 0 ? "-" : name);
            size_t size = 1;
            for (const char *d = x->dims; *d; d++)
                if (*d != ' ') size *= (size_t)(*d - '0');
            if (is_input)
                onnx_input_typed(&file, name, x->type, x->dims),
                    *inputs++ = (onnx_case_input){x->numbers, size};
            else if (x->type > 0)
                onnx_case_constant(&file, name, x->type, x->dims, x->numbers);
        }
        name_of(out, 'y', i, 0);
        onnx_output(&file, out);
        if (rows[i].counts[1] > 0) {
            name_of(name, 'y', i, 1);
            onnx_output(&file, name);
            strcat(strcat(out, " "), name);
        }
        onnx_case_node(&file, rows[i].op, in, out, rows[i].attributes);
    }
    onnx_end_model(&file, model);
}

void rows_check(const row *rows, size_t count, int version, double error) {
    static onnx_case_result results[64];
    for (int is_known = 0; is_known < 2; is_known++) {
        onnx_case_input inputs[64];
        const onnx_case_result *result = results;
        char what[96];
        write_rows(rows, count, is_known, inputs);
        onnx_case_version(&file, version);
        onnx_case_run(&file, inputs, results);
        for (size_t i = 0; i < count; i++) {
            if (!is_known && rows[i].given == 0) continue;
            snprintf(what, sizeof what, "%s %s (%zu), %s", rows[i].op, rows[i].attributes, i,
                is_known ? "known" : "not known");
            onnx_case_compare(what, result++, rows[i].wanted, rows[i].counts[0], error);
            if (rows[i].counts[1] > 0)
                onnx_case_compare(
                    what, result++, rows[i].wanted + rows[i].counts[0], rows[i].counts[1], error);
        }
    }
}

void refusals_check(const refusal *refused, size_t count, unsigned given) {
    for (size_t i = 0; i < count; i++) {
        const size_t model = onnx_begin_model(&file);
        char in[80] = "";
        for (int k = 0; k < MOST_OPERANDS && refused[i].in[k].type; k++) {
            const operand *const x = &refused[i].in[k];
            const char name[] = {x->type < 0 ? '-' : (char)('a' + k), 0};
            strcat(strcat(in, name), " ");
            if (x->type > 0 && given >> k & 1)
                onnx_input_typed(&file, name, x->type, x->dims);
            else if (x->type > 0)
                onnx_case_constant(&file, name, x->type, x->dims, x->numbers);
        }
        onnx_case_node(&file, refused[i].op, in, "y", refused[i].attributes);
        onnx_output(&file, "y");
        onnx_end_model(&file, model);
        onnx_case_refused(&file, refused[i].op, refused[i].error);
    }
}
