"""Boxes, as torchvision.ops counts them."""
import torch
from torchvision import ops

from rows.library.called import pair

BOXES = (("N", 4), (3, 4))
pair("box_area", "box_area(x0)", ops.box_area, shapes=BOXES[:1], result=("N",))
# Areas and ratios of f16 are f32, as the areas overflow f16.
pair("box_area", "box_area(x0 * 512)", lambda x: ops.box_area(x * 512), shapes=BOXES[:1],
     result=("N", ), dtypes=("f16", ), result_dtype="f32", count=4)
for given in ("xyxy", "xywh", "cxcywh"):
    for wanted in ("xyxy", "xywh", "cxcywh"):
        pair("box_convert", f'box_convert(x0, "{given}", "{wanted}") + 0',
             lambda x, g=given, w=wanted: ops.box_convert(x.clone(), g, w), shapes=BOXES[:1],
             result=("N", 4), note=f"{given} to {wanted}")
pair("clip_boxes_to_image", "clip_boxes_to_image(x0, (1, 2))",
     lambda x: ops.clip_boxes_to_image(x, (1, 2)), shapes=BOXES[:1], result=("N", 4), count=0)
for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
    # The second corner is below and to the right of the first.
    pair(
        name,
        f"{name}(cat((x0[:, :2], x0[:, :2] + abs(x0[:, 2:]) + 1), 1), cat((x1[:, :2], x1[:, :2] + abs(x1[:, 2:]) + 1), 1))",
        lambda x, y, f=getattr(ops, name): f(*(torch.cat(
            (b[:, :2], b[:, :2] + b[:, 2:].abs() + 1), 1) for b in
                                               (x, y))), shapes=BOXES, result=("N", 3), count=64)
