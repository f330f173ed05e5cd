"""Reductions, orders, running sums and distances."""

import math

import torch
from torch.nn import functional as F

from constructs.construct import ROWS, SPECIAL, case, ints, rows

t = torch.randn
TIED = torch.tensor([[4.0, 7.0, 7.0, 1.0], [2.0, 2.0, 2.0, 2.0], [9.0, -9.0, 9.0, -9.0]])
ODD = torch.tensor([[math.nan, 2.0, math.inf, 2.0], [-math.inf, 0.0, -0.0, 1.0]])


@case(lambda: rows(4, 1, 9, shape=(6,)), dynamic=ROWS)
def running_sums(x):
    return x.cumsum(0), x.cumsum(-1), x.cumprod(1), x.logcumsumexp(0), x.flip(0).cumsum(0).flip(0)


@case(lambda: [t(3, 4), TIED, -TIED])
def running_maxima(x):
    return *x.cummax(1), *x.cummin(0)


@case(lambda: [ints(5, -3, 0, 250, 7), ints(1, 1, 0, 0, -1)])
def running_sums_of_integers(x):
    narrow = x.to(torch.int32).cumsum(0), x.to(torch.uint8).cumsum(0), x.bool().cumsum(0)
    return x.cumsum(0), *narrow, x.cumprod(0), x.cumsum(0, dtype=torch.float32)


@case(lambda: [ints(5, -3, 0, 250, 7), ints(1, 1, 0, 0, -1)])
def sums_of_integers(x):
    truths = x.any(), x.bool().all(), x.count_nonzero(), x.bool().sum()
    return (
        x.sum(),
        x.int().sum(),
        x.int().prod(),
        x.to(torch.uint8).sum(),
        *truths,
        x.float().mean(),
    )


@case(lambda: [t(n, 3, 4, 2) for n in (2, 1, 5)], dynamic=ROWS)
def several_dims(x):
    means = x.mean((1, 2, 3)), x.mean(), x.sum((0, -1), keepdim=True), x.amax((1, 3))
    spreads = x.var((1, 3)), x.std(unbiased=False), *torch.var_mean(x, (2, 3), correction=2)
    return *means, *spreads, x.prod(2)


@case(lambda: rows(4, 1, 7), dynamic=ROWS)
def norms(x):
    ends = torch.linalg.vector_norm(x, math.inf, dim=1), torch.linalg.vector_norm(x, -math.inf)
    return (
        x.norm(),
        x.norm(p=1, dim=1),
        torch.linalg.vector_norm(x, 3, dim=-1),
        *ends,
        F.normalize(x),
    )


@case(
    lambda: [ODD, ODD.flip(0), torch.tensor([[-math.inf] * 4, [1e38, -1e38, 0.0, 3.0]])], each=True
)
def softmax_of_infinities(x):
    return torch.softmax(x, 1), torch.log_softmax(x, 1), torch.logsumexp(x, 1), torch.softmax(-x, 0)


@case(lambda: [TIED, TIED.flip(1), torch.zeros(1, 4), TIED.repeat(2, 1)], dynamic=ROWS)
def first_of_ties(x):
    return x.argmax(1), x.argmin(1), *x.max(1), *x.min(0), x.argmax(), x.argmin(0, keepdim=True)


@case(lambda: [ODD, ODD.flip(1)], each=True)
def places_of_nan(x):
    return x.argmax(1), x.argmin(1), *torch.max(x, 1), *torch.min(x, 0), x.max(), x.aminmax()


@case(lambda: [TIED, -TIED, TIED.repeat(2, 1)], dynamic=ROWS)
def stable_orders(x):
    up, down = x.sort(stable=True), x.sort(dim=1, stable=True, descending=True)
    return *up, *down, x.argsort(dim=0, stable=True)


@case(lambda: [ODD, ODD.flip(1)], each=True)
def orders_with_nan(x):
    up, down = torch.sort(x, stable=True), torch.sort(x, stable=True, descending=True)
    return up[0], down[0], up[1], x.topk(2)[0], x.topk(3, largest=False)[0]


@case(lambda: [ints(9, -2, 9, 0, 5), ints(0, 0, 1, 1, -7)])
def orders_of_integers(x):
    return (
        *x.sort(stable=True),
        x.argsort(descending=True, stable=True),
        (x > 0).sort()[0],
        x.topk(3)[0],
    )


@case(lambda: [t(n, 7) for n in (3, 1, 8)], dynamic=ROWS)
def largest(x):
    return *x.topk(3), *x.topk(2, dim=1, largest=False), x.kthvalue(2)[0], x.topk(7)[1]


@case(lambda: [t(4, 5), t(4, 5), t(3, 6)])
def medians(x):
    return x.median(), *x.median(1), x.kthvalue(3, 0)[0], x.nanmedian()


@case(lambda: [t(4, 5), t(4, 5) * 3])
def quantiles(x):
    some = torch.tensor([0.0, 0.35, 0.5, 1.0])
    nearest = torch.quantile(x, 0.4, dim=0, interpolation="nearest")
    return torch.quantile(x, some), x.quantile(0.25, dim=1, keepdim=True), nearest


@case(lambda: [t(4, 5).round(), t(4, 5).round()])
def most_frequent(x):
    return (
        torch.mode(x, 1)[0],
        torch.histc(x, 5, -3, 3),
        torch.bincount(x.long().flatten() + 9, minlength=30),
    )


@case(lambda: [t(6).round(), t(6).round(), t(6) * 4], captures=True)
def distinct(x):
    return torch.unique(x), torch.unique_consecutive(x)


@case(lambda: [(torch.tensor([[0.0, 0.4, 2.0], [-5.0, 1.0, 9.0]]), t(2, 4)), (t(2, 3), t(2, 4))])
def buckets(x, y):
    edges = torch.tensor([0.0, 0.4, 1.0, 2.0])
    left, right = torch.bucketize(x, edges), torch.bucketize(x, edges, right=True)
    return left, right, torch.searchsorted(y.sort(1)[0], x), torch.searchsorted(edges, 0.5)


@case(lambda: [(t(2, 5, 3), t(2, 4, 3)), (t(2, 5, 3) * 9, t(2, 4, 3))])
def distances(x, y):
    lengths = torch.cdist(x, y), torch.cdist(x, y, p=1), torch.cdist(x, y, p=math.inf)
    same = torch.cosine_similarity(x[:, :, None], y[:, None], dim=-1)
    return *lengths, F.pairwise_distance(x[:, :4], y), same


@case(lambda: [t(n, 9) for n in (32, 2, 1, 45)], dynamic=ROWS)
def distances_of_many_rows(x):
    exact = "donot_use_mm_for_euclid_dist"
    others = 1 - torch.eye(x.shape[0])  # PyTorch's own diagonal is off
    return (
        torch.cdist(x, x) * others,
        torch.cdist(x, x[:1] + 1),
        torch.cdist(x, x, compute_mode=exact),
    )


@case(lambda: [SPECIAL.view(3, 5), SPECIAL.flip(0).view(3, 5)], each=True)
def truth_of_numbers(x):
    return (
        x.bool(),
        x.any(1),
        x.all(),
        x.logical_not(),
        torch.logical_xor(x, x.flip(0)),
        x.count_nonzero(),
    )


@case(lambda: [(t(n, 3, 4), t(n, 4, 5)) for n in (2, 1, 6)], dynamic={"x": {0: "N"}, "y": {0: "N"}})
def einsums(x, y):
    products = torch.einsum("nij,njk->nik", x, y), torch.einsum("nij,njk->kn", x, y)
    own = torch.einsum("...ij->...ji", x), torch.einsum("nii->ni", x[..., :3])
    return *products, *own, torch.einsum("nij,nij,nj->i", x, x, y[..., 0])


@case(lambda: [(t(4, 4), t(4)) for _ in range(2)])
def small_matrices(x, y):
    made = torch.outer(y, y), torch.diag(y), torch.diag_embed(x), torch.kron(x[:2], x[:1, :3])
    cross = torch.linalg.cross(x[:, :3], x[:, 1:])
    return (
        *made,
        cross,
        x.trace(),
        torch.tensordot(x, x, 2),
        torch.addmm(x, x, x, beta=0.5, alpha=2),
    )
