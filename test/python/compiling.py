"""dlc.compile: its sources, its options, and what it says where it refuses."""
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import types
import warnings

import numpy as np
import torch

from models import AFFINE, BROKEN, ROOT, Failure, compiled, dlc, expect, expect_array, refused, run
from onnx_writer import model as onnx_model
from onnx_writer import node, value

X = np.arange(24, dtype=np.float32).reshape(3, 8)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.fc, self.drop = torch.nn.Linear(8, 4), torch.nn.Dropout(0.5)

    def forward(self, x, scale=None):
        y = self.drop(torch.relu(self.fc(x)))
        return y if scale is None else y * scale


def close(actual, expected):
    if type(actual) is not type(expected) or not torch.allclose(actual, expected, rtol=1e-5,
                                                                atol=1e-6):
        raise Failure(f"{actual}, expected {expected}")


def test_paths():
    with tempfile.TemporaryDirectory() as folder:
        path, package = os.path.join(folder, "affine.dl"), os.path.join(folder, "affine.bin")
        with open(path, "w", encoding="utf-8") as out:
            out.write(AFFINE)
        expect_array(dlc.compile(path, device="cpu", output=package)(X), X * 2 + 1)
        expect_array(dlc.load(package, device="cpu")(X), X * 2 + 1)
        onnx = os.path.join(folder, "relu.onnx")
        with open(onnx, "wb") as out:
            out.write(relu_onnx())
        expect_array(dlc.compile(onnx, device="cpu")(X - 5), np.maximum(X - 5, 0))


def relu_onnx():
    return onnx_model([node("Relu", "x", "y")], [value("x", dims=("N", 8))])


class Proto:
    """What dlc looks at of an onnx.ModelProto, without that package."""

    class graph:
        name = "Relu network"

    def __init__(self, data):
        self.data = data

    def SerializeToString(self):
        return self.data


def test_onnx_protos():
    for source in (relu_onnx(), Proto(relu_onnx())):
        expect_array(dlc.compile(source, device="cpu")(X - 5), np.maximum(X - 5, 0))


def test_torch():
    net = Net()
    x = torch.randn(3, 8)
    with torch.no_grad():
        expected = net.eval()(x)
    net.train()
    model = dlc.compile(net, x, device="cpu")
    expect((str(model.inputs[0]), net.training), ("x: f32[3,8]", True))
    close(model(x), expected)
    for example in ((x, torch.ones(4)), {"x": x, "scale": torch.ones(4)}):
        close(
            dlc.compile(net, example, device="cpu",
                        outputs=["y"]).run({"x": x, "scale": torch.full((4, ), 2.0)})["y"],
            expected * 2)
    free = dlc.compile(net, x, device="cpu", dynamic={"x": {0: "N"}})
    expect(str(free.inputs[0]), "x: f32[N,8]")
    close(free(x[:2]), expected[:2])


def test_bad_torch():
    net, x = Net(), torch.randn(3, 8)
    with refused("a torch.nn.Module needs an example of its inputs: dlc.compile(module, x)"):
        dlc.compile(net)
    with refused("the example names z; forward takes x, scale"):
        dlc.compile(net, {"z": x})
    with refused("forward: missing a required argument: 'x'; it takes (x, scale=None)"):
        dlc.compile(net, {"scale": x})
    with refused("dynamic names y; the inputs are x"):
        dlc.compile(net, x, dynamic={"y": {0: "N"}})
    with refused("example belongs to a torch.nn.Module; the source is a bytes"):
        dlc.compile(relu_onnx(), x)


def test_errors():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "broken.dl")
        with open(path, "w", encoding="utf-8") as out:
            out.write(BROKEN)
        try:
            dlc.compile(path)
        except dlc.CompileError as error:
            said = str(error)
            expect(error.code, dlc.Code.MODEL)
        for part in (f"{path}:4:9: error: unknown function or layer 'rleu'; did you mean 'relu'?",
                     f"{path}:5:9: error: unknown function or layer 'nosuch'"):
            expect((part, part in said), (part, True))
    try:
        dlc.compile(Proto(onnx_model([node("NoSuchOp", "x", "y")], [value("x", dims=(2, 8))])))
    except dlc.CompileError as error:
        expect((str(error).startswith("error: Relu network: "), "dlc-" in str(error)),
               (True, False))
    else:
        raise Failure("an unknown op was compiled")
    with refused(
            "cannot compile a int; expected the path of a .dl or .onnx file, an onnx.ModelProto or its bytes, a torch.nn.Module or a keras.Model"
    ):
        dlc.compile(3)
    with refused("shapes: expected shapes by name, as in {'x': (8, 3, 224, 224)}, got a tuple"):
        compiled(AFFINE, shapes=(3, 8))
    try:
        compiled(AFFINE, nosuch=1)
    except TypeError as error:
        expect("'nosuch'" in str(error), True)
    else:
        raise Failure("an unknown option was taken")


def test_options():
    expect(str(compiled(AFFINE, shapes={"x": (3, 8)}).inputs[0]), "x: f32[3,8]")
    expect(
        compiled(AFFINE, min_shapes={"x": (2, 8)}, max_shapes={"x": (5, 8)}).inputs[0].max_shape,
        (5, 8))
    expect(compiled(AFFINE, io="f16", precision="f16").inputs[0].dtype, "f16")
    text = "dl 1\nmodel Fc {\n  fc: Linear(8, 4)\n  forward(x: f32[3,8]) -> (y: f32[3,4]) { y = fc(x) }\n}\n"
    weights = {"fc.weight": np.ones((4, 8), np.float32), "fc.bias": np.zeros(4, np.float32)}
    expect_array(compiled(text, weights=weights)(X), X.sum(1, keepdims=True).repeat(4, 1))
    wide = compiled(
        text.replace("8", "64"),
        weights={"fc.weight": np.ones((4, 64), np.float32), "fc.bias": np.zeros(4, np.float32)},
        quantize="int8", calib={"x": np.ones((3, 64), np.float32)}, target=["cpu"])
    expect_array(wide(np.ones((3, 64), np.float32)), np.full((3, 4), 64, np.float32))
    compiled(text, weights=weights, precision="f16", keep_f32="fc")
    reshape = onnx_model(
        [node("Reshape", "x, shape", "y")],
        [value("x", dims=(3, 8)), value("shape", "i64", dims=(2, ))])
    expect_array(
        dlc.compile(reshape, device="cpu", const_inputs={"shape": np.array([8, 3])})(X),
        X.reshape(8, 3))


@contextlib.contextmanager
def environment(**variables):
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def test_no_compiler():
    with environment(DLC_TOOL="/no/such/dlc"), refused(
            "cannot start the compiler '/no/such/dlc': No such file or directory", dlc.Code.DEVICE):
        compiled(AFFINE)
    extension = dlc.compiler._runtime
    dlc.compiler._runtime = types.SimpleNamespace(__file__="/no/such/dlc/_runtime.so")
    try:
        with environment(DLC_TOOL="", PATH="/no/such"):
            with refused("this dlc has no compiler: install the wheel, or name a dlc in DLC_TOOL",
                         dlc.Code.UNSUPPORTED):
                compiled(AFFINE)
    finally:
        dlc.compiler._runtime = extension


def test_compiler_that_dies():
    with tempfile.TemporaryDirectory() as folder:
        tool = os.path.join(folder, "dlc")
        with open(tool, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\necho some words >&2\nkill -KILL $$\n")
        os.chmod(tool, 0o755)
        with environment(DLC_TOOL=tool), refused("some words\n\nthe compiler was ended by SIGKILL",
                                                 dlc.Code.INTERNAL, dlc.CompileError):
            compiled(AFFINE)


def test_remarks():
    """What the compiler says where it goes well is a warning at the line that called dlc.compile.
    """
    with tempfile.TemporaryDirectory() as folder:
        tool, path = os.path.join(folder, "dlc"), os.path.join(folder, "affine.dl")
        with open(tool, "w", encoding="utf-8") as out:
            out.write(f'#!/bin/sh\necho a remark >&2\nexec "{dlc.compiler.find_tool()}" "$@"\n')
        os.chmod(tool, 0o755)
        with open(path, "w", encoding="utf-8") as out:
            out.write(AFFINE)
        with environment(DLC_TOOL=tool), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            dlc.compile(path, device="cpu")
        expect([(str(one.message), one.category, os.path.basename(one.filename)) for one in found],
               [("a remark", dlc.CompileWarning, "compiling.py")])


def test_plans():
    """A file of plans is taken; what it has for no kernel is told, though the compiler is quiet
    otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        path, plans = os.path.join(folder, "affine.dl"), os.path.join(folder, "affine.plans")
        with open(path, "w", encoding="utf-8") as out:
            out.write(AFFINE)
        with open(plans, "w", encoding="utf-8") as out:
            out.write("dlc-plans 1\ncpu 0123456789abcdef panels\n")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            dlc.compile(path, device="cpu", plans=plans)
        expect([("1 of 1 plans" in str(one.message), one.category) for one in found],
               [(True, dlc.CompileWarning)])


def test_page():
    """The programs of docs/python.md that have a ResNet-18, one after the other."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as source:
        blocks = re.findall(r"^```python\n(.*?)^```", source.read(), re.M | re.S)
    names, before = {}, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in [block for block in blocks if "resnet18" in block]:
                exec(block, names)  # noqa: S102
        finally:
            os.chdir(before)
    with torch.no_grad():
        if not torch.allclose(names["results"]["y"], names["net"](names["x"]), rtol=1e-3,
                              atol=1e-4):
            raise Failure("the page's model does not give what PyTorch gives")


def test_stub():
    """Type checkers see what there is: the stub of the extension has its names, and that of dlc
    those of __all__."""
    import ast

    import dlc._runtime as extension
    folder = os.path.dirname(dlc.__file__)
    with open(os.path.join(folder, "_runtime.pyi"), encoding="utf-8") as source:
        stub = ast.parse(source.read())
    public = lambda names: {name for name in names if not name.startswith("_")}
    for part in stub.body:
        if isinstance(part, ast.ClassDef):
            expect(public(vars(getattr(extension, part.name))),
                   public(item.name for item in part.body))
    expect(
        public(vars(extension)),
        public({part.name for part in stub.body if isinstance(part, ast.ClassDef)} | {"version"}))
    with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as source:
        names = {
            alias.asname for part in ast.parse(source.read()).body
            if isinstance(part, ast.ImportFrom) for alias in part.names
        }
    expect(names, set(dlc.__all__))
    expect([name for name in dlc.__all__ if not getattr(dlc, name).__doc__], [])
    expect([
        name
        for name, part in vars(dlc.Model).items() if not name.startswith("_") and not part.__doc__
    ], [])


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
