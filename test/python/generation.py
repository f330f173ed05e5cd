"""Model.generate, Model.stream and the count of a cache's positions, on a decoder of one layer."""
import itertools
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

from models import AFFINE, BUILD, STREAM, Failure, LeftOut, compiled, dlc, expect, refused, run
from dlc.generation import _END_TOKENS, _candidates, _choose

SIZE, ROOM = 11, 16
DECODER = """dl 1

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
"""
TABLE = np.random.default_rng(5).standard_normal((SIZE, 8)).astype(np.float32)
FULL = ("the model's cache holds 16 positions, of which {} are taken, and this run brings {}; reset the states first "
        "(--reset-state, dlc_context_reset_states), or compile the model with a larger cache")


def decoder(*changes, table=TABLE):
    """DECODER with some words changed."""
    text = DECODER
    for old, new in changes:
        if old not in text:
            raise Failure(f"no {old!r} in the model")
        text = text.replace(old, new)
    return compiled(text, weights={"table": table})


MODEL = decoder()


def logits(tokens):
    """Those that follow the tokens, in f64."""
    h = TABLE[tokens].astype(np.float64)
    score = h @ h[-1] / math.sqrt(8)
    part = np.exp(score - score.max())
    return (part / part.sum()) @ h @ TABLE.T.astype(np.float64)


def greedy(prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(np.argmax(logits(tokens))))
    return tokens[len(prompt):]


def by_runs(prompt, count, part, model=MODEL):
    """Greedy tokens of model.run, the prompt in runs of `part` tokens."""
    def read(tokens):
        return int(model.run({"ids": np.array([tokens], np.int64)})["logits"][0, -1].argmax())

    model.reset()
    for start in range(0, len(prompt), part):
        token = read(prompt[start:start + part])
    made = [token]
    while len(made) < count:
        made.append(read(made[-1:]))
    return made


def test_greedy():
    for prompt, count in (([1], 5), ([3, 7, 2], 1), ([5, 1, 9, 4, 0, 2], 11), ([8] * 16, 1)):
        expected = greedy(prompt, count)
        for part in (1, 4):
            expect(by_runs(prompt, count, part), expected)
        expect(MODEL.generate(prompt, max_tokens=count), expected)
        expect(MODEL.cache_length, len(prompt) + count - 1)
        expect(list(MODEL.stream(prompt, max_tokens=count)), expected)


def test_prompts():
    expected = greedy([3, 7, 2], 4)
    for prompt in ((3, 7, 2), np.array([3, 7, 2], np.int32), np.array([[3, 7,
                                                                        2]]), [np.int64(3), 7, 2]):
        expect(MODEL.generate(prompt, max_tokens=4), expected)
    for one in MODEL.generate([3], max_tokens=2):
        expect(type(one), int)


def test_as_many_as_the_cache_holds():
    for prompt in ([1], [1, 2], [4] * 15, [4] * 16):
        expect(MODEL.generate(prompt), greedy(prompt, ROOM - len(prompt) + 1))
        expect(MODEL.cache_length, ROOM)


def test_a_stream_gives_each_token_as_it_is_made():
    found = MODEL.stream([1, 2], max_tokens=5)
    expected = greedy([1, 2], 5)
    for i in range(5):
        expect((next(found), MODEL.cache_length), (expected[i], 2 + i))
    expect(list(found), [])


def test_stop():
    every = greedy([1], 12)
    for stop in (every[3], [every[3]], (every[5], every[3]), {every[3]}):
        ends = {stop} if isinstance(stop, int) else set(stop)
        first = next(i for i, token in enumerate(every) if token in ends)
        expect(MODEL.generate([1], max_tokens=12, stop=stop), every[:first])
    expect(MODEL.generate([1], max_tokens=12, stop=every[0]), [])
    unused = next(token for token in range(SIZE) if token not in every)
    expect(MODEL.generate([1], max_tokens=12, stop=unused), every)


def test_seeds():
    def drawn(**options):
        return MODEL.generate([1], max_tokens=12, temperature=50, **options)

    expect(drawn(seed=3), drawn(seed=3))
    expect(drawn(), drawn(seed=0))
    expect(len({tuple(drawn(seed=seed)) for seed in range(8)}), 8)
    expect(drawn(top_k=1, seed=3), greedy([1], 12))
    expect(drawn(top_p=0, seed=3), greedy([1], 12))
    likely = set(np.argsort(-logits([1]))[:3].tolist())
    expect(
        {
            MODEL.generate([1], max_tokens=1, temperature=50, top_k=3, seed=seed)[0]
            for seed in range(40)
        }, likely)


SCORES = [0.5, 2, -1, 1, 0, 2.5, -3]


def test_the_command_draws_the_same():
    """DecoderTest.cpp expects the same numbers of `dlc generate`."""
    expect([_choose(np, SCORES, 1.5, 6, 0.95, 7, step) for step in range(24)],
           [5, 5, 0, 1, 1, 5, 1, 5, 5, 1, 5, 4, 0, 0, 0, 1, 0, 5, 1, 3, 1, 5, 5, 1])
    expect([_choose(np, [1, 3, 2, 3, 3], 1, 2, 0.9, 5, step) for step in range(24)],
           [3, 4, 1, 1, 1, 3, 4, 3, 3, 3, 3, 1, 4, 3, 4, 4, 4, 3, 1, 3, 1, 4, 1, 4])


def test_the_candidates_are_those_of_transformers():
    """Which tokens are left, and their probabilities, after transformers' processors in the order
    in which its generate applies them."""
    try:
        import torch
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
    except ImportError as error:
        raise LeftOut(
            f"the processors of transformers, because {error}: tools/scripts/setup --tests"
        ) from None
    random = np.random.default_rng(3)
    scores = {
        "normal": random.standard_normal(50) * 3,
        "of one token": np.array([0.5]),
        "with ties": random.integers(-3, 4, 40).astype(float),
        "all alike": np.zeros(9),
        "with -inf": np.where(np.arange(30) % 3, random.standard_normal(30), -np.inf),
        "in f16": random.standard_normal(2000).astype(np.float16).astype(float),
        "far apart": np.array([900.0, -900, 901, 0]),
    }
    for (title, logits), temperature, top_k, top_p in itertools.product(
            scores.items(), (0.25, 1.0, 3.0), (0, 1, 2, 7, 40, 5000), (0.0, 0.3, 0.9, 0.999, 1.0)):
        left = TemperatureLogitsWarper(temperature)(None, torch.tensor(logits[None]))
        left = TopKLogitsWarper(top_k)(None, left) if top_k else left
        left = TopPLogitsWarper(top_p)(None, left) if top_p < 1 else left
        expected = torch.softmax(left, -1)[0].numpy()
        tokens, sums = _candidates(np, logits, temperature, top_k, top_p)
        found = np.zeros(len(logits))
        found[tokens] = np.diff(sums, prepend=0) / sums[-1]
        kept, wanted = logits[np.sort(tokens)], logits[np.flatnonzero(left[0] > -np.inf)]
        if top_p < 1:  # which of two that are as likely is left, transformers leaves to the sort
            expected, found, kept, wanted = map(np.sort, (expected, found, kept, wanted))
        kept = kept[kept > -np.inf]
        if len(set(tokens.tolist())) != len(tokens) or not np.array_equal(
                kept, wanted) or not np.allclose(found, expected, rtol=0, atol=1e-14):
            raise Failure(
                f"scores {title}, temperature {temperature}, top_k {top_k}, top_p {top_p}: {tokens} with {found}, transformers {expected}"
            )


def test_draws_have_the_probabilities_of_the_softmax():
    draws = 20000
    for temperature, top_k, top_p, kept in ((1, 0, 1, range(7)), (2, 0, 1, range(7)),
                                            (1, 3, 1, (5, 1, 3)), (1, 0, 0.8, (5, 1, 3))):
        expected = np.zeros(7)
        expected[list(kept)] = np.exp(np.array(SCORES)[list(kept)] / temperature)
        expected /= expected.sum()
        found = np.bincount(
            [_choose(np, SCORES, temperature, top_k, top_p, 1, step) for step in range(draws)],
            minlength=7)
        off = np.abs(found - draws * expected)
        if (off > 5 * np.sqrt(draws * expected * (1 - expected)) + 1e-6).any():
            raise Failure(f"{found} of {draws} draws, expected {draws * expected}")


def test_ties():
    expect(_choose(np, [1, 3, 2, 3, 3], 0, 0, 1, 0, 0), 1)
    for top_k in (1, 2, 3):
        expect({_choose(np, [1, 3, 2, 3, 3], 1, top_k, 1, 0, step) for step in range(100)},
               {1, 3, 4})
    expect(
        {
            _choose(np, [1, 3, 2, 3, 3], 1, 0, top_p, 0, step) for step in range(100)
            for top_p in (0, 0.1)
        }, {1})


def test_nan():
    table = TABLE.copy()
    table[1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dlc.CompileWarning)  # of the NaNs among the weights
        model = decoder(table=table)
    # As `dlc generate` has it
    sentence = "the model's logits hold NaN after token {}; dlc compare and dlc verify help to find out why"
    for prompt in ([1], [1, 2, 3, 2, 1]):
        with refused(sentence.format(len(prompt)), dlc.Code.ACCURACY):
            model.generate(prompt, max_tokens=1)


def test_cache():
    model = decoder()
    expect((model.cache_capacity, model.cache_length), (ROOM, 0))
    part = {"ids": np.ones((1, 4), np.int64)}
    for taken in (4, 8, 12, 16):
        model.run(part)
        expect(model.cache_length, taken)
    with refused(FULL.format(16, 4)):
        model.run(part)
    expect(model.cache_length, 16)
    clone = model.clone()
    expect((clone.cache_capacity, clone.cache_length), (ROOM, 0))
    model.reset()
    expect(model.cache_length, 0)
    for _ in range(3):
        model.run(part)
    model.run({"ids": np.ones((1, 3), np.int64)})
    with refused(FULL.format(15, 2)):
        model.run({"ids": np.ones((1, 2), np.int64)})
    model.run({"ids": np.ones((1, 1), np.int64)})
    expect(model.generate([1, 2], max_tokens=3), greedy([1, 2], 3))  # which resets the states


def test_models_without_a_cache():
    for text in (AFFINE, STREAM):
        model = compiled(text)
        model.run({"x": np.ones((1, 8), np.float32)})
        expect((model.cache_capacity, model.cache_length), (0, 0))
        with refused("the model has no cache that counts its positions, so that it does not continue a text; compile a decoder whose "
                     "states hold the past: dlc.Decoder(net, 1024) of a module of transformers, or "
                     "states={'past_key_values.*': 'present.*'} for an ONNX file"):
            model.stream([1])


def test_positions_and_masks():
    """Inputs of the names that exporters give them; tokens in i32."""
    places = ("h = embedding(ids, table)",
              "h = embedding(ids, table) + embedding(position_ids, flip(table, dims=[0])) * 0.0")
    inputs = ("forward(ids: i64[1,T])",
              "forward(ids: i32[1,T], attention_mask: i64[1,T], position_ids: i64[1,T])")
    mask = ("logits = y @", "logits = (y * cast(attention_mask[:, :, None], f32)) @")
    model = decoder(places, inputs, mask)
    expect(model.generate([5, 1, 9, 4, 0, 2], max_tokens=5), greedy([5, 1, 9, 4, 0, 2], 5))
    counted = decoder(inputs, (
        "logits = y @ transpose(table, 0, 1)",
        "logits = where(arange(11)[None, None, :] == position_ids[:, :, None], 1.0, 0.0) + sum(y) * 0.0"
    ), ("attention_mask: i64[1,T], ", ""))
    expect(counted.generate([7, 7, 7, 7, 7], max_tokens=6), [4, 5, 6, 7, 8, 9])


def test_refused_options():
    def request(sentence, prompt=(1, 2), **options):
        with refused(sentence):
            MODEL.stream(prompt, **options)  # before the first token is asked for

    request("max_tokens is 0; expected 1 or more", max_tokens=0)
    request("temperature is -1; expected a number from 0 on, where 0 takes the likeliest token",
            temperature=-1)
    request("temperature is nan; expected a number from 0 on, where 0 takes the likeliest token",
            temperature=math.nan)
    request("top_k is -1; expected 1 or more, or 0 for all tokens", temperature=1, top_k=-1)
    request("top_p is 1.5; expected a number from 0 to 1", temperature=1, top_p=1.5)
    greedy_only = "top_k and top_p draw among likely tokens, which temperature=0 does not; expected temperature above 0"
    request(greedy_only, top_k=3)
    request(greedy_only, top_p=0.5)
    request("the prompt is empty; expected one token or more", [])
    request("token 11 of the prompt is none of the model's 11", [1, 11])
    request("token -1 of the prompt is none of the model's 11", [-1])
    request("the prompt has the shape (2, 1); expected the tokens of one text", [[1], [2]])
    request(
        "the prompt is a text, and there is no tokenizer; expected tokenizer=\"tokenizer.json\", or the numbers of tokens",
        "once")
    request(
        "the prompt has 17 tokens, and the model's cache holds 16; shorten it, or compile the model with a larger cache",
        [1] * 17)


def test_no_room_for_max_tokens():
    try:
        MODEL.generate([1, 2], max_tokens=16)
    except dlc.Error as error:
        expect(error.code, dlc.Code.USAGE)
        for part in ("max_tokens=16 ", " a prompt of 2 tokens ", "a cache of 17 positions",
                     "the model's holds 16; at most 15 fit"):
            if part not in str(error):
                raise Failure(f"{error}, expected {part!r}") from None
    else:
        raise Failure("nothing was raised")


def test_refused_models():
    def request(sentence, *changes):
        with refused(sentence):
            decoder(*changes).stream([1])

    request("the model takes (ids: i64[1,T], other: i64[1,T]); expected one input of tokens, i64[1,T], beside attention_mask and "
            "position_ids", ("forward(ids: i64[1,T])", "forward(ids: i64[1,T], other: i64[1,T])"),
            ("embedding(ids, table)", "embedding(ids + other, table)"))
    request("the model takes ids: i64[1,T]; generation needs runs of one text and one token",
            ("T = 1..4", "T = 2..4"))
    request("the model gives a, b, and none is called 'logits'",
            ("(logits: f32[1,T,11])", "(a: f32[1,T,11], b: f32[1,T,11])"),
            ("    logits = y @ transpose(table, 0, 1)",
             "    a = y @ transpose(table, 0, 1)\n    b = a + 1.0"))


class Letters:
    """A tokenizer that needs no package: token 0 is 'a'."""

    def encode(self, text):
        return [ord(letter) - ord("a") for letter in text]

    def decode(self, ids):
        return "".join(chr(ord("a") + token) for token in ids)


class Pairs(Letters):
    """Two tokens are a character, as bytes may be; one alone is none yet."""

    def decode(self, ids):
        whole = "".join(chr(0x4E00 + SIZE * a + b) for a, b in zip(ids[::2], ids[1::2]))
        return whole + "\ufffd" * (len(ids) % 2)


def test_text():
    made = greedy([2, 0, 3], 6)
    text = Letters().decode(made)
    expect(MODEL.generate("cad", max_tokens=6, tokenizer=Letters()), text)
    expect(MODEL.generate([2, 0, 3], max_tokens=6, tokenizer=Letters()), text)
    expect(list(MODEL.stream("cad", max_tokens=6, tokenizer=Letters())), list(text))
    expect(MODEL.generate("cad", max_tokens=6, tokenizer=Letters(), stop=made[0]), "")


def test_a_character_of_several_tokens():
    made = greedy([2, 0, 3], 7)
    whole = Pairs().decode(made[:6])
    expect(list(MODEL.stream("cad", max_tokens=6, tokenizer=Pairs())), list(whole))
    expect(list(MODEL.stream("cad", max_tokens=7, tokenizer=Pairs())),
           [*whole, "\ufffd"])  # which never became complete


def test_tokenizers():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.json")
        try:
            import tokenizers
        except ImportError:
            with refused(
                    f"tokenizer='{path}' needs the package tokenizers; install it, or pass the prompt as numbers"
            ):
                MODEL.stream("c a d", tokenizer=path)
            raise LeftOut("no tokenizers: tools/scripts/setup --tests") from None
        with refused(f"there is no tokenizer '{path}'; expected a tokenizer.json"):
            MODEL.stream("c a d", tokenizer=path)
        words = tokenizers.Tokenizer(
            tokenizers.models.WordLevel({chr(ord("a") + i): i for i in range(SIZE)}, unk_token="a"))
        words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        words.save(path)
        text = " ".join(Letters().decode(greedy([2, 0, 3], 6)))
        for tokenizer in (path, words):
            expect(MODEL.generate("c a d", max_tokens=6, tokenizer=tokenizer), text)
            expect("".join(MODEL.stream("c a d", max_tokens=6, tokenizer=tokenizer)), text)
        with open(path, "w", encoding="utf-8") as out:
            out.write("{}")
        try:
            MODEL.stream("c a d", tokenizer=path)
        except dlc.Error as error:
            expect((error.code, str(error).startswith(f"'{path}' is no tokenizer.json: ")),
                   (dlc.Code.USAGE, True))
        else:
            raise Failure("nothing was raised")


def test_tokens_that_end_a_text():
    """Those of a tokenizer.json, whose names are the ones that the tool knows; `stop` takes their
    place."""
    told = subprocess.run([os.path.join(BUILD, "bin", "dlc"), "help", "generate"],
                          capture_output=True, encoding="utf-8", check=True).stdout
    expect([name for name in _END_TOKENS if name not in told.split()], [])
    try:
        import tokenizers
    except ImportError:
        raise LeftOut("no tokenizers: tools/scripts/setup --tests") from None
    options = {"max_tokens": 9, "temperature": 50, "seed": 3}
    made = MODEL.generate([2, 0, 3], **options)
    end = made[3]
    for name, special, ends in (("</s>", True, True), ("</s>", False, False), ("<s>", True, False)):
        words = {name if i == end else chr(ord("a") + i): i for i in range(SIZE)}
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token=name))
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)([name])
        count = made.index(end) if ends else len(made)
        expect(MODEL.generate([2, 0, 3], tokenizer=tokenizer, **options),
               tokenizer.decode(made[:count]))
        expect(MODEL.generate([2, 0, 3], tokenizer=tokenizer, stop=(), **options),
               tokenizer.decode(made))


if __name__ == "__main__":
    sys.exit(run(sys.modules[__name__]))
