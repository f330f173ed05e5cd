"""Networks of torchvision and transformers, and PyTorch's own TransformerEncoder, whole and
reduced, with their inputs."""
import numpy as np


def resnet50(size):
    from torchvision.models import resnet
    return (resnet.resnet50() if size == "whole" else
            resnet.ResNet(resnet.Bottleneck, [2, 2, 2, 2], num_classes=10, width_per_group=8))


def mobilenet_v2(size):
    from torchvision.models import mobilenet_v2 as make
    return make() if size == "whole" else make(num_classes=10, width_mult=0.25)


def bert(size):
    from transformers import BertConfig, BertModel
    reduced = {
        "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 64
    }
    return BertModel(BertConfig(**({} if size == "whole" else reduced)))


def gpt2(size):
    from transformers import GPT2Config, GPT2LMHeadModel
    reduced = {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 100, "n_positions": 64}
    return GPT2LMHeadModel(GPT2Config(use_cache=False, **({} if size == "whole" else reduced)))


def encoder(size):
    from torch import nn
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True),
                                 6 if size == "whole" else 2)


def embedded(shape, generator):
    return image((*shape, 64), generator)


def image(shape, generator):
    return {"x": generator.standard_normal(shape, dtype=np.float32)}


def text(shape, generator):
    return {"input_ids": generator.integers(0, 100, shape)}


def masked_text(shape, generator):
    lengths = np.arange(shape[1])[None, :] < generator.integers(1, shape[1] + 1, (shape[0], 1))
    return {**text(shape, generator), "attention_mask": lengths.astype(np.int64)}


# Name: the module, its inputs, shapes of the example, of the whole and of the reduced network, the
# outputs, the symbols.
BATCH, LENGTH = {0: "N"}, {0: "N", 1: "T"}
NETWORKS = {
    "resnet50": (resnet50, image, (1, 3, 224, 224), (2, 3, 64, 64), ["logits"], {"x": BATCH}),
    "mobilenet_v2": (mobilenet_v2, image, (1, 3, 224, 224), (2, 3, 64, 64), ["logits"],
                     {"x": BATCH}),
    "bert": (bert, masked_text, (1, 24), (2, 16), ["hidden", "pooled"],
             {"input_ids": LENGTH, "attention_mask": LENGTH}),
    "gpt2": (gpt2, text, (1, 24), (2, 16), ["logits"], {"input_ids": LENGTH}),
    "encoder": (encoder, embedded, (1, 24), (2, 16), ["y"], {"x": LENGTH}),
}
