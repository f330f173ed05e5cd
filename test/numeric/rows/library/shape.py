"""Shapes, diagonals and parts."""
import torch
from torch.nn import functional as F

from rows.library.called import moves, pair

moves("ravel", "ravel(x0)", torch.ravel, [(3, "N")], ("N * 3",))
moves("adjoint", "adjoint(x0)", lambda x: x.mT, [(2, 3, "N")], (2, "N", 3))
moves("flipud", "flipud(x0)", torch.flipud, [("N", 3)], ("N", 3))
moves("fliplr", "fliplr(x0)", torch.fliplr, [(3, "N")], (3, "N"))
for turns in range(4):
    moves("rot90", f"rot90(x0, {turns}, (0, 2)) + 0", lambda x, k=turns: torch.rot90(x, k, (0, 2)),
          [("N", 2, 3)], (3, 2, "N") if turns % 2 else ("N", 2, 3), dtypes=("f32", ),
          note=f"{turns} turns")
moves("atleast_1d", "atleast_1d(x0)", torch.atleast_1d, [()], (1,))
moves("atleast_2d", "atleast_2d(x0)", torch.atleast_2d, [("N",)], (1, "N"))
moves("atleast_3d", "atleast_3d(x0)", torch.atleast_3d, [("N", 3)], ("N", 3, 1))
for offset in (0, 2, -1):
    size = "N" if offset == 0 else f"N + {abs(offset)}"
    moves("diag_embed", f"diag_embed(x0, {offset}, 0, 2)",
          lambda x, k=offset: torch.diag_embed(x, k, 0, 2), [(3, "N")], (size, 3, size),
          note=f"offset {offset}")
moves("diag", "diag(x0, 1)", lambda x: torch.diag(x, 1), [("N", )], ("N + 1", "N + 1"),
      note="vector")
moves("diag", "diag(x0)", torch.diag, [("N", "N")], ("N",), note="matrix")
moves("diagflat", "diagflat(x0)", torch.diagflat, [("N", 2)], ("N * 2", "N * 2"))
moves("trace", "trace(x0)", torch.trace, [("N", "N")], (), dtypes=("f32", "f64"))
for number in range(3):
    moves("tensor_split", f"tensor_split(x0, 3, 1)[{number}]",
          lambda x, i=number: torch.tensor_split(x, 3, 1)[i], [("N", 8)],
          ("N", 3 if number < 2 else 2), note=f"piece {number}")
    moves("tensor_split", f"tensor_split(x0, (2, 5), dim=1)[{number}]",
          lambda x, i=number: torch.tensor_split(x, (2, 5), 1)[i], [("N", 8)],
          ("N", (2, 3, 3)[number]), note=f"indices, piece {number}")
moves("hsplit", "hsplit(x0, 2)[1]", lambda x: torch.hsplit(x, 2)[1], [("N", 8)], ("N", 4))
moves("vsplit", "vsplit(x0, 2)[1]", lambda x: torch.vsplit(x, 2)[1], [(8, "N")], (4, "N"))
moves("dsplit", "dsplit(x0, (1, 3))[1]", lambda x: torch.dsplit(x, (1, 3))[1], [("N", 2, 4)],
      ("N", 2, 2))
moves("split_with_sizes", "split_with_sizes(x0, (1, 3), 1)[1]", lambda x: x.split_with_sizes(
    (1, 3), 1)[1], [("N", 4)], ("N", 3))
moves("channel_shuffle", "channel_shuffle(x0, 3)", lambda x: F.channel_shuffle(x, 3),
      [(2, 6, "N", 2)], (2, 6, "N", 2), dtypes=("f32", ))
moves("broadcast_tensors", "broadcast_tensors((x0, x1))[0]",
      lambda x, y: torch.broadcast_tensors(x, y)[0], [("N", 1), (3, )], ("N", 3))
moves("block_diag", "block_diag((x0, x1))", torch.block_diag, [("N", 2), (3, "N")],
      ("N + 3", "N + 2"))
moves("cartesian_prod", "cartesian_prod((x0, x1))", torch.cartesian_prod, [("N", ), (3, )],
      ("N * 3", 2), dtypes=("f32", "i32"))
moves("tril_indices", "tril_indices(3, 4, 1) + to(x0[:1], i64) * 0",
      lambda x: torch.tril_indices(3, 4, 1), [(3, )], (2, 9), dtypes=("i32", ), result_dtype="i64")
moves("triu_indices", "triu_indices(4, 3, -1) + to(x0[:1], i64) * 0",
      lambda x: torch.triu_indices(4, 3, -1), [(3, )], (2, 9), dtypes=("i32", ), result_dtype="i64")
moves("new_zeros", "new_zeros(x0, 3, 2) + x0[:1, None]", lambda x: x.new_zeros(3, 2) + x[:1, None],
      [(3, )], (3, 2), dtypes=("f32", "i32"))
moves("new_ones", "new_ones(x0, 3, 2) + x0[:1, None]", lambda x: x.new_ones(3, 2) + x[:1, None],
      [(3, )], (3, 2), dtypes=("f32", "i32"))
moves("new_full", "new_full(x0, (3, 2), 7) + x0[:1, None]", lambda x: x.new_full(
    (3, 2), 7) + x[:1, None], [(3, )], (3, 2), dtypes=("f32", "i32"))
moves("empty", "empty(3, dtype=f32) + x0", lambda x: x, [(3,)], (3,), dtypes=("f32",))
moves("empty_like", "empty_like(x0) + x0", lambda x: x, [("N",)], ("N",), dtypes=("f32",))
moves("new_empty", "new_empty(x0, 3) + x0", lambda x: x, [(3,)], (3,), dtypes=("f32",))
moves("repeat_interleave", "repeat_interleave(x0, 2)", lambda x: torch.repeat_interleave(x, 2),
      [("N", 3)], ("N * 6", ), note="no dim")
moves("atleast_2d", "atleast_2d(x0, x1)[1]", lambda x, y: torch.atleast_2d(x, y)[1], [(), ("N", )],
      (1, "N"), note="list")
moves("upsample_nearest", "upsample_nearest(x0, scale_factor=2)",
      lambda x: F.interpolate(x.double(), scale_factor=2).to(x.dtype), [(2, 3, "N", 4)],
      (2, 3, "N * 2", 8), dtypes=("f32", "f16"))
pair("upsample_bilinear", "upsample_bilinear(x0, [5, 7])",
     lambda x: F.interpolate(x, [5, 7], mode="bilinear", align_corners=True),
     shapes=((2, 3, "N", 4), ), result=(2, 3, 5, 7))
