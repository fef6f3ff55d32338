"""A siamese network (R. Hadsell et al. 2006) learns whether two images show the same
digit."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments

# Of ten digits few pairs are the same.
BATCH_SIZE, WIDTH, POINT, LAST = 128, 128, 8, 4


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, POINT),
        )

    def forward(self, a, b):
        return F.pairwise_distance(self.tower(a), self.tower(b))


def contrastive_loss(distance, same):
    near = distance.pow(2)
    far = F.relu(1 - distance).pow(2)
    return torch.where(same, near, far).mean()


def draw_pairs(digits):
    a, label_a = digits.draw(BATCH_SIZE, 0, LAST)
    b, label_b = digits.draw(BATCH_SIZE, 0, LAST)
    return a, b, label_a == label_b


def main():
    parser = argparse.ArgumentParser(
        description="Learns whether two images show the same digit."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=600, help="updates (default: 600)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    train_digits = Digits(args.data, "train")
    test_digits = Digits(args.data, "t10k")
    model = Siamese()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        a, b, same = draw_pairs(train_digits)
        loss = contrastive_loss(model(a, b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(150):
            print(f"step {step:4d}: loss {loss.item():.3f}")

    model.eval()
    a, b, same = draw_pairs(test_digits)
    with torch.no_grad():
        right = ((model(a, b) < 0.5) == same).sum().item()
    print(f"{right} of {BATCH_SIZE} pairs of digits that it has not seen are right")


if __name__ == "__main__":
    main()
