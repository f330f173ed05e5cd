"""Writes at indices, masks and slices, and reads at indices."""

import torch
from torch.nn import functional as F

from constructs.construct import ROWS, below, case, ints, rows

t = torch.randn


@case(lambda: [(t(7, 3), ints(2, 2, 0, 6, 2), t(5, 3)), (t(7, 3), ints(1, 5, 5, 5, 1), t(5, 3))])
def index_add_of_repeated_rows(x, at, values):
    return x.index_add(0, at, values)


@case(
    lambda: [(t(9, 4), below(9, k), t(k, 4)) for k in (6, 1, 2, 40)],
    dynamic={"at": {0: "K"}, "values": {0: "K"}},
)
def index_add_of_any_count(x, at, values):
    return x.index_add(0, at, values)


@case(lambda: [(t(2, 7), ints(3, 3, 6), t(2, 3)) for _ in range(2)])
def index_add_scaled(x, at, values):
    return x.index_add(-1, at, values, alpha=-1.5)


@case(lambda: [(t(6), ints(4, 1, 4), t(3)), (t(6), ints(0, 0, 0), t(3))])
def index_add_in_place_of_a_vector(x, at, values):
    y = x + 1
    y.index_add_(0, at, values)
    return y * 2


@case(
    lambda: [
        (t(3, 6), ints(0, 2, 0), ints(5, 1, 5), t(3)),
        (t(3, 6), ints(-1, -3, 0), ints(-6, 0, 0), t(3)),
    ]
)
def index_put_accumulated(x, i, j, values):
    return x.index_put((i, j), values, accumulate=True)


@case(lambda: [(t(5, 4), ints(-1, 2), t(2, 4)), (t(5, 4), ints(-5, 4), t(2, 4))])
def index_put_at_negative_places(x, at, values):
    return x.index_put((at,), values)


@case(lambda: [(t(4, 3, 5), ints(0, 3), ints(4, 4), t(3)) for _ in range(2)])
def index_put_broadcast(x, i, k, values):
    y = x.clone()
    y[i, :, k] = values
    return y


@case(lambda: [(n, t(2, 4)) for (n,) in rows(3, 1, 6, shape=(4,))], dynamic=ROWS)
def indices_apart(x, values):
    """The indexed dims are not neighbours, so that they come first."""
    y = torch.zeros(x.shape[0], 4, 7) + x[:, :, None]
    y[:, [1, 3], [6, 0]] = values.T[0, :2]
    z = torch.zeros(3, x.shape[0], 7) + x.sum()
    z[ints(0, 2), :, ints(5, 5)] = x.T[:2]
    return y, z


@case(lambda: [(t(4, 6), ints(1, 3)), (t(4, 6), ints(0, -2))])
def one_element_at_tensors(x, at):
    y = x.clone()
    y[at[0], at[1]] = 9.0
    y[2, at[0]] += 1.5
    return y, x[at[0], at[1]]


@case(lambda: [(t(4, 5, 6), ints(3, 0)), (t(4, 5, 6), ints(1, 1))])
def two_indices(x, at):
    return x[at, at], x[:, at, at + 1], x[at, 1:4, at], x[at[:, None], at[None]]


@case(lambda: [t(4, 5), t(4, 5)])
def lists_of_indices(x):
    return x[[0, -1]], x[:, [4, -5, 2]], x[[1, 2], [3, -1]], x[..., None, [0]]


@case(lambda: [(t(3, 7), ints(6, 0, 6)), (t(3, 7), ints(-1, -7, 3))])
def index_fill(x, at):
    return x.index_fill(1, at, 4.5), x.index_fill(1, at, x.sum())


@case(lambda: [(t(6, 2), ints(5, 0, 3), t(3, 2)), (t(6, 2), ints(1, 2, 4), t(3, 2))])
def index_copy(x, at, values):
    return x.index_copy(0, at, values)


@case(
    lambda: [
        (t(3, 5), t(3, 5) > 0, t(15)),
        (t(3, 5), torch.ones(3, 5) > 0, t(15)),
        (t(3, 5), torch.zeros(3, 5) > 0, t(15)),
    ]
)
def masked_scatter(x, mask, values):
    return x.masked_scatter(mask, values)


@case(lambda: [(t(3, 5), t(5) > 0, t(20)), (t(3, 5), t(5) > 0.7, t(20))])
def masked_scatter_of_a_broadcast_mask(x, mask, values):
    return x.masked_scatter(mask, values)


def _reduces(mode, includes):
    name = f"scatter_{mode}_{'with' if includes else 'without'}_self"

    @case(
        lambda: [
            (t(5, 3), below(5, 7, 3), t(7, 3)),
            (t(5, 3), torch.full((7, 3), 4), t(7, 3)),
            (t(5, 3), below(2, 4, 2), t(7, 3)),
        ],
        name=name,
    )
    def reduced(x, at, values):
        return x.scatter_reduce(0, at, values, reduce=mode, include_self=includes)


for _mode in ("sum", "prod", "mean", "amax", "amin"):
    _reduces(_mode, True)
    _reduces(_mode, False)


@case(
    lambda: [(t(2, 5), below(5, 2, k), t(2, k)) for k in (8, 1, 3)],
    dynamic={"at": {1: "K"}, "values": {1: "K"}},
)
def scatter_add_of_any_count(x, at, values):
    return x.scatter_add(1, at, values)


@case(lambda: [(t(3, 4), below(4, k, 1)) for k in (3, 3, 2)])
def scatter_of_a_number(x, at):
    return x.scatter(1, at, -2.5), torch.zeros(3, 4, dtype=torch.int64).scatter(1, at, 1)


@case(lambda: [below(6, 3, 2), below(6, 3, 2), below(6, 1, 2)])
def one_hot(x):
    return F.one_hot(x, 6), F.one_hot(x, 6).float().sum(1)


@case(lambda: [(t(3, 4, 6), below(6, *s)) for s in ((2, 4, 5), (2, 4, 5), (3, 1, 2))])
def gather_of_fewer(x, at):
    return x.gather(-1, at), torch.take_along_dim(x, at[:1, :1], 2)


@case(lambda: [(t(4, 6), ints(23, 0, -1, 5)), (t(4, 6), ints(2, 2, 2, -24))])
def flat_places(x, at):
    return torch.take(x, at), x.put(at[:1], x[:1, 0] * 10), x.put(at, torch.ones(4), True)


@case(lambda: [(below(9, 1, 3) - 9, t(9, 4)), (below(4, 1, 3), t(9, 4))])
def add_to_its_own_rows(at, x):
    y = x.clone()
    y[at] += y[at]
    return y
