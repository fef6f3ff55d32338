"""A small GPT (A. Radford et al. 2019) learns the characters of a text, then writes on
from a prompt: each token reads the keys and values of those before from caches."""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, TrainingLoop, add_training_arguments


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, cache):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if cache is not None:
            if "k" in cache:
                k = torch.cat((cache["k"], k), dim=2)
                v = torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, x, cache):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens, caches=None, start=0):
        positions = torch.arange(start, start + tokens.shape[1])
        x = self.tokens(tokens) + self.positions(positions)
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None)
        return self.head(self.norm(x))


def get_batch(data, args):
    """Sequences from random places; each character's target is the next one."""
    starts = torch.randint(len(data) - args.context, (args.batch,))
    x = torch.stack([data[i : i + args.context] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + args.context] for i in starts])
    return x, y


def sample(logits, temperature, top_k, top_p):
    """Draws among the top_k likeliest, of these among those that add up to top_p."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    values, tokens = torch.topk(logits / temperature, min(top_k, logits.shape[-1]))
    probabilities = F.softmax(values, dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    probabilities[before >= top_p] = 0
    drawn = torch.multinomial(probabilities, 1)
    return tokens.gather(-1, drawn).squeeze(-1)


@torch.no_grad()
def generate(model, prompt, args):
    """Yields the tokens behind the prompt, until the context is full."""
    caches = [{} for _ in model.blocks]
    token = torch.tensor([prompt])
    start = 0
    while start < model.context:
        logits = model(token, caches, start)[:, -1]
        start += token.shape[1]
        token = sample(logits, args.temperature, args.top_k, args.top_p)[:, None]
        yield token.item()


def main():
    parser = argparse.ArgumentParser(
        description="Learns the characters of a text, and writes on from a prompt."
    )
    parser.add_argument(
        "--data", metavar="FILE", default=DATA / "text/alice.txt", help="the text"
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=1000, help="updates (default: 1000)"
    )
    parser.add_argument(
        "--batch",
        type=int,
        metavar="N",
        default=16,
        help="sequences in each (default: 16)",
    )
    parser.add_argument(
        "--layers", type=int, metavar="N", default=2, help="blocks (default: 2)"
    )
    parser.add_argument(
        "--width",
        type=int,
        metavar="N",
        default=64,
        help="numbers for each character (default: 64)",
    )
    parser.add_argument(
        "--heads",
        type=int,
        metavar="N",
        default=4,
        help="heads of attention, a divisor of the width (default: 4)",
    )
    parser.add_argument(
        "--context",
        type=int,
        metavar="N",
        default=64,
        help="characters of a sequence, and of what it writes (default: 64)",
    )
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        default="Alice ",
        help='what it goes on from (default: "Alice ")',
    )
    parser.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        default=0.8,
        help="0 always takes the likeliest (default: 0.8)",
    )
    parser.add_argument(
        "--top-k",
        type=int,
        metavar="K",
        default=20,
        help="draws among the K likeliest (default: 20)",
    )
    parser.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        default=0.95,
        help="of these, among the likeliest that add up to P (default: 0.95)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    text = Path(args.data).read_text()
    characters = sorted(set(text))
    number = {character: i for i, character in enumerate(characters)}
    data = torch.tensor([number[character] for character in text])
    if len(data) <= args.context:
        parser.error("the text is not longer than the context")
    model = GPT(len(characters), args.context, args.width, args.heads, args.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        x, y = get_batch(data, args)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(100):
            print(f"step {step:4d}: loss {loss.item():.3f}")

    print(args.prompt, end="")
    for token in generate(model, [number[c] for c in args.prompt], args):
        print(characters[token], end="")
    print()


if __name__ == "__main__":
    main()
