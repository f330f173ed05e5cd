#!/usr/bin/env python3
"""Language models of transformers, reduced and with seeded weights, through dlc.compile. With their
past inside (dlc.Decoder) `generate` gives the tokens that transformers generates, and runs over
parts of a text give its logits; with their past as an argument each call gives what the module
gives.

  run_decoders.py          all of them
  run_decoders.py NAME...  these alone"""

import json
import os
import re
import sys
import tempfile
import warnings

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), name) for name in ("python", "conformance")]
from cases import Cases, Failure  # noqa: E402
from dlc_tool import dlc as tool  # noqa: E402
from dlc_tool import expect_close, run_model  # noqa: E402
from models import dlc  # noqa: E402

POSITIONS, VOCABULARY = 64, 100
PROMPT = [7, 21, 4, 90, 33, 8, 15, 16, 23, 42]
COMMON = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WINDOW, WIDE = {"sliding_window": 8}, {"head_dim": 16}
EXPERTS = {"num_local_experts": 4}
# Name: the classes, what their configuration has besides, the kernels of attention in a run.
DECODERS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_embd": 64, "n_layer": 2, "n_head": 4}, 2),
    "bloom": ("BloomForCausalLM", "BloomConfig", {"n_layer": 2, "n_head": 4}, None),
    "falcon": ("FalconForCausalLM", "FalconConfig", {}, None),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {}, 2),
    "mistral": ("MistralForCausalLM", "MistralConfig", WINDOW, 2),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", WIDE, 2),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**WINDOW, **WIDE}, None),
    "cohere": ("CohereForCausalLM", "CohereConfig", {}, 2),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", EXPERTS, None),
    "gpt_oss": ("GptOssForCausalLM", "GptOssConfig", {**WINDOW, **WIDE, **EXPERTS}, None),
}
EMULATED = ("gpt2", "llama")


def network(name, **changed):
    import transformers

    model, config, more, _ = DECODERS[name]
    torch.manual_seed(1)
    sizes = {
        key: COMMON[key] for key in ("hidden_size", "vocab_size", "bos_token_id", "eos_token_id")
    }
    options = {**sizes, "n_positions": POSITIONS} if "n_layer" in more else COMMON
    net = getattr(transformers, model)(
        getattr(transformers, config)(**{**options, **more, **changed})
    ).eval()
    with torch.no_grad():
        for weight in net.parameters():
            if weight.dim() > 1:  # so that tokens differ
                torch.nn.init.normal_(weight, std=0.2)
    return net


def generated(net, count):
    with torch.no_grad():
        made = net.generate(
            torch.tensor([PROMPT]),
            max_new_tokens=count,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
    return made[0, len(PROMPT) :].tolist()


def compiled(net, batch=1, **options):
    ids = torch.tensor([PROMPT] * batch)
    decoder = dlc.Decoder(net, POSITIONS, batch, **options)
    return decoder, dlc.compile(decoder, ids, dynamic={"input_ids": {1: "T"}}, device="cpu")


def expect_tokens(got, wanted):
    if [int(token) for token in got] != wanted:
        raise Failure(f"{list(got)}, transformers generates {wanted}")


def with_cache(cases, name, net):
    _, _, _, attentions = DECODERS[name]
    wanted = generated(net, 40)
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "decoder.bin")
        with cases.case(f"{name}: compiled with its past inside"):
            target = {"target": "cpu,cuda"} if name in EMULATED else {"device": "cpu"}
            model = dlc.compile(
                dlc.Decoder(net, POSITIONS),
                torch.tensor([PROMPT]),
                dynamic={"input_ids": {1: "T"}},
                output=package,
                **{"device": "cpu", **target},
            )
        with cases.case(f"{name}: tokens in Python and by the tool"):
            if model.cache_capacity != POSITIONS:
                raise Failure(f"a cache of {model.cache_capacity}, expected {POSITIONS}")
            expect_tokens(model.generate(PROMPT, max_tokens=40), wanted)
            text = ",".join(map(str, PROMPT))
            told = ("--tokens", text, "--max-tokens", "40", "--device", "cpu")
            expect_tokens(tool("generate", package, *told).split(), wanted)
        if attentions is not None:
            with cases.case(f"{name}: an attention is one kernel"):
                found = json.loads(tool("inspect", package, "--json"))
                counts = {
                    sum(k["launches"] for k in program["kernels"] if "attention" in k["name"])
                    for program in found["programs"]
                }
                if counts != {attentions}:
                    raise Failure(f"{counts} launches of an attention, expected {attentions}")
        if name in EMULATED:
            with cases.case(f"{name}: logits on cuda-emu"):
                ids = torch.tensor([PROMPT])
                with torch.no_grad():
                    logits = net(ids).logits[:, -1:].numpy()
                (got,) = run_model(
                    package, {"input_ids": ids.numpy()}, ["output"], "--device", "cuda-emu"
                )
                expect_close(got, logits, 1e-4, 1e-4 * float(abs(logits).max()))
    with cases.case(f"{name}: a run beyond the cache is refused"):
        model.reset()
        model(torch.tensor([PROMPT * 6]))
        try:
            model(torch.tensor([PROMPT]))
        except dlc.Error as error:
            if "the model's cache holds 64 positions, of which 60 are taken" not in str(error):
                raise Failure(str(error)) from None
        else:
            raise Failure("70 positions were taken")


def in_parts(cases, name, net):
    """Two texts, some tokens at a time: all logits, by the model and by the module itself."""
    with cases.case(f"{name}: two texts in parts of 4, 1, 2 and 30 tokens"):
        decoder, model = compiled(net, batch=2, logits_to_keep=0)
        tokens = torch.randint(4, VOCABULARY, (2, 37))
        with torch.no_grad():
            wanted = net(tokens, use_cache=False).logits
            got = torch.cat([model(part) for part in tokens.split([4, 1, 2, 30], 1)], 1)
            own = torch.cat([decoder(part) for part in tokens.split([4, 1, 2, 30], 1)], 1)
        for found in (got, own):
            expect_close(found.numpy(), wanted.numpy(), 1e-4, 1e-4 * float(wanted.abs().max()))


class WithPast(torch.nn.Module):
    """The past of each layer goes in, and comes out longer."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, input_ids, past):
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (key, value) in enumerate(past):
            cache.update(key, value, layer)
        result = self.net(input_ids, past_key_values=cache, use_cache=True)
        return result.logits, [
            (layer.keys, layer.values) for layer in result.past_key_values.layers
        ]


def with_past(cases, name, net):
    module = WithPast(net)

    def arguments(length, count):
        heads = COMMON["num_key_value_heads"] if name != "gpt2" else 4
        shape = (1, heads, length, 16)
        past = [(torch.randn(shape), torch.randn(shape)) for _ in range(2)]
        return torch.randint(4, VOCABULARY, (1, count)), past

    with cases.case(f"{name}: compiled with its past as an argument"):
        layer = ({2: "P"}, {2: "P"})
        dims = {"input_ids": {1: "T"}, "past": [layer, layer]}
        model = dlc.compile(module, arguments(0, 3), dynamic=dims, device="cpu")
    for length, count in ((0, 5), (5, 1), (6, 3), (POSITIONS - 2, 2)):
        with cases.case(f"{name}: {count} tokens after {length}"), torch.no_grad():
            given = arguments(length, count)
            leaves = torch.utils._pytree.tree_leaves
            for got, wanted in zip(leaves(model(*given)), leaves(module(*given)), strict=True):
                expect_close(got.numpy(), wanted.numpy(), 1e-4, 1e-4 * float(wanted.abs().max()))


def refusals(cases, net):
    """What dlc.Decoder says where it cannot."""
    for arguments, said in (
        ((torch.nn.Linear(2, 2), 8), "takes a language model of transformers, got a Linear"),
        ((net, 0), "expected a capacity of 1 or more, got 0"),
    ):
        with cases.case(f"refused: {said}"):
            try:
                dlc.Decoder(*arguments)
            except dlc.Error as error:
                if said not in str(error) or error.code != dlc.Code.USAGE:
                    raise Failure(f"{error} ({error.code})") from None
            else:
                raise Failure("it was taken")


def page(cases):
    """The program of docs/generation.md, with a small network in the place of GPT-2."""
    path = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "generation.md")
    with open(path, encoding="utf-8") as source:
        blocks = re.findall(r"^```python\n(.*?)^```", source.read(), re.M | re.S)
    program = next(block for block in blocks if "dlc.Decoder" in block)
    net = network("gpt2", vocab_size=5000, n_positions=1024)

    class AutoModelForCausalLM:
        @staticmethod
        def from_pretrained(_):
            return net

    with cases.case("the program of docs/generation.md"), tempfile.TemporaryDirectory() as folder:
        program = program.replace("gpt2.bin", os.path.join(folder, "gpt2.bin"))
        names = {"dlc": dlc, "torch": torch, "AutoModelForCausalLM": AutoModelForCausalLM}
        exec(program, names)  # noqa: S102
        if names["model"].cache_length != 21:
            raise Failure(f"{names['model'].cache_length} positions are taken, expected 21")


def main():
    names = sys.argv[1:] or list(DECODERS)
    if unknown := sorted(set(names) - set(DECODERS)):
        sys.exit(f"there is no {', '.join(unknown)}; decoders are {', '.join(DECODERS)}")
    warnings.simplefilter("ignore")
    import transformers

    transformers.logging.set_verbosity_error()
    cases = Cases()
    for name in names:
        net = network(name)
        with_cache(cases, name, net)
        if name in EMULATED:
            in_parts(cases, name, net)
            with_past(cases, name, net)
    if "gpt2" in names:
        refusals(cases, network("gpt2"))
        page(cases)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
