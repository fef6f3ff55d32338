"""A Wasserstein generative adversarial network with a penalty on gradients
(I. Gulrajani et al. 2017) learns to write digits."""

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
CRITIC_STEPS, PENALTY = 5, 10


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


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, WIDTH, 4, 2, 1),
            nn.SiLU(),
            nn.Conv2d(WIDTH, 2 * WIDTH, 4, 2, 1),
            nn.SiLU(),
            nn.Flatten(),
            nn.Linear(8 * WIDTH, 1),
        )

    def forward(self, image):
        return self.main(image)


def gradient_penalty(critic, real, fake):
    share = torch.rand(len(real), 1, 1, 1)
    between = (fake + share * (real - fake)).requires_grad_(True)
    scores = critic(between)
    (slope,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
    return ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


@torch.no_grad()
def draw(generator, code):
    drawn = generator.eval()(code)
    generator.train()
    return drawn


def main():
    parser = argparse.ArgumentParser(
        description="Learns to write digits with a critic whose gradient is kept near 1."
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
        default=3000,
        help="steps, of which each sixth is the generator's (default: 3000)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    digits = Digits(args.data, "train")
    generator = Generator()
    critic = Critic()
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    loop = TrainingLoop(
        args,
        args.steps,
        generator=generator,
        critic=critic,
        c_optimizer=c_optimizer,
        g_optimizer=g_optimizer,
    )
    c_loss = g_loss = torch.zeros(())
    code = torch.randn(BATCH_SIZE, NOISE)
    for step in loop:
        fake = generator(torch.randn(BATCH_SIZE, NOISE))
        if step % (CRITIC_STEPS + 1):
            real, _ = digits.draw(BATCH_SIZE)
            fake = fake.detach()
            penalty = gradient_penalty(critic, real, fake)
            c_loss = critic(fake).mean() - critic(real).mean() + PENALTY * penalty
            c_optimizer.zero_grad()
            c_loss.backward()
            c_optimizer.step()
        else:
            g_loss = -critic(fake).mean()
            g_optimizer.zero_grad()
            g_loss.backward()
            g_optimizer.step()
        if loop.every(600):
            print(f"step {step:4d}: losses {c_loss.item():.3f}, {g_loss.item():.3f}")
            save_digits(args, step, draw(generator, code))

    report_digits(digits, draw(generator, code))


if __name__ == "__main__":
    main()
