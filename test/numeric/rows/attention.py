"""Attention, against its formula in double precision: PyTorch 1.13 has no public function for it.
"""
import numpy as np
import torch

import accuracy as acc
from modules import tensor_type
from rows.quantized import CUT_OFF, E4M3, Ops
from rows.row import BOUNDARY, FLOATS, POSITIVE, row

NAME = "scaled_dot_product_attention"


def scores_of(q, k, scale=None):
    return q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)


def attention(q, k, v, mask=None, scale=None, causal=False, gqa=False):
    if gqa:
        k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = scores_of(q, k, scale)
    if causal:
        scores = scores.masked_fill(
            torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask,
                                    -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ v


def of_attention(tf32=0.0, stores_scores=True, **arguments):
    """Scores lose E + 2 units of sum|q||k| and, in 16 bits, one of their own for each time that
    they are stored (`stores_scores`); that moves the weights by as much, and they and the second
    sum lose a unit for each of S terms. `tf32`: what rounding the factors moves a product by."""
    def bound(y, inputs, dtype):
        u, stored = acc.unit(
            acc.compute(dtype)), acc.unit(dtype) if dtype != acc.compute(dtype) else 0.0
        if dtype == "f64":
            u *= 2  # the expected value is no more exact
        q, k, v = (t.abs() for t in inputs[:3])
        if arguments.get("gqa"):
            k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        size = scores_of(q, k, arguments.get("scale"))
        if len(inputs) == 4 and inputs[3].dtype != torch.bool:
            size = size + inputs[3].abs().nan_to_num(0.0, 0.0)
        terms = k.shape[-2]
        worst = size.amax(-1, keepdim=True) if terms else size.sum(-1, keepdim=True)
        moved = 2 * worst * ((q.shape[-1] + 6) * u + 3 * stored * stores_scores
                             + tf32) + (2 * terms + 24) * u + 4 * stored + tf32
        weighted = attention(*inputs[:2], v, *inputs[3:], **arguments)
        return (weighted * moved).numpy() + 2 * stored * np.abs(y) + acc.ulp(
            np.zeros_like(y), dtype)
    bound.is_raised = not stores_scores  # the ops that define it do round them
    if not tf32:
        bound.in_tf32 = of_attention(2.0**-10 + 2.0**-22, stores_scores, **arguments)
    return bound


def attention_row(dtypes, q, k, v, result, note, sizes=(1, 2, 7, 8, 17, 33), mask=None, kind=None,
                  attrs="", stores_scores=True, **arguments):
    row(NAME, dtypes, [q, k, v] + ([mask] if mask else []),
        result, lambda *t: attention(*t, **arguments),
        of_attention(stores_scores=stores_scores, **arguments), attrs=attrs, sizes=sizes,
        values="normal", note=note, kinds={3: kind} if kind else {})


attention_row(FLOATS, (2, 3, "N", 8), (2, 3, 9, 8), (2, 3, 9, 5), (2, 3, "N", 5), "L = N")
attention_row(("f32", "f16"), (2, 5, 16), (2, "N", 16), (2, "N", 16), (2, 5, 16), "S = N",
              sizes=POSITIVE)
attention_row(("f32", ), ("N", 8), ("N", 8), ("N", 8), ("N", 8), "rank 2, scale", scale=0.25,
              attrs="{scale = 0.25 : f64}")
attention_row(("f32",), (2, 3, 4, 8), (1, 3, "N", 8), (3, "N", 8), (2, 3, 4, 8), "broadcast")
for q, k in (("N", "N"), ("N", 9), (5, "N")):
    attention_row(("f32", "bf16"), (2, 2, q, 8), (2, 2, k, 8), (2, 2, k, 8), (2, 2, q, 8),
                  f"causal, {q} and {k}", attrs="{is_causal = true}", causal=True)
attention_row(("f32", "f16"), (2, 3, 6, 8), (2, 3, "N", 8), (2, 3, "N", 8), (2, 3, 6, 8),
              "float mask", mask=(2, 1, 6, "N"))
attention_row(("f32", ), (2, 3, "N", 8), (2, 3, 7, 8), (2, 3, 7, 8), (2, 3, "N", 8),
              "float mask of columns", mask=(7, ))
attention_row(("f32", ), (2, 6, "N", 8), (2, 2, 7, 8), (2, 2, 7, 8), (2, 6, "N", 8),
              "shared heads, masked", mask=(6, "N", 7), attrs="{enable_gqa = true}", gqa=True)
attention_row(("f32", "f16"), (2, 6, "N", 8), (2, 3, "N", 8), (2, 3, "N", 8), (2, 6, "N", 8),
              "shared heads, causal", attrs="{enable_gqa = true, is_causal = true}", gqa=True,
              causal=True)
# A row that attends to nothing is NaN here and there.
attention_row(("f32", "f16"), (2, 3, "N", 8), (2, 3, 9, 8), (2, 3, 9, 8), (2, 3, "N", 8),
              "bool mask", mask=(2, 1, "N", 9), kind=("i1", "whole"))
# Heads as wide as they come, and odd ones; many tiles of rows and of keys; keys that lie along
# their columns.
SPANS = (1, 15, 16, 17, 63, 64, 65, 127, 128, 129)
for width, columns in ((64, 64), (80, 48), (128, 128), (256, 256), (5, 3), (32, 200)):
    attention_row(("f32", "f16", "bf16"), (1, 2, 70, width), (1, 2, "N", width),
                  (1, 2, "N", columns), (1, 2, 70, columns), f"width {width}, {columns}",
                  sizes=SPANS)
attention_row(("f32", "f16", "bf16"), (1, 2, "N", 64), (1, 2, "N", 64), (1, 2, "N", 64),
              (1, 2, "N", 64), "tiles, causal", sizes=SPANS, attrs="{is_causal = true}",
              causal=True)
attention_row(("f32", "f16"), (3, 1, 64), (3, "N", 64), (3, "N", 64), (3, 1, 64), "one query",
              sizes=(*SPANS, 300))
# Few queries over a long past: blocks share the keys, of which a part may have none, or none that
# the mask lets a row see.
LONG = (1, 63, 64, 65, 127, 128, 129, 1000)
attention_row(("f32", "f16", "bf16"), (1, 2, 1, 128), (1, 2, "N", 128), (1, 2, "N", 128),
              (1, 2, 1, 128), "one query, long past", sizes=LONG)
attention_row(("f16", ), (1, 1, 32), (1, "N", 32), (1, "N", 32), (1, 1, 32),
              "one query, longer past", sizes=(8191, 8192))
for queries in (7, 8, 9):
    attention_row(("f32", "f16"), (1, 2, queries, 32), (1, 2, "N", 32), (1, 2, "N", 32),
                  (1, 2, queries, 32), f"{queries} queries, long past, masked", mask=(queries, "N"),
                  kind=("f32", [-np.inf] * 500 + [-1.5, 0.0]), sizes=LONG)
# Scores of hundreds, which 16 bits would round to eighths or to ones, and such as f16 does not
# have.
for queries in (1, 3, 7, 8):
    for scale in (4.0, 1e4):
        attention_row(("f16", "bf16"), (1, 2, queries, 64), (1, 2, "N", 64), (1, 2, "N", 64),
                      (1, 2, queries, 64), f"{queries} queries, scale {scale}", sizes=(2, 65, 129),
                      attrs=f"{{scale = {scale} : f64}}", scale=scale, stores_scores=False)
for heads, group in ((2, 1), (1, 2), (2, 4), (1, 7)):
    attention_row(("f32", "f16"), (1, heads * group, 1, 64), (1, heads, "N", 64),
                  (1, heads, "N", 64), (1, heads * group, 1, 64),
                  f"one query of {group} heads that share keys", sizes=LONG,
                  attrs="{enable_gqa = true}", gqa=True)
attention_row(("f32", "f16"), (1, 4, "N", 64), (1, 2, "N", 64), (1, 2, "N", 64), (1, 4, "N", 64),
              "long and causal, shared heads", sizes=(1, 17, 65, 1000),
              attrs="{enable_gqa = true, is_causal = true}", gqa=True, causal=True)
attention_row(("f16", "bf16"), (2, 4, "N", 64), (2, 2, 150, 64), (2, 2, 150, 64), (2, 4, "N", 64),
              "tiles of heads in pairs", sizes=SPANS, attrs="{enable_gqa = true}", gqa=True)
attention_row(("f16", "bf16"), (1, 2, "N", 64), (1, 2, 140, 64), (1, 2, 140, 64), (1, 2, "N", 64),
              "bool mask, heads of whole lines", mask=("N", 140), kind=("i1", "whole"), sizes=SPANS)
attention_row(("f16", "bf16"), (2, 2, 70, 128), (2, 2, "N", 128), (2, 2, "N", 128), (2, 2, 70, 128),
              "float mask, heads of whole lines", mask=(2, 1, 1, "N"),
              kind=("f32", [-np.inf] * 3 + [-1.5, 0.0, 2.0]), sizes=SPANS)
attention_row(("f32", "bf16"), (2, 8, "N", 16), (2, 2, "N", 16), (2, 2, "N", 16), (2, 8, "N", 16),
              "tiles of shared heads", sizes=SPANS, attrs="{enable_gqa = true, is_causal = true}",
              gqa=True, causal=True)
attention_row(("f32", "f16"), (2, 2, "N", 32), (2, 2, 67, 32), (2, 2, 67, 32), (2, 2, "N", 32),
              "mask of heads and keys", mask=(2, 1, 67), sizes=SPANS)
attention_row(("f32", "f16"), (2, 2, 0, 32), (2, 2, "N", 32), (2, 2, "N", 32), (2, 2, 0, 32),
              "no rows", sizes=(0, 5))
attention_row(("f32", "f16"), (2, 2, 3, 32), (2, 2, "N", 32), (2, 2, "N", 32), (2, 2, 3, 32),
              "no keys", sizes=(0, ))
# Rows of a mask that see nothing among rows that do, in every span of keys.
attention_row(("f32", "f16", "bf16"), (1, 2, "N", 32), (1, 2, 140, 32), (1, 2, 140, 32),
              (1, 2, "N", 32), "bool mask, tiles", mask=("N", 140), kind=("i1", "whole"),
              sizes=SPANS)
# Infinities and NaN in a mask: a row that sees -inf alone is NaN, and so is one that sees NaN.
attention_row(("f32", "f16"), (1, 2, "N", 32), (1, 2, 3, 32), (1, 2, 3, 32), (1, 2, "N", 32),
              "mask of infinities", mask=("N", 3),
              kind=("f32", [-np.inf, -np.inf, 0.0, -1.5, np.nan]), sizes=SPANS)


def as_one_op(names, types, result):
    """The op that passes make of attention, by hand: products, a map of the scores and a softmax.
    """
    query, key, value = types
    scores, dtype = result.replace("x5x", "x9x"), result[-4:-1]
    return f"""%y = dl.attention({", ".join(names)}) : ({", ".join(types)}) -> {result} {{
^bb0(%a: {query}, %b: {key}, %c: {value}):
  %half = dl.full 0.5 : {dtype} -> {scores}
  %s = dl.contract %a, %b {{x_loops = array<i64: 0, 1, 3>, other_loops = array<i64: 0, 2, 3>, rank = 3 : i64}} : ({query}, {key}) -> {scores}
  %t = dl.mul %s, %half : ({scores}, {scores}) -> {scores}
  %w = dl.softmax %t {{dim = 2 : i64}} : ({scores}) -> {scores}
  %z = dl.matmul %w, %c : ({scores}, {value}) -> {result}
  dl.yield %z : {result}
}}"""


row("attention", ("f32", "f64"),
    [(2, 7, 8), (2, 9, 8), (2, 9, 5)], (2, 7, 5), lambda q, k, v: attention(q, k, v, scale=0.5),
    of_attention(scale=0.5), values="normal", sizes=(1, ), body=as_one_op)
row("causal_mask", FLOATS, [], (7, 9), lambda: torch.full(
    (7, 9), -torch.inf, dtype=torch.float64).triu(1), sizes=(1, ),
    body=lambda names, types, result: f"%y = dl.causal_mask : () -> {result}")


def attention_of_slices(dtypes, heads, width, sizes, note, **arguments):
    """Query, key and value are slices of one tensor [2, N, 3 * heads, width]."""
    def split(x):
        return [part.permute(0, 2, 1, 3) for part in x.split(heads, dim=2)]

    def body(names, types, y):
        part = types[0].replace(f"x{3 * heads}x",
                                f"x{heads}x").replace(f" {3 * heads},", f" {heads},")
        lines = []
        for number, name in enumerate("qkv"):
            lines.append(f"{names[0]}{name}s = dl.slice {names[0]} {{dim = 2 : i64, start = {number * heads} : i64, end = {(number + 1) * heads} : i64}} : "
                         f"({types[0]}) -> {part}")
            lines.append(
                f"{names[0]}{name} = dl.permute {names[0]}{name}s {{dims = array<i64: 0, 2, 1, 3>}} : ({part}) -> {y}"
            )
        q, k, v = (names[0] + name for name in "qkv")
        lines.append(
            f"%y = dl.{NAME} {q}, {k}, {v} {{is_causal = {str(arguments.get('causal', False)).lower()}}} : ({y}, {y}, {y}) -> {y}"
        )
        return "\n".join(lines)

    own = of_attention(**arguments)

    def bound(y, inputs, dtype):
        return own(y, split(inputs[0]), dtype)
    bound.in_tf32 = lambda y, inputs, dtype: own.in_tf32(y, split(inputs[0]), dtype)
    row(NAME, dtypes, [(2, "N", 3 * heads, width)], (2, heads, "N", width),
        lambda x: attention(*split(x), **arguments), bound, sizes=sizes, values="normal", body=body,
        note=note)


attention_of_slices(FLOATS, 7, 16, SPANS, "slices of one tensor")
attention_of_slices(("f16", "bf16"), 2, 64, SPANS, "slices of one tensor, in whole lines")
attention_of_slices(("f16", ), 1, 128, SPANS, "slices of one tensor, causal, in whole lines",
                    causal=True)
attention_of_slices(("f32", "f16"), 5, 3, (1, 8, 17, 65), "slices of one tensor, narrow",
                    causal=True)

# In e4m3, as FlashAttention-3 does it: query, key and value are cast from e4m3, weights are rounded
# to it, times 256. The expected value has weights that are not rounded. As they are written they
# are parts of 256, kernels round them as parts of the largest one: either moves a weight by up to
# 2^-4 of itself, or where it is below 2^-6 by 2^-10. Kernels that keep more of them are within this
# bound, too. Hopper's tensor cores add 128 steps of k with some 14 bits (dlc_sums90.cuh states that
# bound).
FACTOR = 256
SCALE = 0.125


def attention8(q, k, v, mask=None):
    scores = scores_of(q, k, SCALE)
    return FACTOR * (scores
                     if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ v


def bound8(y, inputs, dtype):
    unit = acc.unit("f32")
    q, k, v = (x.abs() for x in inputs[:3])
    size = scores_of(q, k, SCALE).amax(-1, keepdim=True)
    moved = 2 * size * (CUT_OFF + (q.shape[-1] + 6) * unit) + (2 * k.shape[-2]
                                                               + 24) * unit + 2.0**-4 + CUT_OFF
    weighted = attention8(*inputs[:2], v, *inputs[3:])
    return (weighted * moved + 2.0**-10 * v.sum(-2, keepdim=True)).numpy() + acc.ulp(
        np.zeros_like(y), dtype)


def body8(scores):
    """`scores`: their dims."""
    def body(names, types, y):
        ops, wide = Ops(), tensor_type(scores, "f32")
        q, k, v = (ops.cast(pair, "f32") for pair in list(zip(names, types))[:3])
        s = ops.add(
            "contract", [q, k], wide,
            " {other_loops = array<i64: 0, 1, 3, 4>, rank = 4 : i64, x_loops = array<i64: 0, 1, 2, 4>}"
        )
        s = ops.add("mul", [s, ops.full(SCALE, wide)], wide)
        if len(names) == 4:
            mask = ops.add("broadcast", [(names[3], types[3])], tensor_type(scores, "i1"))
            s = ops.add("where", [mask, s, ops.full("0xFF800000", wide)], wide)
        s = ops.add("softmax", [s], wide, " {dim = -1 : i64}")
        s = ops.add("mul", [s, ops.full(float(FACTOR), wide)], wide)
        s = ops.cast(ops.cast(s, E4M3), "f32")
        return ops.result(ops.add("contract", [s, v], y,
                                  " {other_loops = array<i64: 0, 1, 4, 3>, rank = 4 : i64, "
                                                         "x_loops = array<i64: 0, 1, 2, 4>}"))
    return body


def attention8_row(rows, keys, depth, columns, note, sizes=SPANS, mask=None):
    shapes = [(1, 2, rows, depth), (1, 2, keys, depth),
              (1, 2, keys, columns)] + ([mask] if mask else [])
    row("scaled_dot_product_attention", (E4M3, ), shapes, (1, 2, rows, columns), attention8, bound8,
        sizes=sizes, values="normal",
        kinds={1: (E4M3, "normal"), 2: (E4M3, "normal"),
               **({3: ("i1", "whole")} if mask else {})}, result_dtype="f32", body=body8(
                   (1, 2, rows, keys)), note=f"e4m3, {note}")


for width, columns in ((64, 64), (128, 128), (64, 128), (128, 64), (32, 48)):
    attention8_row(70, "N", width, columns, f"width {width}, {columns}")
attention8_row("N", 150, 64, 64, "rows")
attention8_row("N", "N", 128, 128, "as many rows as keys", sizes=(1, 128, 129, 300))
attention8_row("N", 140, 64, 64, "bool mask", mask=("N", 140), sizes=(1, 17, 64, 129))
