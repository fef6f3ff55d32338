#!/usr/bin/env python3
"""Writes attention_golden.json: torch.nn.MultiheadAttention with its parameters, and their gradients.

Each case: heads, the inputs, the parameters by name, the output, and the gradients of sum(output * weights) with regard
to all parameters and to the query. Inputs depend on the case's name only, and PyTorch computes in float64 (op_recorder.py
says why). Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_attention_golden.py > tests/golden/attention_golden.json
"""
import json
import random

import torch

from op_recorder import flat, numbers


def as_json(tensor):
    return {"dims": list(tensor.shape), "data": flat(tensor)}


def case(name, width, heads, lq, lk=None, kdim=None, vdim=None, bias=True, causal=False, padding=None):
    layer = torch.nn.MultiheadAttention(width, heads, bias=bias, kdim=kdim, vdim=vdim, batch_first=True)
    r = random.Random(f"attention layer {name}")
    for parameter in layer.parameters():  # biases begin as zero, which would prove nothing
        parameter.data = numbers(*parameter.shape, low=-0.6, high=0.6).draw(r).detach()
    query = numbers(2, lq, width).draw(r)
    key = query if lk is None else numbers(2, lk, kdim or width).draw(r).detach()
    value = query if lk is None else numbers(2, lk, vdim or width).draw(r).detach()
    ignored = None if padding is None else torch.tensor(padding)
    mask = torch.ones(lq, lq, dtype=torch.bool).triu(1) if causal else None
    output, _ = layer(query, key, value, key_padding_mask=ignored, attn_mask=mask)
    weights = numbers(*output.shape, low=-1, high=1).draw(r).detach()
    names = [n for n, _ in layer.named_parameters()]
    gradients = torch.autograd.grad((output * weights).sum(), [query, *layer.parameters()])
    result = {"name": name, "heads": heads, "causal": causal, "bias": bias, "query": as_json(query)}
    if lk is not None:
        result.update(key=as_json(key), value=as_json(value))
    if ignored is not None:
        result["key_mask"] = as_json((~ignored).double())
    result.update(output=as_json(output), weights=as_json(weights), query_gradient=as_json(gradients[0]))
    result["parameters"] = [{"name": n, **as_json(p), "gradient": as_json(g)["data"]}
                            for n, p, g in zip(names, layer.parameters(), gradients[1:])]
    return result


cases = [case("self", 6, 2, 5), case("self, causal, no bias", 4, 4, 3, bias=False, causal=True),
         case("cross", 6, 3, 3, lk=4, padding=[[False, True, False, False], [False, False, False, True]]),
         case("other widths", 4, 2, 3, lk=5, kdim=3, vdim=5)]
print('{"cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
