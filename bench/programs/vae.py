"""A variational autoencoder (D. Kingma and M. Welling 2014) learns to write digits."""

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

BATCH_SIZE, WIDTH, CODE = 64, 128, 8


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU())
        self.mean = nn.Linear(WIDTH, CODE)
        self.log_variance = nn.Linear(WIDTH, CODE)
        self.decoder = nn.Sequential(
            nn.Linear(CODE, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, 64),
        )

    def encode(self, image):
        h = self.encoder(image)
        return self.mean(h), self.log_variance(h)

    def reparameterize(self, mean, log_variance):
        noise = torch.randn_like(mean)
        return mean + noise * torch.exp(0.5 * log_variance)

    def forward(self, image):
        mean, log_variance = self.encode(image)
        code = self.reparameterize(mean, log_variance)
        return self.decoder(code), mean, log_variance


def loss_function(logits, image, mean, log_variance):
    reconstruction = F.binary_cross_entropy_with_logits(logits, image, reduction="sum")
    divergence = 0.5 * torch.sum(log_variance.exp() + mean.pow(2) - log_variance - 1)
    return (reconstruction + divergence) / len(image)


@torch.no_grad()
def draw(model, code):
    return torch.sigmoid(model.decoder(code))


def main():
    parser = argparse.ArgumentParser(
        description="Learns to write digits from random codes."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=2000, help="updates (default: 2000)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    digits = Digits(args.data, "train")
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    code = torch.randn(BATCH_SIZE, CODE)
    for step in loop:
        image, _ = digits.draw(BATCH_SIZE)
        image = image.flatten(1)
        logits, mean, log_variance = model(image)
        loss = loss_function(logits, image, mean, log_variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(500):
            print(f"step {step:4d}: loss {loss.item():.3f}")
            save_digits(args, step, draw(model, code))

    report_digits(digits, draw(model, code))


if __name__ == "__main__":
    main()
