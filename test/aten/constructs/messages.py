"""Messages in graphs of nodes: gathers along edges and scatters into nodes."""

import torch
from torch import nn

from constructs.construct import below, case

t = torch.randn
SIZED = {"x": {0: "N"}, "edges": {1: "E"}}


def graphs(*sizes, width=4):
    return lambda: [(t(n, width), below(n, 2, e)) for n, e in sizes]


SIZES = graphs((5, 9), (2, 3), (8, 30))


@case(SIZES, dynamic=SIZED)
class Convolution(nn.Module):
    """Sums over neighbours, scaled by their degrees."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, edges):
        source, target = edges
        degrees = x.new_zeros(x.shape[0]).index_add(
            0, target, torch.ones_like(target, dtype=x.dtype)
        )
        scale = degrees.clamp(min=1).rsqrt()
        sent = self.fc(x)[source] * (scale[source] * scale[target])[:, None]
        return torch.zeros_like(x).index_add(0, target, sent) + x


@case(SIZES, dynamic=SIZED)
class Attention(nn.Module):
    """A softmax over the edges of each node."""

    def __init__(self):
        super().__init__()
        self.fc, self.score = nn.Linear(4, 4), nn.Linear(8, 1)

    def forward(self, x, edges):
        source, target = edges
        y, count = self.fc(x), x.shape[0]
        score = self.score(torch.cat((y[source], y[target]), 1)).squeeze(1)
        most = x.new_full((count,), -1e9).scatter_reduce(0, target, score, "amax")
        share = (score - most[target]).exp()
        total = x.new_zeros(count).scatter_add(0, target, share)
        sent = y[source] * (share / total[target])[:, None]
        return x.new_zeros(count, 4).scatter_add(0, target[:, None].expand_as(sent), sent)


@case(SIZES, dynamic=SIZED)
def pooled_messages(x, edges):
    at = edges[1, :, None].expand(-1, 4)
    modes = ("mean", "amax", "amin", "prod", "sum")
    return [
        torch.ones_like(x).scatter_reduce(0, at, x[edges[0]], mode, include_self=False)
        for mode in modes
    ]


@case(
    lambda: [(t(n, 4), below(3, n).sort()[0]) for n in (6, 1, 9)],
    dynamic={"x": {0: "N"}, "batch": {0: "N"}},
)
def pooled_graphs(x, batch):
    """Each node belongs to one of three graphs."""
    sums = x.new_zeros(3, 4).index_add(0, batch, x)
    counts = torch.bincount(batch, minlength=3)[:3]
    most = x.new_zeros(3, 4).index_reduce(0, batch, x, "amax", include_self=False)
    return sums / counts.clamp(min=1)[:, None], counts, most


@case(SIZES, dynamic=SIZED)
def dense_neighbours(x, edges):
    count = x.shape[0]
    dense = x.new_zeros(count, count).index_put((edges[0], edges[1]), torch.tensor(1.0), True)
    return dense @ x, dense + dense.T, dense.sum(1)


@case(graphs((5, 9), (5, 9)))
def edges_both_ways(x, edges):
    loops = torch.arange(x.shape[0]).expand(2, -1)
    source, target = torch.cat((edges, edges.flip(0), loops), 1)
    return torch.zeros_like(x).index_add_(0, target, x[source]), (source == target).sum()


@case(lambda: [(t(6, 3), t(6, 3)) for _ in range(2)])
def nearest_neighbours(x, y):
    near = torch.cdist(x, x + y).topk(3, largest=False)[1]
    return (x[near] - x[:, None]).amax(1)
