"""Functions of torchvision.ops whose results are as many as the data say. PyTorch's database lacks
them, and so do numeric rows."""
import dataclasses
from typing import Callable

import torch
from torchvision import ops

from case import Case
from expected import results_of
from layers import Sample
from samples import seed


def batched_nms(boxes, scores, groups, threshold):
    """By definition: torchvision may shift the groups instead, which lets boxes below 0 meet those
    of other groups."""
    kept = [(groups == group).nonzero()[:, 0] for group in groups.unique()]
    kept = torch.cat([places[ops.nms(boxes[places], scores[places], threshold)] for places in kept]
                     or [groups])
    return kept[scores[kept].argsort(descending=True)]


@dataclasses.dataclass
class Entry:
    name: str
    call: str
    function: Callable
    has_scores: bool = False
    groups: int = 0


ENTRIES = [
    Entry("nms", "nms(@0, @1, 0.3)", lambda boxes, scores: ops.nms(boxes, scores, 0.3), True),
    Entry("batched_nms", "batched_nms(@0, @1, @2, 0.3)",
          lambda boxes, scores, groups: batched_nms(boxes, scores, groups, 0.3), True, 3),
    Entry("batched_nms", "batched_nms(@0, @1, @2, 0.1)",
          lambda boxes, scores, groups: batched_nms(boxes, scores, groups, 0.1), True, 1),
    Entry("remove_small_boxes", "remove_small_boxes(@0, 3)",
          lambda boxes: ops.remove_small_boxes(boxes, 3)),
    Entry("remove_small_boxes", "remove_small_boxes(@0, 9.0)",
          lambda boxes: ops.remove_small_boxes(boxes, 9.0))
]


def names():
    return sorted({entry.name for entry in ENTRIES})


def cases_of(name, seed_number):
    """Cases on many boxes around 0, on none and on one."""
    seed(name, seed_number)
    cases = []
    for entry in ENTRIES:
        for count in (40, 0, 1) if entry.name == name else ():
            low = torch.randint(-20, 20, (count, 2)).float()
            inputs = [torch.cat((low, low + torch.rand(count, 2) * 12), 1)]
            inputs += [torch.rand(count)] if entry.has_scores else []
            inputs += [torch.randint(0, entry.groups, (count,))] if entry.groups else []
            case = Case(name, "sample", "f32", entry.call, inputs)
            case.results, _ = results_of(entry.function, Sample(inputs, {}), "f32", name, 0)
            cases.append(case)
    return cases
