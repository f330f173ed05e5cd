"""More ops that read and write at positions."""
import torch

from rows.library.called import moves

PLACES = {1: ("i64", [0, 2, -1])}
OWN = lambda index: torch.arange(len(index)) * 2
moves("index_copy", "index_copy(x0, 0, arange(3) * 2, x1)",
      lambda x, s: x.index_copy(0,
                                torch.arange(3) * 2, s), [(5, "N"), (3, "N")], (5, "N"))
moves("masked_fill", "masked_fill(x0, x0 > 0, x1[0])", lambda x, v: x.masked_fill(x > 0, v[0]),
      [("N", 5), (1, )], ("N", 5), dtypes=("f32", "i32", "f16"), note="tensor")
moves("narrow", "narrow(x0, 0, x1[0], 2)", lambda x, i: x.narrow(0, int(i[0]), 2),
      [(5, "N"), (1, )], (2, "N"), kinds={1: ("i64", [0, 1, 3, -3])}, note="tensor")
moves("index_fill", "index_fill(x0, 1, x1, 3)", lambda x, i: x.index_fill(1, i % 5, 3), [("N", 5),
                                                                                         (3, )],
      ("N", 5), kinds=PLACES, dtypes=("f32", "i32", "f16"))
moves("select_scatter", "select_scatter(x0, x1, 1, -2)",
      lambda x, s: torch.select_scatter(x, s, 1, -2), [("N", 5), ("N", )], ("N", 5))
moves("slice_scatter", "slice_scatter(x0, x1, 1, 1, 5, 2)",
      lambda x, s: torch.slice_scatter(x, s, 1, 1, 5, 2), [("N", 5), ("N", 2)], ("N", 5))
moves("diagonal_scatter", "diagonal_scatter(x0, x1, 1)",
      lambda x, s: torch.diagonal_scatter(x, s, 1), [(4, 5), (4, )], (4, 5))
moves("masked_scatter", "masked_scatter(x0, x1, x2)", lambda x, m, s: x.masked_scatter(m, s),
      [("N", 5), ("N", 5), ("N", 5)], ("N", 5), kinds={1: ("i1", "whole")})
moves("take", "take(x0, x1)", lambda x, i: torch.take(x, i), [("N", 5), (2, 3)], (2, 3),
      kinds=PLACES)
moves("put", "put(x0, x1, x2, accumulate=true)", lambda x, i, s: x.put(i, s, accumulate=True),
      [("N", 5), (2, 3), (2, 3)], ("N", 5), kinds=PLACES, dtypes=("f32", "i32"))
moves("index_put", "index_put(x0, (x1, x2), x3, accumulate=true)", lambda x, i, j, v: x.index_put(
    (i, j), v, accumulate=True), [(3, 4, "N"), (6, ), (2, 1), ("N", )], (3, 4, "N"),
      kinds={1: ("i64", [0, 2, -1]), 2: ("i64", [3, -2])}, dtypes=("f32", "i32"))
moves("index_put", "index_put(x0, [x1], 2)", lambda x, m: x.index_put(
    (m, ), torch.tensor(2, dtype=x.dtype)), [("N", 4), ("N", )], ("N", 4),
      kinds={1: ("i1", "whole")}, dtypes=("f32", "i32"), note="mask")
