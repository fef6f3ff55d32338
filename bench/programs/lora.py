"""Adapters of low rank (E. Hu et al. 2022): a network learns digits; then it is frozen,
and small adapters beside its layers learn to read turned digits."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments

BATCH_SIZE, TESTED = 64, 640
WIDTH, RANK = 128, 4


class AdaptedLinear(nn.Module):
    """A linear layer, and a product of low rank that is added to what it gives."""

    def __init__(self, inputs, units):
        super().__init__()
        self.layer = nn.Linear(inputs, units)
        self.down = nn.Parameter(torch.empty(RANK, inputs))
        self.up = nn.Parameter(torch.zeros(units, RANK))
        nn.init.normal_(self.down, std=inputs**-0.5)

    def forward(self, x, adapted):
        y = self.layer(x)
        if adapted:
            y = y + F.linear(F.linear(x, self.down), self.up)
        return y


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = AdaptedLinear(64, WIDTH)
        self.second = AdaptedLinear(WIDTH, WIDTH)
        self.third = AdaptedLinear(WIDTH, 10)

    def forward(self, image, adapted):
        x = F.relu(self.first(image.flatten(1), adapted))
        x = F.relu(self.second(x, adapted))
        return self.third(x, adapted)

    def parts(self, adapters):
        """The parameters of the adapters, or those of the layers, by name."""
        return {
            name: p
            for name, p in self.named_parameters()
            if ("layer" in name) != adapters
        }


def train(loop, model, optimizer, digits, adapted):
    for step in loop:
        image, label = digits.draw(BATCH_SIZE)
        if adapted:
            image = image.mT
        loss = F.cross_entropy(model(image, adapted), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(200):
            print(f"step {step:4d}: loss {loss.item():.3f}")


@torch.no_grad()
def count_right(model, image, label, adapted):
    return (model(image, adapted).argmax(dim=1) == label).sum().item()


def main():
    parser = argparse.ArgumentParser(
        description="Learns digits, then turned digits by adapters of low rank."
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
        default=400,
        help="updates of the network (default: 400)",
    )
    parser.add_argument(
        "--adapter-steps",
        type=int,
        metavar="N",
        default=600,
        help="updates of the adapters (default: 600)",
    )
    parser.add_argument(
        "--save", metavar="FILE", help="saves the adapters alone in this file"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    train_digits = Digits(args.data, "train")
    test_digits = Digits(args.data, "t10k")
    model = Network()
    layers, adapters = model.parts(False), model.parts(True)
    whole = torch.optim.Adam(layers.values(), lr=2e-3)
    small = torch.optim.Adam(adapters.values(), lr=5e-3)
    loop = TrainingLoop(args, args.steps, model=model, whole=whole, small=small)
    train(loop, model, whole, train_digits, False)

    for p in layers.values():
        p.requires_grad_(False)
    loop.steps += args.adapter_steps
    train(loop, model, small, train_digits, True)
    if args.save:
        torch.save(adapters, args.save)

    image, label = test_digits.draw(TESTED)
    upright = count_right(model, image, label, False)
    before = count_right(model, image.mT, label, False)
    turned = count_right(model, image.mT, label, True)
    size = sum(p.numel() for p in adapters.values())
    rest = sum(p.numel() for p in layers.values())
    print(f"{upright} of {TESTED} digits are right, turned ones {before}")
    print(f"{turned} turned ones with adapters: {size} numbers beside {rest}")


if __name__ == "__main__":
    main()
