/* Implementations that the environment forces (contract in forced.h). */
#include "kernels/forced.h"
#include "base/platform.h"
#include "kernels/registry.h"
#include "kernels/site_name.h"
#include "ops/attention/attention.h"
#include "ops/convolution/conv.h"
#include "ops/recurrent/recurrent_scan.h"
#include <stdio.h>
#include <string.h>

enum { MOST_OPS = 4 };

typedef enum name_match { WHOLE, BEGINNING, END } name_match;

typedef struct forcing {
    const char *variable;
    name_match match;
    const wi_op *ops[MOST_OPS];
} forcing;

static const forcing forcings[] = {
    {"WEFT_CONV", BEGINNING, {&wi_op_conv, &wi_op_conv_data, &wi_op_conv_weight}},
    {"WEFT_GEMM", WHOLE, {&wi_op_matmul}},
    {"WEFT_RECURRENT", END, {&wi_op_recurrent_forward, &wi_op_recurrent_back}},
    {"WEFT_ATTENTION", END, {&wi_op_attention_forward, &wi_op_attention_gradient}},
};

static const forcing *forcing_of(const wi_op *op) {
    for (size_t i = 0; i < sizeof forcings / sizeof *forcings; i++) {
        for (int k = 0; k < MOST_OPS && forcings[i].ops[k]; k++)
            if (forcings[i].ops[k] == op) return &forcings[i];
    }
    return NULL;
}

static bool ends_with(const char *whole, const char *ending) {
    const size_t length = strlen(ending), all = strlen(whole);
    return length <= all && strcmp(whole + all - length, ending) == 0;
}

static bool fits(
    name_match match, const char *name, const wi_implementation *implementation, const wi_variant *variant) {
    const char *const whole = implementation->name;
    char kernel[WI_KERNEL_NAME];
    wi_kernel_name(kernel, implementation, variant);
    switch (match) {
    case WHOLE: return strcmp(whole, name) == 0;
    case BEGINNING: return strncmp(whole, name, strlen(name)) == 0;
    case END: return ends_with(whole, name) || ends_with(kernel, name);
    }
    return false;
}

static bool any_fits(name_match match, const char *name, const wi_implementation *implementation) {
    const wi_variant *variant;
    for (int v = 0; (variant = wi_implementation_variant(implementation, v)) != NULL; v++)
        if (fits(match, name, implementation, variant)) return true;
    return false;
}

static bool is_for(const forcing *rule, const wi_implementation *implementation) {
    for (int k = 0; k < MOST_OPS && rule->ops[k]; k++)
        if (wi_implementation_computes(implementation, rule->ops[k])) return true;
    return false;
}

/* Fails if the name fits no implementation of any op of the rule. It need not fit all ops: some names of convolutions exist only
 * for the forward pass, the data gradient or the weight's gradient. */
static weft_status check(const forcing *rule, const char *name) {
    char known[1024] = "";
    size_t length = 0;
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            if (!is_for(rule, (*family)[i])) continue;
            if (any_fits(rule->match, name, (*family)[i])) return WEFT_OK;
            if (length < sizeof known)
                length += (size_t)snprintf(
                    known + length, sizeof known - length, "%s%s", length ? ", " : "", (*family)[i]->name);
        }
    }
    static const char *const ways[] = {
        [WHOLE] = "one", [BEGINNING] = "the beginning of one", [END] = "the end of one"};
    WI_FAIL(WEFT_ERROR_ARGUMENT, "%s is '%.64s'; it must be %s of %s", rule->variable, name,
        ways[rule->match], known);
}

weft_status wi_forced_check(void) {
    for (size_t i = 0; i < sizeof forcings / sizeof *forcings; i++) {
        const char *const name = wi_environment(forcings[i].variable);
        if (name) WI_TRY(check(&forcings[i], name));
    }
    return WEFT_OK;
}

const char *wi_forced_name(const wi_op *op) {
    const forcing *const rule = forcing_of(op);
    return rule ? wi_environment(rule->variable) : NULL;
}

bool wi_forced_fits(
    const char *name, const wi_op *op, const wi_implementation *implementation, const wi_variant *variant) {
    const forcing *const rule = forcing_of(op);
    return rule && fits(rule->match, name, implementation, variant);
}
