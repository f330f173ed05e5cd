"""Small models for the tests of the Python package, and what they must give."""
import contextlib
import os
import sys
import tempfile
import warnings

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TEST)
BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
sys.path[:0] = [
    os.path.join(BUILD, "python"),
    os.path.join(TEST, "conformance"),
    os.path.join(TEST, "frontend", "onnx", "Inputs")
]
import dlc  # noqa: E402
from cases import Cases, Failure  # noqa: E402

AFFINE = """dl 1
dim N = 1..64
model Affine {
  forward(x: f32[N,8]) -> (y: f32[N,8]) { y = x * 2 + 1 }
}
"""
TWO = """dl 1
model Two {
  forward(a: f32[3], b: i64[2,2]) -> (sum: f32[3], turned: i64[2,2]) {
    sum = a + 0.5
    turned = transpose(b, 0, 1)
  }
}
"""
STREAM = """dl 1
dim N = 1..4
model Stream {
  state total: f32[N,8]
  forward(x: f32[N,8]) -> (y: f32[N,8]) {
    total = total + x
    y = total
  }
}
"""
FLOW = """dl 1
dim N = 1..64
model Flow {
  forward(x: f32[N,4], n: i64[]) -> (rows: f32[?,4], square: f32[?,?]) {
    k = dim_of(n, most=64)
    rows = x[:k] * 2
    square = x[:k] @ x[:k].mT
  }
}
"""
COUNTED = """dl 1
dim N = 1..64
model Counted {
  forward(x: f32[N]) -> (places: i64[?,1]) { places = nonzero(x) }
}
"""
MLP = """dl 1
dim N = 1..64
model Mlp {
  forward(x: f32[N,64], v: f32[64,64], w: f32[64,10]) -> (y: f32[N,10]) { y = relu(x @ v) @ w }
}
"""
BROKEN = """dl 1
model Broken {
  forward(x: f32[4]) -> (y: f32[4]) {
    y = rleu(x)
    z = nosuch(x)
  }
}
"""
DTYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool")
#: Of NumPy; u16 holds the bits of bf16 where there is no ml_dtypes.
NUMPY = {
    "f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "i64": "i8", "i32": "i4", "i16": "i2",
    "i8": "i1", "u8": "u1", "bool": "?"
}


def same(dtype):
    """A model that hands its input on, in order from behind, which all dtypes can do."""
    return f"dl 1\nmodel Same {{\n  forward(x: {dtype}[2,3]) -> (y: {dtype}[2,3]) {{ y = flip(x, dims=[0]) }}\n}}\n"


def compiled(text, **options):
    """A model of this text on the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.dl")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return dlc.compile(path, **{"device": "cpu", "threads": 1, **options})


def package(text, **options):
    """The bytes of a model.bin."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bin")
        compiled(text, output=path, **options)
        with open(path, "rb") as source:
            return source.read()


def expect(actual, expected):
    if actual != expected:
        raise Failure(f"{actual!r}, expected {expected!r}")


def expect_array(actual, expected):
    """The same dtype, dims and elements."""
    import numpy as np
    if actual.dtype != expected.dtype or not np.array_equal(actual, expected):
        raise Failure(f"{actual!r}, expected {expected!r}")


@contextlib.contextmanager
def refused(sentence, code=dlc.Code.USAGE, kind=dlc.Error):
    """The body must raise this."""
    try:
        yield
    except kind as error:
        expect((str(error), error.code), (sentence, code))
        return
    raise Failure(f"nothing was raised, expected '{sentence}'")


@contextlib.contextmanager
def warned(sentence, kind=dlc.CopyWarning):
    """The body must warn of this, once."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    expect([(str(one.message), one.category) for one in found], [(sentence, kind)])


def run(module):
    """Runs the functions of a test file whose names begin with test_; the exit status. One that
    cannot run here raises LeftOut."""
    cases = Cases()
    for name, function in list(vars(module).items()):
        if name.startswith("test_"):
            with cases.case(name[len("test_"):]):
                try:
                    function()
                except LeftOut as reason:
                    cases.leave_out(1, str(reason))
                    cases.passed -= 1
    return cases.finish()


class LeftOut(Exception):
    """Why a test cannot run here."""
