#!/usr/bin/env python3
"""Records what PyTorch computes for a small encoder of BERT, with the names of Hugging Face's BertModel.

usage: make_bert_golden.py > bert_golden.json                                    (torch 1.13 or newer, numpy; seconds)

Each case has the tokens, the last hidden states and the pooled output in inference, and, for the loss sum(states * u) +
sum(pooled * v), the norm of every parameter's gradient. Parameters, u ("states") and v ("pooled") are made by the formula
of make_model_golden.py. PyTorch computes in float64. The module gives what transformers.BertModel 5.24 gives.
"""
import json

import torch
import torch.nn as nn

from golden_formula import hashed, rounded, value_of

SIZES = {"layers": 2, "width": 32, "heads": 4, "intermediate": 48, "vocabulary": 40, "positions": 12, "types": 3}
WIDTH, HEADS, LENGTH = SIZES["width"], SIZES["heads"], 7


class Projections(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x, mask):
        q, k, v = (layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None], -torch.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Output(nn.Module):
    """A linear layer, added to x and normalised."""

    def __init__(self, width):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(width, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x, y):
        return self.LayerNorm(x + self.dense(y))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.ModuleDict({"self": Projections(), "output": Output(WIDTH)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, SIZES["intermediate"])})
        self.output = Output(SIZES["intermediate"])

    def forward(self, x, mask):
        x = self.attention["output"](x, self.attention["self"](x, mask))
        return self.output(x, nn.functional.gelu(self.intermediate["dense"](x)))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(SIZES["vocabulary"], WIDTH, padding_idx=0),
            "position_embeddings": nn.Embedding(SIZES["positions"], WIDTH),
            "token_type_embeddings": nn.Embedding(SIZES["types"], WIDTH),
            "LayerNorm": nn.LayerNorm(WIDTH, eps=1e-12)})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(SIZES["layers"]))})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(WIDTH, WIDTH)})

    def forward(self, tokens, types, mask):
        e = self.embeddings
        x = e["word_embeddings"](tokens) + e["position_embeddings"](torch.arange(LENGTH))
        x = e["LayerNorm"](x + e["token_type_embeddings"](torch.zeros_like(tokens) if types is None else types))
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler["dense"](x[:, 0]))


def weights_of(name, values):
    return torch.from_numpy(hashed(name, values.numel())).double().reshape(values.shape)


def case(tokens, types=None, mask=None):
    net = Bert()
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(value_of(name, tuple(p.shape), 0.5))
    net.double()
    states, pooled = net(torch.tensor(tokens), None if types is None else torch.tensor(types),
                         None if mask is None else torch.tensor(mask, dtype=torch.bool))
    ((states * weights_of("states", states)).sum() + (pooled * weights_of("pooled", pooled)).sum()).backward()
    result = {"tokens": sum(tokens, [])}
    if types is not None:
        result["types"] = sum(types, [])
    if mask is not None:
        result["mask"] = sum(mask, [])
    result["states"] = [rounded(x) for x in states.flatten().tolist()]
    result["pooled"] = [rounded(x) for x in pooled.flatten().tolist()]
    result["norms"] = {name: rounded(p.grad.norm().item()) for name, p in net.named_parameters()}
    return result


text = [[1, 17, 4, 39, 22, 8, 2], [1, 30, 5, 2, 0, 0, 0]]
cases = [case(text), case(text, [[0, 0, 0, 1, 1, 1, 2], [0, 0, 1, 1, 0, 0, 0]], [[1] * 7, [1, 1, 1, 1, 0, 0, 0]])]
print('{"sizes": %s, "shift": 0.5, "length": %s, "cases": [' % (json.dumps(SIZES), json.dumps(LENGTH)))
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
