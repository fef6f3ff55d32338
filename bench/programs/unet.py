"""A U-Net (O. Ronneberger et al. 2015) finds the strokes of digits under noise."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import (
    DATA,
    Digits,
    TrainingLoop,
    add_training_arguments,
    draw_strokes,
    report_strokes,
    save_digits,
)

BATCH_SIZE, WIDTH = 64, 16


class DoubleConv(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(inputs, filters, 3, padding=1),
            nn.BatchNorm2d(filters),
            nn.SiLU(),
            nn.Conv2d(filters, filters, 3, padding=1),
            nn.BatchNorm2d(filters),
            nn.SiLU(),
        )

    def forward(self, x):
        return self.main(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fine = DoubleConv(1, WIDTH)
        self.middle = DoubleConv(WIDTH, 2 * WIDTH)
        self.coarse = DoubleConv(2 * WIDTH, 4 * WIDTH)
        self.up1 = nn.ConvTranspose2d(4 * WIDTH, 2 * WIDTH, 2, stride=2)
        self.conv1 = DoubleConv(4 * WIDTH, 2 * WIDTH)
        self.up2 = nn.ConvTranspose2d(2 * WIDTH, WIDTH, 2, stride=2)
        self.conv2 = DoubleConv(2 * WIDTH, WIDTH)
        self.out = nn.Conv2d(WIDTH, 1, 1)

    def forward(self, image):
        fine = self.fine(image)
        middle = self.middle(F.avg_pool2d(fine, 2))
        coarse = self.coarse(F.avg_pool2d(middle, 2))
        x = self.conv1(torch.cat((middle, self.up1(coarse)), dim=1))
        x = self.conv2(torch.cat((fine, self.up2(x)), dim=1))
        return self.out(x)


@torch.no_grad()
def find(model, noisy):
    found = torch.sigmoid(model.eval()(noisy))
    model.train()
    return found


def main():
    parser = argparse.ArgumentParser(
        description="Learns to find the strokes of digits under noise."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=500, help="updates (default: 500)"
    )
    parser.add_argument(
        "--noise",
        type=float,
        metavar="S",
        default=0.5,
        help="its deviation; strokes are 1, paper is 0 (default: 0.5)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    train_digits = Digits(args.data, "train")
    test_digits = Digits(args.data, "t10k")
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    noisy, strokes = draw_strokes(test_digits, BATCH_SIZE, args.noise)
    for step in loop:
        noisy, strokes = draw_strokes(train_digits, BATCH_SIZE, args.noise)
        loss = F.binary_cross_entropy_with_logits(model(noisy), strokes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(100):
            print(f"step {step:4d}: loss {loss.item():.3f}")
            save_digits(args, step, noisy, find(model, noisy), strokes)

    report_strokes(noisy, strokes, find(model, noisy))


if __name__ == "__main__":
    main()
