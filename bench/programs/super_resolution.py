"""Super-resolution (W. Shi et al. 2016) doubles the size of images."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import (
    DATA,
    Digits,
    TrainingLoop,
    add_training_arguments,
    save_digits,
    show_digits,
)

BATCH_SIZE, WIDTH = 64, 32


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.conv3 = nn.Conv2d(WIDTH, 4, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, small):
        x = F.silu(self.conv1(small))
        x = F.silu(self.conv2(x))
        return self.shuffle(self.conv3(x))


@torch.no_grad()
def enlarge(model, image):
    small = F.avg_pool2d(image, 2)
    smooth = F.interpolate(small, scale_factor=2, mode="bilinear")
    return smooth, model(small)


def main():
    parser = argparse.ArgumentParser(
        description="Learns to double the size of images of digits."
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
    model = SuperResolution()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    shown, _ = test_digits.draw(BATCH_SIZE)
    for step in loop:
        image, _ = train_digits.draw(BATCH_SIZE)
        small = F.avg_pool2d(image, 2)
        loss = F.mse_loss(model(small), image)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(250):
            print(f"step {step:4d}: loss {loss.item():.4f}")
            smooth, drawn = enlarge(model, shown)
            save_digits(args, step, smooth, drawn, shown)

    image, _ = test_digits.draw(BATCH_SIZE)
    smooth, drawn = enlarge(model, image)
    show_digits(image)
    show_digits(drawn)
    print(
        f"mean square error {F.mse_loss(drawn, image):.4f}, "
        f"by linear interpolation {F.mse_loss(smooth, image):.4f}"
    )


if __name__ == "__main__":
    main()
