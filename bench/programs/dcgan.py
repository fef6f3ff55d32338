"""A convolutional generative adversarial network (A. Radford et al. 2016) learns to
write digits."""

import argparse

import torch
from torch import nn

from program_support import (
    DATA,
    Digits,
    TrainingLoop,
    add_training_arguments,
    report_digits,
    save_digits,
)

BATCH_SIZE, NOISE, WIDTH = 64, 16, 32


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(NOISE, 8 * WIDTH),
            nn.Unflatten(1, (2 * WIDTH, 2, 2)),
            nn.BatchNorm2d(2 * WIDTH),
            nn.SiLU(),
            nn.ConvTranspose2d(2 * WIDTH, WIDTH, 4, 2, 1),
            nn.BatchNorm2d(WIDTH),
            nn.SiLU(),
            nn.ConvTranspose2d(WIDTH, 1, 4, 2, 1),
            nn.Sigmoid(),
        )

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, WIDTH, 4, 2, 1),
            nn.SiLU(),
            nn.Conv2d(WIDTH, 2 * WIDTH, 4, 2, 1),
            nn.BatchNorm2d(2 * WIDTH),
            nn.SiLU(),
            nn.Flatten(),
            nn.Linear(8 * WIDTH, 1),
        )

    def forward(self, image):
        return self.main(image)


@torch.no_grad()
def draw(generator, code):
    drawn = generator.eval()(code)
    generator.train()
    return drawn


def main():
    parser = argparse.ArgumentParser(
        description="Learns to write digits with two networks that learn by each other."
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
        default=1500,
        help="steps of each network (default: 1500)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    digits = Digits(args.data, "train")
    generator = Generator()
    discriminator = Discriminator()
    d_optimizer = torch.optim.Adam(
        discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999), eps=1e-6
    )
    g_optimizer = torch.optim.Adam(
        generator.parameters(), lr=2e-3, betas=(0.5, 0.999), eps=1e-6
    )
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
    code = torch.randn(BATCH_SIZE, NOISE)
    for step in loop:
        # The discriminator learns to tell real digits from drawn ones.
        fake = generator(torch.randn(BATCH_SIZE, NOISE))
        image, _ = digits.draw(BATCH_SIZE)
        d_loss = criterion(discriminator(image), real_label) + criterion(
            discriminator(fake.detach()), fake_label
        )
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()

        # The generator learns to draw what it takes for real ones.
        fake = generator(torch.randn(BATCH_SIZE, NOISE))
        g_loss = criterion(discriminator(fake), real_label)
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()

        if loop.every(250):
            print(f"step {step:4d}: losses {d_loss.item():.3f}, {g_loss.item():.3f}")
            save_digits(args, step, draw(generator, code))

    report_digits(digits, draw(generator, code))


if __name__ == "__main__":
    main()
