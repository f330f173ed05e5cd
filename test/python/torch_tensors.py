"""Models over PyTorch's tensors."""
import sys

import torch

from models import AFFINE, DTYPES, STREAM, TWO, compiled, dlc, expect, refused, run, same, warned

X = torch.arange(24, dtype=torch.float32).reshape(3, 8)
TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool
}
COPIED = "input 'x' is not contiguous in C order and is copied for each run; a contiguous array is read where it lies"


def expect_tensor(actual, expected):
    expect((type(actual), actual.dtype, actual.device),
           (torch.Tensor, expected.dtype, expected.device))
    expect(torch.equal(actual, expected), True)


def test_call():
    model = compiled(AFFINE)
    expect_tensor(model(X), X * 2 + 1)
    expect_tensor(model(x=X[1:]), X[1:] * 2 + 1)  # a view with an offset
    y = torch.zeros(3, 8)
    expect(model.run({"x": X}, {"y": y})["y"] is y, True)
    expect_tensor(y, X * 2 + 1)


def test_every_dtype():
    for dtype in DTYPES:
        x = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(TORCH[dtype])
        expect_tensor(compiled(same(dtype))(x), x.flip(0))


def test_mixed():
    """The first input says whose arrays the results are."""
    a, b = torch.ones(3), torch.arange(4).reshape(2, 2)
    model = compiled(TWO)
    expect_tensor(model(a, b.numpy())[1], b.T.contiguous())
    expect(type(model(a.numpy(), b)[1]).__name__, "ndarray")


def test_no_type():
    """Where PyTorch lacks a type that NumPy has."""
    import numpy as np
    text = "dl 1\nmodel Wide {\n  forward(x: u32[2]) -> (y: u32[2]) { y = x }\n}\n"
    model = compiled(text.replace("y = x", "y = flip(x, dims=[0])"))
    expect(model(np.array([1, 2], np.uint32)).tolist(), [2, 1])
    if not hasattr(torch, "uint32"):
        wide = compiled(
            "dl 1\nmodel Wide {\n  forward(x: f32[2]) -> (y: u32[2]) { y = cast(x, u32) }\n}\n")
        with refused("output 'y': this PyTorch has no type for u32; give the model NumPy arrays",
                     dlc.Code.UNSUPPORTED):
            wide(torch.ones(2))


def test_strides():
    model, wide = compiled(AFFINE), torch.arange(48, dtype=torch.float32).reshape(3, 16)
    for x in (wide[:, ::2], X.t().contiguous().t(), X[:1].expand(3, 8)):
        with warned(COPIED):
            expect_tensor(model(x), x * 2 + 1)
    imaginary = torch.full((3, 8), 1j,
                           dtype=torch.complex64).conj().imag  # a tensor with its sign to be turned
    expect(imaginary.is_neg(), True)
    with warned(COPIED):
        expect_tensor(model(imaginary), torch.full((3, 8), -1.0))
    with refused(
            "output 'y' is not contiguous in C order; results are written only into one that is"):
        model.run({"x": X}, {"y": wide[:, ::2]})


def test_gradients():
    model, x = compiled(AFFINE), X.clone().requires_grad_()
    with refused(
            "input 'x' requires a gradient, which dlc does not compute; give the model x.detach(), or call it under torch.no_grad()"
    ):
        model(x)
    with torch.no_grad():
        expect_tensor(model(x), X * 2 + 1)
    expect_tensor(model(x.detach()), X * 2 + 1)


def test_bad_tensors():
    model = compiled(AFFINE)
    with refused("input 'x': expected f32[N,8], got f64"):
        model(X.double())
    with refused("input 'x': expected f32, got torch.complex64"):
        model(X.to(torch.complex64))
    with refused("input 'x', dim 1: expected 8, got 7; 'x' is f32[N,8] with N in 1..64"):
        model(X[:, :7].contiguous())
    with refused("input 'x' is sparse; expected a dense tensor"):
        model(X.to_sparse())
    with refused("input 'x' is on the device meta; expected cpu or cuda"):
        model(X.to("meta"))
    with refused("input 'x': expected 0 to 8 dims, got 9"):
        model(torch.zeros((1,) * 9))


def test_states():
    model, x = compiled(STREAM), torch.ones(2, 8)
    expect([float(model(x)[0, 0]) for _ in range(3)], [1, 2, 3])
    model.reset()
    expect(float(model(x)[0, 0]), 1)


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
