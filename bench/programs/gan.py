"""A generative adversarial network (I. Goodfellow et al. 2014) learns points near a circle."""

import argparse
import math

import torch
from torch import nn

from program_support import TrainingLoop, add_training_arguments

BATCH_SIZE, NOISE, WIDTH = 128, 4, 64


class Network(nn.Module):
    def __init__(self, inputs, units):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(inputs, WIDTH),
            nn.LeakyReLU(0.2),
            nn.Linear(WIDTH, WIDTH),
            nn.LeakyReLU(0.2),
            nn.Linear(WIDTH, units),
        )

    def forward(self, x):
        return self.main(x)


def real_points():
    """Points at a distance of 1 from the middle, give or take 0.05."""
    angle = 2 * math.pi * torch.rand(BATCH_SIZE, 1)
    radius = 1 + 0.05 * torch.randn(BATCH_SIZE, 1)
    return radius * torch.cat((torch.cos(angle), torch.sin(angle)), dim=1)


def report(points, step):
    """How far points are from the middle, and in how many directions some are."""
    distance = points.norm(dim=1)
    angle = torch.atan2(points[:, 1], points[:, 0]) + math.pi
    directions = (angle * 4 / math.pi).long() % 8
    print(
        f"step {step:5d}: distance {distance.mean():.2f} +- {distance.std():.2f}, "
        f"{len(directions.unique())} of 8 directions"
    )


def main():
    parser = argparse.ArgumentParser(
        description="Two networks learn by each other: one to draw points near a "
        "circle, one to tell them from real ones."
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=2000,
        help="steps of each network (default: 2000)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    generator = Network(NOISE, 2)
    discriminator = Network(2, 1)
    d_optimizer = torch.optim.Adam(
        discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999)
    )
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    real_label = torch.ones(BATCH_SIZE, 1)
    fake_label = torch.zeros(BATCH_SIZE, 1)
    loop = TrainingLoop(
        args,
        args.steps,
        generator=generator,
        discriminator=discriminator,
        d_optimizer=d_optimizer,
        g_optimizer=g_optimizer,
    )
    for step in loop:
        fake = generator(torch.randn(BATCH_SIZE, NOISE))
        d_loss = criterion(discriminator(real_points()), real_label) + criterion(
            discriminator(fake.detach()), fake_label
        )
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()

        fake = generator(torch.randn(BATCH_SIZE, NOISE))
        g_loss = criterion(discriminator(fake), real_label)
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()

        if loop.every(500):
            report(fake.detach(), step)


if __name__ == "__main__":
    main()
