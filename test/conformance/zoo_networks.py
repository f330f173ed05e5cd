"""Networks as people write them that torchvision and transformers do not have, at a size at which
they compile fast."""
import torch
import torch.nn.functional as F
from torch import nn


class ModulatedConv(nn.Module):
    """StyleGAN2's: each image of a batch has weights of its own, by a convolution of as many
    groups."""

    def __init__(self, channels, style, upsamples):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, channels, 3, 3))
        self.affine = nn.Linear(style, channels)
        self.upsamples = upsamples
        self.bias = nn.Parameter(torch.randn(channels))
        self.noise = nn.Parameter(torch.full((1,), 0.1))

    def forward(self, x, w, noise):
        weight = self.weight[None] * (self.affine(w) + 1)[:, None, :, None, None]
        weight = weight * torch.rsqrt((weight * weight).sum([2, 3, 4], keepdim=True) + 1e-8)
        if self.upsamples:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        batch, channels, height, width = x.shape
        x = F.conv2d(x.reshape(1, batch * channels, height, width),
                     weight.reshape(batch * channels, channels, 3, 3), padding=1,
                     groups=batch).reshape(batch, channels, height, width)
        return F.leaky_relu(
            x + noise[:, :, :height, :width] * self.noise + self.bias[None, :, None, None],
            0.2) * 2**0.5


class StyleGan(nn.Module):
    def __init__(self):
        super().__init__()
        self.mapping = nn.Sequential(
            *[layer for _ in range(4) for layer in (nn.Linear(16, 16), nn.LeakyReLU(0.2))])
        self.constant = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.layers = nn.ModuleList(
            [ModulatedConv(8, 16, upsamples) for upsamples in (False, True, True)])
        self.to_rgb = nn.Conv2d(8, 3, 1)

    def forward(self, z, noise):
        w = self.mapping(z * torch.rsqrt((z * z).mean(1, keepdim=True) + 1e-8))
        x = self.constant.repeat(z.shape[0], 1, 1, 1)
        for layer in self.layers:
            x = layer(x, w, noise)
        return torch.tanh(self.to_rgb(x))


class Dlrm(nn.Module):
    """A recommender: bags of ids looked up and added, their products with each other, an MLP."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(50, 8, mode="sum") for _ in range(3)])
        self.bottom = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())

    def forward(self, dense, ids):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(ids[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(features, features.transpose(1, 2))
        rows, columns = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([x, products[:, rows, columns]], 1))


class Crnn(nn.Module):
    """Text in pictures: convolutions, two LSTMs in both directions, CTC's log-probabilities."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.MaxPool2d((2, 1)))
        self.lstm = nn.LSTM(16 * 8, 12, 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(24, 11)

    def forward(self, x):
        return self.out(self.lstm(self.features(x).permute(0, 3, 1,
                                                           2).flatten(2))[0]).log_softmax(-1)


class GruText(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 12)
        self.gru = nn.GRU(12, 10, 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(20, 3)

    def forward(self, ids):
        outputs, hidden = self.gru(self.embedding(ids))
        return self.out(outputs[:, -1] + outputs.max(1)[0]), hidden


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
        self.embedding = nn.Embedding(30, 32)
        self.out = nn.Linear(32, 30)

    def forward(self, source, target):
        size = target.shape[1]
        mask = torch.triu(torch.full((size, size), float("-inf"), dtype=self.out.weight.dtype), 1)
        return self.out(
            self.transformer(self.embedding(source), self.embedding(target), tgt_mask=mask))


class ConvUnit(nn.Module):
    def __init__(self, channels, out, kernel=1, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x):
        return F.silu(self.norm(self.conv(x)))


class Yolo(nn.Module):
    """Two scales, pools of several sizes side by side, boxes decoded by a grid and anchors."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(ConvUnit(3, 8, 3, 2), ConvUnit(8, 16, 3, 2))
        self.down = ConvUnit(16, 32, 3, 2)
        self.narrow, self.joined, self.lateral = ConvUnit(32, 16), ConvUnit(64,
                                                                            32), ConvUnit(32, 16)
        self.fused = ConvUnit(32, 16, 3)
        self.heads = nn.ModuleList([nn.Conv2d(16, 3 * 9, 1), nn.Conv2d(32, 3 * 9, 1)])
        self.register_buffer("anchors", torch.rand(2, 3, 2) * 8)

    def forward(self, x):
        fine = self.stem(x)
        pools = [self.narrow(self.down(fine))]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        coarse = self.joined(torch.cat(pools, 1))
        fine = self.fused(
            torch.cat((F.interpolate(self.lateral(coarse), scale_factor=2, mode="nearest"), fine),
                      1))
        boxes = []
        for i, (features, stride) in enumerate(((fine, 4), (coarse, 8))):
            y = self.heads[i](features)
            batch, _, height, width = y.shape
            y = y.view(batch, 3, 9, height, width).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            centers = (y[..., 0:2] * 2 - 0.5 + torch.stack((columns, rows), 2).to(y.dtype)) * stride
            sizes = (y[..., 2:4] * 2) ** 2 * self.anchors[i].view(1, 3, 1, 1, 2)
            boxes.append(torch.cat((centers, sizes, y[..., 4:]), -1).view(batch, -1, 9))
        return torch.cat(boxes, 1)


def ssdlite():
    """Torchvision's detector with the head of SSDlite and two levels of features."""
    from functools import partial

    from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
    from torchvision.models.detection.ssd import SSD
    from torchvision.models.detection.ssdlite import SSDLiteHead

    class Levels(nn.Module):
        out_channels = [16, 24]

        def __init__(self):
            super().__init__()
            self.fine = nn.Sequential(ConvUnit(3, 8, 3, 4), ConvUnit(8, 16, 3, 2))
            self.coarse = ConvUnit(16, 24, 3, 2)

        def forward(self, x):
            fine = self.fine(x)
            return {"0": fine, "1": self.coarse(fine)}

    anchors = DefaultBoxGenerator([[2, 3]] * 2, scales=[0.2, 0.5, 0.9])
    head = SSDLiteHead(Levels.out_channels, anchors.num_anchors_per_location(), 5,
                       partial(nn.BatchNorm2d, eps=1e-3))
    return SSD(Levels(), anchors, (128, 128), 5, head=head, score_thresh=0.02, topk_candidates=40,
               detections_per_img=20, image_mean=[0.5] * 3, image_std=[0.5] * 3)


class UNet3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv3d(1, 4, 3, padding=1), nn.Conv3d(4, 8, 3, padding=1)
        self.norm, self.up, self.out = nn.InstanceNorm3d(8), nn.ConvTranspose3d(8, 4, 2,
                                                                                2), nn.Conv3d(
                                                                                    8, 2, 1)

    def forward(self, x):
        fine = F.relu(self.down(x))
        deep = F.elu(self.norm(self.deep(F.max_pool3d(fine, 2))))
        return self.out(torch.cat((fine, self.up(deep)), 1)).softmax(1)


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.out = nn.Conv1d(1, 8, 1), nn.Conv1d(8, 4, 1)
        self.gates = nn.ModuleList([nn.Conv1d(8, 16, 2, dilation=2 ** i) for i in range(4)])

    def forward(self, x):
        x, skipped = self.first(x), 0
        for i, gate in enumerate(self.gates):
            value, weight = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            y = torch.tanh(value) * torch.sigmoid(weight)
            x, skipped = x + y, skipped + y
        return self.out(F.relu(skipped))
