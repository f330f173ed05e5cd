"""Ops whose results are as large as the data say: padded with zeros, and a count. Each result has
rows of its own."""
import itertools
import math

import torch

from rows.row import ALL, row, with_element

SIZES = (0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 65)
COUNT = "tensor<i64>"


def padded(x, size, dim=0):
    """Zeros behind the elements of x, up to `size` of them along `dim`."""
    dims = list(x.shape)
    dims[dim] = size - dims[dim]
    return torch.cat([x, torch.zeros(dims, dtype=x.dtype)], dim)


def results(op, types_of, which, attrs=""):
    """A body that gives result number `which` of an op; `types_of(types of operands, type of that
    result)` are its types."""
    def body(names, types, y):
        given = types_of(types, y)
        letters = ["%y" if i == which else "%" + "abcdefg"[i] for i in range(len(given))]
        return f"{', '.join(letters)} = dl.{op} {', '.join(names)} {attrs} : ({', '.join(types)}) -> ({', '.join(given)})"
    return body


# %x as [3, N], then in other ranks, to the rows of indices and to how many these are.
for shape, size in (((3, "N"), "N * 3"), (("N",), "N"), (("N", 2, 5), "N * 10")):
    rank = len(shape)
    rows_type = f"tensor<?x{rank}xi64, #dl.t<[{size.replace('N', 's0')}, {rank}]>>"
    for which, result in ((0, (size, rank)), (1, ())):
        row(
            "nonzero", ALL if rank == 2 else ("f32", "i1"), [shape], result,
            (lambda x: padded(x.nonzero(), x.numel())) if which == 0 else
            (lambda x: (x != 0).sum()), values="equals" if rank == 2 else "whole", sizes=SIZES,
            result_dtype="i64", note=f"result {which}, rank {rank}",
            body=results("nonzero", lambda types, y, rows_type=rows_type: [rows_type, COUNT],
                         which))

FLAT = "tensor<?x{0}, #dl.t<[s0 * 3]>>"
for which, result in ((0, ("N * 3",)), (1, ())):
    for mask, note in (((3, "N"), "equal dims"), (("N",), "mask broadcast")):
        row(
            "masked_select", ALL if note == "equal dims" else ("f32", ), [(3, "N"), mask], result,
            (lambda x, mask: padded(x.masked_select(mask), x.numel())) if which == 0 else
            (lambda x, mask: mask.expand(x.shape).sum()), sizes=SIZES, kinds={1: ("i1", "special")},
            result_dtype=None if which == 0 else "i64", note=f"{note}, result {which}",
            body=results(
                "masked_select", lambda types, y: [
                    y if y != COUNT else types[0].replace("3x?x", "?x").replace(
                        "[3, s0]", "[s0 * 3]"), COUNT
                ], which))


def unique(x, is_sorted, dim):
    """By definition: values, where each comes first, where the value of each stands, how often each
    occurs."""
    slices = x.reshape(-1, 1) if dim is None else x.movedim(dim, 0).flatten(1)
    keys = [tuple(s.tolist()) for s in slices]
    firsts = []
    for i, key in enumerate(keys):
        if not any(keys[j] == key and not any(v != v for v in key) for j in firsts):
            firsts.append(i)
    if is_sorted:
        firsts.sort(key=lambda i: tuple((v != v, 0 if v != v else v) for v in keys[i]))
    places = [
        next(n for n, j in enumerate(firsts) if j == i or (keys[j] == keys[i] and i not in firsts))
        for i in range(len(keys))
    ]
    indices = torch.tensor(firsts, dtype=torch.int64)
    values = x.reshape(-1)[indices] if dim is None else x.index_select(dim, indices)
    inverse = torch.tensor(places, dtype=torch.int64).reshape(x.shape if dim is None else -1)
    counts = torch.bincount(torch.tensor(places, dtype=torch.int64), minlength=len(firsts))
    return values, indices, inverse, counts, torch.tensor(len(firsts))


def unique_of(which, is_sorted, dim):
    def function(x):
        result = unique(x, is_sorted, dim)[which]
        size = x.numel() if dim is None else x.shape[dim]
        along = dim if which == 0 and dim is not None else 0
        return result if which in (2, 4) else padded(result, size, along)
    return function


for which, is_sorted in itertools.product(range(5), (True, False)):
    flag = "true" if is_sorted else "false"
    flat = {0: ("N * 3",), 1: ("N * 3",), 2: (3, "N"), 3: ("N * 3",), 4: ()}
    sliced = {0: ("N", 3), 1: ("N",), 2: ("N",), 3: ("N",), 4: ()}
    words = "sorted" if is_sorted else "in order"

    def types_of(size, values):
        row_type = f"tensor<?xi64, #dl.t<[{size}]>>"
        return lambda types, y: [
            values(types[0]), row_type, row_type
            if size == "s0" else with_element(types[0], "i64"), row_type, COUNT
        ]

    row(
        "unique", ("f32", "i64", "i8", "f16", "i1") if which == 0 else ("f32", "i64"), [(3, "N")],
        flat[which], unique_of(which, is_sorted,
                               None), values="equals", sizes=(0, 1, 2, 3, 8, 17, 33),
        result_dtype=None if which == 0 else "i64", note=f"{words}, result {which}", body=results(
            "unique",
            types_of("s0 * 3", lambda x: x.replace("3x?x", "?x").replace("[3, s0]", "[s0 * 3]")),
            which, f"{{sorted = {flag}}}"))
    row(
        "unique", ("f32", "i64") if which == 0 else ("i64", ), [("N", 3)], sliced[which],
        unique_of(which, is_sorted, 0), values=[0, 1, 2], sizes=(0, 1, 2, 3, 8, 17, 33),
        result_dtype=None if which == 0 else "i64", note=f"{words}, slices, result {which}",
        body=results("unique", types_of("s0", lambda x: x), which,
                     f"{{sorted = {flag}, dim = 0 : i64}}"))
row(
    "unique", ("f32", ), [("N", 2)], ("N", 2), unique_of(0, True, 0), values="equals",
    sizes=(1, 2, 3, 8, 17), note="slices with NaN",
    body=results("unique", lambda types, y: [y, *["tensor<?xi64, #dl.t<[s0]>>"] * 3, COUNT], 0,
                 "{dim = 0 : i64}"))
row(
    "unique", ("i32", ), [(2, "N", 2)], (2, "N", 2), unique_of(0, True, 1), values=[0, 1],
    sizes=(1, 2, 3, 8, 17), note="slices of dim 1",
    body=results("unique", lambda types, y: [y, *["tensor<?xi64, #dl.t<[s0]>>"] * 3, COUNT], 0,
                 "{dim = 1 : i64}"))


def overlap(a, b, is_center):
    """Intersection over union; NaN of two boxes without area."""
    def sides(box):
        if is_center:
            return [(box[i] - box[i + 2] / 2, box[i] + box[i + 2] / 2) for i in (0, 1)]
        return [(min(box[i], box[i + 2]), max(box[i], box[i + 2])) for i in (0, 1)]
    def area(box):
        return math.prod(high - low for low, high in sides(box))

    common = math.prod(
        max(min(p[1], q[1]) - max(p[0], q[0]), 0) for p, q in zip(sides(a), sides(b)))
    whole = area(a) + area(b) - common
    return common / whole if whole else math.nan


def suppressed(boxes, scores, iou, least, most, is_center):
    """The greedy choice of each image and class."""
    found = []
    for image, group in enumerate(scores.tolist()):
        for number, line in enumerate(group):
            left = [
                i for i in sorted(range(len(line)), key=lambda i: -line[i])
                if least is None or line[i] > least
            ]
            for _ in range(most):
                if left:
                    best = left.pop(0)
                    found.append((image, number, best))
                    own = boxes[image].tolist()
                    left = [i for i in left if not overlap(own[i], own[best], is_center) > iou]
    return torch.tensor(found, dtype=torch.int64).reshape(-1, 3)


BOX = {0: (30, 3), 1: ()}
for which, is_center in itertools.product((0, 1), (False, True)):
    def choice(boxes, scores, iou, least, is_center=is_center, which=which):
        rows = suppressed(boxes, scores, iou.item(), least.item(), 5, is_center)
        return padded(rows, 30) if which == 0 else torch.tensor(len(rows))

    row(
        "non_max_suppression", ("f32", "f64"), [(2, "N", 4), (2, 3, "N"), (1, ), ()], BOX[which],
        choice, values="positive" if is_center else "normal", sizes=(5, 7, 16, 33),
        result_dtype="i64", kinds={2: ("f32", [0.25]), 3: ("f32", [0.125])},
        note=f"{'centers' if is_center else 'corners'}, result {which}", body=results(
            "non_max_suppression", lambda types, y: ["tensor<30x3xi64>", COUNT], which,
            f"{{most = 5 : i64, center_point_box = {'true' if is_center else 'false'}, "
            "operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}"))
row(
    "non_max_suppression", ("f32", ), [(1, 6, 4), (1, 2, 6), (1, )],
    (12, 3), lambda boxes, scores, limit: padded(
        suppressed(boxes, scores, 0.0, None, int(limit), False), 12), values="normal", sizes=(1, ),
    result_dtype="i64", kinds={2: ("i64", [2])}, note="limit",
    body=results("non_max_suppression", lambda types, y: ["tensor<12x3xi64>", COUNT], 0,
                 "{operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}"))
# As many as there may be: of a dynamic n, `most` has room for n.
row(
    "non_max_suppression", ("f32", ), [(2, "N", 4), (2, 3, "N"), (1, )], ("N * 6", 3),
    lambda boxes, scores, iou: padded(suppressed(boxes, scores, iou.item(
    ), None, 100000, False), 6 * scores.shape[2]), values="normal", sizes=(0, 1, 2, 15, 16, 17, 40),
    result_dtype="i64", kinds={2: ("f32", [0.25])}, note="all of a dynamic n",
    body=results("non_max_suppression", lambda types, y: [y, COUNT], 0,
                 "{most = 100000 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}"))
for which, (number, name) in itertools.product((0, 1), ((40, "40"), (700, "700"), ("N", "?"))):
    def kept(boxes, scores, which=which):
        rows = suppressed(boxes[None], scores[None, None], 0.3, None, len(boxes), False)[:, 2]
        return padded(rows, len(boxes)) if which == 0 else torch.tensor(len(rows))

    row(
        "nms", ("f32", "f16") if number == 40 else ("f32", ), [(number, 4), (number, )],
        (number, ) if which == 0 else (), kept, values="normal",
        sizes=(0, 1, 17, 300) if number == "N" else (1, ), result_dtype="i64",
        note=f"{number} boxes, result {which}", body=results(
            "nms", lambda types, y, name=name: [
                y if y != COUNT else f"tensor<{name}xi64{', #dl.t<[s0]>' if name == '?' else ''}>",
                COUNT
            ], which, "{iou_threshold = 0.3 : f64}"))


def without_overlap(order, low0, low1, high0, high1, threshold, takes_part, count):
    """Of each line, the places of the boxes that are taken, by definition; -1 behind them."""
    found = torch.full((*order.shape[:-1], count), -1, dtype=torch.int64)
    for line in range(order.shape[0]):
        boxes = torch.stack(
            [t.expand(order.shape)[line].double() for t in (low0, low1, high0, high1)], 1).tolist()
        area = [(b[2] - b[0]) * (b[3] - b[1]) for b in boxes]
        taken = []
        for i in order[line].tolist():
            if not 0 <= i < len(boxes):
                continue
            b = boxes[i]

            def common(j):
                return max(min(b[2], boxes[j][2]) - max(b[0], boxes[j][0]), 0) * max(
                    min(b[3], boxes[j][3]) - max(b[1], boxes[j][1]), 0)

            def is_near(j):
                whole = area[i] + area[j] - common(j)
                return whole != 0 and common(j) / whole > threshold.item()
            if takes_part[line, i] and len(taken) < count and not any(is_near(j) for j in taken):
                found[line, len(taken)] = i
                taken.append(i)
    return found


def order_of_scores(scores):
    return scores.sort(dim=1, descending=True, stable=True).indices


# Some of a line, or all; 256 and 16 boxes are compared at a time. Boxes are named in the order of
# scores, or at random: twice or more, not at all, and some that do not exist.
for count, dtype, sizes in ((5, "f32", (0, 1, 4, 5, 6, 40)), (5, "f64", (1, 40)),
                            (300, "f32", (17, 255, 257, 600))):
    for boxes_of in (3, 1):
        row(
            "suppress", (dtype, ), [(3, "N")] + [(boxes_of, "N")] * 4 + [(1, ),
                                                                         (3, "N")], (3, count),
            lambda scores, *operands, count=count: without_overlap(order_of_scores(
                scores), *operands, count), values="normal", sizes=sizes, result_dtype="i64",
            kinds={5: (dtype, [0.125]),
                   6: ("i1", "special")}, note=f"{count} at most of lines with {boxes_of} boxes",
            body=lambda names, types, y, count=count:
            f"%o = dl.order {names[0]} {{dim = 1 : i64, descending = true, count = affine_map<()[s0] -> (s0)>}} : ({types[0]}) -> "
            f"{with_element(types[0], 'i64')}\n"
            f"%y = dl.suppress %o, {', '.join(names[1:])} {{count = affine_map<() -> ({count})>}} : "
            f"({', '.join((with_element(types[0], 'i64'), *types[1:]))}) -> {y}")
    row(
        "suppress", (dtype, ), [(3, "N"), *[(3, "N")] * 4, (1, ), (3, "N")], (3, count),
        lambda *operands, count=count: without_overlap(*operands, count), values="normal",
        sizes=sizes, result_dtype="i64",
        kinds={0: ("i64", [*range(-2, 9), 1 << 40]), 5: (dtype, [0.125]), 6: ("i1", "special")
               }, note=f"{count} at most, any places", body=lambda names, types, y, count=count:
        f"%y = dl.suppress {', '.join(names)} {{count = affine_map<() -> ({count})>}} : "
        f"({', '.join(types)}) -> {y}")
# What a counted symbol is before the outputs are cut: all of the dim.
row(
    "trim", ("f32", "i64", "i1"), [("N", 3)], ("N", 3), lambda x: x, note="a symbol",
    body=lambda names, types, y:
    f"%y = dl.trim {names[0]} {{dim = 0 : i64, size = affine_map<()[s0] -> (s0)>}} : ({types[0]}) -> {y}"
)
