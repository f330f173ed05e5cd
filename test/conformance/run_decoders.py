#!/usr/bin/env python3
"""Decoders of transformers, reduced and with seeded weights, exported as optimum exports them: the
past of each layer is an input, and the past with the new tokens an output. As they are they give
what PyTorch gives, for several sizes of the past and of the new part. With --state, whose past
stays in the model, runs one after another give the same, and `dlc generate` says the tokens that
transformers generates. So does stories260k of the corpus (DLC_CORPUS).

  run_decoders.py          all of them
  run_decoders.py NAME...  these alone"""
import importlib.util
import json
import os
import struct
import subprocess
import sys
import warnings

import numpy as np

from cases import Cases, Failure
from corpus_data import CORPUS
from dlc_tool import BUILD, DLC, ROOT, compile_model, dlc, expect_close, run_model
from run_onnx import emulate
from runtime_session import Refused, Session

OUT = os.path.join(BUILD, "test-logs", "decoders")
LIBRARY = os.path.join(BUILD, "lib", "libdlc_runtime.so")
POSITIONS, VOCABULARY = 64, 100
# New tokens after a past of so many: a prompt, one token, several at once, and up to the end of the
# table.
SIZES = [(0, 5), (5, 1), (6, 3), (POSITIONS - 2, 2)]
STATE = ("--state", "past_key_values.*=present.*")


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(
        GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=VOCABULARY, n_positions=POSITIONS))


def opt():
    from transformers import OPTConfig, OPTForCausalLM
    return OPTForCausalLM(
        OPTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128,
                  vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, word_embed_proj_dim=64))


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(
        LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=8,
                    num_key_value_heads=2, intermediate_size=128, vocab_size=VOCABULARY,
                    max_position_embeddings=POSITIONS))


# Name: the module, and the inputs beside tokens and past.
DECODERS = {
    "gpt2": (gpt2, ()),
    "gpt2-mask": (gpt2, ("attention_mask",)),
    "gpt2-mask-positions": (gpt2, ("attention_mask", "position_ids")),
    "opt-mask": (opt, ("attention_mask",)),
    "llama": (llama, ()),
    "llama-mask": (llama, ("attention_mask",)),
    "llama-mask-positions": (llama, ("attention_mask", "position_ids")),
}


class Decoder:
    """A module of transformers, and its calls with a past."""

    def __init__(self, name):
        import torch
        self.torch = torch
        make, self.others = DECODERS[name]
        torch.manual_seed(1)
        self.module = make().eval()
        config = self.module.config
        self.layers = config.num_hidden_layers
        heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
        self.part = (heads, config.hidden_size // config.num_attention_heads)
        self.names = [
            f"{layer}.{kind}" for layer in range(self.layers) for kind in ("key", "value")
        ]

    def past(self, generator, batch, length):
        """By the names of the inputs."""
        shape = (batch, self.part[0], length, self.part[1])
        return {
            f"past_key_values.{name}": generator.standard_normal(shape, dtype=np.float32)
            for name in self.names
        }

    def inputs(self, tokens, length):
        """The inputs beside the past, which has this length; tokens are [batch, T]. Text i of a
        batch begins after i places that the mask leaves out."""
        batch, count = tokens.shape
        every = {
            "attention_mask": (np.arange(length + count)
                               >= np.arange(batch)[:, None]).astype(np.int64),
            "position_ids": np.tile(np.arange(length, length + count), (batch, 1))
        }
        return {"input_ids": tokens, **{name: every[name] for name in self.others}}

    def call(self, given, double=False):
        """The logits and what becomes of the past, from arrays by the names of inputs."""
        tensors = {
            name: self.torch.from_numpy(array) if isinstance(array, np.ndarray) else array
            for name, array in given.items()
        }
        if double:
            tensors = {
                name: tensor.double() if tensor.is_floating_point() else tensor
                for name, tensor in tensors.items()
            }
        past = tuple(
            (tensors[f"past_key_values.{layer}.key"], tensors[f"past_key_values.{layer}.value"])
            for layer in range(self.layers))
        result = self.module(input_ids=tensors["input_ids"], past_key_values=past, use_cache=True,
                             **{name: tensors[name] for name in self.others})
        return (result.logits, *(tensor for layer in result.past_key_values for tensor in layer))

    def expected(self, given):
        """In f64, but of what transformers computes in f32 alone: the mask of OPT, and the softmax
        of Llama, which takes the least number of f64 in a mask for -inf and gives NaN in the places
        that an attention mask leaves out."""
        kind = type(self.module).__name__
        double = "OPT" not in kind and not ("Llama" in kind and "attention_mask" in given)
        with self.torch.no_grad():
            if double:
                self.module.double()
            result = [tensor.numpy() for tensor in self.call(given, double)]
            self.module.float()
        return result

    @property
    def outputs(self):
        return ["logits", *(f"present.{name}" for name in self.names)]

    def export(self, path):
        torch, decoder = self.torch, self
        generator = np.random.default_rng(0)
        given = {
            **self.inputs(generator.integers(4, VOCABULARY, (2, 3)), 5),
            **self.past(generator, 2, 5)
        }
        names = list(given)

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = decoder.module

            def forward(self, *tensors):
                return decoder.call(dict(zip(names, tensors)))

        dims = {
            "input_ids": {0: "N", 1: "T"}, "position_ids": {0: "N", 1: "T"},
            "attention_mask": {0: "N", 1: "P + T"}, **{
                name: {0: "N", 2: "P"} for name in names if name.startswith("past")
            }, "logits": {0: "N",
                          1: "T"}, **{name: {0: "N", 2: "P + T"} for name in self.outputs[1:]}
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Module().eval(), tuple(torch.from_numpy(array) for array in given.values()), path,
                input_names=names, output_names=self.outputs, opset_version=14, dynamic_axes={
                    name: axes for name, axes in dims.items() if name in names + self.outputs
                })

    def generate(self, prompt, count):
        """What transformers generates, greedily."""
        with self.torch.no_grad():
            made = self.module.generate(self.torch.tensor([prompt]), max_new_tokens=count,
                                        do_sample=False, eos_token_id=None, pad_token_id=0)
        return made[0, len(prompt):].tolist()


def compare(what, got, wanted):
    for name, one, other in zip(what, got, wanted):
        try:
            expect_close(one, other, 1e-4, 1e-4 * max(1.0, float(np.abs(other).max())))
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from None


def expect_attention(decoder, path, *flags):
    """On CUDA a kernel computes the attention of each layer, whatever mask it has."""
    program = dlc("compile", path + ".onnx", "--target", "cuda", "-q", "--compile-to=outline",
                  *flags)
    if (count := program.count("dlx.launch @attention")) != decoder.layers:
        raise Failure(f"{count} launches of an attention, expected {decoder.layers}")


def with_past(cases, name, decoder, path):
    """The graph as it is: the past goes in, and comes out longer."""
    with cases.case(f"{name}: compiled as it is"):
        compile_model(path + ".onnx", path + ".bin")
    with cases.case(f"{name}: attention is one kernel"):
        expect_attention(decoder, path)
    generator = np.random.default_rng(3)
    for device, sizes in (("cpu", [(1, *size)
                                   for size in SIZES] + [(3, 4, 2)]), ("cuda-emu", [(1, 0, 3),
                                                                                    (2, 3, 1)])):
        for batch, length, count in sizes:
            with cases.case(f"{name}: {batch} x {length} + {count} on {device}"):
                given = {
                    **decoder.inputs(generator.integers(4, VOCABULARY, (batch, count)), length),
                    **decoder.past(generator, batch, length)
                }
                compare(decoder.outputs,
                        run_model(path + ".bin", given, decoder.outputs, "--device", device),
                        decoder.expected(given))
    with cases.case(f"{name}: its text"):
        dlc("import", path + ".onnx", "-o", path + ".dl", "--force")
        compile_model(path + ".dl", path + "-text.bin")
        given = {
            **decoder.inputs(generator.integers(4, VOCABULARY, (1, 2)), 3),
            **decoder.past(generator, 1, 3)
        }
        # A name of the text is one of the language's.
        renamed = {key.replace(".", "_"): array for key, array in given.items()}
        outputs = [output.replace(".", "_") for output in decoder.outputs]
        compare(decoder.outputs, run_model(path + "-text.bin", renamed, outputs),
                decoder.expected(given))


def steps(decoder, package, device, batch, parts):
    """Runs over parts of a text, one after another: all logits, and those of PyTorch."""
    generator = np.random.default_rng(4)
    tokens = generator.integers(4, VOCABULARY, (batch, sum(parts)))
    got, wanted = [], []
    past = decoder.past(generator, batch, 0)
    with Session(LIBRARY, package, "cpu" if device == "cpu" else "cuda") as session:
        at = 0
        for count in parts:
            part = tokens[:, at:at + count]
            given = decoder.inputs(part, at)
            answer = decoder.expected({**given, **past})
            past = {
                f"past_key_values.{name}": array for name, array in zip(decoder.names, answer[1:])
            }
            if "attention_mask" in given:
                given["attention_mask"] = given["attention_mask"][:, at:]
            got.append(session.run(given)["logits"][1])
            wanted.append(answer[0])
            at += count
    return got, wanted


def with_cache(cases, name, decoder, path):
    """The past as a state."""
    package = path + "-cached.bin"
    size = "" if name.startswith("gpt2") else f"[{POSITIONS}]"
    with cases.case(f"{name}: compiled with its past as a cache"):
        compile_model(path + ".onnx", package, None, STATE[0], STATE[1] + size)
    with cases.case(f"{name}: attention over a cache is one kernel"):
        expect_attention(decoder, path, STATE[0], STATE[1] + size)
    for device, batch, parts in (("cpu", 1, [5, 1, 1, 3,
                                             54]), ("cpu", 2, [4, 1, 2]), ("cuda-emu", 1, [3, 1,
                                                                                           1])):
        with cases.case(f"{name}: a cache of {batch} x {' + '.join(map(str, parts))} on {device}"):
            if device != "cpu":
                emulate()
            got, wanted = steps(decoder, package, device, batch, parts)
            compare([f"run {i}" for i in range(len(got))], got, wanted)
    with cases.case(f"{name}: a run beyond the cache is refused, and the runs before it count"):
        with Session(LIBRARY, package, "cpu") as session:
            given = decoder.inputs(np.full((1, 60), 5), 0)
            session.run(given)
            for _ in range(2):
                try:
                    session.run(decoder.inputs(np.full((1, 5), 5), 0))
                except Refused as refused:
                    if "the model's cache holds 64 positions, of which 60 are taken, and this run brings 5" not in str(
                            refused):
                        raise Failure(str(refused)) from None
                else:
                    raise Failure("65 positions were taken")
            session.reset_states()
            session.run(given)
    with cases.case(f"{name}: generated tokens are those of transformers"):
        prompt = [7, 21, 4, 90, 33]
        made = [
            int(token) for token in dlc("generate", package, "--tokens", ",".join(map(str, prompt)),
                                        "--max-tokens", "40", "--device", "cpu").split()
        ]
        if made != (wanted := decoder.generate(prompt, 40)):
            raise Failure(f"{made}, expected {wanted}")


def stories(cases):
    folder = os.path.join(CORPUS, "models", "stories260k_T64")
    if not os.path.isdir(folder):
        cases.leave_out(2, "no corpus of trained models: set DLC_CORPUS")
        return
    package = os.path.join(OUT, "stories260k.bin")
    with cases.case("stories260k: its text, token by token"):
        compile_model(os.path.join(ROOT, "test", "conformance", "models", "stories260k_cached.dl"),
                      package, os.path.join(folder, "weights.safetensors"))
        expected = np.load(os.path.join(folder, "expected_tokens.npy")).tolist()
        made = [
            int(token)
            for token in dlc("generate", package, "--tokens", expected[0], "--max-tokens",
                             len(expected) - 1, "--device", "cpu").split()
        ]
        if made != expected[1:]:
            raise Failure(f"{made}, expected {expected[1:]}")
    with cases.case("stories260k: a prompt, and a token that ends it"):
        stop = expected[30]
        end = next(i for i in range(20, len(expected)) if expected[i] == stop)
        made = [
            int(token) for token in dlc("generate", package, "--tokens", " ".join(
                map(str, expected[:20])), "--stop", stop, "--device", "cpu").split()
        ]
        if made != expected[20:end]:
            raise Failure(f"{made}, expected {expected[20:end]}")
    stories_text(cases, folder, package, expected)


def stories_tokens(path):
    """The bytes of the tokens, by id. llama2.c keeps for each its score, length and bytes, after
    the length of the longest one."""
    with open(path, "rb") as file:
        data = file.read()
    tokens, at = [], 4
    while at < len(data):
        _, size = struct.unpack_from("<fi", data, at)
        tokens.append(data[at + 8:at + 8 + size])
        at += 8 + size
    return tokens


def write_stories_tokenizer(tokens, path):
    """A tokenizer.json of them. They are SentencePiece's, by merges: the pair whose result has the
    largest score is merged first."""
    words = 259  # where they begin, after the bytes
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += [token.decode().replace(" ", "▁") for token in tokens[words:]]
    ids = {name: i for i, name in enumerate(names)}
    merges = []
    for name in names[words:]:  # whose scores fall
        pairs = [(name[:cut], name[cut:]) for cut in range(1, len(name))]
        pairs = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
        merges += sorted(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    special = [{
        "id": i, "content": names[i], "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": False, "special": True
    } for i in range(3)]
    begin = {"id": "<s>", "ids": [1], "tokens": ["<s>"]}
    single = [{"SpecialToken": {"id": "<s>", "type_id": 0}},
              {"Sequence": {"id": "A", "type_id": 0}}]
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"},
                            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing", "single": single, "special_tokens": {"<s>": begin},
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}]
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "Replace", "pattern": {"String": "▁"},
                          "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                         {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
        },
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": ids,
            "merges": [" ".join(pair) for pair in merges]
        },
    }
    with open(path, "w", encoding="utf-8") as out:
        json.dump(file, out)


def stories_text(cases, folder, package, expected):
    """The same as texts, by the tool and in Python."""
    path = os.path.join(OUT, "stories260k-tokenizer.json")
    with open(os.path.join(folder, "expected_text.txt"), encoding="utf-8") as file:
        whole = file.read()
    begin = "Once upon a time"

    def says(prompt, *arguments):
        text = dlc("generate", package, "--device", "cpu", "--tokenizer", path, "--prompt", prompt,
                   *arguments)
        return text.removesuffix("\n")

    with cases.case("stories260k: its text, from no text"):
        write_stories_tokenizer(stories_tokens(os.path.join(folder, "tok512.bin")), path)
        text = says("", "--max-tokens", len(expected) - 1)
        if not text.startswith(begin) or not whole.startswith(text):
            raise Failure(f"{text!r}, expected {whole!r}")
    with cases.case("stories260k: the text that follows a text"):
        text = says(begin, "--max-tokens", 40)
        if len(text) < 60 or not whole.startswith(begin + text):
            raise Failure(f"{text!r}, expected {whole!r}")
    sys.path.insert(0, os.path.join(BUILD, "python"))
    missing = [name for name in ("dlc", "tokenizers") if importlib.util.find_spec(name) is None]
    prompts = (begin, "Tom and his dog", "  Größe 😀\n\tnew ", "The end.</s> One day")
    if missing:
        cases.leave_out(
            2 * len(prompts),
            f"texts of Python, because it has no {' and no '.join(missing)}: tools/scripts/setup --tests"
        )
        return
    import dlc as package_of_python
    model = package_of_python.load(package, device="cpu")
    for prompt in prompts:
        for options in ({}, {"temperature": 1.5, "top_k": 100, "top_p": 0.95, "seed": 7}):
            with cases.case(
                    f"stories260k: {prompt!r} {'drawn' if options else 'greedily'} in Python and by the tool"
            ):
                flags = [
                    word for name, value in options.items()
                    for word in ("--" + name.replace("_", "-"), value)
                ]
                text = says(prompt, "--max-tokens", 100, *flags)
                if not text or (wanted := model.generate(prompt, max_tokens=100, tokenizer=path, **
                                                         options)) != text:
                    raise Failure(f"{text!r}, Python {wanted!r}")


def refusals(cases, path):
    """What generate says where it cannot."""
    package = path + "-cached.bin"
    for arguments, message in (
        (["--tokens", "1,2", "--max-tokens", "80"],
         "error: --max-tokens 80 after a prompt of 2 tokens need a cache of 81 positions, and the model's holds 64; at most 63 "
         "fit"), (["--tokens", ",".join(["1"] * 65)],
                  "error: the prompt has 65 tokens, and the model's cache holds 64"),
        (["--tokens",
          "1,100"], "error: --tokens: token 100 is none of the model's 100 tokens, 0 to 99"),
        (["--tokens", "once upon"], "error: --tokens 'once upon': expected the numbers of tokens"),
        (["--tokens", ""], "error: dlc generate needs a prompt"),
        (["--tokens", "1", "--stop", "a"],
         "error: --stop 'a': expected the numbers of tokens"), (["--tokens", "1", "--top-k", "3"],
                                                                "--top-k needs --temperature (")):
        with cases.case(f"refused: {message[:60]}"):
            run = subprocess.run([DLC, "generate", package, "--device", "cpu", *arguments],
                                 capture_output=True, text=True)
            if run.returncode != 2 or message not in run.stderr:
                raise Failure(f"exit status {run.returncode}: {run.stderr.strip()[-400:]}")
            if run.stdout:
                raise Failure(f"it printed {run.stdout!r}")
    with cases.case("refused: a model without a cache"):
        run = subprocess.run([DLC, "generate", path + ".bin", "--device", "cpu", "--tokens", "1"],
                             capture_output=True, text=True)
        if run.returncode != 2 or "has no cache that counts its positions" not in run.stderr:
            raise Failure(f"exit status {run.returncode}: {run.stderr.strip()[-400:]}")


def main():
    names = sys.argv[1:] or list(DECODERS)
    if unknown := sorted(set(names) - set(DECODERS)):
        sys.exit(f"there is no {', '.join(unknown)}; decoders are {', '.join(DECODERS)}")
    os.makedirs(OUT, exist_ok=True)
    cases = Cases()
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        cases.leave_out(
            len(names),
            f"decoders, because this Python has no {' and no '.join(missing)}: tools/scripts/setup --tests"
        )
        names = []
    for name in names:
        path = os.path.join(OUT, name)
        decoder = Decoder(name)
        with cases.case(f"{name}: exported"):
            decoder.export(path + ".onnx")
        with_past(cases, name, decoder, path)
        with_cache(cases, name, decoder, path)
    if "gpt2" in names:
        refusals(cases, os.path.join(OUT, "gpt2"))
    stories(cases)
    sys.exit(cases.finish())


if __name__ == "__main__":
    main()
