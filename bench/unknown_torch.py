#!/usr/bin/env python3
"""Networks that Weft has not been tuned on: exports them from PyTorch to ONNX, and measures their training steps there.

usage: unknown_torch.py [--set seen|kept|all] [--only NAME]... --export FOLDER | --list
       unknown_torch.py --only NAME [--steps N] [--threads N] [--bf16] [--channels-last]

With --export, writes FOLDER/NAME.onnx (opset 17, fixed sizes, random weights, in training mode) for each network. Otherwise measures one
network, prints the line that `weft bench seven --compare` reads, and takes the faster of the two memory orders for networks of images.

A step = forward + backward + plain SGD update, and the loss is the mean of the squared outputs, as `weft bench seven --only FILE.onnx`
computes it. Half of the networks ("kept") serve to judge a change at the end, and not to find one. It needs torch, torchvision and onnx.
"""
import argparse
import os
import statistics
import time
import warnings

import torch
import torch.nn.functional as F
import torchvision.models as tv
from torch import nn


# ---- networks of plain torch.nn ----

class Block(nn.Module):
    """Of a transformer, with its norms in front."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, words=8192, width=384, layers=6, length=256):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.Sequential(*[Block(width, 6, True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places)))


class ViT(nn.Module):
    def __init__(self, width=384, layers=12, patch=16, size=224):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*[Block(width, 6, False) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class Encoder(nn.Module):
    """torch.nn's own encoder layers over words."""

    def __init__(self, words=8192, width=256, layers=6, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(0.02 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.layers(self.words(x) + self.places))


class Residual(nn.Module):
    """Of a U-Net as diffusion models have it: norm, activation, convolution, twice."""

    def __init__(self, c_in, c_out, groups=8):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(groups, c_in), nn.Conv2d(c_in, c_out, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(groups, c_out), nn.Conv2d(c_out, c_out, 3, padding=1)
        self.skip = nn.Identity() if c_in == c_out else nn.Conv2d(c_in, c_out, 1)

    def forward(self, x):
        return self.skip(x) + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))))))


class UNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.begin = nn.Conv2d(3, width, 3, padding=1)
        self.down1, self.down2, self.down3 = Residual(width, width), Residual(width, 2 * width), Residual(2 * width, 4 * width)
        self.middle = Residual(4 * width, 4 * width)
        self.up2, self.up1 = Residual(6 * width, 2 * width), Residual(3 * width, width)
        self.end = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        one = self.down1(self.begin(x))
        two = self.down2(F.avg_pool2d(one, 2))
        three = self.middle(self.down3(F.avg_pool2d(two, 2)))
        y = self.up2(torch.cat([F.interpolate(three, scale_factor=2), two], 1))
        y = self.up1(torch.cat([F.interpolate(y, scale_factor=2), one], 1))
        return self.end(y)


class NextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-2))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


def convnext(depths=(2, 2, 4, 2), widths=(64, 128, 256, 512)):
    layers = [nn.Conv2d(3, widths[0], 4, 4)]
    for i, (depth, width) in enumerate(zip(depths, widths)):
        if i:
            layers += [nn.BatchNorm2d(widths[i - 1]), nn.Conv2d(widths[i - 1], width, 2, 2)]
        layers += [NextBlock(width) for _ in range(depth)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 1000))


class Mixer(nn.Module):
    """MLP-Mixer: linear layers along the tokens and along the channels in turn."""

    def __init__(self, width=256, layers=8, patch=16, size=224):
        super().__init__()
        tokens = (size // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2 * layers)])
        self.along_tokens = nn.ModuleList(
            [nn.Sequential(nn.Linear(tokens, 128), nn.GELU(), nn.Linear(128, tokens)) for _ in range(layers)])
        self.along_channels = nn.ModuleList(
            [nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers)])
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for i, (tokens, channels) in enumerate(zip(self.along_tokens, self.along_channels)):
            x = x + tokens(self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + channels(self.norms[2 * i + 1](x))
        return self.head(x.mean(1))


class TCN(nn.Module):
    def __init__(self, width=64, layers=8):
        super().__init__()
        self.begin, self.end = nn.Conv1d(16, width, 1), nn.Conv1d(width, 16, 1)
        self.convs = nn.ModuleList([nn.Conv1d(width, width, 3, dilation=2**i) for i in range(layers)])

    def forward(self, x):
        x = self.begin(x)
        for i, conv in enumerate(self.convs):
            x = x + F.relu(conv(F.pad(x, (2 * 2**i, 0))))
        return self.end(x)


class GRU(nn.Module):
    def __init__(self, words=4096, width=128):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(2 * width, 20)
        self.gru = nn.GRU(width, width, 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.head(self.gru(self.words(x))[0])


def dcgan(width=64):
    layers, c_in = [], 100
    for c_out, stride, pad in ((8 * width, 1, 0), (4 * width, 2, 1), (2 * width, 2, 1), (width, 2, 1)):
        layers += [nn.ConvTranspose2d(c_in, c_out, 4, stride, pad, bias=False), nn.BatchNorm2d(c_out), nn.ReLU()]
        c_in = c_out
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())


def tabular():
    layers = [nn.Linear(40, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(256, 10))


class Perceiver(nn.Module):
    """Queries that are learned read a long sequence, with attention written by parts."""

    def __init__(self, width=256, queries=64, layers=4, heads=8):
        super().__init__()
        self.heads, self.begin = heads, nn.Linear(32, width)
        self.queries = nn.Parameter(0.02 * torch.randn(queries, width))
        self.q, self.k, self.v, self.out = (nn.ModuleList([nn.Linear(width, width) for _ in range(layers)]) for _ in range(4))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(layers)])
        self.ups = nn.ModuleList([nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width))
                                  for _ in range(layers)])
        self.head = nn.Linear(width, 10)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        x = self.begin(x)
        y = self.queries.expand(x.shape[0], -1, -1)
        for q, k, v, out, norm, up in zip(self.q, self.k, self.v, self.out, self.norms, self.ups):
            scores = self.split(q(y)) @ self.split(k(x)).transpose(-1, -2) / 32**0.5
            y = y + out((scores.softmax(-1) @ self.split(v(x))).transpose(1, 2).flatten(2))
            y = y + up(norm(y))
        return self.head(y.mean(1))


class Axes(nn.Module):
    """A grid of cells: gated linear layers along the rows, the columns and the channels in turn, with RMS norms over channels."""

    def __init__(self, side=24, width=64, layers=3):
        super().__init__()
        self.begin = nn.Linear(8, width)
        self.mixes = nn.ModuleList([nn.ModuleList([nn.Linear(n, 2 * n) for n in (side, side, width)]) for _ in range(layers)])
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(width)) for _ in range(3 * layers)])
        self.head = nn.Linear(width, 8)

    def forward(self, x):
        x, k = self.begin(x), 0
        for mixes in self.mixes:
            for axis, mix in enumerate(mixes, 1):
                y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scales[k]
                x, k = x + F.glu(mix(y.transpose(axis, -1))).transpose(axis, -1), k + 1
        return self.head(x)


class Sets(nn.Module):
    """Small sets: products of each set with itself, small attention, second moments."""

    def __init__(self, width=16, layers=3):
        super().__init__()
        self.begin = nn.Linear(6, width)
        self.q, self.k, self.v = (nn.ModuleList([nn.Linear(width, width) for _ in range(layers)]) for _ in range(3))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(layers)])
        self.mid, self.head = nn.Linear(width * width, 64), nn.Linear(64, 4)

    def forward(self, x):
        x = torch.tanh(self.begin(x))
        for q, k, v, norm in zip(self.q, self.k, self.v, self.norms):
            y = norm(x)
            scores = torch.tanh(q(y) @ k(y).transpose(1, 2) / 4)
            x = x + scores @ v(y)
        moments = x.transpose(1, 2) @ x / x.shape[1]
        return self.head(F.softplus(self.mid(moments.flatten(1))))


class Wide(nn.Module):
    """Rows of many numbers: standardised, compressed, and compared with prototypes; a distribution over many places."""

    def __init__(self, length=20000, hidden=64, prototypes=512):
        super().__init__()
        self.down, self.up = nn.Linear(length, hidden), nn.Linear(hidden, length)
        self.prototypes = nn.Parameter(torch.randn(prototypes, hidden))
        self.scale = nn.Parameter(torch.ones(length))

    def forward(self, x):
        x = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt() * self.scale
        h = F.elu(self.down(x))
        near = F.softmax(F.normalize(h, dim=1) @ F.normalize(self.prototypes, dim=1).t(), 1) @ self.prototypes
        p = torch.log_softmax(self.up(h + near), 1)
        return p * p.exp() + torch.logsumexp(x, 1, keepdim=True)


class Volume(nn.Module):
    """Frames: 3-d convolutions with group norms, then 1-d ones along time, depthwise and dilated, with gates."""

    def __init__(self, width=24):
        super().__init__()
        self.one, self.two = nn.Conv3d(2, width, 3, padding=1), nn.Conv3d(width, 2 * width, 3, stride=(1, 2, 2), padding=1)
        self.three = nn.Conv3d(2 * width, 2 * width, (3, 1, 1), padding=(1, 0, 0))
        self.norms = nn.ModuleList([nn.GroupNorm(4, width), nn.GroupNorm(4, 2 * width), nn.GroupNorm(4, 2 * width)])
        self.gates = nn.ModuleList([nn.Conv1d(2 * width, 4 * width, 1) for _ in range(3)])
        self.along = nn.ModuleList(
            [nn.Conv1d(2 * width, 2 * width, 5, padding=2 * 2**i, dilation=2**i, groups=2 * width) for i in range(3)])
        self.head = nn.Linear(2 * width, 12)

    def forward(self, x):
        x = F.max_pool3d(F.silu(self.norms[0](self.one(x))), (1, 2, 2))
        x = F.silu(self.norms[1](self.two(x)))
        x = F.silu(self.norms[2](self.three(x))).mean((3, 4))
        for gate, along in zip(self.gates, self.along):
            x = x + F.glu(gate(along(x)), 1)
        return self.head(x.mean(2))


class Tables(nn.Module):
    """Fields of words from large tables, their pairwise products, and gated layers."""

    def __init__(self, words=100000, fields=12, width=32):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(words, width) for _ in range(3)])
        n = 3 * fields // 3
        self.bottom = nn.Linear(n * width, 256)
        self.gate, self.value, self.out = nn.Linear(256 + n * n, 512), nn.Linear(256 + n * n, 512), nn.Linear(512, 256)
        self.head = nn.Linear(256, 1)

    def forward(self, x):
        rows = torch.cat([table(part) for table, part in zip(self.tables, x.chunk(3, 1))], 1)
        pairs = (rows @ rows.transpose(1, 2)).flatten(1)
        x = torch.cat([F.relu(self.bottom(rows.flatten(1))), pairs], 1)
        return self.head(self.out(F.silu(self.gate(x)) * self.value(x)))


# Name: the batch, the network, the shape of an example, and the number of words if it reads words. The first half is "seen".
SEEN = {
    "gpt": (4, GPT, (256,), 8192),
    "vit": (8, ViT, (3, 224, 224), 0),
    "unet": (4, UNet, (3, 128, 128), 0),
    "convnext": (8, convnext, (3, 128, 128), 0),
    "mixer": (8, Mixer, (3, 224, 224), 0),
    "dcgan": (16, dcgan, (100, 1, 1), 0),
    "tabular": (256, tabular, (40,), 0),
    "resnet18": (16, tv.resnet18, (3, 224, 224), 0),
    "axes": (16, Axes, (24, 24, 8), 0),
    "sets": (512, Sets, (24, 6), 0),
    "mobilenet_v3": (16, tv.mobilenet_v3_large, (3, 224, 224), 0),
}
KEPT = {
    "encoder": (8, Encoder, (128,), 8192),
    "perceiver": (8, Perceiver, (1024, 32), 0),
    "tcn": (16, TCN, (16, 1024), 0),
    "gru": (32, GRU, (64,), 4096),
    "wide": (64, Wide, (20000,), 0),
    "volume": (4, Volume, (2, 12, 48, 48), 0),
    "tables": (512, Tables, (12,), 100000),
    "efficientnet": (8, tv.efficientnet_b0, (3, 224, 224), 0),
    "densenet": (8, tv.densenet121, (3, 224, 224), 0),
    "shufflenet": (16, tv.shufflenet_v2_x1_0, (3, 224, 224), 0),
    "squeezenet": (16, tv.squeezenet1_1, (3, 224, 224), 0),
    "resnext": (4, tv.resnext50_32x4d, (3, 224, 224), 0),
    "swin": (4, tv.swin_t, (3, 224, 224), 0),
}
NETS = {**SEEN, **KEPT}


def create(name):
    """The network, and a batch of random inputs."""
    batch, make, shape, words = NETS[name]
    torch.manual_seed(1)
    x = torch.randint(words, (batch, *shape)) if words else torch.randn(batch, *shape)
    return make(), x


def without_chance(network):
    """Without dropout and stochastic depth: the file and PyTorch then compute alike."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif type(module).__name__ == "StochasticDepth":
            module.eval()
    return network


def export(name, folder):
    network, x = create(name)
    warnings.simplefilter("ignore")
    torch.onnx.export(without_chance(network), (x,), os.path.join(folder, name + ".onnx"), opset_version=17, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=["x"], output_names=["y"])


def step_of(name, channels_last, bf16):
    """A function that does one training step."""
    network, x = create(name)
    network = without_chance(network.train())
    if channels_last:
        network, x = network.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            y = network(x)
        y.float().square().mean().backward()
        optimizer.step()

    return step


def time_steps(step, steps):
    times = []
    for i in range(steps + 2):
        begin = time.perf_counter()
        step()
        if i >= 2:
            times.append(1e3 * (time.perf_counter() - begin))
    return times


def measure(name, options):
    orders = [False, True] if len(NETS[name][2]) == 3 else [False]
    if options.channels_last:
        orders = [True]
    times = min((time_steps(step_of(name, order, options.bf16), options.steps) for order in orders), key=statistics.median)
    print(f"{name}.onnx {NETS[name][0]} {statistics.median(times):.3f} ms median {min(times):.3f} ms least")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=["seen", "kept", "all"], default="all")
    parser.add_argument("--only", action="append", help="also NAME.onnx")
    parser.add_argument("--export", metavar="FOLDER")
    parser.add_argument("--list", action="store_true", help="prints the names")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--bf16", action="store_true", help="autocast in bf16: mixed precision")
    parser.add_argument("--channels-last", action="store_true", help="only this memory order")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = [name.removesuffix(".onnx") for name in options.only or {"seen": SEEN, "kept": KEPT, "all": NETS}[options.set]]
    for name in names:
        if name not in NETS:
            raise SystemExit(f"no network {name}; there are {', '.join(NETS)}")
    if options.list:
        print(*names)
        return
    for name in names:
        if options.export:
            export(name, options.export)
        else:
            measure(name, options)


main()
