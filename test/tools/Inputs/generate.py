"""generate.py FOLDER: dlc generate on a decoder of one layer: its tokens are those of runs one by
one, its texts those of a tokenizer, and what it refuses."""
import json
import os
import re
import subprocess
import sys

import numpy as np
from weight_cases import ROOT, Suite, dlc, numbers, save

sys.path.insert(0, os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"))
from onnx_writer import model, node, value  # noqa: E402

suite = Suite(sys.argv[1])
expect = suite.expect
SIZE, ROOM = 11, 16
SCORES = "scores: f32[1,T,11]"
MODEL = """dl 1

dim T = 1..4

model Small {
  table: Parameter(11, 8)
  state k: f32[1,16,8]
  state length: i64[]

  forward(ids: i64[1,T]) -> (logits: f32[1,T,11]) {
    h = embedding(ids, table)
    k = update_slice(k, 1, length, h)
    seen = arange(16)[None, :] <= (length + arange(T))[:, None]
    y = scaled_dot_product_attention(h, k, k, attn_mask=seen)
    length = length + T
    logits = y @ transpose(table, 0, 1)
  }
}

weights "small.safetensors"
"""
table = numbers(SIZE, 8)
save("small.safetensors", {"table": table})


def made(name, *changes, weights="small.safetensors"):
    """The package of MODEL with some words changed."""
    text = MODEL.replace("small.safetensors", weights)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    with open(name + ".dl", "w", encoding="utf-8") as out:
        out.write(text)
    done = dlc("compile", name + ".dl", "-q", "--target", "cpu", "-o", name + ".bin")
    expect(f"{name} compiles", (done.returncode, done.stderr), (0, ""))
    return name + ".bin"


def generate(package, *arguments):
    return dlc("generate", package, "--device", "cpu", *arguments)


def refused(what, package, message, *arguments, code=2):
    done = generate(package, *(arguments or ("--tokens", "1")))
    expect(what, (done.returncode, done.stdout, done.stderr), (code, "", f"error: {message}\n"))


def logits(tokens):
    """Those that follow the tokens, in f64."""
    h = table[tokens].astype(np.float64)
    score = h @ h[-1] / np.sqrt(8)
    part = np.exp(score - score.max())
    return (part / part.sum()) @ h @ table.T.astype(np.float64)


def greedy(prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(np.argmax(logits(tokens))))
    return tokens[len(prompt):]


package = made("small")
for prompt, count in (([1], 5), ([3, 7,
                                  2], 1), ([5, 1, 9, 4, 0,
                                            2], 11), ([8] * 16, 1)):  # in runs of at most four
    done = generate(package, "--tokens", ",".join(map(str, prompt)), "--max-tokens", str(count))
    expect(f"{count} tokens after {prompt}", [int(token) for token in done.stdout.split()],
           greedy(prompt, count))
    expect(
        f"its rate after {prompt}",
        bool(
            re.fullmatch(
                rf"prompt: {len(prompt)} tokens in \S+ ms \(\S+ tokens/s\); generated: {count} in \S+ ms \(\S+ tokens/s\)\n",
                done.stderr)), True)
np.save("prompt.npy", np.array([[3, 7, 2]], np.int64))
expect("a prompt from a file",
       generate(package, "--tokens", "@prompt.npy", "--max-tokens", "3").stdout.split(),
       [str(token) for token in greedy([3, 7, 2], 3)])
expect("as many as the cache holds", len(generate(package, "--tokens", "1,2").stdout.split()),
       ROOM - 2 + 1)
every = greedy([1], 10)
expect(
    "a token that stops",
    generate(package, "--tokens", "1", "--max-tokens", "10", "--stop",
             str(every[-1])).stdout.split(),
    [str(token) for token in every[:every.index(every[-1])]])


def drawn(*arguments):
    return generate(package, "--tokens", "1", "--max-tokens", "12", "--temperature", "50",
                    *arguments).stdout


expect("equal seeds draw equal tokens", drawn("--seed", "3"), drawn("--seed", "3"))
expect("other seeds draw others", len({drawn("--seed", str(seed)) for seed in range(4)}) > 1, True)
expect("one of the likeliest one is it",
       drawn("--top-k", "1").split(), [str(token) for token in greedy([1], 12)])

# What is no prompt.
refused("a text", package,
        "--tokens 'once upon': expected the numbers of tokens, as in 1,403,407, or @FILE.npy; a text is for "
        "--prompt, with --tokenizer", "--tokens", "once upon")
np.save("floats.npy", np.ones(3, np.float32))
refused("floats", package,
        "--tokens '@floats.npy' is f32[3]; expected one or more tokens: i64[T] or i64[1,T]",
        "--tokens", "@floats.npy")
refused("a token that is none", package,
        "--tokens: token 11 is none of the model's 11 tokens, 0 to 10", "--tokens", "1,11")
refused("no token that stops", package,
        "--stop 'a': expected the numbers of tokens, as in 2 or 2,3", "--tokens", "1", "--stop",
        "a")
refused("a long prompt", package,
        "the prompt has 17 tokens, and the model's cache holds 16; shorten it, or compile the model with a "
        "larger cache", "--tokens", ",".join(["1"] * 17))
refused(
    "many tokens", package,
    "--max-tokens 20 after a prompt of 2 tokens need a cache of 21 positions, and the model's holds 16; "
    "at most 15 fit, or compile the model with a larger cache", "--tokens", "1,2", "--max-tokens",
    "20")
done = generate(package, "--tokens", "1", "--top-k", "3")
expect("a choice without a temperature",
       (done.returncode, "--top-k needs --temperature (" in done.stderr), (2, True))

# Texts, with a tokenizer whose token 0 is 'a'; its last two tokens are bytes, of which one alone is
# no character.
LETTERS = "abcdefgh"
words = {**{letter: i for i, letter in enumerate(LETTERS)}, "<0xC3>": 8, "<0xA9>": 9}
tokenizer = {
    "version": "1.0", "added_tokens": [{"id": 10, "content": "</s>", "special": True}],
    "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
    "model": {"type": "BPE", "byte_fallback": True, "vocab": words, "merges": []}
}


def write_json(name, value):
    with open(name, "w", encoding="utf-8") as out:
        json.dump(value, out)


def text_of(tokens):
    """Bytes that are no character are one U+FFFD each."""
    spelled = {i: letter.encode()
               for i, letter in enumerate(LETTERS)} | {8: b"\xc3", 9: b"\xa9", 10: b""}
    data, text = [spelled[token] for token in tokens if token != 10], ""
    while data:
        count = 1
        if data[0][0] >= 0x80:
            while count < len(data) and data[count][0] >= 0x80:
                count += 1
        part = b"".join(data[:count])
        data = data[count:]
        try:
            text += part.decode()
        except UnicodeDecodeError:
            text += "\ufffd" * len(part)
    return text


def says(prompt, *arguments, **options):
    command = [
        "dlc", "generate", package, "--device", "cpu", "--tokenizer", "t.json", "--prompt", prompt,
        *arguments
    ]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", **options)


write_json("t.json", tokenizer)
every = {
    prompt: greedy(prompt_tokens, 12)
    for prompt, prompt_tokens in (("dhc", [3, 7, 2]), ("\u00e9b", [8, 9, 1]), ("a</s>", [0, 10]))
}
for prompt, tokens in every.items():
    ends = tokens.index(10) if 10 in tokens else len(tokens)
    expect(f"the text after {prompt!r}",
           says(prompt, "--max-tokens", "12").stdout,
           text_of(tokens[:ends]) + "\n")
    last = str(tokens[-1])  # numbers that stop take the place of the file's token
    expect(f"it stops after {prompt!r}", says(prompt, "--max-tokens", "12", "--stop", last).stdout,
           text_of(tokens[:tokens.index(tokens[-1])]) + "\n")
drawn_text = says("abc", "--temperature", "50", "--seed", "2", "--stop", "11").stdout
drawn_tokens = [
    int(token) for token in generate(package, "--tokens", "0,1,2", "--temperature", "50", "--seed",
                                     "2").stdout.split()
]
expect("drawn tokens as a text", (drawn_text, len(set(drawn_tokens)) > 5),
       (text_of(drawn_tokens) + "\n", True))
letter = next(token for token in drawn_tokens[2:] if token < 8)
expect("the text of a token that stops",
       says("abc", "--temperature", "50", "--seed", "2", "--stop", LETTERS[letter]).stdout,
       text_of(drawn_tokens[:drawn_tokens.index(letter)]) + "\n")
end = drawn_tokens.index(10) if 10 in drawn_tokens else len(drawn_tokens)
expect("the file's token that ends a text",
       says("abc", "--temperature", "50", "--seed", "2").stdout,
       text_of(drawn_tokens[:end]) + "\n")
expect("a prompt from standard input",
       says("-", "--max-tokens", "5", input="dhc").stdout,
       says("dhc", "--max-tokens", "5").stdout)
expect("numbers in, a text out",
       generate(package, "--tokens", "3,7,2", "--tokenizer", "t.json", "--max-tokens", "5").stdout,
       says("dhc", "--max-tokens", "5").stdout)


def refused_text(what, message, *arguments, code=2, prompt="a"):
    done = says(prompt, *arguments)
    expect(what, (done.returncode, done.stdout, done.stderr), (code, "", f"error: {message}\n"))


refused_text(
    "no token that stops a text",
    "--stop 'xyz': expected the numbers of tokens, as in 2 or 2,3, or a token of 't.json', as in </s>",
    "--stop", "xyz")
refused_text("an empty text", "--prompt has no tokens; expected a text", prompt="")
write_json("t.json", {**tokenizer, "model": {"type": "WordPiece"}})
refused_text(
    "a model that dlc lacks",
    "'t.json': model.type: dlc has no 'WordPiece'; expected one of BPE, Unigram, WordLevel", code=3)
with open("t.json", "w", encoding="utf-8") as out:
    out.write('{"model":\n')
refused_text("a file that was cut", "'t.json' is no tokenizer.json: [2:0, byte=10]: Unexpected EOF",
             code=1)
os.remove("t.json")
refused_text("no file", "cannot read 't.json': No such file or directory", code=5)
write_json("t.json", {**tokenizer, "model": {**tokenizer["model"], "vocab": {**words, "z": 12}}})
refused_text("a token that the model lacks",
             "--prompt: token 12 is none of the model's 11 tokens, 0 to 10", prompt="az")
refused("no prompt", package,
        "dlc generate needs a prompt: --tokenizer tokenizer.json and --prompt TEXT, or --tokens and the numbers of "
        "tokens", "--max-tokens", "3")
done = generate(package, "--prompt", "once")
expect("a text without a tokenizer",
       (done.returncode, "--prompt needs --tokenizer (" in done.stderr), (2, True))
done = says("a", "--tokens", "1")
expect("a text and tokens", (done.returncode, "exclude each other" in done.stderr), (2, True))

# What is no decoder.
refused("no cache", made("plain", ("    k = update_slice(k, 1, length, h)\n", "    k = k + 0.0\n"),
                         ("y = scaled_dot_product_attention(h, k, k, attn_mask=seen)",
                          "y = h + mean(k, 1, keepdim=true) * "
                          "mean(where(seen, 1.0, 0.0))")),
        "'plain.bin' has no cache that counts its positions, so that it does not continue a text; compile a decoder whose states hold "
        "the past: --state 'past_key_values.*=present.*' for ONNX (docs/generation.md)")
refused(
    "another input",
    made("two", ("forward(ids: i64[1,T])", "forward(ids: i64[1,T], other: i64[1,T])"),
         ("embedding(ids, table)", "embedding(ids + other, table)")),
    "the model has 2 inputs that may be the tokens; expected one beside attention_mask and position_ids"
)
refused(
    "an input of floats",
    made("floats", ("forward(ids: i64[1,T])", "forward(ids: i64[1,T], scale: f32[1,T])"),
         ("embedding(ids, table)", "embedding(ids, table) * scale[:, :, None]")),
    "input 'scale' is f32[1,T] (T = 1..4), neither tokens nor an attention_mask or position_ids of a batch of 1; expected i64[1,T]"
)
refused(
    "runs of two", made("pairs", ("dim T = 1..4", "dim T = 2..4")),
    "a run of the model takes 2 tokens or more; generation needs runs of one: give dim T a range from 1 on"
)
refused(
    "outputs without logits",
    made("others", ("(logits: f32[1,T,11])", "(a: f32[1,T,11], b: f32[1,T,11])"),
         ("    logits = y @ transpose(table, 0, 1)",
          "    a = y @ transpose(table, 0, 1)\n    b = a + 1.0")),
    "the model has 2 outputs and none is called 'logits'; name the one that scores the next token so"
)
refused(
    "no scores",
    made("number", ("(logits: f32[1,T,11])", "(logits: f32[])"),
         ("    logits = y @ transpose(table, 0, 1)",
          "    logits = sum(y @ transpose(table, 0, 1))")),
    "the output 'logits' is f32[]; expected the scores of all tokens along its last dim")
broken = table.copy()
broken[1] = np.nan
save("nan.safetensors", {"table": broken})
with open("nan.dl", "w", encoding="utf-8") as out:
    out.write(MODEL.replace("small.safetensors", "nan.safetensors"))
dlc("compile", "nan.dl", "-q", "--target", "cpu", "-o", "nan.bin")
refused(
    "NaN", "nan.bin",
    "the model's logits hold NaN after token 1; dlc compare and dlc verify help to find out why",
    code=4)

# What --state makes of an ONNX model whose past grows.
past = model([node("Concat", "past, x", "present", axis=0),
              node("Relu")],
             [value("x", dims=("T", 3)), value("past", dims=("P", 3))], ("y", "present"))
with open("grows.onnx", "wb") as out:
    out.write(past)
done = dlc("compile", "grows.onnx", "--state", "past=present[4]", "--target", "cpu", "-o",
           "grows.bin")
expect("the size of the caches is said",
       (done.returncode, "grows.onnx: the states are caches of 4 positions"
        in done.stdout + done.stderr), (0, True))

# A run beyond the cache, by the command that runs any model.
np.save("ids.npy", np.ones((5, 1, 4), np.int64))
done = dlc("run", package, "--device", "cpu", "--input", "ids=@ids.npy", "--steps", "--output",
           "logits=@logits.npy")
expect("a run too many", (done.returncode, done.stderr.splitlines()[-1]),
       (2, "error: the model's cache holds 16 positions, of which 16 are taken, and this run brings 4; reset the states first "
           "(--reset-state, dlc_context_reset_states), or compile the model with a larger cache"))
suite.finish()
