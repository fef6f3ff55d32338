"""A small Llama (H. Touvron et al. 2023) learns the characters of a text: RMS norms,
rotary positions, grouped queries and a gated MLP. Then it writes on, with caches."""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, TrainingLoop, add_training_arguments

BATCH_SIZE, CONTEXT = 16, 64
LAYERS, WIDTH, HEADS, GROUPS, HIDDEN = 2, 64, 4, 2, 192
HEAD_WIDTH = WIDTH // HEADS


def rotate(x, start):
    """Turns each pair of numbers by an angle that grows with the position."""
    positions = torch.arange(start, start + x.shape[-2])
    rates = 10000 ** (-torch.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)
    angles = torch.outer(positions, rates)
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, HEADS * HEAD_WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, GROUPS * HEAD_WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, GROUPS * HEAD_WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def split(self, x):
        return x.unflatten(-1, (-1, HEAD_WIDTH)).transpose(1, 2)

    def forward(self, x, start, cache):
        q = rotate(self.split(self.query(x)), start)
        k = rotate(self.split(self.key(x)), start)
        v = self.split(self.value(x))
        if cache is not None:
            if "k" in cache:
                k = torch.cat((cache["k"], k), dim=2)
                v = torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        y = F.scaled_dot_product_attention(
            q, k, v, is_causal=x.shape[1] > 1, enable_gqa=True
        )
        return self.out(y.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.RMSNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x, start, cache):
        x = x + self.attention(self.norm1(x), start, cache)
        return x + self.mlp(self.norm2(x))


class Llama(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, tokens, start=0, caches=None):
        x = self.tokens(tokens)
        for i, block in enumerate(self.blocks):
            x = block(x, start, caches[i] if caches else None)
        return self.head(self.norm(x))


def get_batch(data):
    """Sequences from random places; each character's target is the next one."""
    starts = torch.randint(len(data) - CONTEXT, (BATCH_SIZE,))
    x = torch.stack([data[i : i + CONTEXT] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + CONTEXT] for i in starts])
    return x, y


@torch.no_grad()
def generate(model, text):
    """Goes on with the likeliest tokens, until the context is full."""
    caches = [{} for _ in model.blocks]
    logits = model(text, 0, caches)
    while text.shape[1] < CONTEXT:
        token = logits[:, -1:].argmax(dim=-1)
        logits = model(token, text.shape[1], caches)
        text = torch.cat((text, token), dim=1)
    return text


def main():
    parser = argparse.ArgumentParser(
        description="Learns the characters of a text, and writes on from a prompt."
    )
    parser.add_argument(
        "--data", metavar="FILE", default=DATA / "text/alice.txt", help="the text"
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=500, help="updates (default: 500)"
    )
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        default="Alice ",
        help='what it goes on from (default: "Alice ")',
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    text = Path(args.data).read_text()
    characters = sorted(set(text))
    number = {character: i for i, character in enumerate(characters)}
    data = torch.tensor([number[character] for character in text])
    model = Llama(len(characters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        x, y = get_batch(data)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(100):
            print(f"step {step:4d}: loss {loss.item():.3f}")

    prompt = torch.tensor([[number[c] for c in args.prompt]])
    written = generate(model, prompt)
    print("".join(characters[token] for token in written[0]))
    with torch.no_grad():
        likeliest = model(written[:, :-1]).argmax(dim=-1)
    begin = prompt.shape[1]
    alike = (likeliest[:, begin - 1 :] == written[:, begin:]).sum().item()
    print(f"{alike} of {CONTEXT - begin} characters are the same without caches")


if __name__ == "__main__":
    main()
