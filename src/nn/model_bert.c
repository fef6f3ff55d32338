/* The encoder of BERT: J. Devlin, M.-W. Chang, K. Lee, K. Toutanova, "BERT: Pre-training of Deep Bidirectional
 * Transformers for Language Understanding", NAACL 2019, with names as in Hugging Face's BertModel. */
#include "nn/model.h"
#include <inttypes.h>
#include <weft/models.h>
#include <weft/nn.h>

static const wi_model_row bert_row = {
    .name = "bert", .linears = WI_FIRST_NORMAL, .deviation = 0.02f, .epsilon = 1e-12f};
static const float dropout = 0.1f;

/* ---- arguments ---- */

/* Replaces the zeros of the options by the sizes of BERT-Base. */
static bool set_default_sizes(weft_graph *graph, weft_bert_options *o) {
    enum { MOST_LAYERS = 1000, MOST = 1 << 30 };
    const struct {
        const char *name;
        int64_t *size, base, most;
    } sizes[] = {{"layers", &o->layers, 12, MOST_LAYERS}, {"width", &o->width, 768, MOST},
        {"heads", &o->heads, 12, MOST}, {"intermediate", &o->intermediate, 3072, MOST},
        {"vocabulary", &o->vocabulary, 30522, MOST}, {"positions", &o->positions, 512, MOST},
        {"types", &o->types, 2, MOST}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (*sizes[i].size == 0) *sizes[i].size = sizes[i].base;
        if (*sizes[i].size > 0 && *sizes[i].size <= sizes[i].most) continue;
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_bert: the option %s is %" PRId64 ", expected 1 to %" PRId64, sizes[i].name, *sizes[i].size,
            sizes[i].most);
        return false;
    }
    if (o->width % o->heads == 0) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
        "weft_bert: %" PRId64 " heads do not divide a width of %" PRId64, o->heads, o->width);
    return false;
}

/* An option must have the dtype, and the shape of the tokens. */
static bool check_option(weft_tensor *tokens, const char *name, weft_tensor *x, weft_dtype dtype) {
    char text[WI_SHAPE_TEXT], wanted[WI_SHAPE_TEXT];
    if (!x) return true;
    if (!wi_inputs_graph("weft_bert", (weft_tensor *[]){tokens, x}, 2)) return false;
    if (x->dtype == dtype && wi_shape_equal(&x->shape, &tokens->shape)) return true;
    wi_graph_fail(tokens->graph, x->dtype == dtype ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE,
        "weft_bert: %s is %s %s, expected %s %s", name, weft_dtype_name(x->dtype),
        wi_shape_print(x->graph, &x->shape, text), weft_dtype_name(dtype),
        wi_shape_print(tokens->graph, &tokens->shape, wanted));
    return false;
}

static bool check_tokens(const weft_tensor *tokens, const weft_bert_options *o) {
    char text[WI_SHAPE_TEXT];
    const wi_shape *const shape = &tokens->shape;
    if (tokens->dtype != WEFT_I32 || shape->rank != 2 || shape->dims[1] < 1) {
        wi_graph_fail(tokens->graph, tokens->dtype == WEFT_I32 ? WEFT_ERROR_SHAPE : WEFT_ERROR_DTYPE,
            "weft_bert: tokens are %s %s, expected i32 (N, length) of which only N may be the batch",
            weft_dtype_name(tokens->dtype), wi_shape_print(tokens->graph, shape, text));
        return false;
    }
    if (shape->dims[1] <= o->positions || wi_is_symbolic(shape->dims[1])) return true;
    wi_graph_fail(tokens->graph, WEFT_ERROR_SHAPE,
        "weft_bert: tokens are %s, but the option positions is %" PRId64,
        wi_shape_print(tokens->graph, shape, text), o->positions);
    return false;
}

/* ---- the network ---- */

/* The sum of the embeddings of tokens, positions and types, normalised. */
static weft_tensor *embedded(const wi_model *m, weft_tensor *tokens, const weft_bert_options *o) {
    const weft_initialiser normal = weft_init_normal(0, bert_row.deviation);
    const int64_t positions[] = {o->positions, o->width}, types[] = {o->types, o->width};
    char words[WI_MODEL_NAME];
    wi_model_full_name(words, m, "word_embeddings");
    weft_tensor *const word = weft_embedding_layer(tokens, o->vocabulary, o->width,
        &(weft_embedding_options){
            WEFT_EMBEDDING_OPTIONS_INIT, .name = words, .initialiser = &normal, .padded = true});
    weft_tensor *const place = wi_model_parameter(m, "position_embeddings.weight", normal, 2, positions);
    weft_tensor *const kind = wi_model_parameter(m, "token_type_embeddings.weight", normal, 2, types);
    if (!word || !place || !kind) return NULL;
    weft_tensor *x = weft_add(
        word, o->token_types ? weft_embedding_with(kind, o->token_types) : weft_slice(kind, 0, 0, 1));
    x = weft_add(x, weft_slice(place, 0, 0, weft_tensor_dimension(tokens, 1)));
    return wi_model_dropout(m, wi_model_layer_norm(m, x, "LayerNorm"), dropout);
}

/* A linear layer "dense" of y, added to x and normalised. */
static weft_tensor *added(const wi_model *m, weft_tensor *x, weft_tensor *y) {
    y = wi_model_linear(m, y, "dense", weft_tensor_dimension(x, -1));
    return wi_model_layer_norm(m, weft_add(wi_model_dropout(m, y, dropout), x), "LayerNorm");
}

/* A projection of x (N, length, width) → (N, heads, length, width / heads). */
static weft_tensor *projected(const wi_model *m, weft_tensor *x, const char *name, int64_t heads) {
    const int64_t batch = weft_tensor_dimension(x, 0), length = weft_tensor_dimension(x, 1),
                  width = weft_tensor_dimension(x, 2);
    x = wi_model_linear(m, x, name, width);
    return x ? weft_permute(weft_reshape(x, batch, length, heads, width / heads), 0, 2, 1, 3) : NULL;
}

static weft_tensor *attended(const wi_model *m, weft_tensor *x, const weft_bert_options *o) {
    const int64_t batch = weft_tensor_dimension(x, 0), length = weft_tensor_dimension(x, 1);
    const wi_model self = wi_model_in(m, "self");
    weft_tensor *const q = projected(&self, x, "query", o->heads),
                       *const k = projected(&self, x, "key", o->heads),
                       *const v = projected(&self, x, "value", o->heads);
    const weft_attention_options options = {WEFT_ATTENTION_OPTIONS_INIT,
        .mask = o->mask ? weft_reshape(o->mask, batch, 1, 1, length) : NULL,
        .dropout = m->no_dropout ? 0 : dropout};
    weft_tensor *const y = weft_attention(q, k, v, &options);
    return y ? weft_reshape(weft_permute(y, 0, 2, 1, 3), batch, length, o->width) : NULL;
}

static weft_tensor *encoder_layer(const wi_model *m, weft_tensor *x, const weft_bert_options *o) {
    const wi_model attention = wi_model_in(m, "attention"), first = wi_model_in(&attention, "output"),
                   intermediate = wi_model_in(m, "intermediate"), second = wi_model_in(m, "output");
    if (!x) return NULL;
    x = added(&first, x, attended(&attention, x, o));
    return added(&second, x, weft_gelu(wi_model_linear(&intermediate, x, "dense", o->intermediate)));
}

static weft_tensor *build_bert(weft_tensor *tokens, const weft_bert_options *given, weft_tensor **pooled) {
    weft_bert_options o;
    if (pooled) *pooled = NULL;
    weft_graph *const graph = wi_inputs_graph("weft_bert", &tokens, 1);
    if (!graph || !WI_GRAPH_OPTIONS(graph, &o, given, "weft_bert", WEFT_BERT_OPTIONS_INIT)) return NULL;
    wi_model model = {.row = &bert_row, .graph = graph, .no_dropout = o.no_dropout};
    if (!wi_model_set_prefix(&model, o.prefix) || !set_default_sizes(graph, &o) ||
        !check_tokens(tokens, &o) || !check_option(tokens, "token_types", o.token_types, WEFT_I32) ||
        !check_option(tokens, "mask", o.mask, WEFT_BOOL))
        return NULL;
    const wi_model embeddings = wi_model_in(&model, "embeddings"), pooler = wi_model_in(&model, "pooler");
    weft_tensor *x = embedded(&embeddings, tokens, &o);
    for (int i = 0; i < (int)o.layers; i++) {
        const wi_model layer = wi_model_in(&model, "encoder.layer.%d", i);
        x = encoder_layer(&layer, x, &o);
    }
    if (x && pooled)
        *pooled =
            weft_tanh(wi_model_linear(&pooler, weft_squeeze(weft_slice(x, 1, 0, 1), 1), "dense", o.width));
    return weft_graph_status(graph) == WEFT_OK ? x : NULL;
}

weft_tensor *weft_bert(weft_tensor *tokens, const weft_bert_options *options, weft_tensor **pooled) {
    return WI_CALL(tokens, "weft_bert", build_bert(tokens, options, pooled));
}
