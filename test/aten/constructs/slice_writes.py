"""Writes into slices, masks, diagonals and views of views."""

import torch

from constructs.construct import ROWS, case, rows

t = torch.randn


@case(lambda: [(t(n, 7), t(n, 3)) for n in (4, 1, 9)], dynamic={"x": {0: "N"}, "values": {0: "N"}})
def slices_assigned(x, values):
    y = x.clone()
    y[:, 1:-1:2] = values
    y[..., -1] -= 2
    y[-1, :] = 5.0
    y[:1, :2] *= y[:1, 2:4]
    return y


@case(
    lambda: [(t(n, 4), t(n, 4) > bound) for n, bound in ((3, 0), (8, 9.0), (1, -9.0))],
    dynamic={"x": {0: "N"}, "mask": {0: "N"}},
)
def mask_assigned(x, mask):
    y = x.clone()
    y[mask] = -3.0
    z = x.clone()
    z[~mask] = x.mean()
    return y, z


@case(lambda: rows(5, 1, 11), dynamic=ROWS)
def mask_of_its_own(x):
    y = x.clone()
    y[x > 0.3] *= 3
    y[y < -1] = 0
    return y


@case(lambda: [(t(5, 3), t(5) > 0), (t(5, 3), t(5) > 9), (t(5, 3), t(5) > -9)])
def masked_rows(x, mask):
    y = x.clone()
    y[mask] = y[mask].abs() + 1
    return y


@case(lambda: rows(5, 5, 2), captures=True)
def masked_select(x):
    return x[x > 0], torch.masked_select(x, x < 0).sum(), torch.nonzero(x > 0.5)


@case(lambda: [t(n, 5, 5) for n in (3, 1, 6)], dynamic=ROWS)
def diagonal_filled(x):
    y = x.clone()
    y.diagonal(dim1=1, dim2=2).fill_(8.0)
    z = x.clone()
    z.diagonal(1, -2, -1).mul_(-1.0)
    return y, z


@case(lambda: [t(6, 4), t(6, 4)])
def fill_diagonal(x):
    return x.clone().fill_diagonal_(-1.0), x.clone().T.contiguous().fill_diagonal_(0.5)


@case(lambda: [(t(4, 9), t(4, 4), t(4)) for _ in range(2)])
def scattered_slices(x, values, column):
    return (
        torch.slice_scatter(x, values, dim=1, start=0, end=-2, step=2),
        torch.select_scatter(x, column, 1, -3),
        torch.diagonal_scatter(x, column, 2),
    )


@case(lambda: rows(5, 3, 12, shape=(6,)), dynamic=ROWS)
def view_of_a_view(x):
    y = torch.ones_like(x)
    below = y[1:]
    below[:, 1::2].copy_(x[1:, ::2])
    below.mul_(3)
    below.view(-1)[0] = 7
    return y


@case(lambda: rows(4, 4, shape=(6,)))
def overlapping_copies(x):
    y = x.clone()
    y[1:] = y[:-1].clone()
    z = x.clone()
    z[:, 0], z[:, 1] = z[:, 1].clone(), z[:, 0].clone()
    return y, z


@case(lambda: [t(5, 4), t(5, 4)])
def strided(x):
    return torch.as_strided(x, (3, 2), (5, 1), 2) + 1, x.unfold(0, 3, 2), x.unfold(1, 2, 1).sum(-1)


@case(lambda: [t(n, m) for n, m in ((4, 6), (1, 6), (9, 2))], dynamic={"x": {0: "N", 1: "M"}})
def triangles(x):
    return x.tril(-1) + x.triu(1), torch.ones_like(x).tril(1), x.T.triu()


@case(lambda: rows(4, 2, 7), dynamic=ROWS)
def rows_in_a_loop(x):
    y = torch.zeros(4, x.shape[0], 5)
    for i in range(4):
        y[i] = x * i if i == 0 else y[i - 1] + x
        y[i, 0, 0] = -i
    return y


@case(lambda: rows(6, 6))
def in_place_through_views(x):
    y = x.clone()
    y.T[2].zero_()
    y.view(2, 15)[:, ::5].add_(10)
    y.unsqueeze(0)[0, 1].neg_()
    first, _ = y.chunk(2)
    first.clamp_(max=0.25)
    return y, first


@case(lambda: rows(4, 4, shape=(8,)))
def rolled_and_flipped(x):
    y = x.roll((1, -3), (0, 1))
    y[:, :4] = y.flip(1)[:, :4]
    return y, x.roll(2), x.rot90(1, (0, 1)), torch.fliplr(x)


@case(lambda: [(t(3, 4), t(3, 4) > 0, t(3, 4)) for _ in range(2)])
def where_written(x, mask, values):
    y = x.clone()
    torch.where(mask, values, y, out=y)
    z = x.masked_fill(mask, float("-inf")).masked_fill_(~mask, 2)
    return y, z, torch.where(mask, 1, x), torch.where(mask, x, 0.0).nonzero_static(size=12)
