"""Proximal policy optimisation (J. Schulman et al. 2017) balances a pole on a cart."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from program_support import Cart, TrainingLoop, add_training_arguments

HORIZON, EPOCHS, WIDTH, LONGEST = 512, 10, 64, 500
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2


def network(outputs):
    return nn.Sequential(
        nn.Linear(4, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, outputs),
    )


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = network(2)
        self.critic = network(1)

    def forward(self, seen):
        return Categorical(logits=self.actor(seen)), self.critic(seen).squeeze(-1)


class Game:
    """A cart, for how many steps its pole has stood, and in the mean of the last games."""

    def __init__(self):
        self.cart = Cart()
        self.seen = self.cart.reset()
        self.length, self.mean = 0, 0.0

    def step(self, action):
        """True: the game goes on."""
        self.seen, fell = self.cart.step(action)
        self.length += 1
        if not fell and self.length < LONGEST:
            return True
        self.mean += 0.1 * (self.length - self.mean)
        self.length = 0
        self.seen = self.cart.reset()
        return False

    def state_dict(self):
        return {"cart": self.cart, "length": self.length, "mean": self.mean}

    def load_state_dict(self, state):
        self.cart, self.length, self.mean = state.values()
        self.seen = torch.tensor(self.cart.seen)


def play(model, game):
    """What was seen, done, its log-probability, whether the game went on, and values,
    one more than steps."""
    seen, actions, log_probs, alive, values = [], [], [], [], []
    for _ in range(HORIZON):
        with torch.no_grad():
            policy, value = model(game.seen)
        action = policy.sample()
        seen.append(game.seen)
        actions.append(action)
        log_probs.append(policy.log_prob(action))
        values.append(value)
        alive.append(float(game.step(action.item())))
    with torch.no_grad():
        values.append(model(game.seen)[1])
    return (
        torch.stack(seen),
        torch.stack(actions),
        torch.stack(log_probs),
        torch.tensor(alive),
        torch.stack(values),
    )


def estimate_advantages(alive, values):
    """Generalised advantage estimation; each step earns 1."""
    advantages = torch.zeros(HORIZON)
    last = 0
    for t in reversed(range(HORIZON)):
        delta = 1 + GAMMA * alive[t] * values[t + 1] - values[t]
        advantages[t] = last = delta + GAMMA * LAMBDA * alive[t] * last
    return advantages


def ppo_loss(model, seen, actions, log_probs, advantages, returns):
    policy, value = model(seen)
    ratio = (policy.log_prob(actions) - log_probs).exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    value_loss = F.mse_loss(value, returns)
    return policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()


def main():
    parser = argparse.ArgumentParser(description="Learns to balance a pole on a cart.")
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=40,
        help="times that it plays and learns from it (default: 40)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    model, game = ActorCritic(), Game()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer, game=game)
    for step in loop:
        seen, actions, log_probs, alive, values = play(model, game)
        advantages = estimate_advantages(alive, values)
        returns = advantages + values[:-1]
        for _ in range(EPOCHS):
            loss = ppo_loss(model, seen, actions, log_probs, advantages, returns)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        if loop.every(10):
            print(f"step {step:3d}: the pole stood for {game.mean:.0f} steps")


if __name__ == "__main__":
    main()
