"""Norms, losses and their reductions, embeddings."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import ROWS, below, case, ints

t = torch.randn


@case(lambda: [(t(n, 4, 6, 5),) for n in (2, 1, 3)], dynamic=ROWS)
class InstanceNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.InstanceNorm2d(4, affine=True)
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.second = nn.InstanceNorm2d(4, track_running_stats=True)

    def forward(self, x):
        y = torch.relu(self.first(self.conv(x)))
        return self.second(y) + F.instance_norm(x), F.instance_norm(x[:, :2], eps=0.1)


@case(lambda: [(t(n, 6, 4, 5),) for n in (2, 1, 3)], dynamic=ROWS)
class GroupNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.plain = nn.GroupNorm(3, 6), nn.GroupNorm(2, 6, affine=False)

    def forward(self, x):
        return self.norm(x), self.plain(x.flatten(2)), F.group_norm(x[..., 0, 0], 1)


@case(lambda: [(t(n, 3, 6),) for n in (2, 1, 7)], dynamic=ROWS)
class LayerNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.both = nn.LayerNorm(6, bias=False), nn.LayerNorm((3, 6), eps=1e-3)
        self.scale = nn.RMSNorm(6)

    def forward(self, x):
        return self.norm(x), self.both(x), self.scale(x * 9), F.rms_norm(x, (3, 6), eps=0.5)


@case(lambda: [(t(2, 7, 4, 3),) for _ in range(2)])
def local_response_norm(x):
    return F.local_response_norm(x, 3), F.local_response_norm(x[..., 0], 4, 0.1, 0.5, 2.0)


@case(lambda: [(t(n, 5, 4),) for n in (3, 1, 6)], dynamic=ROWS)
class BatchNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.plain = nn.BatchNorm1d(5), nn.BatchNorm1d(5, affine=False, eps=0.1)
        self.own = nn.BatchNorm1d(5, track_running_stats=False)
        with torch.no_grad():
            self.norm.running_mean.normal_()
            self.norm.running_var.uniform_(0.5, 2.0)

    def forward(self, x):
        return self.norm(x), self.plain(x[..., 0]), self.own(x)


@case(lambda: [(t(3, 5), t(5, 4)) for _ in range(2)])
class NormedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.length = nn.utils.parametrizations.weight_norm(nn.Linear(5, 3))
        self.spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3, bias=False))

    def forward(self, x, y):
        return self.length(x), self.spectral(y), torch.renorm(y, 2, 0, 0.7)


@case(lambda: [(t(4, 6), ints(*at)) for at in ((0, 5, -100, 2), (3, 3, 1, 0))])
def cross_entropy(x, target):
    each = F.cross_entropy(x, target, reduction="none", label_smoothing=0.1)
    weighted = F.cross_entropy(x, target, torch.linspace(0.5, 2.0, 6), reduction="sum")
    return (
        F.cross_entropy(x, target),
        each,
        weighted,
        F.cross_entropy(x, target.clamp(0), ignore_index=3),
    )


@case(lambda: [(t(2, 4, 3, 3), below(4, 2, 3, 3), torch.rand(2, 4, 3, 3)) for _ in range(2)])
def cross_entropy_of_images(x, target, shares):
    return (
        F.cross_entropy(x, target),
        F.cross_entropy(x, shares),
        F.nll_loss(x.log_softmax(1), target),
    )


@case(lambda: [(t(3, 4), t(3, 4)) for _ in range(2)])
def losses_of_differences(x, y):
    losses = [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss]
    found = [loss(x, y, reduction=kind) for loss in losses for kind in ("mean", "sum", "none")]
    return *found, F.smooth_l1_loss(x, y, beta=0.3), F.huber_loss(x, y, delta=2.0)


@case(lambda: [(t(3, 4) * 30, torch.rand(3, 4)) for _ in range(2)])
def losses_of_chances(x, y):
    weight, positive = torch.linspace(0.2, 1.0, 4), torch.full((4,), 3.0)
    logits = F.binary_cross_entropy_with_logits
    plain = F.binary_cross_entropy(x.sigmoid().clamp(1e-6, 1 - 1e-6), y)
    return plain, logits(x, y, weight), logits(x, y, reduction="none", pos_weight=positive)


@case(lambda: [(t(3, 4), t(3, 4), torch.tensor([1.0, -1.0, 1.0])) for _ in range(2)])
def losses_of_pairs(x, y, side):
    first = F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean")
    logs = F.kl_div(x.log_softmax(1), y.log_softmax(1), reduction="sum", log_target=True)
    margins = F.margin_ranking_loss(x[:, 0], y[:, 0], side, 0.2), F.hinge_embedding_loss(
        x[:, 0], side
    )
    return (
        first,
        logs,
        *margins,
        F.cosine_embedding_loss(x, y, side),
        F.soft_margin_loss(x[:, 0], side),
    )


@case(lambda: [(t(3, 4), t(3, 4), t(3, 4)) for _ in range(2)])
def losses_of_triplets(x, y, z):
    poisson = F.poisson_nll_loss(x, y.abs()), F.gaussian_nll_loss(x, y, z.abs() + 0.1)
    return F.triplet_margin_loss(x, y, z), F.triplet_margin_loss(x, y, z, p=1, swap=True), *poisson


@case(lambda: [below(9, 2, 5), below(9, 2, 5), below(9, 1, 2)])
class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.bag = nn.Embedding(9, 4, padding_idx=0), nn.EmbeddingBag(9, 4, mode="mean")

    def forward(self, x):
        return self.table(x), self.bag(x), F.embedding_bag(x, self.table.weight, mode="max")


@case(lambda: [(below(9, 7), ints(0, 2, 5)), (below(9, 7), ints(0, 0, 6))])
class BagsOfOffsets(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(9, 4, mode="sum")

    def forward(self, x, offsets):
        return self.table(x, offsets)


@case(lambda: [(t(3, 4), t(3, 5)) for _ in range(2)])
class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Bilinear(4, 5, 2)

    def forward(self, x, y):
        return self.layer(x, y), F.cosine_similarity(x, y[:, :4], eps=0.5)
