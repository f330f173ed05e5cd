"""Keras's layers in plain PyTorch, from their documented meaning: tensors have their channels last,
kernels are [*window, in, out], "same" gives ceil(size / stride) windows and puts the odd element of
the border behind.

Shares no code with dlc. A network is a list of (kind, name, arguments)."""
import torch
from torch.nn import functional as F

ACTIVATIONS = {
    None: lambda x: x,
    "linear": lambda x: x,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda x: torch.softmax(x, -1),
    "softplus": F.softplus,
    "softsign": F.softsign,
    "elu": F.elu,
    "selu": F.selu,
    "gelu": F.gelu,
    "swish": F.silu,
    "silu": F.silu,
    "exponential": torch.exp,
    "relu6": F.relu6,
    "hard_sigmoid": lambda x: torch.clamp(x / 6 + 0.5, 0, 1),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "mish": F.mish,
}

# examples/keras_mnist, layer by layer.
MNIST = [
    ("Conv2D", "conv2d", (32, 3), {"padding": "same", "activation": "relu"}),
    ("Conv2D", "conv2d_1", (64, 3), {"padding": "same", "activation": "relu"}),
    ("MaxPooling2D", "max_pooling2d", (2,), {}),
    ("Conv2D", "conv2d_2", (64, 3), {"padding": "same", "strides": 2, "activation": "relu"}),
    ("BatchNormalization", "batch_normalization", (), {}),
    ("MaxPooling2D", "max_pooling2d_1", (2,), {"padding": "same"}),
    ("Flatten", "flatten", (), {}),
    ("Dense", "dense", (128,), {"activation": "relu"}),
    ("Dense", "head", (10,), {"activation": "softmax"}),
]


def first(x):
    return torch.movedim(x, -1, 1)


def last(x):
    return torch.movedim(x, 1, -1)


def each(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


def borders(sizes, window, strides, dilation, padding):
    """(low, high) of each dim, for F.pad the last dim first."""
    widths = []
    for size, width, stride, reach in zip(sizes, window, strides, dilation):
        total = max((-(-size // stride) - 1) * stride +
                    (width - 1) * reach + 1 - size, 0) if padding == "same" else 0
        if padding == "causal":
            widths.append((reach * (width - 1), 0))
        else:
            widths.append((total // 2, total - total // 2))
    return [side for pair in reversed(widths) for side in pair]


def convolve(x, weight, bias, window, strides=1, padding="valid", dilation_rate=1, groups=1):
    """x [N, C, ...], weight in PyTorch's order."""
    dims = len(window)
    strides, dilation = each(strides, dims), each(dilation_rate, dims)
    x = F.pad(x, borders(x.shape[2:], window, strides, dilation, padding))
    return {1: F.conv1d, 2: F.conv2d}[dims](x, weight, bias, strides, 0, dilation, groups)


def conv(x, w, dims, filters, kernel_size, activation=None, use_bias=True, **rest):
    kernel = torch.movedim(w["kernel"], (-1, -2), (0, 1))
    return ACTIVATIONS[activation](last(
        convolve(first(x), kernel, w.get("bias"), each(kernel_size, dims), **rest)))


def depthwise(x, kernel, bias, window, **rest):
    """kernel [h, w, C, M]"""
    h, width, channels, multiplier = kernel.shape
    weight = kernel.permute(2, 3, 0, 1).reshape(channels * multiplier, 1, h, width)
    return convolve(first(x), weight, bias, window, groups=channels, **rest)


def depthwise_conv(x, w, kernel_size, activation=None, use_bias=True, depth_multiplier=1, **rest):
    return ACTIVATIONS[activation](last(
        depthwise(x, w["kernel"], w.get("bias"), each(kernel_size, 2), **rest)))


def separable_conv(x, w, filters, kernel_size, activation=None, use_bias=True, depth_multiplier=1,
                   **rest):
    y = last(depthwise(x, w["depthwise_kernel"], None, each(kernel_size, 2), **rest))
    y = y @ w["pointwise_kernel"][0, 0]
    return ACTIVATIONS[activation](y + w["bias"] if use_bias else y)


def conv_transpose(x, w, filters, kernel_size, strides=1, padding="valid", activation=None,
                   use_bias=True):
    """The gradient of the convolution of that padding, computed as such: y is what conv would have
    read."""
    window, strides = each(kernel_size, 2), each(strides, 2)
    sizes = [size * stride if padding == "same" else size * stride + max(width - stride, 0)
             for size, stride, width in zip(x.shape[1:3], strides, window)]
    y = torch.zeros(x.shape[0], filters, *sizes, dtype=x.dtype, requires_grad=True)
    weight = torch.movedim(w["kernel"], (-1, -2),
                           (0, 1))  # of a convolution from `filters` to x's channels
    with torch.enable_grad():
        forward = convolve(y, weight, None, window, strides, padding)
        gradient, = torch.autograd.grad(forward, y, first(x))
    y = last(gradient)
    return ACTIVATIONS[activation](y + w["bias"] if use_bias else y)


def windows(x, dims, pool_size, strides, padding, outside):
    """The elements of each window, [N, C, *count, elements]; `outside` where it sees the border."""
    window = each(pool_size, dims)
    strides = window if strides is None else each(strides, dims)
    x = first(x)
    x = F.pad(x, borders(x.shape[2:], window, strides, (1,) * dims, padding), value=outside)
    for dim in range(dims):
        x = x.unfold(2 + dim, window[dim], strides[dim])
    return x.flatten(2 + dims)


def max_pool(x, w, dims, pool_size=2, strides=None, padding="valid"):
    return last(windows(x, dims, pool_size, strides, padding, -torch.inf).amax(-1))


def average_pool(x, w, dims, pool_size=2, strides=None, padding="valid"):
    counted = windows(torch.ones_like(x), dims, pool_size, strides, padding, 0.0).sum(-1)
    return last(windows(x, dims, pool_size, strides, padding, 0.0).sum(-1) / counted)


def batch_norm(x, w, axis=-1, epsilon=1e-3, center=True, scale=True):
    y = (x - w["moving_mean"]) / torch.sqrt(w["moving_variance"] + epsilon)
    return y * (w["gamma"] if scale else 1) + (w["beta"] if center else 0)


def layer_norm(x, w, epsilon=1e-3, center=True, scale=True):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + epsilon) * (w["gamma"] if scale else 1) + (
        w["beta"] if center else 0)


def zero_padding(x, w, padding=1):
    (top, bottom), (left, right) = padding if isinstance(padding, tuple) and isinstance(
        padding[0], tuple) else ((side, side) for side in each(padding, 2))
    return F.pad(x, (0, 0, left, right, top, bottom))


def relu(x, w, max_value=None, negative_slope=0.0):
    y = F.leaky_relu(x, negative_slope)
    return y if max_value is None else torch.clamp(y, max=max_value)


def dense(x, w, units, activation=None, use_bias=True):
    return ACTIVATIONS[activation](x @ w["kernel"] + (w["bias"] if use_bias else 0))


def up_sampling(x, w, size=2, interpolation="nearest"):
    return last(
        F.interpolate(first(x), scale_factor=tuple(map(float, each(size, 2))), mode=interpolation))


def lstm_step(x, h, c, w, units):
    i, f, g, o = (x @ w["kernel"] + h @ w["recurrent_kernel"] + w.get("bias", 0)).split(units, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def gru_step(x, h, c, w, units):
    """reset_after=True: the reset gate is applied after the product with the recurrent kernel."""
    bias = w.get("bias", torch.zeros(2, 3 * units, dtype=x.dtype))
    (xz, xr, xh), (hz, hr, hh) = ((v @ w[k] + b).split(units, -1)
                                  for v, k, b in ((x, "kernel", bias[0]), (h, "recurrent_kernel",
                                                                           bias[1])))
    z, r = torch.sigmoid(xz + hz), torch.sigmoid(xr + hr)
    return z * h + (1 - z) * torch.tanh(xh + r * hh), c


def recurrent(step, x, w, units, return_sequences=False, use_bias=True, **rest):
    h = c = torch.zeros(x.shape[0], units, dtype=x.dtype)
    all_h = []
    for t in range(x.shape[1]):
        h, c = step(x[:, t], h, c, w, units, **rest)
        all_h.append(h)
    return torch.stack(all_h, 1) if return_sequences else h


def simple_step(x, h, c, w, units, activation="tanh"):
    return ACTIVATIONS[activation](x @ w["kernel"] + h @ w["recurrent_kernel"]
                                   + w.get("bias", 0)), c


STEPS = {"LSTM": lstm_step, "GRU": gru_step, "SimpleRNN": simple_step}


def bidirectional(x, w, kind, name, *arguments, **named):
    """The backward layer reads from the end; its sequence is turned round again."""
    def run_one(direction, x):
        prefix = f"{direction}_{name}."
        mine = {leaf[len(prefix):]: value for leaf, value in w.items() if leaf.startswith(prefix)}
        return recurrent(STEPS[kind], x, mine, *arguments, **named)
    forward, backward = run_one("forward", x), run_one("backward", x.flip(1))
    return torch.cat((forward, backward.flip(1) if named.get("return_sequences") else backward), -1)


def time_distributed(x, w, kind, name, *arguments, **named):
    """The layer of each step by itself."""
    y = LAYERS[kind](x.reshape(-1, *x.shape[2:]),
                     {leaf[len(name) + 1:]: value for leaf, value in w.items()}, *arguments,
                     **named)
    return y.reshape(*x.shape[:2], *y.shape[1:])


LAYERS = {
    **{
        kind: (lambda x, w, *a, step=step, **k: recurrent(step, x, w, *a, **k)) for kind,
       step in STEPS.items(
        )
    },
    "Bidirectional": bidirectional,
    "TimeDistributed": time_distributed,
    "Conv1D": lambda x, w, *a, **k: conv(x, w, 1, *a, **k),
    "Conv2D": lambda x, w, *a, **k: conv(x, w, 2, *a, **k),
    "Conv2DTranspose": conv_transpose,
    "DepthwiseConv2D": depthwise_conv,
    "SeparableConv2D": separable_conv,
    "MaxPooling1D": lambda x, w, *a, **k: max_pool(x, w, 1, *a, **k),
    "MaxPooling2D": lambda x, w, *a, **k: max_pool(x, w, 2, *a, **k),
    "AveragePooling1D": lambda x, w, *a, **k: average_pool(x, w, 1, *a, **k),
    "AveragePooling2D": lambda x, w, *a, **k: average_pool(x, w, 2, *a, **k),
    "GlobalMaxPooling1D": lambda x, w: x.amax(1),
    "GlobalMaxPooling2D": lambda x, w: x.amax((1, 2)),
    "GlobalAveragePooling1D": lambda x, w: x.mean(1),
    "GlobalAveragePooling2D": lambda x, w, keepdims=False: x.mean((1, 2), keepdim=keepdims),
    "ZeroPadding2D": zero_padding,
    "ZeroPadding1D": lambda x, w, padding=1: F.pad(x, (0, 0, *each(padding, 2))),
    "UpSampling2D": up_sampling,
    "Dense": dense,
    "Flatten": lambda x, w: x.reshape(x.shape[0], -1),
    "Reshape": lambda x, w, shape: x.reshape(x.shape[0], *shape),
    "Permute": lambda x, w, dims: x.permute(0, *dims),
    "Dropout": lambda x, w, rate: x,
    "SpatialDropout2D": lambda x, w, rate: x,
    "Activation": lambda x, w, activation: ACTIVATIONS[activation](x),
    "ReLU": relu,
    "LeakyReLU": lambda x, w, negative_slope=0.3: F.leaky_relu(x, negative_slope),
    "ELU": lambda x, w, alpha=1.0: F.elu(x, alpha),
    "Softmax": lambda x, w, axis=-1: torch.softmax(x, axis),
    "Rescaling": lambda x, w, scale, offset=0.0: x * scale + offset,
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "Embedding": lambda x, w, count, size: w["embeddings"][x],
}


def run(network, weights, x):
    """network: [(kind, name, positional, named)]; weights: "name.leaf" -> array. In f64."""
    x = torch.from_numpy(x)
    x = x.double() if x.is_floating_point() else x
    with torch.no_grad():
        for kind, name, positional, named in network:
            mine = {
                leaf[len(name) + 1:]: torch.from_numpy(value).double()
                for leaf, value in weights.items() if leaf.startswith(name + ".")
            }
            x = LAYERS[kind](x, mine, *positional, **named)
    return x.numpy()
