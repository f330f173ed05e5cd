"""What random models (test/random/run_flow.py) came down to: ONNX files against NumPy. flow_reduced.py FOLDER; the last line is "N passed,
N failed"."""
import sys

import numpy as np
from flow_cases import Cases, body, f32, ints, scalar, x
from onnx_writer import graph, node, value

random = np.random.default_rng(11)
cases = Cases(sys.argv[1])
case = cases.add
c, n, n1, at = x(dtype="bool", name="c"), x(dtype="i64", name="n"), x(1, dtype="i64", name="n"), x(dtype="i64", name="at")


def rows(*dims):
    return random.standard_normal(dims).astype(f32)


# --- Branches and loops -------------------------------------------------------------------------------------------------------------------

# Nothing reads the rows, but their number.
case("loop_size", [node("Loop", "n,,x", "g", body=body([node("Concat", "h,x", "h1", axis=0), node("Identity", "go", "on")], ("h",), ("on", "h1"))),
                   node("Shape", "g", "s", start=0, end=1), node("ConstantOfShape", "s", "z"), node("Exp", "z")], [x("N", 4), n], [],
     lambda a, count: np.ones(len(a) * (count + 1)), [[rows(3, 4), k] for k in (0, 1, 3)])
# The body's own loop names a dim that the graph around it finds.
inner = ("graph", graph([node("Add", "h,two", "h1"), node("Add", "e,two", "e1")], [value("h", "i64", None), value("e", "i64", None)], ("h1", "e1")))
case("loop_outer_dim", [node("Unique", "i", "u,f,w,k", sorted=1), node("Loop", "n,c", body=body([node("Scan", "k,p", "s,a", body=inner, num_scan_inputs=1),
                                                                                               node("Identity", "go", "on")], (), ("on", "s")))],
     [x("N", dtype="i64", name="i"), n, c, x("M", dtype="i64", name="p")], [scalar("two", 2)],
     lambda i, count, goes, p: np.stack([np.unique(i, return_counts=True)[1] + 2 * len(p)] * count), [[[3, 3, 1], 2, True, [1, 2, 3]], [[5], 1, True, [1]]])

cases.run()
