"""Sums of products."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, FLOATS, POSITIVE, in_double, row

for values, bound in (("normal", lambda k, f: acc.contraction(k, f)), ("whole", lambda k, f: acc.exact)):
    note = "" if values == "normal" else ", whole numbers"
    dtypes = FLOATS if values == "normal" else FLOATS + ("i32", "i8")
    row("matmul", dtypes, [("N", 33), (33, 17)], ("N", 17), torch.matmul, bound(33, torch.matmul), values=values,
        note="M = N" + note)
    row("matmul", dtypes, [(5, "N"), ("N", 19)], (5, 19), torch.matmul, bound(lambda a, b: a.shape[-1], torch.matmul),
        values=values, note="K = N" + note)
    row("matmul", dtypes, [(7, 12), (12, "N")], (7, "N"), torch.matmul, bound(12, torch.matmul), values=values,
        note="N = N" + note)
    row("matmul", ("f32",), [(2, "N", 3, 5), (1, 5, 6)], (2, "N", 3, 6), torch.matmul,
        bound(5, torch.matmul), values=values, note="batched" + note)
    row("linear", dtypes, [("N", 20), (18, 20), (18,)], ("N", 18), F.linear, bound(21, F.linear), values=values,
        note="bias" + note)
    row("linear", ("f32", "f16"), [(2, 3, 64), (65, 64)], (2, 3, 65), F.linear, bound(64, F.linear), sizes=(1,),
        values=values, note="rank 3" + note)
    row("linear", ("f32",), [("N", 129), (1, 129)], ("N", 1), F.linear, bound(129, F.linear), values=values,
        note="one feature" + note)


def convolution(dtypes, x, w, result, sizes, note, bias=False, attrs="", **torch_args):
    """One row of ordinary and one of whole numbers."""
    inputs = [x, w] + ([(w[0],)] if bias else [])
    function = lambda *t: F.conv2d(*t, **torch_args)
    if "padding" in torch_args and len(torch_args["padding"]) == 4:
        top, left, bottom, right = torch_args.pop("padding")
        function = lambda x, *t: F.conv2d(F.pad(x, [left, right, top, bottom]), *t, **torch_args)
    terms = w[1] * w[2] * w[3] + bias
    row("conv2d", dtypes, inputs, result, function, acc.contraction(terms, function), attrs=attrs, sizes=sizes,
        values="normal", note=note)
    row("conv2d", dtypes[:1] + ("i32",), inputs, result, in_double(function), attrs=attrs, sizes=sizes, values="whole",
        note=note + ", whole numbers")


convolution(FLOATS, ("N", 3, 6, 7), (5, 3, 3, 3), ("N", 5, 4, 5), BOUNDARY[:10], "bias", bias=True)
convolution(("f32", "f16"), (2, 4, "N", 9), (8, 4, 3, 3), (2, 8, "N", 9), POSITIVE[:14], "padding",
            attrs="{padding = array<i64: 1, 1>}", padding=(1, 1))
convolution(("f32",), (1, 16, 8, "N"), (17, 16, 1, 1), (1, 17, 8, "N"), POSITIVE[:16], "1x1")
convolution(("f32",), (1, 2, "N", 11), (33, 2, 5, 3), (1, 33, "(N - 3) floordiv 2 + 1", 4), (5, 7, 8, 9, 15, 16, 17, 33),
            "stride", attrs="{stride = array<i64: 2, 3>, padding = array<i64: 1, 1>}", stride=(2, 3), padding=(1, 1))
convolution(("f32",), ("N", 4, 9, 10), (6, 2, 3, 2), ("N", 6, 5, 9), BOUNDARY[:8], "dilation and groups", bias=True,
            attrs="{dilation = array<i64: 2, 1>, groups = 2 : i64}", dilation=(2, 1), groups=2)
convolution(("f32", "f16"), ("N", 17, 5, 5), (17, 1, 3, 3), ("N", 17, 5, 5), BOUNDARY[:8], "depthwise",
            attrs="{padding = array<i64: 1, 1>, groups = 17 : i64}", padding=(1, 1), groups=17)
convolution(("f32",), ("N", 2, 5, 6), (3, 2, 2, 4), ("N", 3, 5, 6), BOUNDARY[:8], "uneven padding",
            attrs="{padding = array<i64: 0, 1, 1, 2>}", padding=(0, 1, 1, 2))
convolution(("f32",), (1, 64, 8, 8), (65, 64, 3, 3), (1, 65, 8, 8), (1,), "many channels",
            attrs="{padding = array<i64: 1, 1>}", padding=(1, 1))
