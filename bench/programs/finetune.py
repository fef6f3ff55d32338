"""Fine-tuning: a residual network (K. He et al. 2016) learns the digits 0 to 4; then its
body is frozen, and a new linear layer learns to tell 5 to 9 apart by its features."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments, resnet20

BATCH_SIZE, CLASSES = 64, 5


def train(loop, body, head, optimizer, digits, first):
    for _ in loop:
        image, label = digits.draw(BATCH_SIZE, first, first + CLASSES - 1)
        loss = F.cross_entropy(head(body(image)), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def test(body, head, digits, first, loss):
    """Of 640 digits that were not trained on."""
    body.eval()
    image, label = digits.draw(640, first, first + CLASSES - 1)
    right = (head(body(image)).argmax(dim=1) == label).sum().item()
    print(f"digits from {first} on: loss {loss:.3f}, {right} of 640 are told apart")


def main():
    parser = argparse.ArgumentParser(
        description="Learns five digits, then five others by the features of the first."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=100,
        help="updates of the whole network (default: 100)",
    )
    parser.add_argument(
        "--head-steps",
        type=int,
        metavar="N",
        default=200,
        help="updates of the new layer (default: 200)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    train_digits = Digits(args.data, "train")
    test_digits = Digits(args.data, "t10k")
    body = resnet20()
    old = nn.Linear(64, CLASSES)
    new = nn.Linear(64, CLASSES)
    whole = torch.optim.SGD(
        [*body.parameters(), *old.parameters()], lr=0.05, momentum=0.9
    )
    last = torch.optim.SGD(new.parameters(), lr=0.1, momentum=0.9)
    loop = TrainingLoop(
        args, args.steps, body=body, old=old, new=new, whole=whole, last=last
    )
    if loop.step < args.steps:
        loss = train(loop, body, old, whole, train_digits, 0)
        test(body, old, test_digits, 0, loss)

    body.eval()
    body.requires_grad_(False)
    loop.steps += args.head_steps
    loss = train(loop, body, new, last, train_digits, CLASSES)
    test(body, new, test_digits, CLASSES, loss)


if __name__ == "__main__":
    main()
