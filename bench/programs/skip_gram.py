"""Skip-gram with negative sampling (T. Mikolov et al. 2013): words that stand among the
same others get similar vectors."""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, TrainingLoop, add_training_arguments

# Picked: a word of the context, and five others.
WINDOW, PICKED, WIDTH = 4, 6, 64


class SkipGram(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.inner = nn.Embedding(rows, WIDTH, sparse=True)
        self.outer = nn.Embedding(rows, WIDTH, sparse=True)
        nn.init.uniform_(self.inner.weight, -0.1, 0.1)
        nn.init.uniform_(self.outer.weight, -0.1, 0.1)

    def forward(self, word, others):
        return (self.inner(word).unsqueeze(1) * self.outer(others)).sum(dim=2)


def read_words(path):
    """All words of the text, as numbers, and how many different ones there are."""
    words = Path(path).read_text().split()
    vocabulary = {word: i for i, word in enumerate(sorted(set(words)))}
    return torch.tensor([vocabulary[word] for word in words]), len(vocabulary)


def draw_pairs(text, batch):
    """Words, and for each one of its neighbours, then words from anywhere."""
    at = torch.randint(len(text), (batch,))
    step = torch.randint(1, WINDOW + 1, (batch,))
    side = 2 * torch.randint(2, (batch,)) - 1
    others = text[torch.randint(len(text), (batch, PICKED))]
    others[:, 0] = text[(at + side * step) % len(text)]
    return text[at], others


def main():
    parser = argparse.ArgumentParser(
        description="Learns vectors of the words of a text."
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        default=DATA / "text/alice.txt",
        help="a text of words",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=2000, help="updates (default: 2000)"
    )
    parser.add_argument(
        "--batch",
        type=int,
        metavar="N",
        default=256,
        help="pairs of words in each (default: 256)",
    )
    parser.add_argument(
        "--table",
        type=int,
        metavar="N",
        default=1,
        help="rows of the tables, of which the text uses the first (default: 1)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    text, known = read_words(args.data)
    model = SkipGram(max(args.table, known))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.2)
    target = torch.zeros(args.batch, PICKED)
    target[:, 0] = 1
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    mean = 0.0
    for step in loop:
        word, others = draw_pairs(text, args.batch)
        logits = model(word, others)
        loss = F.binary_cross_entropy_with_logits(logits, target, reduction="sum")
        loss = loss / args.batch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += (loss.item() - mean) / min(step, 100)
        if loop.every(500):
            print(f"step {step:5d}: loss {mean:.4f}")


if __name__ == "__main__":
    main()
