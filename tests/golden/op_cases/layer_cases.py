"""Normalization, embedding and recurrent layers."""
import torch
import torch.nn.functional as F

from op_recorder import add, numbers, whole

def rms_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


add("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), numbers(2, 3, 4, 5), numbers(3),
    numbers(3))
add("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), numbers(7, 3))
add("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), numbers(2, 3, 4, 5), numbers(3), numbers(3))
for shape, groups in [((2, 6, 3, 2), 3), ((3, 6), 2)]:
    add("group_norm", lambda x, w, b: F.group_norm(x, groups, w, b), numbers(*shape), numbers(6), numbers(6),
        start=groups)
add("layer_norm", lambda x, w, b: F.layer_norm(x, (5,), w, b), numbers(3, 5), numbers(5), numbers(5), start=1)
add("layer_norm", lambda x, w, b: F.layer_norm(x, (2, 5), w, b), numbers(3, 2, 5), numbers(2, 5), numbers(2, 5), start=2)
add("rms_norm", rms_norm, numbers(3, 5), numbers(5), start=1)
# Embedding: repeated tokens, and a padding index among them.
add("embedding", lambda t, i: F.embedding(i, t), numbers(7, 5), whole(7, 3, 6))
add("embedding", lambda t, i: F.embedding(i, t, padding_idx=2), numbers(4, 20), whole(4, 2, 9), padding=2)
# Bags of the same size, and bags that begin at offsets, of which one is empty; modes as in weft_bag_mode.
for mode, name in enumerate(["mean", "sum", "max"]):
    add("embedding_bag_with", lambda t, i: F.embedding_bag(i, t, mode=name), numbers(7, 5), whole(7, 3, 6), mode=mode)
    add("embedding_bag_with", lambda t, i: F.embedding_bag(i, t, mode=name, padding_idx=2), numbers(4, 20),
        whole(4, 2, 9), mode=mode, padding=2)
    add("embedding_bag_with", lambda t, i, o: F.embedding_bag(i, t, o, mode=name, padding_idx=1), numbers(6, 4),
        whole(6, 11), whole(1, 4).map(lambda o: torch.tensor([0, 5, 5, 8])), mode=mode, padding=1, offsets=1)
add("embedding_bag_with", lambda t, i, w: F.embedding_bag(i, t, mode="sum", per_sample_weights=w), numbers(7, 5),
    whole(7, 3, 6), numbers(3, 6), mode=1)
add("embedding_bag_with", lambda t, i, o, w: F.embedding_bag(i, t, o, mode="sum", per_sample_weights=w),
    numbers(6, 4), whole(6, 11), whole(1, 4).map(lambda o: torch.tensor([0, 5, 5, 8])), numbers(11), mode=1, offsets=1)
# Recurrent: y, the last h and the last c side by side.
def side_by_side(*parts):
    return torch.cat([part.transpose(0, 1).flatten(1) if i and part.dim() == 3 else part.flatten(1)
                      for i, part in enumerate(parts)], 1)


def add_recurrent(gates, sequence, cell, batch=3, steps=4, inputs=5, units=6):
    weights = [numbers(*shape, low=-0.8, high=0.8)
               for shape in ((gates * units, inputs), (gates * units, units), (gates * units,), (gates * units,))]
    states = [numbers(batch, units, low=-1, high=1) for _ in range(2 if gates == 4 else 1)]

    def given(h):
        return h if len(h) == 2 else h[0]

    def run(x, *rest):
        first = [s.unsqueeze(0) for s in rest[4:]]
        return side_by_side(*getattr(torch, sequence)(x, given(first), rest[:4], True, 1, 0.0, False, False, True))

    def step(x, *rest):
        result = getattr(torch, cell)(x, given(rest[4:]), *rest[:4])
        return torch.cat(result, 1) if gates == 4 else result

    add(sequence.split("_")[0], run, numbers(batch, steps, inputs), *weights, *states)
    add(sequence.split("_")[0] + "_cell", step, numbers(batch, inputs), *weights, *states)


add_recurrent(4, "lstm", "lstm_cell")
add_recurrent(3, "gru", "gru_cell")
add_recurrent(1, "rnn_tanh", "rnn_tanh_cell")

