"""Ops that move elements without computing on them."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, row

MOVED = ("f32", "f16", "i8", "i64", "i1")
row("broadcast", MOVED, [("N", 1)], (4, "N", 3), lambda x: x.expand(4, -1, 3))
row("broadcast", ("f32",), [("N", 1, 5), ("N", 4, 5)], ("N", 4, 5), lambda x, y: x.expand_as(y), note="in the middle",
    body=lambda names, types, result: f"%y = dl.broadcast {names[0]} : ({types[0]}) -> {result}")
row("reshape", MOVED, [("N", 6)], ("N", 2, 3), lambda x: x.reshape(-1, 2, 3),
    attrs="{shape = affine_map<()[s0] -> (s0, 2, 3)>}")
row("reshape", ("f32",), [(4, "N", 2)], (8, "N"), lambda x: x.reshape(8, -1) if x.numel() else x.reshape(8, 0),
    attrs="{shape = affine_map<()[s0] -> (8, s0)>}", note="merged")
row("flatten", MOVED, [("N", 2, 3)], ("N", 6), lambda x: x.flatten(1), attrs="{start_dim = 1 : i64}")
row("permute", MOVED, [(2, "N", 3)], (3, 2, "N"), lambda x: x.permute(2, 0, 1), attrs="{dims = array<i64: 2, 0, 1>}")
row("transpose", MOVED, [("N", 5)], (5, "N"), lambda x: x.transpose(0, 1), attrs="{dim0 = 0 : i64, dim1 = 1 : i64}")
row("slice", MOVED, [("N", 9)], ("N", 4), lambda x: x[:, 1:8:2],
    attrs="{dim = 1 : i64, start = 1 : i64, end = 8 : i64, step = 2 : i64}")
row("slice", ("f32",), [(2, "N")], (2, "N - 2"), lambda x: x[:, 1:-1], attrs="{dim = 1 : i64, start = 1 : i64, end = -1 : i64}",
    sizes=(2,) + BOUNDARY[3:], note="of N")
row("pad", MOVED[:-1], [("N", 5)], ("N + 1", 8), lambda x: F.pad(x, [2, 1, 0, 1], value=3),
    attrs="{pad = array<i64: 2, 1, 0, 1>, value = 3.0 : f64}")
row("pad", ("f32",), [("N", 5)], ("N", 4), lambda x: F.pad(x, [-2, 1]), attrs="{pad = array<i64: -2, 1>}", note="cropping")
row("cat", MOVED, [("N", 3), ("N", 1), ("N", 4)], ("N", 8), lambda *x: torch.cat(x, 1), attrs="{dim = 1 : i64}")
row("cat", ("f32",), [("N", 2), (3, 2), ("2*N", 2)], ("3*N + 3", 2), lambda *x: torch.cat(x, 0), attrs="{dim = 0 : i64}",
    note="along N")
row("dropout", ("f32", "f16"), [("N",)], ("N",), lambda x: x, attrs="{p = 0.25 : f64}")
row("full", ("f32",), [("N", 2)], ("N", 2), lambda x: torch.full_like(x, 0.25),
    body=lambda names, types, result: f"%y = dl.full 2.500000e-01 : f32 -> {result}")
row("full", ("i32",), [("N", 2)], ("N", 2), lambda x: x * 0 - 7, note="integer",
    body=lambda names, types, result: f"%y = dl.full -7 : i32 -> {result}")


def through_channels_last(names, types, result):
    inner = result.replace("[s0, 3, 4, 5]", "[s0, 3, 4, 5], order = [0, 2, 3, 1]")
    return (f"%a = dl.convert_layout {names[0]} : ({types[0]}) -> {inner}\n%b = dl.neg %a : ({inner}) -> {inner}\n"
            f"%y = dl.convert_layout %b : ({inner}) -> {result}")


row("convert_layout", ("f32", "i8"), [("N", 3, 4, 5)], ("N", 3, 4, 5), torch.neg, body=through_channels_last,
    phase="layout")
