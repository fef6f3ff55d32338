"""Movement, masks and indices. list holds axes, sizes, repeats or pairs of (axis, shift)."""
import torch
import torch.nn.functional as F

from op_recorder import add, flags, given, numbers, whole

add("reshape", lambda x: x.reshape(4, 3), numbers(2, 6), list=[4, 3])
add("permute", lambda x: x.permute(2, 0, 1), numbers(2, 3, 4), list=[2, 0, 1])
add("transpose", lambda x: x.transpose(-2, -1), numbers(2, 3, 4))
add("flatten", lambda x: x.flatten(1), numbers(2, 3, 4))
add("expand", lambda x: x.expand(2, 3, 4), numbers(3, 1), list=[2, 3, 4])
add("slice", lambda x: x[:, 1:-1], numbers(3, 7), axis=1, start=1, end=-1)
add("concat", lambda x, y: torch.cat([x, y], 1), numbers(3, 2), numbers(3, 5), axis=1)
add("cast", lambda x: x.half().double(), numbers(9), list=[])

index = whole(5, 3, 7)
add("gather", lambda x, i: torch.gather(x, 1, i), numbers(3, 5), index, axis=1)
add("gather", lambda x, i: torch.gather(x, 0, i), numbers(5, 9), index, axis=0)
add("index_select", lambda x, i: torch.index_select(x, 1, i), numbers(3, 5, 2), whole(5, 4), axis=1)
add("scatter_add", lambda x, i, s: torch.scatter_add(x, 1, i, s), numbers(3, 5), index, numbers(3, 7), axis=1)
add("scatter_sum", lambda s, i: torch.zeros(3, 5).scatter_add(1, i, s), numbers(3, 7), index, axis=1, start=5)
add("index_add", lambda x, i, s: torch.index_add(x, 0, i, s), numbers(5, 2), whole(5, 9), numbers(9, 2), axis=0)
add("index_copy", lambda x, i, s: torch.index_copy(x, 1, i, s), numbers(2, 6, 3),
    whole(6, 3).map(lambda i: torch.tensor([5, 0, 3])), numbers(2, 3, 3), axis=1)
add("index_sum", lambda s, i: torch.zeros(5, 2).index_add(0, i, s), numbers(9, 2), whole(5, 9), axis=0, start=5)


def scatter_reduced(kind, keep):
    return lambda x, i, s: torch.scatter_reduce(x, 1, i, s, ("sum", "mean", "amax", "amin")[kind], include_self=keep)


def index_reduced(kind, keep):
    return lambda x, i, s: torch.index_reduce(x, 0, i, s, ("sum", "mean", "amax", "amin")[kind], include_self=keep)


def sparse_product(rows, columns, values, dense):
    """torch.sparse.mm, whose numbers and gradients these are; its own second gradient is zero."""
    matrix = torch.zeros(4, dense.shape[0]).index_put((rows, columns), values, accumulate=True)
    return matrix @ dense


tied = [[1.0, 2.0, 2.0, 0.5, 2.0, 1.0]]
for keep in (True, False):
    for kind in range(4):
        add("scatter_reduce", scatter_reduced(kind, keep), numbers(3, 5), index, numbers(3, 7), axis=1, mode=kind,
            keep=keep)
    for kind in (1, 2, 3):
        add("index_reduce", index_reduced(kind, keep), numbers(5, 2), whole(4, 9), numbers(9, 2), axis=0, mode=kind,
            keep=keep)
add("scatter_reduce", scatter_reduced(2, True), given([[2.0, 0.0, 1.0]]), whole(3, 1, 6).map(
    lambda i: torch.tensor([[0, 0, 0, 1, 2, 2]])), given(tied), axis=1, mode=2, keep=True, case="ties")
add("sparse_matmul", sparse_product, whole(4, 9), whole(5, 9), numbers(9), numbers(5, 3), start=4)
add("sparse_rows", lambda starts, columns: torch.repeat_interleave(torch.arange(4), starts.diff()),
    torch.tensor([0, 3, 3, 7, 9]), whole(5, 9))
add("size", lambda x: torch.tensor(x.shape[1]), numbers(2, 5), axis=1)
add("flatten_axes", lambda x: x.flatten(1, 2), numbers(2, 3, 2, 2), list=[1, 2])
add("squeeze", lambda x: x.squeeze(0).squeeze(1), numbers(1, 3, 1, 2), list=[0, 2])
add("unsqueeze", lambda x: x.unsqueeze(1), numbers(3, 2), axis=1)
add("swap_axes", lambda x: x.swapaxes(0, 2), numbers(2, 3, 4), list=[0, 2])
add("move_axis", lambda x: x.movedim(0, 2), numbers(2, 3, 4), list=[0, 2])
add("channels_last", lambda x: x.permute(0, 2, 3, 1), numbers(2, 3, 2, 2))
add("channels_first", lambda x: x.permute(0, 3, 1, 2), numbers(2, 3, 2, 2))
add("stack", lambda x, y: torch.stack([x, y], 1), numbers(3, 2), numbers(3, 2), axis=1)
add("slice_step", lambda x: x[:, 1:9:3], numbers(2, 10), axis=1, start=1, end=9, list=[3])
add("split", lambda x: torch.chunk(x, 3, 1)[1], numbers(2, 6), axis=1, list=[3])
add("split_sizes", lambda x: torch.split(x, [1, 3, 2], 1)[1], numbers(2, 6), axis=1, list=[1, 3, 2])
add("flip", lambda x: x.flip(0, 2), numbers(2, 3, 4), list=[0, 2])
add("diagonal", lambda x: x.diagonal(1, 0, 2), numbers(4, 2, 5), start=1, list=[0, 2])
add("diagonal", lambda x: x.diagonal(-2), numbers(4, 3), start=-2, list=[0, 1])
add("unfold", lambda x: x.unfold(1, 3, 2), numbers(2, 9, 2), axis=1, list=[3, 2])
add("unfold", lambda x: x.unfold(0, 5, 1), numbers(8), axis=0, list=[5, 1])
for mode, name, value in [("constant", 0, 1.5), ("reflect", 1, 0), ("replicate", 2, 0), ("circular", 3, 0)]:
    add("pad", lambda x: F.pad(x, (2, 1, 1, 2), mode, value), numbers(1, 2, 3, 4), mode=name, value=value,
        list=[0, 0, 1, 2, 0, 0, 2, 1])
add("roll", lambda x: x.roll((2, -1), (1, 0)), numbers(3, 5), list=[1, 2, 0, -1])
add("tile", lambda x: x.tile(2, 1, 3), numbers(2, 3), list=[2, 1, 3])
for diagonal in (-1, 0, 2):
    add("tril", lambda x: x.tril(diagonal), numbers(2, 3, 5), start=diagonal)
    add("triu", lambda x: x.triu(diagonal), numbers(2, 5, 3), start=diagonal)
add("masked_fill", lambda x, mask: x.masked_fill(mask, -3), numbers(3, 4), flags(4), start=-3)
add("one_hot", lambda labels: F.one_hot(labels, 5), whole(5, 2, 3), start=5)
add("arange", lambda: torch.arange(-2.0, 9.0, 3.0), start=-2, end=9, list=[3])
add("full", lambda: torch.full((2, 3), 7.0), start=7, list=[2, 3])
add("eye", lambda: torch.eye(3, 4), list=[3, 4])

