"""ResNet-50, MobileNetV2 and VGG16 as torchvision builds them, in plain torch.nn (torchvision is
not needed): the modules give the same names and shapes of parameters."""
import torch
from torch import nn
from torch.nn import functional as F


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1,
                                         bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.downsample = None
        if stride != 1 or inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self, WIDTH=64, CLASSES=1000, **_):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False), nn.BatchNorm2d(WIDTH)
        inputs = WIDTH
        for stage, (count, stride) in enumerate(((3, 1), (4, 2), (6, 2), (3, 2))):
            width = WIDTH << stage
            blocks = [Bottleneck(inputs, width, stride)
                      ] + [Bottleneck(4 * width, width) for _ in range(count - 1)]
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
            inputs = 4 * width
        self.fc = nn.Linear(inputs, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def conv_bn(inputs, outputs, kernel=3, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs), nn.ReLU6())


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = inputs * expand
        layers = [] if expand == 1 else [conv_bn(inputs, hidden, 1)]
        layers += [
            conv_bn(hidden, hidden, 3, stride, hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs)
        ]
        self.conv, self.adds = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, W=8, CLASSES=1000, **_):
        super().__init__()
        features, inputs = [conv_bn(3, 4 * W, 3, 2)], 4 * W
        for expand, width, count, stride in ((1, 2, 1, 1), (6, 3, 2, 2), (6, 4, 3, 2), (6, 8, 4, 2),
                                             (6, 12, 3, 1), (6, 20, 3, 2), (6, 40, 1, 1)):
            for index in range(count):
                features.append(
                    InvertedResidual(inputs, width * W, stride if index == 0 else 1, expand))
                inputs = width * W
        self.features = nn.Sequential(*features, conv_bn(inputs, 160 * W, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(160 * W, CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class VGG16(nn.Module):
    def __init__(self, W=64, HIDDEN=4096, CLASSES=5, **_):
        super().__init__()
        layers, inputs = [], 3
        for width in (1, 1, 0, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8, 0, 8, 8, 8, 0):
            if width:
                layers += [nn.Conv2d(inputs, width * W, 3, padding=1), nn.ReLU()]
                inputs = width * W
            else:
                layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(inputs * 49, HIDDEN), nn.ReLU(), nn.Dropout(),
                                        nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Dropout(),
                                        nn.Linear(HIDDEN, CLASSES))

    def forward(self, x):
        return torch.softmax(self.classifier(F.adaptive_avg_pool2d(self.features(x), 7).flatten(1)),
                             -1)
