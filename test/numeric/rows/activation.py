"""Activation functions."""
import torch
from torch.nn import functional as F

import accuracy as acc
from rows.row import BOUNDARY, EVERY16, FLOATS, INTS, NUMBERS, row

row("relu", NUMBERS, [("N",)], ("N",), torch.relu, acc.equal)
row("relu6", NUMBERS, [("N",)], ("N",), lambda x: x.clamp(0, 6), acc.equal)
row("sigmoid", FLOATS, [("N",)], ("N",), torch.sigmoid, acc.composite())
row("silu", FLOATS, [("N",)], ("N",), F.silu, acc.composite())
# f64 rounds x / sqrt(2), and e^(-x^2/2) scales that by x^2: more units than other composites down
# the tail. So does tanh.
for dtypes, count in ((("f32", "f16", "bf16"), 4), (("f64",), 16)):
    row("gelu", dtypes, [("N",)], ("N",), lambda x: x / 2 * torch.erfc(-x / 2**0.5),
        acc.composite(count), values="wide")
row("gelu", FLOATS, [("N", )], ("N", ), lambda x: x * torch.sigmoid(2 * (2 / torch.pi)**0.5 *
                                                                    (x + 0.044715 * x**3)),
    acc.composite(16), attrs='{approximate = "tanh"}', values="wide", note="tanh")
row("gelu", FLOATS, [("N", )], ("N", ), F.gelu, acc.composite(4, floor=1.0), values="normal",
    note="PyTorch's own")
row("sigmoid", ("f16", "bf16"), [("N", )], ("N", ), torch.sigmoid, acc.composite(),
    sizes=(EVERY16, ), values="every16", note="all inputs")


row("leaky_relu", FLOATS, [("N",)], ("N",), lambda x: F.leaky_relu(x, 0.2), acc.composite(),
    attrs="{negative_slope = 0.2 : f64}")
row("mish", FLOATS, [("N", )], ("N", ),
    lambda x: x * torch.tanh(torch.log1p(x.clamp(max=700).exp())), acc.composite(6), values="wide")
row("softsign", FLOATS, [("N",)], ("N",), F.softsign, acc.composite())
row("hardswish", FLOATS, [("N", )], ("N", ), lambda x: x * (x + 3).clamp(0, 6) / 6, acc.composite(),
    values="wide")
row("hardsigmoid", FLOATS, [("N", )], ("N", ), lambda x: (x + 3).clamp(0, 6) / 6, acc.composite(),
    values="wide")
row("hardtanh", FLOATS, [("N",)], ("N",), lambda x: F.hardtanh(x, -0.5, 2.0), acc.equal,
    attrs="{min_val = -0.5 : f64, max_val = 2.0 : f64}")
row("hardtanh", INTS, [("N", )], ("N", ), lambda x: x.long().clamp(-2, 3), acc.equal,
    attrs="{min_val = -2.75 : f64, max_val = 3.75 : f64}", values="numbers", note="integers")
row(
    "softshrink", FLOATS, [("N", )], ("N", ), lambda x: torch.where(
        x > 0.25, x - 0.25, torch.where(x < -0.25, x + 0.25, torch.where(x.isnan(), x, 0.0))),
    acc.equal, attrs="{lambd = 0.25 : f64}")
row("hardshrink", FLOATS, [("N", )], ("N", ), lambda x: torch.where(x.abs() <= 0.25, 0.0, x),
    acc.equal, attrs="{lambd = 0.25 : f64}")
row("threshold", NUMBERS, [("N", )], ("N", ),
    lambda x: torch.where(x <= 2, torch.tensor(20, dtype=x.dtype), x),
    attrs="{threshold = 2.0 : f64, value = 20.0 : f64}")
row("prelu", FLOATS, [(3, "N", 4), ("N", )], (3, "N", 4), F.prelu, acc.composite(),
    sizes=BOUNDARY[1:], values="normal")
row("prelu", ("f32", ), [("N", 5), (1, )], ("N", 5), F.prelu, acc.composite(), values="normal",
    note="one slope")
row("prelu", ("f32", ), [("N", 5), ()], ("N", 5), lambda x, w: F.prelu(x, w.reshape(1)),
    acc.composite(), values="normal", note="no dims")
row("glu", FLOATS, [("N", 6)], ("N", 3), F.glu, acc.composite(4, floor=0), values="wide")
row("glu", ("f32", ), [("2*N", 5)], ("N", 5), lambda x: F.glu(x, 0), acc.composite(4, floor=0),
    attrs="{dim = 0 : i64}", values="wide", note="outer, of N")


def elu(x, alpha=1.0, scale=1.0):
    """PyTorch's own takes exp(x) - 1, which loses digits around 0."""
    return scale * torch.where(x > 0, x, alpha * torch.expm1(x))


row("elu", FLOATS, [("N", )], ("N", ), lambda x: elu(x, 0.5), acc.composite(),
    attrs="{alpha = 0.5 : f64}")
row("selu", FLOATS, [("N", )], ("N", ), lambda x: elu(x, 1.6732632423543772, 1.0507009873554805),
    acc.composite())
row("celu", FLOATS, [("N", )], ("N", ), lambda x: torch.where(x > 0, x, 2 * torch.expm1(x / 2)),
    acc.composite(), attrs="{alpha = 2.0 : f64}")
row("softplus", FLOATS, [("N",)], ("N",), lambda x: F.softplus(x, 2.0, 10.0), acc.composite(),
    attrs="{beta = 2.0 : f64, threshold = 10.0 : f64}")
row("logsigmoid", FLOATS, [("N", )], ("N", ),
    lambda x: x.clamp(max=0) - torch.log1p(torch.exp(-x.abs())), acc.composite())
row("tanhshrink", FLOATS, [("N",)], ("N",), lambda x: x - x.tanh(), acc.composite(3, floor=1.0))
