"""A graph convolutional network (T. Kipf and M. Welling 2017) learns to which community
each node of a graph belongs, of which it is told for a few nodes."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import TrainingLoop, add_training_arguments

NODES, LINKS, FEATURES, COMMUNITIES, TOLD, HIDDEN = 400, 1600, 16, 4, 20, 16


def draw_graph():
    """Edges (2, LINKS), of which most join nodes of one community, and features (NODES,
    FEATURES); node i is of the community i % COMMUNITIES."""
    begin = torch.randint(NODES, (LINKS,))
    end = torch.randint(NODES, (LINKS,))
    near = end - end % COMMUNITIES + begin % COMMUNITIES
    end = torch.where(torch.rand(LINKS) < 0.75, near, end)
    features = torch.randn(NODES, FEATURES)
    nodes = torch.arange(NODES)
    features[nodes, nodes % COMMUNITIES] += 1
    return torch.stack((begin, end)), features


def normalise(edges):
    """Both directions of each edge and each node itself, by the degrees of both ends."""
    itself = torch.arange(NODES).expand(2, NODES)
    edges = torch.cat((edges, edges.flip(0), itself), dim=1)
    degree = torch.bincount(edges[0], minlength=NODES).float()
    weights = degree[edges[0]].rsqrt() * degree[edges[1]].rsqrt()
    return torch.sparse_coo_tensor(
        edges, weights, (NODES, NODES), check_invariants=True
    )


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, adjacency):
        return torch.sparse.mm(adjacency, self.linear(x)) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = GraphConvolution(FEATURES, HIDDEN)
        self.layer2 = GraphConvolution(HIDDEN, COMMUNITIES)

    def forward(self, x, adjacency):
        return self.layer2(F.relu(self.layer1(x, adjacency)), adjacency)


def main():
    parser = argparse.ArgumentParser(
        description="Learns to which community each node of a graph belongs."
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", default=200, help="updates (default: 200)"
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    edges, features = draw_graph()
    adjacency = normalise(edges)
    labels = torch.arange(NODES) % COMMUNITIES
    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    loop = TrainingLoop(args, args.steps, model=model, optimizer=optimizer)
    for step in loop:
        logits = model(features, adjacency)
        loss = F.cross_entropy(logits[:TOLD], labels[:TOLD])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(50):
            print(f"step {step:4d}: loss {loss.item():.3f}")

    with torch.no_grad():
        best = model(features, adjacency).argmax(dim=1)
    right = (best[TOLD:] == labels[TOLD:]).sum().item()
    print(f"{right} of {NODES - TOLD} nodes that it was not told are right")


if __name__ == "__main__":
    main()
