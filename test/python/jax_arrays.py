"""Models over JAX's arrays, over those of ml_dtypes, and over anything that has DLPack alone."""
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from models import AFFINE, COUNTED, Failure, compiled, expect, expect_array, refused, run, same

jax.config.update("jax_enable_x64", True)
X = np.arange(24, dtype=np.float32).reshape(3, 8)


def test_jax():
    found = compiled(AFFINE)(jnp.asarray(X))
    if not isinstance(found, jax.Array):
        raise Failure(f"{type(found)}, expected a jax.Array")
    expect_array(np.asarray(found), X * 2 + 1)
    expect_array(np.asarray(found + 1), X * 2 + 2)
    expect_array(np.asarray(jax.jit(lambda x: x * 2)(compiled(AFFINE)(jnp.asarray(X)))), X * 4 + 2)


def test_every_dtype():
    for dtype, name in (("f64", "float64"), ("f32", "float32"), ("f16", "float16"),
                        ("bf16", "bfloat16"), ("i64", "int64"), ("i32", "int32"), ("i16", "int16"),
                        ("i8", "int8"), ("u8", "uint8"), ("bool", "bool")):
        x = jnp.array([[0, 1, 1], [1, 0, 1]]).astype(name)
        found = compiled(same(dtype))(x)
        expect((str(found.dtype), np.array_equal(np.asarray(found),
                                                 np.asarray(x)[::-1])), (name, True))


def test_result_lives():
    """The memory of a result goes with its last user."""
    model = compiled(AFFINE)
    kept = [model(jnp.asarray(X + i)) for i in range(100)]
    for i, found in enumerate(kept):
        expect_array(np.asarray(found), (X + i) * 2 + 1)


def test_counted():
    x = jnp.array([0, 3, 0, 4], jnp.float32)
    expect_array(np.asarray(compiled(COUNTED)(x)), np.array([[1], [3]]))


def test_ml_dtypes():
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(ml_dtypes.bfloat16)
    found = compiled(same("bf16"))(x)
    expect_array(found, x[::-1])
    expect_array(compiled(same("bf16"))(x.view(np.uint16)), x[::-1])
    with refused("input 'x': expected f32[N,8], got bf16"):
        compiled(AFFINE)(X.astype(ml_dtypes.bfloat16))


class Plain:
    """An array that has DLPack and nothing else."""

    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def test_dlpack():
    model = compiled(AFFINE)
    found = model(Plain(X))
    expect_array(np.from_dlpack(found), X * 2 + 1)
    y = np.zeros_like(X)
    model.run({"x": X}, {"y": Plain(y)})
    expect_array(y, X * 2 + 1)
    with refused("input 'x' is not contiguous in C order; give the model a copy of it that is"):
        model(Plain(X[:, ::-1]))
    with refused("input 'x' is on a device of DLPack's type 8; expected a CPU or a CUDA GPU"):
        model(Plain(X, (8, 0)))
    with refused("input 'x': expected f32, got a type of DLPack's code 5 and 64 bits"):
        model(Plain(X.astype(np.complex64)))
    with refused("input 'x': Plain does not give its memory to be read by DLPack"):
        model(Plain("no array", (1, 0)))
    frozen = np.zeros_like(X)
    frozen.flags.writeable = False
    with refused("output 'y': Plain does not give its memory to be written by DLPack"):
        model.run({"x": X}, {"y": Plain(frozen)})


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
