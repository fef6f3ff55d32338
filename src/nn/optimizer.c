/* The kinds of optimizers: their table, constructors and checks. A new kind needs a value in nn.h, a row here, a rule
 * (update_rules.c), and a case in tests/golden/make_optimizer_golden.py. */
#include "graph/sizes.h"
#include "nn/update_rules.h"
#include <math.h>
#include <string.h>

/* ---- fields and rows ---- */

enum {
    MOMENTUM = 1 << 0,
    BETAS = 1 << 1,
    EPSILON = 1 << 2,
    RHO = 1 << 3,
    DAMPENING = 1 << 4,
    RATE_DECAY = 1 << 5,
    FIRST_SUM = 1 << 6,
    MOMENTUM_DECAY = 1 << 7,
    NESTEROV = 1 << 8,
    CENTERED = 1 << 9,
    AMSGRAD = 1 << 10,
    DECOUPLED = 1 << 11, /* the rule applies the weight decay itself */
    POSITIVE_EPSILON = 1 << 12,
    ALWAYS = 1 << 30
};

typedef struct optimizer_row {
    const char *name;
    unsigned uses;
    size_t states; /* number of states, without those that momentum, centered and amsgrad add */
    weft_tensor *(*rule)(wi_update *);
} optimizer_row;

static const optimizer_row rows[] = {
    [WEFT_SGD] = {"SGD", MOMENTUM | DAMPENING | NESTEROV, 0, wi_sgd_rule},
    [WEFT_ADAM] = {"Adam", BETAS | EPSILON | AMSGRAD, 2, wi_adam_rule},
    [WEFT_ADAMW] = {"AdamW", BETAS | EPSILON | AMSGRAD | DECOUPLED, 2, wi_adam_rule},
    [WEFT_NADAM] = {"NAdam", BETAS | EPSILON | MOMENTUM_DECAY, 2, wi_nadam_rule},
    [WEFT_RMSPROP] = {"RMSprop", MOMENTUM | RHO | EPSILON | CENTERED, 1, wi_rmsprop_rule},
    [WEFT_ADAGRAD] = {"Adagrad", EPSILON | RATE_DECAY | FIRST_SUM, 1, wi_adagrad_rule},
    [WEFT_ADADELTA] = {"Adadelta", RHO | EPSILON | POSITIVE_EPSILON, 2, wi_adadelta_rule},
    [WEFT_LAMB] = {"LAMB", BETAS | EPSILON | POSITIVE_EPSILON | DECOUPLED, 2, wi_lamb_rule},
    [WEFT_LION] = {"Lion", BETAS | DECOUPLED, 1, wi_lion_rule},
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct field_row {
    const char *name;
    unsigned use;
    size_t offset;
    float end; /* values are in [0, end) */
} field_row;

#define FIELD(name, use, end)                                                                                \
    { #name, use, offsetof(weft_optimizer, name), end }
static const field_row fields[] = {
    FIELD(rate, ALWAYS, INFINITY),
    FIELD(weight_decay, ALWAYS, INFINITY),
    FIELD(clip_value, ALWAYS, INFINITY),
    FIELD(clip_norm, ALWAYS, INFINITY),
    FIELD(average_decay, ALWAYS, 1),
    FIELD(momentum, MOMENTUM, 1),
    FIELD(beta1, BETAS, 1),
    FIELD(beta2, BETAS, 1),
    FIELD(epsilon, EPSILON, INFINITY),
    FIELD(rho, RHO, 1),
    FIELD(dampening, DAMPENING, 1.0000001f), /* 1 is allowed */
    FIELD(rate_decay, RATE_DECAY, INFINITY),
    FIELD(first_sum, FIRST_SUM, INFINITY),
    FIELD(momentum_decay, MOMENTUM_DECAY, INFINITY),
};

/* ---- values ---- */

weft_optimizer weft_sgd(float rate) {
    return weft_sgd_momentum(rate, 0.0f, 0.0f);
}

weft_optimizer weft_sgd_momentum(float rate, float momentum, float weight_decay) {
    return (weft_optimizer){
        .kind = WEFT_SGD, .rate = rate, .momentum = momentum, .weight_decay = weight_decay};
}

static weft_optimizer of_moments(weft_optimizer_kind kind, float rate) {
    return (weft_optimizer){.kind = kind, .rate = rate, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
}

weft_optimizer weft_adam(float rate) {
    return of_moments(WEFT_ADAM, rate);
}

weft_optimizer weft_adamw(float rate, float weight_decay) {
    weft_optimizer o = of_moments(WEFT_ADAMW, rate);
    o.weight_decay = weight_decay;
    return o;
}

weft_optimizer weft_nadam(float rate) {
    weft_optimizer o = of_moments(WEFT_NADAM, rate);
    o.momentum_decay = 0.004f;
    return o;
}

weft_optimizer weft_rmsprop(float rate) {
    return (weft_optimizer){.kind = WEFT_RMSPROP, .rate = rate, .rho = 0.99f, .epsilon = 1e-8f};
}

weft_optimizer weft_adagrad(float rate) {
    return (weft_optimizer){.kind = WEFT_ADAGRAD, .rate = rate, .epsilon = 1e-10f};
}

weft_optimizer weft_adadelta(float rate) {
    return (weft_optimizer){.kind = WEFT_ADADELTA, .rate = rate, .rho = 0.9f, .epsilon = 1e-6f};
}

weft_optimizer weft_lamb(float rate, float weight_decay) {
    weft_optimizer o = of_moments(WEFT_LAMB, rate);
    o.weight_decay = weight_decay;
    o.epsilon = 1e-6f;
    return o;
}

weft_optimizer weft_lion(float rate, float weight_decay) {
    return (weft_optimizer){
        .kind = WEFT_LION, .rate = rate, .beta1 = 0.9f, .beta2 = 0.99f, .weight_decay = weight_decay};
}

/* ---- checks ---- */

static weft_status check_field(
    const optimizer_row *row, const weft_optimizer *optimizer, const field_row *field) {
    float value;
    memcpy(&value, (const char *)optimizer + field->offset, sizeof value);
    if (!(field->use & (row->uses | ALWAYS))) {
        if (value == 0) return WEFT_OK;
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is %g, but %s has no such option: expected 0",
            field->name, (double)value, row->name);
    }
    WI_TRY(WI_CHECK_NUMBERS("optimizer", {field->name, (double)value}));
    if (value >= 0 && value < field->end) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is %g, expected 0 or more and below %g", field->name,
        (double)value, (double)field->end);
}

static weft_status check_flags(const optimizer_row *row, const weft_optimizer *o) {
    const struct {
        const char *name;
        bool set;
        unsigned use;
    } flags[] = {{"nesterov", o->nesterov, NESTEROV}, {"centered", o->centered, CENTERED},
        {"amsgrad", o->amsgrad, AMSGRAD}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].set && !(row->uses & flags[i].use))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: %s is set, but %s has no such option", flags[i].name,
                row->name);
    if (o->nesterov && (!(o->momentum > 0) || o->dampening > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "optimizer: nesterov needs momentum above 0 and dampening 0; they are %g and %g",
            (double)o->momentum, (double)o->dampening);
    if (row->uses & POSITIVE_EPSILON && !(o->epsilon > 0))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: epsilon is %g, but %s needs a value above 0",
            (double)o->epsilon, row->name);
    return WEFT_OK;
}

bool wi_optimizer_is_scheduled(const weft_optimizer *o) {
    return o->schedule.kind != WEFT_SCHEDULE_CONSTANT || o->schedule.warmup > 0;
}

static weft_status check_schedule(const weft_optimizer *o) {
    float first;
    if (!wi_optimizer_is_scheduled(o)) return WEFT_OK;
    if (o->schedule.kind == WEFT_SCHEDULE_PLATEAU)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "optimizer: a plateau schedule depends on losses and cannot be the schedule of an optimizer: "
            "compute the rate with weft_plateau_rate and set it with weft_scalar_set");
    if (!o->schedule.per_step)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: the schedule counts epochs, which only a trainer knows: use "
                                     "weft_per_step to count updates instead");
    return weft_schedule_rate(&o->schedule, o->rate, 0, &first);
}

weft_status wi_optimizer_check(const weft_optimizer *optimizer) {
    const size_t kind = (size_t)optimizer->kind;
    if (kind >= ROWS || !rows[kind].rule)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "optimizer: kind %d is not one of WEFT_SGD to WEFT_LION",
            (int)optimizer->kind);
    const optimizer_row *const row = &rows[kind];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        WI_TRY(check_field(row, optimizer, &fields[i]));
    WI_TRY(WI_CHECK_NUMBERS("optimizer", {"accumulate", (double)optimizer->accumulate}));
    WI_TRY(check_flags(row, optimizer));
    return check_schedule(optimizer);
}

/* ---- properties of a kind ---- */

size_t wi_optimizer_writes(const weft_optimizer *o) {
    return 1 + rows[o->kind].states + (o->momentum > 0) + o->centered + o->amsgrad + (o->accumulate > 1) +
           (o->average_decay > 0);
}

weft_tensor *wi_optimizer_apply_rule(wi_update *u) {
    return rows[u->optimizer->kind].rule(u);
}

bool wi_optimizer_decouples(const weft_optimizer *optimizer) {
    return rows[optimizer->kind].uses & DECOUPLED;
}
