#!/usr/bin/env python3
"""Torchvision's SSDlite, RetinaNet and Faster R-CNN at full size, with seeded weights whose scores
differ: compiled by dlc.compile for the CPU within a minute or so, and run against PyTorch. On
demand: six minutes, most of them PyTorch's in double precision. It needs PyTorch 2.5 or newer with
torchvision.

  run_detectors.py           all of them
  run_detectors.py NAME...   these alone

Scores of such weights lie so close together that rounding changes their order: each box that
PyTorch finds in double precision must be among dlc's, of its label and score, and there are as
many."""

import os
import sys
import time
import warnings

import numpy as np

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conformance")
)
from cases import Cases, Failure  # noqa: E402
from models import dlc  # noqa: E402

SECONDS = 120  # for export and compilation of one: thirty of them on an idle processor
# Scores, and corners in parts of the image: PyTorch's own in f32 are 1e-4 and 7e-4 off those in f64
# (SSDlite).
SCORE_BOUND, CORNER_BOUND = 2e-4, 1e-3
OUTPUTS = ["boxes", "scores", "labels"]


def spread_norms(torch, network):
    """Weights of SSDlite by which scores differ, its norms near 1."""
    from small_detectors import spread

    spread(network)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.weight, 0.7, 1.3)


def scale_logits(torch, network, image):
    """Weights of RetinaNet by which the logits of its classes have deviation 1."""
    last, seen = network.network.head.classification_head.cls_logits, []
    hook = last.register_forward_hook(lambda layer, inputs, result: seen.append(result))
    network(image)
    hook.remove()
    last.weight.div_(max((logits - last.bias[None, :, None, None]).std() for logits in seen))


# Name: the size of the image, what else torchvision is told, what changes the weights.
DETECTORS = {
    "ssdlite320_mobilenet_v3_large": (
        320,
        {},
        lambda torch, network, image: spread_norms(torch, network),
    ),
    "retinanet_resnet50_fpn": (
        800,
        {"topk_candidates": 200, "detections_per_img": 100},
        scale_logits,
    ),
    "fasterrcnn_resnet50_fpn": (800, {}, lambda torch, network, image: None),
}


def match(got, wanted, size):
    if [array.shape for array in got] != [array.shape for array in wanted]:
        raise Failure(
            f"shapes {[array.shape for array in got]}, PyTorch's are {[array.shape for array in wanted]}"
        )
    boxes, scores, labels = got
    left = np.ones(len(boxes), bool)
    for box, score, label in zip(*wanted):
        near = (
            left
            & (labels == label)
            & (np.abs(scores - score) <= SCORE_BOUND)
            & (np.abs(boxes - box).max(1) <= CORNER_BOUND * size)
        )
        if not near.any():
            raise Failure(f"there is no box near {box.tolist()} of label {label} and score {score}")
        left[np.flatnonzero(near)[0]] = False
    return len(set(wanted[1].tolist()))


def check(torch, cases, name):
    from small_detectors import Torchvision
    from torchvision.models import get_model

    size, options, change = DETECTORS[name]
    torch.manual_seed(3)
    network = Torchvision(get_model(name, weights=None, weights_backbone=None, **options)).eval()
    image = torch.rand(1, 3, size, size)
    with torch.no_grad():
        change(torch, network, image)
        wanted = [result.numpy() for result in network.double()(image.double())]
        network.float()
    with cases.case(f"{name}: compile"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.monotonic()
        model = dlc.compile(network, image, device="cpu", outputs=OUTPUTS)
        took = time.monotonic() - began
        print(f"   {name}: {took:.0f} s to a loaded model")
        if took > SECONDS:
            raise Failure(f"compiling took {took:.0f} s, expected at most {SECONDS}")
    with cases.case(f"{name}: run"):
        if len(wanted[0]) < 100:
            raise Failure(f"PyTorch finds {len(wanted[0])} boxes; expected 100 or more to compare")
        found = model.run({model.inputs[0].name: image})
        different = match([found[output].numpy() for output in OUTPUTS], wanted, size)
        print(f"   {name}: {len(wanted[0])} boxes of {different} scores")


def main():
    if unknown := sorted(set(sys.argv[1:]) - set(DETECTORS)):
        sys.exit(f"there is no {', '.join(unknown)}; detectors are {', '.join(DETECTORS)}")
    try:
        import torch
        import torchvision  # noqa: F401
    except ImportError as error:
        print(
            f"1 left out (the detectors, because {error}: tools/scripts/setup --tests)\n0 passed, 0 failed"
        )
        return 0
    cases = Cases()
    for name in sys.argv[1:] or DETECTORS:
        check(torch, cases, name)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
