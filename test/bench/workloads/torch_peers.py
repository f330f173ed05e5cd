"""The workloads of table.py as modules of PyTorch, with the names of the weights that the texts ask
for, and their inputs."""
import os
import re
import sys

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "conformance"))
import vision_models  # noqa: E402


class Function(nn.Module):
    """A function without weights."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(512, 1024, 2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


class Conv(nn.Module):
    def __init__(self, *arguments, kind=nn.Conv2d, **options):
        super().__init__()
        self.conv = kind(*arguments, **options)

    def forward(self, x):
        return F.relu(self.conv(x))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(784, 512), nn.Linear(512, 256), nn.Linear(256, 10)

    def forward(self, x):
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


class SmallMlp(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(8):
            setattr(self, f"l{i}", nn.Linear(64, 64))

    def forward(self, x):
        for i in range(8):
            x = torch.relu(getattr(self, f"l{i}")(x))
        return x


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
        self.conv3 = nn.Conv2d(64, 64, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(3136, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        x = F.max_pool2d(F.relu(self.conv3(x)), 2).flatten(1)
        return torch.softmax(self.fc2(F.relu(self.fc1(x))), -1)


#-- Llama ------------------------------------------------------------------------------------------

class Attention(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, self.size * groups, bias=False) for _ in range(2))

    def forward(self, x):
        n, t, width = x.shape
        q = self.q(x).view(n, t, self.heads, self.size).transpose(1, 2)
        k, v = (layer(x).view(n, t, self.groups, self.size).transpose(1, 2)
                for layer in (self.k, self.v))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(h.transpose(1, 2).reshape(n, t, width))


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, groups, inner):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.attention = Attention(width, heads, groups)
        self.gate, self.up = nn.Linear(width, inner,
                                       bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        h = x + self.attention(self.n1(x))
        z = self.n2(h)
        return h + self.down(F.silu(self.gate(z)) * self.up(z))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(32000, 2048)
        self.layers = nn.ModuleList(LlamaLayer(2048, 16, 4, 5632) for _ in range(8))
        self.norm, self.head = nn.RMSNorm(2048, eps=1e-6), nn.Linear(2048, 32000, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, -1])


#-- ViT-B/16 ---------------------------------------------------------------------------------------

class VitLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.in_proj(self.ln_1(x)).reshape(n, t, 3, self.heads,
                                                     self.size).permute(2, 0, 3, 1, 4)
        z = x + self.out_proj(
            F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, width))
        return z + self.mlp(self.ln_2(z))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, 768, 16, 16)
        self.class_token, self.positions = nn.Parameter(
            0.02 * torch.randn(1, 1, 768)), nn.Parameter(0.02 * torch.randn(1, 197, 768))
        self.layers = nn.ModuleList(VitLayer(768, 12) for _ in range(12))
        self.ln, self.head = nn.LayerNorm(768, eps=1e-6), nn.Linear(768, 1000)

    def forward(self, x):
        patches = self.conv_proj(x).flatten(2).transpose(1, 2)
        z = torch.cat([self.class_token.expand(x.shape[0], 1, 768), patches], 1) + self.positions
        for layer in self.layers:
            z = layer(z)
        return self.head(self.ln(z)[:, 0])


#-- BERT-base --------------------------------------------------------------------------------------

class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.attention, self.intermediate, self.output = nn.Module(), nn.Module(), nn.Module()
        self.attention.self, self.attention.output = nn.Module(), nn.Module()
        for name in ("query", "key", "value"):
            setattr(self.attention.self, name, nn.Linear(width, width))
        self.attention.output.dense, self.attention.output.LayerNorm = nn.Linear(
            width, width), nn.LayerNorm(width, eps=1e-12)
        self.intermediate.dense = nn.Linear(width, 4 * width)
        self.output.dense, self.output.LayerNorm = nn.Linear(4 * width,
                                                             width), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        n, t, width = x.shape
        own = self.attention.self
        q, k, v = (layer(x).view(n, t, self.heads, self.size).transpose(1, 2)
                   for layer in (own.query, own.key, own.value))
        h = F.scaled_dot_product_attention(q, k, v,
                                           attn_mask=mask).transpose(1, 2).reshape(n, t, width)
        h = self.attention.output.LayerNorm(x + self.attention.output.dense(h))
        return self.output.LayerNorm(h + self.output.dense(F.gelu(self.intermediate.dense(h))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings, self.encoder, self.pooler = nn.Module(), nn.Module(), nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(30522, 768)
        self.embeddings.position_embeddings = nn.Embedding(512, 768)
        self.embeddings.token_type_embeddings = nn.Embedding(2, 768)
        self.embeddings.LayerNorm = nn.LayerNorm(768, eps=1e-12)
        self.encoder.layer = nn.ModuleList(BertLayer(768, 12) for _ in range(12))
        self.pooler.dense = nn.Linear(768, 768)

    def forward(self, input_ids, token_type_ids, attention_mask):
        own, t = self.embeddings, input_ids.shape[1]
        x = own.word_embeddings(
            input_ids) + own.position_embeddings.weight[:t] + own.token_type_embeddings(
                token_type_ids)
        x = own.LayerNorm(x)
        mask = (1.0 - attention_mask[:, None, None, :]) * -10000.0
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler.dense(x[:, 0]))


#-- ConvNeXt-T -------------------------------------------------------------------------------------

class ChannelNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3,
                                         groups=width), nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.layer_scale = nn.Parameter(torch.full((width, 1, 1), 0.1))

    def forward(self, x):
        h = self.down(F.gelu(self.up(self.norm(self.conv(x).permute(0, 2, 3, 1)))))
        return x + self.layer_scale * h.permute(0, 3, 1, 2)


class Smaller(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm, self.conv = ChannelNorm(inputs), nn.Conv2d(inputs, outputs, 2, 2)

    def forward(self, x):
        return self.conv(self.norm(x))


class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, 96, 4, 4), ChannelNorm(96)
        for stage, (count, width) in enumerate(((3, 96), (3, 192), (9, 384), (3, 768)), 1):
            if stage > 1:
                setattr(self, f"smaller{stage - 1}", Smaller(width // 2, width))
            setattr(self, f"stage{stage}",
                    nn.Sequential(*(ConvNeXtBlock(width) for _ in range(count))))
        self.norm, self.head = nn.LayerNorm(768, eps=1e-6), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.smaller1(self.stage1(self.stem_norm(self.stem(x))))
        x = self.stage4(self.smaller3(self.stage3(self.smaller2(self.stage2(x)))))
        return self.head(self.norm(x.mean((2, 3))))


#-- Products of few bits ---------------------------------------------------------------------------

def float8_product(x, w):
    """In double for the expected result, else by cuBLASLt."""
    narrow_x, narrow_w = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    if x.dtype == torch.float64:
        return narrow_x.double() @ narrow_w.double().T
    one = torch.ones((), device=x.device)
    return torch._scaled_mm(narrow_x, narrow_w.t(), scale_a=one, scale_b=one, out_dtype=x.dtype)


def byte_product(x, w):
    narrow_x, narrow_w = ((value * 32).round().clamp(-128, 127).to(torch.int8) for value in (x, w))
    if x.dtype == torch.float64:
        return narrow_x.double() @ narrow_w.double().T / 1024
    return (torch._int_mm(narrow_x, narrow_w.t()).float() / 1024).to(x.dtype)


class TwoOfFour(nn.Module):
    """A layer of which the two smallest of each four weights are zero."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4096, 4096, bias=False)
        with torch.no_grad():
            groups = self.layer.weight.view(4096, -1, 4)
            groups.scatter_(2, groups.abs().topk(2, dim=2, largest=False).indices, 0.0)

    def forward(self, x):
        return self.layer(x)

    def as_sparse(self):
        """The same layer by PyTorch's kernels for such weights."""
        module = TwoOfFour.__new__(TwoOfFour)
        nn.Module.__init__(module)
        module.layer = nn.Linear(1, 1, bias=False)
        module.layer.weight = nn.Parameter(
            torch.sparse.to_sparse_semi_structured(self.layer.weight.detach()), requires_grad=False)
        return module


def float8_attention(q, k, v):
    """In double as it is written but for the rounding of weights; PyTorch itself attends in 16
    bits."""
    narrow = (x.to(torch.float8_e4m3fn).to(x.dtype) for x in (q, k, v))
    return F.scaled_dot_product_attention(*narrow)


#-- Which module a workload is ---------------------------------------------------------------------

# Where a workload's name matches, its module; the numbers of the match are arguments.
MODULES = (
    (r"LSTM 2x1024", Lstm),
    (r"Llama", Llama),
    (r"ViT", ViT),
    (r"BERT", Bert),
    (r"ConvNeXt", ConvNeXt),
    (r"ResNet-50", vision_models.ResNet50),
    (r"MobileNetV2", vision_models.MobileNetV2),
    (r"VGG", lambda: vision_models.VGG16(CLASSES=1000)),
    (r"MNIST", Mnist),
    (r"MLP", Mlp),
    (r"8 layers of 64", SmallMlp),
    (r"product of e4m3", lambda: Function(float8_product)),
    (r"product of s8", lambda: Function(byte_product)),
    (r"linear .* 2:4", TwoOfFour),
    (r"linear", lambda: Function(F.linear)),
    (r"product", lambda: Function(torch.matmul)),
    (r"attention of e4m3", lambda: Function(float8_attention)),
    (r"attention .*causal",
     lambda: Function(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))),
    (r"attention", lambda: Function(F.scaled_dot_product_attention)),
    (r"conv 32x256", lambda: Conv(256, 256, 3, padding=1)),
    (r"conv 32x3", lambda: Conv(3, 64, 7, 2, 3)),
    (r"conv 4x3x16", lambda: Conv(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), kind=nn.Conv3d)),
    (r"depthwise", lambda: Conv(96, 96, 3, padding=1, groups=96)),
    (r"sum", lambda: Function(torch.sum)),
    (r"softmax", lambda: Function(lambda x: torch.softmax(x, -1))),
    (r"gelu", lambda: Function(lambda x, y: F.gelu(x * 1.5 + y) * torch.sigmoid(y))),
)
DTYPES = {"f32": torch.float32, "f16": torch.float16, "i64": torch.int64}


def module_of(name):
    """The module, with seeded weights that keep the size of what flows through it."""
    torch.manual_seed(3)
    module = next(make for pattern, make in MODULES if re.match(pattern, name))().eval()
    for key, value in module.state_dict().items():
        if key.endswith(("running_var",)):
            value.uniform_(0.5, 1.5)
    return module


def inputs_of(text):
    """[(name, tensor)] for the signature of a text whose dims are numbers or its constants."""
    constants = dict(re.findall(r"^const (\w+) = (\d+)", text, re.M))
    signature = re.search(r"model \w+ \{.*?forward\((.*?)\) ->", text, re.S).group(1)
    generator, found = torch.Generator().manual_seed(5), []
    for name, dtype, dims in re.findall(r"(\w+): (\w+)\[([^\]]*)\]", signature):
        shape = [int(constants.get(dim.strip(), dim)) for dim in dims.split(",")]
        if name == "attention_mask":
            tensor = torch.ones(shape)
        elif dtype == "i64":
            tensor = torch.randint(0, 2 if name == "token_type_ids" else 30000, shape,
                                   generator=generator)
        else:
            tensor = torch.randn(shape, generator=generator)
        found.append((name, tensor.to(DTYPES[dtype])))
    return found
