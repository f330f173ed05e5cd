"""Networks whose steps of training train_figures.py measures by dlc.Trainer."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (
            one.view(n, length, self.heads, width // self.heads).transpose(1, 2)
            for one in self.qkv(x).chunk(3, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


class Gpt(nn.Module):
    """GPT-2's architecture."""

    def __init__(self, layers=4, width=256, heads=4, tokens=512, length=128):
        super().__init__()
        self.table, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, True) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)
        for table in (self.table, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids):
        x = self.table(ids) + self.places.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x))).transpose(1, 2)


class Vit(nn.Module):
    """ViT-tiny: patches of 16, 12 layers of 192."""

    def __init__(self, width=192, layers=12, heads=3, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, stride=16)
        self.places = nn.Parameter(torch.randn(1, 196, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, False) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(x)).mean(1))


def double(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.BatchNorm2d(after),
        nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


class Unet(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256), classes=2):
        super().__init__()
        self.down = nn.ModuleList(double(a, b) for a, b in zip((3, *widths), widths))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:])
        )
        self.join = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        held = []
        for layer in self.down:
            x = layer(F.max_pool2d(x, 2) if held else x)
            held.append(x)
        for up, join, beside in reversed(list(zip(self.up, self.join, held))):
            x = join(torch.cat([up(x), beside], 1))
        return self.head(x)


def vgg16_head():
    from torchvision.models import vgg16

    base = vgg16(weights=None).features.requires_grad_(False)
    return nn.Sequential(
        base, nn.Flatten(), nn.Linear(512 * 49, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def resnet(name):
    import torchvision

    return getattr(torchvision.models, name)(num_classes=10)


def images(batch, size, classes=10, dense=False):
    shape = (batch, size, size) if dense else (batch,)
    return lambda: (torch.randn(batch, 3, size, size), torch.randint(0, classes, shape))


def tokens(batch, length):
    return lambda: (torch.randint(0, 512, (batch, length)), torch.randint(0, 512, (batch, length)))


#: The module, and inputs with targets of cross_entropy.
NETWORKS = {
    "VGG16 head b8": (vgg16_head, images(8, 224)),
    "ResNet-18 b16 64x64": (lambda: resnet("resnet18"), images(16, 64)),
    "ResNet-50 b4 224x224": (lambda: resnet("resnet50"), images(4, 224)),
    "ViT-tiny b16": (Vit, images(16, 224)),
    "GPT-2 4x256 b8 T128": (Gpt, tokens(8, 128)),
    "U-Net b2 128x128": (Unet, images(2, 128, 2, dense=True)),
}
