"""More functions at each index."""
import torch
from torch.nn import functional as F

from rows.library.called import NUMBERS, PLAIN, UNIT, each

each("positive", lambda x: x, "positive(x0) + 0", 0, PLAIN)
each("rsub", lambda x, y: torch.rsub(x, y, alpha=0.5), "rsub(x0, x1, alpha=0.5)")
each("xlogy", torch.xlogy)
for number in ("0.0", "-3", "float('inf')", "float('nan')", "2.5"):
    each("xlogy", lambda x, z=eval(number): torch.xlogy(x, z),
         f"xlogy(x0, {number})".replace("'", '"'), shapes=PLAIN, note=f"number {number}")
    each("xlog1py", lambda x, z=eval(number): torch.special.xlog1py(x, z),
         f"xlog1py(x0, {number})".replace("'", '"'), shapes=PLAIN, note=f"number {number}")
each("xlog1py", torch.special.xlog1py)
each("entr", torch.special.entr, shapes=PLAIN)
each("entr", lambda x: torch.special.entr(x.double()), shapes=PLAIN, values=[0, 1, 2, 5, 200],
     dtypes=("ui8", ), result_dtype="f32", note="integers")
each("hypot", torch.hypot)
each("signbit", torch.signbit, count=0, shapes=PLAIN, values=NUMBERS, result_dtype="i1")
each("copysign", torch.copysign, count=0, values=NUMBERS)
each("copysign", lambda x, y: torch.copysign(x.double(), y), count=0, values=NUMBERS,
     dtypes=("f32", "i32"), kinds={1: ("f64", NUMBERS)}, result_dtype="f64", note="dtypes")
each("logit", torch.logit, shapes=PLAIN, values=UNIT, count=16)
each("logit", lambda x: torch.logit(x, 0.2), "logit(x0, eps=0.2)", shapes=PLAIN, values=UNIT,
     count=16, note="eps")
each("logit", lambda x: torch.logit(x.double()), shapes=PLAIN,
     values=[-2**31, -1, 0, 1, 2, 2**31 - 1], dtypes=("i32", ), result_dtype="f32", note="integers")
each("expit", torch.special.expit, shapes=PLAIN)
each("fmax", torch.fmax, count=0)
each("fmin", torch.fmin, count=0)
each("heaviside", torch.heaviside, count=0, values=NUMBERS)
each("sinc", torch.sinc, shapes=PLAIN, values="normal", count=4, size=1)
each("sinc", torch.sinc, shapes=PLAIN,
     values=[0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 1.5, -2.5, 100.25, 1e30,
             3e38], dtypes=("f32", ), size=2.0**-24, note="whole")
each("sgn", torch.sgn, count=0, shapes=PLAIN, values=NUMBERS)
each("conj", lambda x: x, "conj(x0) + 0", 0, PLAIN)
each("conj_physical", lambda x: x, "conj_physical(x0) + 0", 0, PLAIN)
each("resolve_conj", lambda x: x, "resolve_conj(x0) + 0", 0, PLAIN)
each("angle", torch.angle, shapes=PLAIN)
each("deg2rad", torch.deg2rad, shapes=PLAIN)
each("rad2deg", torch.rad2deg, shapes=PLAIN)
each("logaddexp2", torch.logaddexp2, values="normal", size=1)
each("ldexp", torch.ldexp, values=NUMBERS)
each("bitwise_left_shift", torch.bitwise_left_shift, count=0, dtypes=("i32", "i64", "i8"),
     values=range(6))
each("float_power", torch.float_power, result_dtype="f64", values=[0.5, 1.0, 2.0, 3.0], count=32)
each("isclose", lambda x, y: torch.isclose(x, y, equal_nan=True), "isclose(x0, x1, equal_nan=true)",
     0, result_dtype="i1")
each("isclose", torch.isclose, count=0, dtypes=("i32", "i64"), values=range(4), result_dtype="i1",
     note="integers")
each("isposinf", torch.isposinf, count=0, shapes=PLAIN, result_dtype="i1")
each("isneginf", torch.isneginf, count=0, shapes=PLAIN, result_dtype="i1")
each("isreal", torch.isreal, count=0, shapes=PLAIN, result_dtype="i1")
each("softmin", lambda x: F.softmin(x, 1), "softmin(x0, 1)", 32, PLAIN, values="normal")
each("ndtr", torch.special.ndtr, shapes=PLAIN, values="normal", count=64, dtypes=("f32",))
each("round", lambda x: torch.round(x, decimals=1), "round(x0, decimals=1)", 4, PLAIN,
     values=[0.11, 2.26, -3.94, 5.0], note="decimals")
each("allclose", lambda x, y: torch.tensor(torch.allclose(x, y)), count=0, result=(),
     result_dtype="i1", values=[1.0, 1.000001])
each("equal", lambda x, y: torch.tensor(torch.equal(x, y)), count=0, result=(), result_dtype="i1",
     values=[1.0])
each("fill", lambda x, y: x * 0 + y[0, 0], "fill(x0, x1[0, 0])", 0, values=NUMBERS)
each("fill", lambda x: torch.full_like(x, 2.5), "fill(x0, 2.5)", 0, PLAIN, note="number")
each("bitwise_right_shift", torch.bitwise_right_shift, count=0, dtypes=("ui8", ),
     values=[0, 1, 2, 3, 7, 5, 6])
# PyTorch 1.13 leaves shifts by less than 0 or by the width undefined; later ones leave the sign.
each(
    "bitwise_right_shift", lambda x, y: x >> torch.where((y < 0) | (y >= torch.iinfo(x.dtype).bits),
                                                         torch.iinfo(x.dtype).bits - 1, y), count=0,
    dtypes=("i8", "i32", "i64"), values=[0, 1, -1, 100, -100, 127, -128],
    kinds={1: ("i8", [0, 1, 2, 5, 31, 32, 63, 64, 100, -1])}, note="any shift")
each("real", lambda x: x, "real(x0) + 0", 0, PLAIN)
each("rrelu", lambda x: F.rrelu(x, 0.1, 0.4), "rrelu(x0, 0.1, 0.4)", shapes=PLAIN)
for name in ("dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
    each(name, lambda x: x, f"{name}(x0, 0.3) + 0", 0, PLAIN)
