"""Denoising diffusion (J. Ho et al. 2020) learns to draw digits: a network learns to
tell the noise in an image, and takes it away step by step from noise alone."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import (
    DATA,
    Digits,
    TrainingLoop,
    add_training_arguments,
    report_digits,
    save_digits,
)

BATCH_SIZE, TIMES, WIDTH = 64, 100, 32
betas = torch.linspace(1e-3, 0.2, TIMES)
kept = torch.cumprod(1 - betas, dim=0)


class Block(nn.Module):
    """Two convolutions; the time is added between them."""

    def __init__(self, inputs, filters):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, filters, 3, padding=1)
        self.time = nn.Linear(WIDTH, filters)
        self.norm = nn.GroupNorm(4, filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1)

    def forward(self, x, time):
        x = self.conv1(x) + self.time(time)[:, :, None, None]
        return F.silu(self.conv2(F.silu(self.norm(x))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fine = Block(1, WIDTH)
        self.coarse = Block(WIDTH, 2 * WIDTH)
        self.up = nn.ConvTranspose2d(2 * WIDTH, WIDTH, 2, stride=2)
        self.joined = Block(2 * WIDTH, WIDTH)
        self.out = nn.Conv2d(WIDTH, 1, 1)

    def forward(self, image, t):
        rates = 1000 ** (-torch.arange(WIDTH // 2) / (WIDTH // 2))
        angles = t[:, None] * rates
        time = torch.cat((angles.sin(), angles.cos()), dim=1)
        fine = self.fine(image, time)
        coarse = self.coarse(F.avg_pool2d(fine, 2), time)
        x = torch.cat((fine, self.up(coarse)), dim=1)
        return self.out(self.joined(x, time))


def add_noise(image, noise, t):
    share = kept[t][:, None, None, None]
    return share.sqrt() * image + (1 - share).sqrt() * noise


@torch.no_grad()
def sample(model, count):
    """From the same noise each time."""
    drawing = torch.Generator().manual_seed(1)
    image = torch.randn(count, 1, 8, 8, generator=drawing)
    for t in reversed(range(TIMES)):
        noise = model(image, torch.tensor([t]))
        image = image - betas[t] / (1 - kept[t]).sqrt() * noise
        image = image / (1 - betas[t]).sqrt()
        if t > 0:
            image = image + betas[t].sqrt() * torch.randn(image.shape, generator=drawing)
    return (image + 1) / 2


def main():
    parser = argparse.ArgumentParser(
        description="Learns to draw digits by taking noise away."
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

    digits = Digits(args.data, "train")
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        image, _ = digits.draw(BATCH_SIZE)
        image = 2 * image - 1
        t = torch.randint(TIMES, (BATCH_SIZE,))
        noise = torch.randn_like(image)
        loss = F.mse_loss(model(add_noise(image, noise, t), t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(250):
            print(f"step {step:4d}: loss {loss.item():.3f}")
            save_digits(args, step, sample(model, BATCH_SIZE))

    report_digits(digits, sample(model, BATCH_SIZE))


if __name__ == "__main__":
    main()
