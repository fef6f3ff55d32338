"""Deep Q-learning (V. Mnih et al. 2015) balances a pole on a cart."""

import argparse
import random

import torch
import torch.nn.functional as F
from torch import nn

from program_support import Cart, Memory, TrainingLoop, add_training_arguments

BATCH_SIZE, WIDTH, FIRST, LONGEST = 64, 128, 500, 500
GAMMA, TAU = 0.99, 0.01


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, WIDTH)
        self.layer2 = nn.Linear(WIDTH, WIDTH)
        self.layer3 = nn.Linear(WIDTH, 2)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


class Game:
    """For how many steps the pole has stood; in the mean of the last ones, too."""

    def __init__(self):
        self.length, self.mean = 0, 0.0

    def over(self):
        self.mean += 0.1 * (self.length - self.mean)
        self.length = 0

    def state_dict(self):
        return {"length": self.length, "mean": self.mean}

    def load_state_dict(self, state):
        self.length, self.mean = state["length"], state["mean"]


def select_action(online, seen, step):
    """Fewer and fewer are at random."""
    if random.random() < max(0.02, 1 - step / 5000):
        return random.randrange(2)
    with torch.no_grad():
        return online(seen).argmax().item()


def learn(online, target, optimizer, memory):
    seen, after, alive, action = memory.draw(BATCH_SIZE)
    taken = online(seen).gather(1, action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = target(after).max(dim=1).values
    loss = F.huber_loss(taken, GAMMA * best * alive + 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(target.parameters(), online.parameters()):
            p.mul_(1 - TAU).add_(q, alpha=TAU)


def main():
    parser = argparse.ArgumentParser(description="Learns to balance a pole on a cart.")
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=8000,
        help="steps of the cart, the first 500 at random (default: 8000)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    online = DQN()
    target = DQN()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=5e-4)
    cart, memory, game = Cart(), Memory(), Game()
    seen = cart.reset()
    loop = TrainingLoop(
        args,
        args.steps,
        online=online,
        target=target,
        optimizer=optimizer,
        cart=cart,
        memory=memory,
        game=game,
    )
    for step in loop:
        action = select_action(online, seen, step)
        after, fell = cart.step(action)
        memory.add(seen, after, not fell, action)
        seen = after
        game.length += 1
        if fell or game.length == LONGEST:
            game.over()
            seen = cart.reset()
        if step > FIRST:
            learn(online, target, optimizer, memory)
        if loop.every(1000):
            print(f"step {step:5d}: the pole stood for {game.mean:.0f} steps")


if __name__ == "__main__":
    main()
