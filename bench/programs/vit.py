"""A vision transformer (A. Dosovitskiy et al. 2021) reads digits."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments

BATCH_SIZE, TESTED = 64, 640
WIDTH, HEADS, PATCHES, LAYERS = 32, 4, 16, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, WIDTH, kernel_size=2, stride=2)
        self.positions = nn.Parameter(torch.empty(PATCHES, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 10)
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2) + self.positions
        x = self.norm(self.blocks(x))
        return self.head(x.mean(dim=1))


def main():
    parser = argparse.ArgumentParser(
        description="Learns digits from patches that attend to one another."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=1000, help="updates (default: 1000)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    train_digits = Digits(args.data, "train")
    test_digits = Digits(args.data, "t10k")
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        image, label = train_digits.draw(BATCH_SIZE)
        loss = F.cross_entropy(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(250):
            print(f"step {step:4d}: loss {loss.item():.3f}")

    model.eval()
    image, label = test_digits.draw(TESTED)
    with torch.no_grad():
        right = (model(image).argmax(dim=1) == label).sum().item()
    print(f"{right} of {TESTED} digits that it has not seen are right")


if __name__ == "__main__":
    main()
