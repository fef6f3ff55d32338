"""Exports small networks with random weights by PyTorch's two exporters, as cases for test_onnx.

    python3 tests/onnx/export_networks.py FOLDER [PATTERN...]
    WEFT_ONNX_ROOT=FOLDER/ build/release/tests/test_onnx
    WEFT_ONNX_ROOT=FOLDER/ WEFT_ONNX_OPEN=1 WEFT_ONNX_CASES='*_open' build/release/tests/test_onnx

Each case has the file, its inputs, and the outputs that PyTorch computes. It needs torch, onnx and onnxscript.
"""
import fnmatch
import os
import shutil
import sys
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F
from torch import nn


def conv(c_in, c_out, size=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(c_in, c_out, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(c_out)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    """The basic block of a ResNet."""

    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.body = nn.Sequential(conv(c_in, c_out, 3, stride), conv(c_out, c_out, act=None))
        self.skip = nn.Identity() if stride == 1 and c_in == c_out else conv(c_in, c_out, 1, stride, act=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet():
    blocks = [Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
    return nn.Sequential(conv(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks, *head)


class UNet(nn.Module):
    def __init__(self, learned):
        super().__init__()
        self.down1, self.down2, self.middle = conv(3, 8), conv(8, 16), conv(16, 16)
        up = nn.ConvTranspose2d(16, 16, 2, 2) if learned else nn.Upsample(scale_factor=2, mode="bilinear")
        self.up, self.up1, self.head = up, conv(32, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        one = self.down1(x)
        two = self.down2(F.max_pool2d(one, 2))
        three = self.middle(F.avg_pool2d(two, 2))
        y = torch.cat([self.up(three), two], 1)
        y = F.interpolate(self.up1(y), size=x.shape[2:], mode="nearest")
        return self.head(y + one)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depth, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(F.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext():
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), ConvNeXtBlock(16), ConvNeXtBlock(16), nn.Conv2d(16, 32, 2, 2),
                         ConvNeXtBlock(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 5))


class InvertedResidual(nn.Module):
    """MobileNet's block; with squeeze that of EfficientNet."""

    def __init__(self, c_in, c_out, stride, act, squeeze):
        super().__init__()
        wide = 3 * c_in
        self.expand, self.depth = conv(c_in, wide, 1, act=act), conv(wide, wide, 5, stride, wide, act)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 4, 1), nn.SiLU(), nn.Conv2d(4, wide, 1),
                                  nn.Sigmoid()) if squeeze else None
        self.project, self.same = conv(wide, c_out, 1, act=None), stride == 1 and c_in == c_out

    def forward(self, x):
        y = self.depth(self.expand(x))
        y = self.project(y * self.gate(y) if self.gate else y)
        return x + y if self.same else y


def mobile(act, squeeze):
    blocks = [InvertedResidual(8, 8, 1, act, squeeze), InvertedResidual(8, 12, 2, act, squeeze)]
    return nn.Sequential(conv(3, 8, 3, 2, act=act), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(12, 10))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 24, 8, 8), nn.Parameter(torch.randn(1, 1, 24))
        self.place = nn.Parameter(torch.randn(1, 17, 24))
        layer = nn.TransformerEncoderLayer(24, 4, 48, activation="gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(24), nn.Linear(24, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.norm(self.body(x))[:, 0])


class GPTBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.body, self.norm = nn.Sequential(GPTBlock(32, 4), GPTBlock(32, 4)), nn.LayerNorm(32)
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.body(self.words(tokens) + self.places(places))))


class Llama(nn.Module):
    """RMS norms, rotary embeddings, grouped heads and gated layers."""

    def __init__(self):
        super().__init__()
        self.words, self.scale1, self.scale2 = nn.Embedding(50, 32), nn.Parameter(torch.ones(32)), nn.Parameter(torch.ones(32))
        self.q, self.kv, self.out = nn.Linear(32, 32, bias=False), nn.Linear(32, 32, bias=False), nn.Linear(32, 32, bias=False)
        self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)
        angle = torch.outer(torch.arange(16.0), 1e4 ** (-torch.arange(0, 8, 2) / 8))
        self.register_buffer("cosine", angle.cos().repeat(1, 2))
        self.register_buffer("sine", angle.sin().repeat(1, 2))

    def norm(self, x, scale):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * scale

    def turn(self, x):
        a, b = x.chunk(2, -1)
        length = x.shape[2]
        return x * self.cosine[:length] + torch.cat([-b, a], -1) * self.sine[:length]

    def forward(self, tokens):
        x = self.words(tokens)
        n, length, _ = x.shape
        y = self.norm(x, self.scale1)
        q = self.turn(self.q(y).view(n, length, 4, 8).transpose(1, 2))
        k, v = self.kv(y).view(n, length, 2, 2, 8).permute(3, 0, 2, 1, 4)
        k, v = self.turn(k).repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        mask = torch.full((length, length), -1e9).triu(1)
        p = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + mask, -1)
        x = x + self.out((p @ v).transpose(1, 2).reshape(n, length, 32))
        y = self.norm(x, self.scale2)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(50, 24), nn.Parameter(torch.randn(12, 24)), nn.LayerNorm(24)
        layer = nn.TransformerEncoderLayer(24, 3, 48, activation="gelu", batch_first=True)
        self.body, self.pool = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(24, 24)

    def forward(self, tokens, mask):
        x = self.norm(self.words(tokens) + self.places[: tokens.shape[1]])
        hidden = (1.0 - mask.float())[:, None, None, :] * -1e4
        hidden = hidden.expand(-1, 3, tokens.shape[1], -1).reshape(-1, tokens.shape[1], tokens.shape[1])
        y = self.body(x, mask=hidden)
        return y, torch.tanh(self.pool(y[:, 0]))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.words, self.scan = nn.Embedding(30, 12), kind(12, 16, **options)
        self.head = nn.Linear(32 if options.get("bidirectional") else 16, 5)

    def forward(self, tokens):
        return self.head(self.scan(self.words(tokens))[0])


class Causal(nn.Module):
    """A temporal convolution."""

    def __init__(self, c_in, c_out, dilation):
        super().__init__()
        self.conv, self.pad = nn.Conv1d(c_in, c_out, 3, dilation=dilation), 2 * dilation
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x):
        return F.relu(self.conv(F.pad(x, (self.pad, 0))) + self.skip(x))


def tcn():
    return nn.Sequential(Causal(4, 8, 1), Causal(8, 8, 2), Causal(8, 8, 4), nn.Conv1d(8, 3, 1))


def dcgan():
    def up(c_in, c_out):
        return [nn.ConvTranspose2d(c_in, c_out, 4, 2, 1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU()]
    return nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 1, 0), nn.ReLU(), *up(32, 16), *up(16, 8),
                         nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())


def critic():
    return nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1), nn.InstanceNorm2d(16, affine=True),
                         nn.LeakyReLU(0.2), nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.PReLU(16), nn.Conv2d(16, 1, 8))


class Styles(nn.Module):
    """Padding modes, shuffled pixels, resampling by a grid, and pooling of several kinds."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 16, 3, padding=1, padding_mode="reflect"), nn.Conv2d(4, 3, 3, padding=1)

    def forward(self, x, theta):
        y = F.pixel_shuffle(F.hardswish(self.first(x)), 2)
        y = F.grid_sample(y, F.affine_grid(theta, y.shape, align_corners=False), align_corners=False)
        y = F.interpolate(self.last(y), scale_factor=0.5, mode="bicubic")
        return y, F.adaptive_max_pool2d(y, 4), F.normalize(y.mean((2, 3)), dim=1), torch.einsum("nchw,ndhw->ncd", y, y)


def tokens(length=12, most=30):
    return torch.randint(0, most, (2, length))


IMAGE = torch.randn(2, 3, 32, 32)
# Each has the axes that stay open in a second file: of the first input, and of the others.
NETWORKS = {
    "resnet": (resnet, (IMAGE,), {0: "batch"}),
    "unet_learned": (lambda: UNet(True), (IMAGE,), {0: "batch"}),
    "unet_bilinear": (lambda: UNet(False), (IMAGE,), {0: "batch"}),
    "convnext": (convnext, (IMAGE,), {0: "batch"}),
    "mobilenet": (lambda: mobile(nn.ReLU6, False), (IMAGE,), {0: "batch"}),
    "mobilenet3": (lambda: mobile(nn.Hardswish, True), (IMAGE,), {0: "batch"}),
    "efficientnet": (lambda: mobile(nn.SiLU, True), (IMAGE,), {0: "batch"}),
    "vit": (ViT, (IMAGE,), {0: "batch"}),
    "gpt": (GPT, (tokens(),), {0: "batch", 1: "length"}),
    "llama": (Llama, (tokens(),), {0: "batch", 1: "length"}),
    "bert": (Bert, (tokens(), torch.tensor([[1] * 12, [1] * 7 + [0] * 5])), {0: "batch"}),
    "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2, batch_first=True), (tokens(),), {0: "batch", 1: "length"}),
    "bilstm": (lambda: Recurrent(nn.LSTM, bidirectional=True, batch_first=True), (tokens(),), {0: "batch"}),
    "gru": (lambda: Recurrent(nn.GRU, batch_first=True), (tokens(),), {0: "batch", 1: "length"}),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), (tokens(),), {1: "batch"}),
    "tcn": (tcn, (torch.randn(2, 4, 40),), {0: "batch", 2: "length"}),
    "dcgan": (dcgan, (torch.randn(2, 16, 1, 1),), {0: "batch"}),
    "critic": (critic, (IMAGE,), {0: "batch"}),
    "styles": (Styles, (torch.randn(2, 3, 8, 8), torch.randn(2, 2, 3) * 0.3), {0: "batch"}),
}


def liven(network):
    """Norms begin with weights of 1 and statistics of 0, which would hide errors."""
    for module in network.modules():
        for name in ("weight", "bias", "running_mean", "running_var"):
            value = getattr(module, name, None)
            if isinstance(value, torch.Tensor) and "Norm" in type(module).__name__:
                value.data = torch.rand_like(value) + 0.5


def export(path, network, inputs, dynamo, axes):
    names = [f"input{i}" for i in range(len(inputs))]
    options = {"input_names": names, "dynamo": dynamo}
    if axes and dynamo:
        open_axes = {axis: torch.export.Dim.DYNAMIC for axis in axes}
        options["dynamic_shapes"] = tuple({k: v for k, v in open_axes.items() if k < x.dim()} for x in inputs)
    elif axes:
        options["dynamic_axes"] = {name: axes for name in names}
    if not dynamo:
        options["opset_version"] = 20 if axes else 17
    torch.onnx.export(network, inputs, path, **options)


def of_other_sizes(inputs, axes):
    """One example more, and a quarter of the length less, than the network was exported with."""
    for axis, name in axes.items():
        has_axis = [x.dim() > axis for x in inputs]
        if name == "batch":
            inputs = [torch.cat([x, x.narrow(axis, 0, 1)], axis) if has else x for x, has in zip(inputs, has_axis)]
        else:
            inputs = [x.narrow(axis, 0, x.shape[axis] * 3 // 4) if has else x for x, has in zip(inputs, has_axis)]
    return tuple(x.contiguous() for x in inputs)


def write(folder, kind, tensors):
    for i, tensor in enumerate(tensors):
        stored = onnx.numpy_helper.from_array(tensor.detach().numpy(), f"{kind}{i}")
        with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as file:
            file.write(stored.SerializeToString())


def folder_of(root, name, dynamo, axes):
    return os.path.join(root, "node", f"test_{name}_{'dynamo' if dynamo else 'trace'}{'_open' if axes else ''}")


def write_case(root, name, network, inputs, dynamo, axes):
    folder = folder_of(root, name, dynamo, axes)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    export(os.path.join(folder, "model.onnx"), network, inputs, dynamo, axes)
    inputs = of_other_sizes(inputs, axes or {})
    outputs = network(*inputs)
    write(data, "input", inputs)
    write(data, "output", outputs if isinstance(outputs, tuple) else (outputs,))


def main():
    root, patterns = sys.argv[1], sys.argv[2:] or ["*"]
    warnings.simplefilter("ignore")
    for name, (create, inputs, axes) in NETWORKS.items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        torch.manual_seed(1)
        network = create().eval()
        liven(network)
        for dynamo in (False, True):
            for open_axes in (None, axes):
                try:
                    write_case(root, name, network, inputs, dynamo, open_axes)
                except Exception as error:
                    shutil.rmtree(folder_of(root, name, dynamo, open_axes))
                    print(f"{name}: PyTorch does not export it (dynamo={dynamo}): {str(error).strip().splitlines()[-1][:150]}")


if __name__ == "__main__":
    main()
