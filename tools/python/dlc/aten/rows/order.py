"""Rows of ops that put elements in order."""

from ..call import number_text
from ..table import row


@row("sort", "sort.stable", "argsort", "argsort.stable", "msort")
def _sort(call):
    dim = call.get("dim", 0)
    text = call.function(
        "sort",
        call("self"),
        str(dim),
        descending="true" if call.get("descending") else None,
        stable="true" if call.get("stable") else None,
    )
    if call.name == "sort":
        return call.results(text, 2)
    names = call.program.emit_many(text, "sorted", [call.name == "msort", call.name == "argsort"])
    return names[call.name == "argsort"]


@row("topk")
def _topk(call):
    """The first of a sort, where their number is computed."""
    largest = None if call["largest"] else "false"
    if isinstance(call["k"], int):
        k, dim = str(call["k"]), str(call["dim"])
        return call.results(call.function("topk", call("self"), k, dim, largest=largest), 2)
    descending = "true" if call["largest"] else None
    text = call.function("sort", call("self"), str(call["dim"]), descending=descending)
    used, dim, k = [call.is_used(0), call.is_used(1)], call.dim(), call.size(call["k"])
    names = call.program.emit_many(text, "sorted", used)
    return [name and call.emit(f"narrow({name}, {dim}, 0, {k})") for name in names]


@row("torchvision::nms", "dlc::batched_nms")
def _nms(call):
    boxes, scores = ("boxes", "scores") if call.name == "batched_nms" else ("dets", "scores")
    more = [call("idxs")] if call.name == "batched_nms" else []
    threshold = number_text(float(call["iou_threshold"]))
    return call.function(call.name, call(boxes), call(scores), *more, threshold)


@row("_unique2", "unique_dim", "_unique")
def _unique(call):
    inverse, counts = call.get("return_inverse", False), call.get("return_counts", False)
    named = {
        "return_inverse": "true" if inverse else None,
        "return_counts": "true" if counts else None,
        "dim": str(call["dim"]) if "dim" in call.arguments else None,
    }
    text = call.function("unique", call("self"), **named)
    if not inverse and not counts:
        return [call.emit(text), None, None]
    names = call.program.emit_many(text, call.name, [True] * (1 + bool(inverse) + bool(counts)))
    rest = iter(names[1:])
    return [names[0], next(rest) if inverse else None, next(rest) if counts else None]
