"""Matrix products and attention."""
import torch
import torch.nn.functional as F

from op_recorder import add, numbers

add("matmul", torch.matmul, numbers(3, 5), numbers(5, 4))
add("matmul", torch.matmul, numbers(2, 1, 3, 5), numbers(3, 5, 4))
add("linear_with", F.linear, numbers(3, 5), numbers(4, 5), numbers(4))
add("outer", torch.outer, numbers(3), numbers(4))
add("dot", torch.dot, numbers(5), numbers(5))
add("mv", torch.mv, numbers(3, 4), numbers(4))
add("bilinear_with", F.bilinear, numbers(3, 2), numbers(3, 4), numbers(5, 2, 4), numbers(5))
for equation, a, b in [("bij,bjk->bik", (2, 3, 4), (2, 4, 2)), ("zj,ja", (2, 3), (3, 4)), ("bj,jB", (2, 3), (3, 4)),
                       ("...ij,jk", (2, 2, 3), (3, 2)), ("...ij,jk->ik", (2, 2, 3), (3, 2)),
                       ("...i,...i->i...", (2, 1, 3), (4, 3)), ("ij,jk->ik", (1, 3), (3, 4)), ("ii,ij", (3, 3), (3, 2)),
                       ("bqhd,bkhd->bhqk", (2, 3, 2, 2), (2, 2, 2, 2))]:
    add("einsum", lambda x, y: torch.einsum(equation, x, y), numbers(*a), numbers(*b), equation=equation)
for equation, shape in [("ii", (4, 4)), ("iij->ji", (3, 3, 2)), ("ba", (2, 3)), ("...ij->...ji", (2, 3, 4))]:
    add("einsum", lambda x: torch.einsum(equation, x), numbers(*shape), equation=equation)


def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


add("attention", attention, numbers(2, 3, 5), numbers(2, 4, 5), numbers(2, 4, 3))
add("attention", lambda q, k, v: attention(q, k, v, causal=True), numbers(2, 7, 4), numbers(2, 7, 4), numbers(2, 7, 4),
    causal=True)
add("attention", attention, numbers(2, 4, 5), numbers(2, 3, 5), numbers(2, 3, 4),
    torch.tensor([[True, False, True]] * 3 + [[True, True, True]]))

