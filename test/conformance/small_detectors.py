"""Detectors of torchvision's families on a backbone of a few channels, and one as YOLOv8 ends:
small enough for the emulated GPU. Their scores lie far enough apart that the order of the boxes
does not hang on rounding."""
import torch
from torch import nn
from torchvision.models.detection import FasterRCNN, RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from torchvision.models.detection.ssd import SSD
from torchvision.ops import MultiScaleRoIAlign, batched_nms

CLASSES = 4
# Each keeps as many boxes as the data say: more counted dims than a model has symbols for
# (dl::kMaxSymbols)
MANY_CLASSES = 75


class Pyramid(nn.Module):
    """Two levels of features."""

    def __init__(self, channels=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, 4, 1), nn.ReLU(),
                                  nn.Conv2d(channels, channels, 3, 2, 1), nn.ReLU())
        self.down = nn.Sequential(nn.Conv2d(channels, channels, 3, 2, 1), nn.ReLU())
        self.out_channels = channels

    def forward(self, x):
        fine = self.stem(x)
        return {"0": fine, "1": self.down(fine)}


def anchors():
    return AnchorGenerator(((12, 20), (24, 40)), ((0.5, 1.0, 2.0),) * 2)


def ssd(classes=CLASSES, score_thresh=0.2):
    backbone = Pyramid()
    backbone.out_channels = [8, 8]
    return SSD(backbone, DefaultBoxGenerator([[2], [2]], scales=[0.2, 0.5, 0.9]), (64, 64), classes,
               score_thresh=score_thresh, topk_candidates=12, detections_per_img=10,
               image_mean=[0.5] * 3, image_std=[0.25] * 3)


def retinanet():
    return RetinaNet(Pyramid(), CLASSES, anchor_generator=anchors(), min_size=64, max_size=64,
                     score_thresh=0.02, topk_candidates=20, detections_per_img=10)


def faster_rcnn():
    return FasterRCNN(Pyramid(), CLASSES, rpn_anchor_generator=anchors(), min_size=64, max_size=64,
                      box_score_thresh=0.1, rpn_pre_nms_top_n_test=40, rpn_post_nms_top_n_test=20,
                      box_detections_per_img=10, box_roi_pool=MultiScaleRoIAlign(["0", "1"], 3, 2))


class Torchvision(nn.Module):
    """A detector of torchvision on a batch of one image: boxes, scores and labels."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        found = self.network([x[0]])[0]
        return found["boxes"], found["scores"], found["labels"]


class Yolo(nn.Module):
    """Boxes as distributions over distances to the four sides, one of the classes each, and what
    overlaps suppressed."""
    BINS = 8

    def __init__(self):
        super().__init__()
        self.backbone = Pyramid()
        self.sides = nn.ModuleList([nn.Conv2d(8, 4 * self.BINS, 1) for _ in range(2)])
        self.classes = nn.ModuleList([nn.Conv2d(8, CLASSES, 1) for _ in range(2)])

    def forward(self, x):
        corners, scores = [], []
        for i, (features, stride) in enumerate(zip(self.backbone(x).values(), (8, 16))):
            height, width = features.shape[2:]
            sides = self.sides[i](features).view(4, self.BINS, height * width).softmax(1)
            sides = (sides * torch.arange(self.BINS, dtype=sides.dtype).view(1, -1, 1)).sum(1)
            rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            centers = torch.stack((columns, rows)).flatten(1).to(sides.dtype) + 0.5
            corners.append(torch.cat((centers - sides[:2], centers + sides[2:])).t() * stride)
            scores.append(self.classes[i](features).view(CLASSES, height * width).sigmoid().t())
        boxes, (scores, labels) = torch.cat(corners), torch.cat(scores).max(1)
        likely = scores > 0.5
        boxes, scores, labels = boxes[likely], scores[likely], labels[likely]
        kept = batched_nms(boxes, scores, labels, 0.45)[:10]
        return boxes[kept], scores[kept], labels[kept]


def spread(network):
    """Weights by which scores differ."""
    for name, weight in network.named_parameters():
        with torch.no_grad():
            if weight.dim() > 1:
                weight.copy_(torch.randn(weight.shape) * (2.5 / weight[0].numel()) ** 0.5)
            else:
                weight.copy_(torch.randn(weight.shape) * 0.1)
    return network


DETECTORS = {
    "ssd": lambda: spread(Torchvision(ssd())),
    "ssd_of_many_classes": lambda: spread(Torchvision(ssd(MANY_CLASSES, score_thresh=0.05))),
    "yolo": lambda: spread(Yolo()),
    "retinanet": lambda: spread(Torchvision(retinanet())),
    "faster_rcnn": lambda: spread(Torchvision(faster_rcnn())),
}
