"""Tensors of other classes and layouts: torchao's quantized weights, and what is refused by name.
"""

import os
import sys
import tempfile
import warnings

import torch
from torch import nn

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
)
from models import Failure, LeftOut, dlc, expect, run  # noqa: E402

from modules import close, compiled, refused  # noqa: E402

SIZES = (512, 1024, 256)
WEIGHTS = SIZES[0] * SIZES[1] + SIZES[1] * SIZES[2]


def torchao():
    """torchao.quantization, of a package that is not always there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torchao.quantization
    except ImportError:
        raise LeftOut("no torchao for the tests of quantized weights") from None
    return torchao.quantization


def net(dtype=torch.float32):
    torch.manual_seed(3)
    first, second = nn.Linear(*SIZES[:2]), nn.Linear(*SIZES[1:], bias=False)
    return nn.Sequential(first, nn.ReLU(), second).eval().to(dtype)


def package(module, *calls, dtype=torch.float32, bound=1e-5, **options):
    """The model of a module, whose results are its own, and the bytes of the package."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bin")
        model = compiled(module, calls[0], output=path, **options)
        for x in calls:
            with torch.no_grad():
                wanted, found = module(x), model(x)
            expect((found.shape, found.dtype), (wanted.shape, wanted.dtype))
            far = (found - wanted).abs().max().item()
            if not far <= bound * max(1.0, wanted.abs().max().item()):
                raise Failure(f"{far} off PyTorch's")
        return model, os.path.getsize(path)


def quantized(config, bits, dtype=torch.float32, bound=1e-5, scales=0):
    """A network is as small as its weights of so many bits, in the file and in memory, and the
    module stays as it was."""
    module = net(dtype)
    torchao().quantize_(module, config)
    kinds = [type(one) for one in module.parameters()]
    torch.manual_seed(1)
    calls = [torch.randn(n, SIZES[0]).to(dtype) for n in (2, 5)]
    model, size = package(module, *calls, bound=bound, dynamic={"input": {0: "N"}})
    most = WEIGHTS * bits // 8 + scales * dtype.itemsize + 60_000
    if size > most or model.memory()["weights"] + model.memory()["persistent"] > most:
        raise Failure(f"{size} bytes, {model.memory()} in memory; expected {most} at most")
    expect([type(one) for one in module.parameters()], kinds)
    expect([type(part) for part in module], [nn.Linear, nn.ReLU, nn.Linear])
    expect([name for name, _ in module.named_modules()], ["", "0", "1", "2"])
    return model


def test_int8():
    ao = torchao()
    quantized(ao.Int8WeightOnlyConfig(), 8)
    quantized(ao.Int8WeightOnlyConfig(), 8, torch.bfloat16, 1e-2)
    quantized(ao.IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=ao.PerAxis(0)), 8)
    groups = ao.IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=ao.PerGroup(64))
    quantized(groups, 8, scales=WEIGHTS // 64)


def test_int4():
    ao = torchao()
    from torchao.quantization.quant_primitives import MappingType

    config = ao.IntxWeightOnlyConfig
    scales = WEIGHTS // 32
    groups = {"weight_dtype": torch.int4, "granularity": ao.PerGroup(32)}
    quantized(config(**groups), 4, scales=scales)
    quantized(config(**groups), 4, torch.bfloat16, 1e-2, scales=scales)
    even = config(mapping_type=MappingType.ASYMMETRIC, **groups)
    quantized(even, 4, scales=scales + scales // 4)
    quantized(config(weight_dtype=torch.int4, granularity=ao.PerAxis(0)), 4)
    quantized(config(weight_dtype=torch.int2, granularity=ao.PerGroup(32)), 4, scales=scales)


def test_int4_of_gpus():
    """Int4WeightOnlyConfig's tensor, which torchao makes on a GPU and can only multiply there."""
    torchao()
    from torchao.quantization import Int4Tensor

    torch.manual_seed(0)
    rows, columns, group = 64, 128, 32
    codes = torch.randint(-8, 8, (rows, columns), dtype=torch.int8)
    scale = torch.rand(columns // group, rows) + 0.5
    zero = torch.randn(columns // group, rows)
    packed = codes[:, ::2] & 15 | codes[:, 1::2] << 4
    weight = Int4Tensor(packed, scale, zero, [1, group], (rows, columns))
    module = nn.Linear(columns, rows)
    module.weight = nn.Parameter(weight, requires_grad=False)
    model, x = compiled(module, torch.ones(2, columns)), torch.randn(2, columns)
    steps = codes.float() * scale.t().repeat_interleave(group, 1)
    dense = steps + zero.t().repeat_interleave(group, 1)
    with torch.no_grad():
        close(model(x) / 100, nn.functional.linear(x, dense, module.bias) / 100)


def test_products_of_bytes():
    ao = torchao()
    quantized(ao.Int8DynamicActivationInt8WeightConfig(), 8, scales=10_000)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(3000, 64), nn.Linear(64, 3000, bias=False)

    def forward(self, ids):
        return self.head(self.embedding(ids))


def test_embedding():
    """A table and a layer that share a weight of 4 bits store it once."""
    ao = torchao()
    module = Tied().eval()
    config = ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(32))
    ao.quantize_(module, config, lambda part, _: isinstance(part, nn.Embedding))
    module.head.weight = module.embedding.weight
    _, size = package(module, torch.tensor([[1, 2, 2999]]))
    if size > 3000 * 64 * 5 // 8 + 60_000:
        raise Failure(f"{size} bytes")


def test_torch_compile():
    from dlc.torch_backend import backend

    ao, x = torchao(), torch.randn(2, SIZES[0])
    groups = ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(32))
    for config in (ao.Int8WeightOnlyConfig(), groups):
        module = net()
        ao.quantize_(module, config)
        torch._dynamo.reset()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error", dlc.CompileWarning)
            close(torch.compile(module, backend=backend)(x), module(x))


class Weighted(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, x):
        return nn.functional.linear(x, self.weight)


def test_layouts():
    eye, x = torch.eye(4), torch.ones(2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in beta
        sparse = {
            "sparse_coo": eye.to_sparse(),
            "sparse_csr": eye.to_sparse_csr(),
            "sparse_csc": eye.to_sparse_csc(),
            "sparse_bsr": eye.to_sparse_bsr((2, 2)),
            "sparse_bsc": eye.to_sparse_bsc((2, 2)),
        }
    for layout, tensor in sparse.items():
        why = f"is in the layout {layout}, and dlc takes dense tensors; call to_dense() on it"
        refused(Weighted(tensor), x, f"the weight 'weight' {why}")
        refused(nn.ReLU(), tensor, f"the input 'input' {why}")
    why = "is in the layout of mkldnn; call to_dense() on it"
    refused(Weighted(eye.to_mkldnn()), x, f"the weight 'weight' {why}")
    refused(nn.ReLU(), eye.to_mkldnn(), f"the input 'input' {why}")


def test_nested_tensors():
    rows = [torch.ones(2, 3), torch.ones(4, 3)]
    why = "is a nested tensor; pass a padded tensor (torch.nested.to_padded_tensor) and its lengths"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are prototypes
        for layout in (torch.strided, torch.jagged):
            nested = torch.nested.nested_tensor(rows, layout=layout)
            refused(nn.ReLU(), nested, f"the input 'input' {why}")


def test_masked_tensors():
    from torch.masked import masked_tensor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are prototypes
        masked = masked_tensor(torch.ones(3), torch.tensor([True, False, True]))
    refused(nn.ReLU(), masked, "'input' is a MaskedTensor; pass get_data() and get_mask() as two")


def test_quantized_dtypes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are deprecated
        held = torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8)
    refused(nn.ReLU(), held, "'input' is a tensor of PyTorch's quantized dtypes; call dequantize()")


def test_distributed_tensors():
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_gloo_available():
        raise LeftOut("this PyTorch has no gloo")
    from torch.distributed.tensor import Replicate, distribute_tensor, init_device_mesh

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        tensor = distribute_tensor(torch.eye(3), mesh, [Replicate()])
        why = "is a DTensor, and dlc compiles for one device; call full_tensor() on it"
        refused(Weighted(tensor), torch.ones(2, 3), f"the weight 'weight' {why}")
        refused(nn.ReLU(), tensor, f"the input 'input' {why}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
