/* Vision transformer: A. Dosovitskiy et al., "An Image is Worth 16x16 Words: Transformers for Image Recognition at
 * Scale", ICLR 2021, ViT-Base with patches of 16×16 (table 1), with names as in torchvision. */
#include "nn/model.h"
#include <inttypes.h>
#include <weft/nn.h>

enum { PATCH = 16, WIDTH = 768, HEADS = 12, LAYERS = 12, INNER = 3072 };

/* (N, C, H, W) → (N, 1 + patches, WIDTH): a token that belongs to no patch, then one for each patch. */
static weft_tensor *tokens_of(const wi_model *m, weft_tensor *x) {
    const int64_t batch = weft_tensor_dimension(x, 0);
    x = wi_model_conv(m, x, "conv_proj", WIDTH, wi_square(PATCH, PATCH, 0));
    if (!x) return NULL;
    const int64_t patches = weft_tensor_dimension(x, 2) * weft_tensor_dimension(x, 3);
    const int64_t one[] = {1, 1, WIDTH}, all[] = {batch, 1, WIDTH};
    weft_tensor *const first =
        weft_expand(wi_model_parameter(m, "class_token", weft_zeros(), 3, one), 3, all);
    weft_tensor *const others = weft_reshape(weft_channels_last(x), batch, patches, WIDTH);
    return first && others ? weft_concat((weft_tensor *const[]){first, others}, 2, 1) : NULL;
}

/* A block of the encoder: attention, then two linear layers, each added to its input. */
static weft_tensor *encoder_block(const wi_model *m, weft_tensor *x) {
    const wi_model mlp = wi_model_in(m, "mlp");
    char attention[WI_MODEL_NAME];
    wi_model_full_name(attention, m, "self_attention");
    weft_tensor *y = wi_model_layer_norm(m, x, "ln_1");
    y = weft_multi_head_attention(
        y, y, y, HEADS, &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .name = attention});
    x = weft_add(x, y);
    y = weft_gelu(wi_model_linear(&mlp, wi_model_layer_norm(m, x, "ln_2"), "0", INNER));
    return weft_add(x, wi_model_linear(&mlp, y, "3", WIDTH));
}

weft_tensor *wi_model_vit_b_16(const wi_model *m, weft_tensor *x) {
    const int64_t height = weft_tensor_dimension(x, 2), width = weft_tensor_dimension(x, 3);
    if (height % PATCH || width % PATCH)
        return wi_graph_fail(m->graph, WEFT_ERROR_SHAPE,
            "weft_%s: the image has %" PRId64 " x %" PRId64 " pixels, expected multiples of %d", m->row->name,
            height, width, PATCH);
    const wi_model encoder = wi_model_in(m, "encoder");
    wi_model heads = wi_model_in(m, "heads");
    wi_model_row row = *m->row;
    row.linears = WI_FIRST_ZERO;
    heads.row = &row;
    x = tokens_of(m, x);
    if (!x) return NULL;
    const int64_t table[] = {1, weft_tensor_dimension(x, 1), WIDTH};
    x = weft_add(x, wi_model_parameter(&encoder, "pos_embedding", weft_init_normal(0, 0.02f), 3, table));
    for (int i = 0; i < LAYERS; i++) {
        const wi_model block = wi_model_in(&encoder, "layers.encoder_layer_%d", i);
        x = encoder_block(&block, x);
    }
    x = wi_model_layer_norm(&encoder, x, "ln");
    return x ? wi_model_head(&heads, weft_squeeze(weft_slice(x, 1, 0, 1), 1), 0, "head") : NULL;
}
