"""One body with two heads: which digit an image shows, a class, and how much ink it has,
a number."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments

BATCH_SIZE, TESTED, WIDTH = 64, 640, 128


class MultiOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
        )
        self.digit = nn.Linear(WIDTH, 10)
        self.ink = nn.Linear(WIDTH, 1)

    def forward(self, image):
        h = self.body(image)
        return self.digit(h), self.ink(h).squeeze(1)


def main():
    parser = argparse.ArgumentParser(
        description="Learns which digit an image shows, and how much ink it has."
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
    model = MultiOutput()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        image, label = train_digits.draw(BATCH_SIZE)
        logits, ink = model(image)
        ink_loss = F.mse_loss(ink, image.mean(dim=(1, 2, 3)))
        loss = F.cross_entropy(logits, label) + 10 * ink_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(250):
            print(f"step {step:4d}: loss {loss.item():.3f}")

    model.eval()
    image, label = test_digits.draw(TESTED)
    with torch.no_grad():
        logits, ink = model(image)
    right = (logits.argmax(dim=1) == label).sum().item()
    away = F.l1_loss(ink, image.mean(dim=(1, 2, 3))).item()
    print(
        f"{right} of {TESTED} digits that it has not seen are right, "
        f"their ink within {away:.3f}"
    )


if __name__ == "__main__":
    main()
