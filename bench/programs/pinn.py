"""A physics-informed network (M. Raissi et al. 2019) finds y(t) with y'' = -y, y(0) = 0
and y'(0) = 1, which is the sine."""

import argparse

import torch
from torch import nn

from program_support import TrainingLoop, add_training_arguments

POINTS, WIDTH = 64, 32


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(1, WIDTH),
            nn.Tanh(),
            nn.Linear(WIDTH, WIDTH),
            nn.Tanh(),
            nn.Linear(WIDTH, 1),
        )

    def forward(self, t):
        return self.main(t)


def gradient(y, t):
    return torch.autograd.grad(y.sum(), t, create_graph=True)[0]


def physics_loss(model, t):
    t.requires_grad_(True)
    y = model(t)
    bend = gradient(gradient(y, t), t)
    begin = torch.zeros(1, 1, requires_grad=True)
    first = model(begin)
    speed = gradient(first, begin)
    start = first.pow(2).sum() + (speed - 1).pow(2).sum()
    return (bend + y).pow(2).mean() + start


def main():
    parser = argparse.ArgumentParser(
        description="Learns a function from its differential equation."
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=3000, help="updates (default: 3000)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        loss = physics_loss(model, 3 * torch.rand(POINTS, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(500):
            print(f"step {step:4d}: loss {loss.item():.5f}")

    t = torch.linspace(0, 3, POINTS).unsqueeze(1)
    with torch.no_grad():
        worst = (model(t) - torch.sin(t)).abs().max().item()
    print(f"largest distance from the sine {worst:.4f}")


if __name__ == "__main__":
    main()
