"""Matrix factorisation (Y. Koren et al. 2009): a rating is the product of a user's and an
item's vector and what each has of its own."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import (
    ITEMS,
    USERS,
    TrainingLoop,
    add_training_arguments,
    draw_ratings,
)

BATCH_SIZE, WIDTH = 256, 8


class MatrixFactorisation(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, WIDTH, sparse=True)
        self.items = nn.Embedding(ITEMS, WIDTH, sparse=True)
        self.user_biases = nn.Embedding(USERS, 1, sparse=True)
        self.item_biases = nn.Embedding(ITEMS, 1, sparse=True)
        for table in self.children():
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, user, item):
        product = (self.users(user) * self.items(item)).sum(dim=1)
        own = self.user_biases(user) + self.item_biases(item)
        return product + own.squeeze(1)


def main():
    parser = argparse.ArgumentParser(description="Learns users and items from ratings.")
    parser.add_argument(
        "--steps", type=int, metavar="N", default=2000, help="updates (default: 2000)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    model = MatrixFactorisation()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        user, item, rating = draw_ratings(BATCH_SIZE)
        loss = F.mse_loss(model(user, item), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(500):
            print(f"step {step:4d}: loss {loss.item():.4f}")

    user, item, rating = draw_ratings(BATCH_SIZE, unseen=True)
    with torch.no_grad():
        away = F.mse_loss(model(user, item), rating)
    print(f"mean square error of ratings that it has not seen {away:.4f}")


if __name__ == "__main__":
    main()
