"""Pools, resampling, paddings and convolutions with unusual options."""

import torch
from torch import nn
from torch.nn import functional as F

from constructs.construct import ROWS, case

t = torch.randn
IMAGES = {"x": {0: "N", 2: "H", 3: "W"}}


def images(*sizes, channels=3):
    return [(t(n, channels, *size),) for n, *size in sizes]


@case(lambda: images((2, 7, 9), (2, 7, 9), (1, 6, 11)))
def pools_that_reach_over(x):
    """The last window reaches over the end in ceil_mode."""
    most = F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.max_pool2d(
        x, 2, 3, dilation=2, ceil_mode=True
    )
    return *most, F.avg_pool2d(x, 2, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)


@case(lambda: images((2, 7, 9), (2, 7, 9), (1, 8, 6)))
def averages_without_padding(x):
    inner = F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
    edges = F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)
    return inner, edges, F.avg_pool2d(x, 2, divisor_override=3), F.lp_pool2d(x.abs(), 2, 2)


@case(lambda: images((2, 8, 9), (1, 12, 6), (3, 5, 5)), dynamic=IMAGES)
def pools_of_any_size(x):
    return (
        F.max_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 2, 1),
        F.adaptive_avg_pool2d(x, 1),
        x.mean((2, 3)),
    )


@case(lambda: images((2, 7, 10), (2, 7, 10), (1, 4, 9)))
def adaptive_pools_of_any_size(x):
    return F.adaptive_avg_pool2d(x, (3, 4))


@case(lambda: images((2, 7, 10), (2, 7, 10), (1, 7, 10)))
def adaptive_pools(x):
    area = F.interpolate(x, scale_factor=0.6, mode="area")
    return (
        F.adaptive_avg_pool2d(x, (3, 4)),
        F.adaptive_max_pool2d(x, (2, None)),
        F.adaptive_avg_pool2d(x, (9, 5)),
        area,
    )


@case(lambda: [(t(2, 3, 11),) for _ in range(2)])
def pools_of_sequences(x):
    most = F.max_pool1d(x, 3, 2, ceil_mode=True), F.adaptive_max_pool1d(x, 4)
    return *most, F.avg_pool1d(x, 4, 3, 2, count_include_pad=False), F.adaptive_avg_pool1d(x, 5)


@case(lambda: [(t(1, 2, 5, 6, 7),) for _ in range(2)])
def pools_of_volumes(x):
    return (
        F.max_pool3d(x, 2, ceil_mode=True),
        F.avg_pool3d(x, (2, 3, 2)),
        F.adaptive_avg_pool3d(x, (2, 1, 3)),
    )


@case(lambda: images((2, 6, 8), (2, 6, 8)))
def unpooled(x):
    pooled, places = F.max_pool2d(x, 2, return_indices=True)
    return pooled, places, F.max_unpool2d(pooled, places, 2)


@case(lambda: images((2, 4, 5), (1, 7, 3), (1, 1, 1)), dynamic=IMAGES)
def enlarged(x):
    ends = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
    return (
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, scale_factor=(2, 3), mode="bilinear"),
        ends,
    )


@case(lambda: images((2, 5, 6), (2, 5, 6), (1, 9, 4)))
def resized(x):
    kinds = []
    for mode in ("bilinear", "bicubic"):
        for ends in (False, True):
            kinds.append(F.interpolate(x, (7, 4), mode=mode, align_corners=ends))
    exact = F.interpolate(x, (7, 4), mode="nearest-exact")
    return *kinds, exact, F.interpolate(x, (7, 4))


@case(lambda: images((2, 8, 9), (2, 8, 9)))
def shrunk_smoothly(x):
    smooth = F.interpolate(x, (4, 5), mode="bilinear", antialias=True)
    cubic = F.interpolate(x, (5, 3), mode="bicubic", antialias=True)
    factor = F.interpolate(x, scale_factor=0.7, mode="bilinear", recompute_scale_factor=True)
    return smooth, cubic, factor, F.interpolate(x, scale_factor=1.7, mode="bilinear")


@case(
    lambda: [(x, t(n, 2, *x.shape[2:])) for (x,) in images((1, 4, 4), (1, 8, 3)) for n in (1,)],
    dynamic={"x": {2: "H", 3: "W"}, "y": {2: "H", 3: "W"}},
)
def as_large_as_another(x, y):
    small = F.max_pool2d(F.pad(y, (0, 1, 0, 1)), 2)
    return torch.cat((x, F.interpolate(small, size=x.shape[2:], mode="bilinear")), 1)


@case(lambda: [(t(2, 3, 6, 5), torch.rand(2, 4, 7, 2) * 2.6 - 1.3) for _ in range(2)])
def sampled_by_a_grid(x, grid):
    found = []
    for padding in ("zeros", "border", "reflection"):
        for ends in (False, True):
            found.append(F.grid_sample(x, grid, padding_mode=padding, align_corners=ends))
    return (
        *found,
        F.grid_sample(x, grid, "nearest", align_corners=False),
        F.grid_sample(x, grid, "bicubic", align_corners=True),
    )


@case(lambda: [(t(2, 2, 5, 4), t(2, 2, 3)) for _ in range(2)])
def warped(x, theta):
    grid = F.affine_grid(theta, [2, 2, 6, 3], align_corners=False)
    return F.grid_sample(x, grid, align_corners=False)


@case(lambda: [(t(n, 8, 3, 2),) for n in (2, 1, 4)], dynamic=ROWS)
def shuffled_pixels(x):
    up = F.pixel_shuffle(x, 2)
    return up, F.pixel_unshuffle(up, 2), F.channel_shuffle(x, 4)


@case(lambda: [(t(2, 3, 6, 7),) for _ in range(2)])
def patches(x):
    columns = F.unfold(x, (2, 3), dilation=2, padding=1, stride=2)
    return columns, F.fold(columns, (6, 7), (2, 3), dilation=2, padding=1, stride=2)


@case(lambda: images((2, 6, 5), (2, 6, 5), (1, 4, 8)))
def paddings(x):
    kinds = [F.pad(x, (1, 2, 3, 0), mode) for mode in ("reflect", "replicate", "circular")]
    return *kinds, F.pad(x, (-1, 2, 0, -2), value=4.0), F.pad(x, (0, 0, 0, 0, 1, 1), value=-1.0)


@case(lambda: images((2, 7, 8), (1, 9, 6), (2, 12, 5)), dynamic=IMAGES)
class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.grouped = nn.Conv2d(3, 6, 3, 2, 1, groups=3, bias=False)
        self.same = nn.Conv2d(6, 4, (3, 2), padding="same", dilation=(1, 2))
        self.mirrored = nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect")

    def forward(self, x):
        return self.mirrored(self.same(self.grouped(x)))


@case(lambda: images((2, 3, 4), (2, 3, 4), (1, 5, 2)))
class TransposedConvolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ConvTranspose2d(3, 4, 3, 2, 1, output_padding=1, groups=1)
        self.second = nn.ConvTranspose2d(
            4, 6, (2, 3), (3, 2), dilation=(2, 1), groups=2, bias=False
        )

    def forward(self, x):
        return self.second(self.first(x)), self.first(x, output_size=[2 * s for s in x.shape[2:]])


@case(lambda: [(t(2, 3, 10), t(4, 3, 3)) for _ in range(2)])
def weights_as_inputs(x, weight):
    return F.conv1d(x, weight, padding=1), F.conv1d(
        x.view(1, 6, 10), weight.repeat(2, 1, 1), groups=2
    )
