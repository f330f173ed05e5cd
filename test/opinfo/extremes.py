"""Samples of our own: the limits of each dtype, NaN and infinities, dims of size 0, broadcasts and
several dtypes."""
import torch

INF, NAN = float("inf"), float("nan")
TINY, HUGE = 1e-45, 3.4028235e38
NUMBERS = [
    INF, -INF, NAN, -0.0, 0.0, TINY, -TINY, 1.17549421e-38, 1.17549435e-38, -1.2e-38, HUGE, -HUGE,
    1e20, -1e20, 1e10, 1e5, -1e5, 300.0, -300.0, 88.7, 89.0, -87.0, -88.5, -104.0, 20.0, -20.0, 0.5,
    -0.5, 1.0, -1.0, 1.0000001, 0.99999994, -0.99999994, 2.5, -2.5, 1.5, -1.5, 3.5, 65504.0,
    16777217.0, 8388609.5, 1.5707964, 3.1415927, 1e-7, -1e-7, 1e-4, 9.0, -9.0, 0.1, -0.1, 6.0, -3.0,
    3.0, 4.0, 2147483648.0, 9.3e18
]
PAIRED = [
    INF, -INF, NAN, -0.0, 0.0, TINY, 1e-38, HUGE, -HUGE, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0,
    1e10, 0.1, 7.5, -7.5, 16777217.0
]
HALF = [
    INF, -INF, NAN, -0.0, 0.0, 6e-8, -6e-8, 6.1e-5, 65504.0, -65504.0, 1000.0, -1000.0, 11.0, 12.0,
    -12.0, -17.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 1.5, 3.5, 2049.0, 0.1, -0.1, 3.0, -3.0, 6.0
]
UNARY = {
    "nn.functional." + name
    for name in ("relu", "gelu", "silu", "relu6", "leaky_relu", "mish", "softsign", "hardswish",
                 "hardsigmoid", "hardtanh", "softshrink", "hardshrink", "elu", "selu", "celu",
                 "softplus", "logsigmoid", "tanhshrink")
} | {"clamp", "nan_to_num"}
REDUCTIONS = {
    "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all",
    "count_nonzero", "var", "std", "var_mean", "std_mean", "logsumexp", "norm", "cumsum", "cumprod",
    "cummax", "cummin", "softmax", "log_softmax", "sort", "argsort", "topk", "nansum", "nanmean",
    "aminmax"
}
# Arguments of functions of each element, beside none: positional and named.
ARGUMENTS = {
    "clamp": [((-1, 2), {}), ((), {"min": 0}), ((), {"max": 1}), ((2, -1), {})],
    "nan_to_num": [((), {}), ((1.0, 2.0, -2.0), {}), ((), {"nan": INF})],
    "nn.functional.leaky_relu": [((), {}), ((-0.5,), {}), ((0.0,), {})],
    "nn.functional.gelu": [((), {}), ((), {"approximate": "tanh"})],
    "nn.functional.softplus": [((), {}), ((2.0, 5.0), {}), ((), {"beta": 0.5, "threshold": 1.0})],
    "nn.functional.elu": [((), {}), ((0.3,), {}), ((-2.0,), {})],
    "nn.functional.celu": [((), {}), ((0.3,), {}), ((-2.0,), {})],
    "nn.functional.softshrink": [((), {}), ((0.0,), {}), ((2.0,), {})],
    "nn.functional.hardshrink": [((), {}), ((0.0,), {}), ((2.0,), {})],
    "nn.functional.hardtanh": [((), {}), ((-2, 0.5), {}), ((0.0, 6.0), {})]}
SHAPES = [((3, 1), (1, 4)), ((), (3, )), ((3, ), ()), ((0, 3), (1, 3)), ((2, 1, 0), (3, 1)),
          ((), ()), ((4, ), (2, 3, 4))]
DIVISIONS = {"floor_divide", "remainder", "fmod", "div"}
SHIFTS = {"bitwise_left_shift", "bitwise_right_shift"}


def integers(dtype):
    """The limits of `dtype` and numbers around powers of 2."""
    limits = torch.iinfo(dtype)
    numbers = [
        limits.min, limits.max, limits.min + 1, 0, -1, 1, 2, -2, 3, 7, -7, 31, 32, 33, 63, 64, 100,
        65536, -65536, 16777217
    ]
    return torch.tensor([n for n in numbers if limits.min <= n <= limits.max], dtype=dtype)


def unary(name):
    generator = torch.Generator().manual_seed(3)
    tensors = [
        torch.tensor(NUMBERS),
        torch.tensor(NUMBERS[:17]),
        torch.tensor(HALF, dtype=torch.float16),
        integers(torch.int64),
        integers(torch.int32),
        torch.tensor([True, False])
    ]
    tensors += [
        torch.randn(shape, generator=generator) * 3 for shape in ((), (0, ), (2, 0, 3), (2, 3, 4))
    ]
    return [(x, positional, named) for x in tensors
            for positional, named in ARGUMENTS.get(name, [((), {})])]


def divisors(name, values):
    """The numbers of `values` by which C may divide or shift them."""
    if name in SHIFTS and not values.is_floating_point():
        return values[(values >= 0) & (
            values < torch.iinfo(values.dtype).bits)] if values.dtype != torch.bool else values
    if values.dtype == torch.bool and name in DIVISIONS:
        return values[values]
    return values[(values != 0) & (
        values != -1)] if name in DIVISIONS and not values.is_floating_point() else values


def binary(entry):
    name, _, variant = entry.partition("/")
    named = {"rounding_mode": variant.split("_")[0]} if variant.endswith("_rounding") else {}
    pairs = []
    for values in (torch.tensor(PAIRED), torch.tensor(HALF[:17], dtype=torch.float16),
                   integers(torch.int64), integers(torch.int32), torch.tensor([True, False])):
        others = divisors(name, values)
        if name in ("pow",
                    "__rpow__") and not values.is_floating_point() and values.dtype != torch.bool:
            others = others[others >= 0]
        pairs.append((values[:, None].clone(), others[None].clone()))
    generator = torch.Generator().manual_seed(4)
    whole = lambda shape: torch.randint(1, 5, shape, generator=generator)
    for dtype in (torch.float32, torch.int64):
        pairs += [(whole(left).to(dtype), whole(right).to(dtype)) for left, right in SHAPES]
    pairs += [(torch.tensor(PAIRED), number) for number in (2, -3, 0.5, INF, NAN, 0.0)]
    pairs += [(integers(torch.int64), number) for number in (2, 1, 7, 0.5)]
    small = torch.tensor([5, -7, 2])
    for left, rights in ((torch.float32, (torch.int64, torch.bool, torch.float16, torch.float64)),
                         (torch.int64, (torch.int32, torch.bool, torch.uint8, torch.float16))):
        for right in rights:
            other = torch.tensor([1, 1, 3]).to(right)
            pairs += [(small.to(left), other), (torch.tensor(5).to(left), other)]
    return [(x, (other,), named) for x, other in pairs]


def reductions(name):
    inf, nan, generator = INF, NAN, torch.Generator().manual_seed(5)
    random = lambda *shape: torch.randn(shape, generator=generator)
    tensors = [
        torch.tensor([[1, nan, 3], [inf, 2, -1], [-inf, inf, 0], [-0.0, 0, 5], [nan, nan, nan]]),
        torch.tensor(3.0),
        torch.tensor(nan),
        torch.zeros(0),
        torch.zeros(0, 3),
        torch.zeros(3, 0),
        random(2, 3, 4),
        random(1, 5),
        torch.full((3, 4), -inf),
        random(2, 1, 3, 2),
        torch.full((2, 40000), 1.25),
        torch.tensor([[3e38, 3e38], [1e-30, 1e30]]),
        torch.tensor([[2**62, 2**62, 2**62], [-1, 0, 5]]),
        torch.tensor([[True, False], [True, True]]),
        torch.tensor([[2**31 - 1, 5], [-2**31, 1]], dtype=torch.int32),
        torch.tensor([[200, 200, 3]], dtype=torch.uint8)
    ]
    if name in ("cumsum", "cumprod", "cummax", "cummin", "softmax", "log_softmax", "logsumexp"):
        ways = [((-1,), {}), ((0,), {}), ((), {"dim": -1})]
    elif name in ("sort", "argsort"):
        ways = [((), {"stable": True}),
                ((),
                 {"dim": 0, "stable": True, "descending": True})] if name == "sort" else [((-1,
                                                                                            True),
                                                                                           {})]
    elif name == "topk":
        ways = [((1,), {}), ((2,), {"dim": 0}), ((3,), {"largest": True, "sorted": True})]
    elif name == "aminmax":
        ways = [((), {}), ((), {"dim": -1, "keepdim": True})]
    else:
        ways = [((), {}), ((-1, ), {}), ((), {"dim": (0, -1)}), ((), {"dim": -1, "keepdim": True}),
                ((), {"dim": [0], "keepdim": False})]
        if name in ("var", "std", "var_mean", "std_mean"):
            ways += [((), {"dim": -1, "correction": 0}), ((), {"correction": 2, "dim": None}),
                     ((), {"dim": 0, "unbiased": False}), ((False, ), {}),
                     ((), {"dim": -1, "correction": 5})]
        if name == "norm":
            ways += [((p, -1), {}) for p in (1, 2, 3, 0, inf, -inf, 0.5, -1)] + [(
                ("fro", ), {}), ((), {"p": "fro", "dim": (-2, -1)})]
        if name in ("sum", "mean", "prod"):
            ways += [((), {"dim": -1, "dtype": torch.float64}), ((), {"dtype": torch.float32})]
        if name == "count_nonzero":
            ways = [way for way in ways if "keepdim" not in way[1]]
    return [(x, *way) for x in tensors for way in ways]
