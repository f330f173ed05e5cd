"""Models whose data decide what runs, in the folder argv[1]. Each is imported as text, too,
and both are run on the same inputs: prints how many outputs are equal."""
import os
import subprocess
import sys

import numpy as np

from onnx_writer import graph, model, node, tensor, value

W = tensor("w", "f32", (4, 4), [float((3 * i) % 7 - 3) / 8 for i in range(16)])
square, product = graph([node("MatMul", "x,x", "a"), node("Softmax", "a", "t")], (), ("t",)), graph(
    [node("MatMul", "x,w", "e")], (), ("e",))
loose = lambda name, dtype="f32": value(name, dtype, None)
until = graph([
    node("MatMul", "h,w", "h1"),
    node("Tanh", "h1", "h2"),
    node("ReduceSum", "h2", "s", keepdims=0),
    node("Less", "s,limit", "go"),
    node("Neg", "h2", "one")
], (value("i", "i64", ()), value("c", "bool", ()), loose("h")),
              (value("go", "bool", ()), loose("h2"), loose("one")))
grown = graph([node("Concat", "h,x", "h1", axis=0),
               node("Identity", "c", "go")],
              (value("i", "i64", ()), value("c", "bool", ()), loose("h")), (value("go", "bool",
                                                                                  ()), loose("h1")))
# What is carried changes places.
swapped = graph(
    [node("Add", "a,b", "b1"),
     node("Identity", "b", "a1"),
     node("Identity", "c", "go")], (value("i", "i64", ()), value("c", "bool",
                                                                 ()), loose("a"), loose("b")),
    (value("go", "bool", ()), loose("a1"), loose("b1")))
summed = graph([node("Add", "s,e", "s1"), node("Tanh", "s1", "o")],
               (value("s", "f32", (4, )), value("e", "f32", (4, ))),
               (value("s1", "f32", (4, )), value("o", "f32", (4, ))))
n, c, x = value("n", "i64", ()), value("c", "bool", ()), value("x", "f32", (4, 4))
rows = np.sin(np.arange(28, dtype="f4")).reshape(7, 4)
MODELS = {
    "if": (model([
        node("If", "c", "y0", then_branch=("graph", square), else_branch=("graph", product)),
        node("Relu", "y0", "y")
    ], [x, c], (value("y", "f32", (4, 4)), ),
                 [W]), [{"x": rows[:4], "c": np.array(c)} for c in (True, False)]),
    "loop": (model([node("Loop", "n,c,x", "y,all", body=("graph", until))],
                   [x, c, n, value("limit", "f32", ())], (loose("y"), loose("all")), [W]),
             [{"x": rows[:4], "c": np.array(c), "n": np.array(n), "limit": np.float32(limit)}
              for c, n, limit in ((True, 4, 99), (False, 3, 99), (True, 9, -99))]),
    "grow": (model([node("Loop", "n,,x", "y", body=("graph", grown))], [x, n],
                   (loose("y"), )), [{"x": rows[:4], "n": np.array(n)} for n in (0, 3)]),
    "swap": (model([node("Loop", "n,,x,x", "y,z", body=("graph", swapped))], [x, n],
                   (loose("y"), loose("z"))), [{"x": rows[:4], "n": np.array(5)}]),
    "scan": (model([node("Scan", "s0,x", "s,y", body=("graph", summed), num_scan_inputs=1)],
                   [value("s0", "f32",
                          (4, )), value("x", "f32", ("N", 4))],
                   (value("s", "f32", (4, )), value("y", "f32",
                                                    ("N", 4)))), [{"s0": rows[0], "x": rows}]),
    "shape": (model(
        [node("Range", "o,n,st", "r"), node("Cast", "r", "y", to=1)], [n], (loose("y"), ),
        [tensor("o", "i64", (), [0]), tensor("st", "i64",
                                             (), [1])]), [{"n": np.array(n)} for n in (0, 5)]),
    "places": (model([
        node("NonZero", "x", "p"),
        node("If", "c", "q", then_branch=("graph", graph([node("Neg", "p", "t")], (), ("t", ))),
             else_branch=("graph", graph([node("Concat", "p,p", "e", axis=1)], (), ("e", ))))
    ], [x, c], (loose("p", "i64"), loose("q", "i64"))), [{"x": rows[:4], "c": np.array(c)}
                                                         for c in (True, False)]),
    # The result of NonZero is cut in both branches and after them.
    "twice": (model([
        node("NonZero", "x", "p"),
        node(
            "If", "c", "q", then_branch=("graph",
                                         graph(
                                             [node("Transpose", "p", "t"),
                                              node("Neg", "t", "t1")], (), ("t1", ))),
            else_branch=("graph",
                         graph([node("Transpose", "p", "e"),
                                node("Concat", "e,e", "e1", axis=0)], (), ("e1", )))),
        node("Transpose", "p", "r"),
        node("MatMul", "r,p", "s")
    ], [x, c], (loose("q", "i64"), loose("r", "i64"), loose("s", "i64"))),
              [{"x": rows[:4], "c": np.array(c)} for c in (True, False)]),
}


def run(source, inputs):
    subprocess.run(["dlc", "compile", source, "--target", "cpu", "-o", "m.bin"], check=True)
    results = []
    for given in inputs:
        arguments = []
        for name, array in given.items():
            np.save(name + ".npy", array)
            arguments += ["--input", f"{name}=@{name}.npy"]
        subprocess.run(["dlc", "run", "m.bin", *arguments, "--output", "@y.npz"], check=True)
        with np.load("y.npz") as held:
            results.append({name: held[name] for name in held})
    return results


os.chdir(sys.argv[1])
equal = 0
for name, (file, inputs) in MODELS.items():
    open(name + ".onnx", "wb").write(file)
    subprocess.run(["dlc", "import", name + ".onnx", "-o", name + ".dl"], check=True)
    for one, other in zip(run(name + ".onnx", inputs), run(name + ".dl", inputs)):
        assert one.keys() == other.keys()
        for output in one:
            np.testing.assert_allclose(one[output], other[output], rtol=1e-5, atol=1e-6,
                                       err_msg=name)
            assert one[output].shape == other[output].shape, name
            equal += 1
print(equal, "outputs are equal")
