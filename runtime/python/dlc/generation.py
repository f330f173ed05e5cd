"""Tokens that follow a prompt: what Model.generate does. `dlc generate` chooses alike
(tools/driver/run/Decoder.cpp)."""
from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .errors import Code, Error

if TYPE_CHECKING:
    from .model import Model, Value

_ODD = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
# A tokenizer.json does not say which of its special tokens ends a text; these are the names in use.
# The tool has the same (tools/driver/text/Tokenizer.cpp).
_END_TOKENS = ("</s>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>", "<eos>",
               "<end_of_turn>", "<|end|>", "<|eot|>", "<|return|>", "<|eom_id|>", "<|end_of_turn|>",
               "<\uff5cend\u2581of\u2581sentence\uff5c>")


def _uniform(seed: int, step: int) -> float:
    """From 0 to below 1, the same for the same `seed` and `step` (SplitMix64)."""
    bits = (seed + (step + 1) * _ODD) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((bits ^ (bits >> 31)) >> 11) * 2.0**-53


def _candidates(np: Any, logits: Any, temperature: float, top_k: int,
                top_p: float) -> tuple[Any, Any]:
    """Returns the candidate tokens, most likely first, and their cumulative probabilities
    (unnormalised). The set is the one that transformers keeps: top_k includes ties with its last
    token, top_p applies after top_k."""
    logits = np.asarray(logits, np.float64)
    order = np.argsort(-logits, kind="stable")
    if 0 < top_k < len(order):
        order = order[:int(np.searchsorted(-logits[order], -logits[order[top_k
                                                                         - 1]], side="right"))]
    sums = np.cumsum(np.exp((logits[order] - logits[order[0]]) / temperature))
    count = min(int(np.searchsorted(sums, top_p * sums[-1]))
                + 1, len(sums)) if top_p < 1 else len(sums)
    return order[:count], sums[:count]


def _choose(np: Any, logits: Any, temperature: float, top_k: int, top_p: float, seed: int,
            step: int) -> int:
    """The token that follows the scores of all tokens, none of which is NaN; the smaller one of two
    that are the likeliest."""
    if temperature == 0:
        return int(np.argmax(logits))
    tokens, sums = _candidates(np, logits, temperature, top_k, top_p)
    chosen = int(np.searchsorted(sums, _uniform(seed, step) * sums[-1], side="right"))
    return int(tokens[min(chosen, len(tokens) - 1)])


class _Decoder:
    """A model with a cache, and which of its inputs takes the tokens."""

    def __init__(self, model: Model, np: Any) -> None:
        self.model, self.np, self.length = model, np, 0
        if not model.cache_capacity:
            raise Error("the model has no cache that counts its positions, so that it does not continue a text; compile a decoder "
                        "whose states hold the past: dlc.Decoder(net, 1024) of a module of transformers, or "
                        "states={'past_key_values.*': 'present.*'} for an ONNX file", Code.USAGE)
        special = ("attention_mask", "position_ids")
        tokens = [value for value in model.inputs if value.name not in special]
        if len(tokens) != 1 or tokens[0].dtype not in ("i64", "i32") or len(
                tokens[0].shape) not in (1, 2):
            raise Error(f"the model takes ({', '.join(map(str, model.inputs))}); expected one input of tokens, i64[1,T], beside "
                        "attention_mask and position_ids", Code.USAGE)
        self.tokens: Value = tokens[0]
        if self.tokens.min_shape[-1] > 1 or (len(self.tokens.shape) == 2
                                             and self.tokens.min_shape[0] > 1):
            raise Error(
                f"the model takes {self.tokens}; generation needs runs of one text and one token",
                Code.USAGE)
        names = [value.name for value in model.outputs]
        if len(names) > 1 and "logits" not in names:
            raise Error(f"the model gives {', '.join(names)}, and none is called 'logits'",
                        Code.USAGE)
        self.logits: Value = model.outputs[names.index("logits") if "logits" in names else 0]

    @property
    def vocabulary(self) -> int | None:
        size = self.logits.shape[-1] if self.logits.shape else None
        return size if isinstance(size, int) else None

    def _array(self, value: Value, numbers: list[int]) -> Any:
        types = {
            "i64": "int64", "i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool",
            "f32": "float32", "f16": "float16"
        }
        if value.dtype not in types:
            raise Error(f"the model takes {value}, and generation knows no {value.dtype} there",
                        Code.USAGE)
        return self.np.array(numbers, types[value.dtype]).reshape((1, ) * (len(value.shape) - 1)
                                                                  + (len(numbers), ))

    def read(self, tokens: Sequence[int]) -> Any:
        """The scores of the token that follows `tokens`, which are read after those before."""
        most = self.tokens.max_shape[-1]
        scores = None
        for start in range(0, len(tokens), most):
            part = list(tokens[start:start + most])
            given = {}
            for value in self.model.inputs:
                numbers = ([1] * len(part) if value.name == "attention_mask" else
                           list(range(self.length, self.length
                                      + len(part))) if value.name == "position_ids" else part)
                given[value.name] = self._array(value, numbers)
            scores = self.model.run(given)[self.logits.name]
            self.length += len(part)
        last = self.np.asarray(scores.reshape(-1, scores.shape[-1])[-1], self.np.float64)
        if self.np.isnan(last).any():
            raise Error(
                f"the model's logits hold NaN after token {self.length}; dlc compare and dlc verify help to find out why",
                Code.ACCURACY)
        return last


def _tokenizer(source: Any) -> Any:
    """A tokenizers.Tokenizer, from one or from the file tokenizer.json; anything that encodes and
    decodes is taken as it is."""
    if not isinstance(source, (str, os.PathLike)):
        return source
    try:
        import tokenizers
    except ImportError:
        raise Error(
            f"tokenizer='{os.fspath(source)}' needs the package tokenizers; install it, or pass the prompt as numbers",
            Code.USAGE) from None
    if not os.path.exists(source):
        raise Error(f"there is no tokenizer '{os.fspath(source)}'; expected a tokenizer.json",
                    Code.USAGE)
    try:
        return tokenizers.Tokenizer.from_file(os.fspath(source))
    except Exception as error:  # the package raises no narrower one
        raise Error(f"'{os.fspath(source)}' is no tokenizer.json: {error}", Code.USAGE) from None


def _end_tokens(tokenizer: Any) -> set[int]:
    """Those of a tokenizers.Tokenizer; none of anything else."""
    added = tokenizer.get_added_tokens_decoder() if hasattr(tokenizer,
                                                            "get_added_tokens_decoder") else {}
    return {token for token, how in added.items() if how.special and how.content in _END_TOKENS}


def _ids(encoded: Any) -> list[int]:
    return list(getattr(encoded, "ids", encoded))


def _whole_text(tokenizer: Any, ids: list[int]) -> str:
    """The text of `ids`, without the bytes of a character that is not complete yet."""
    return tokenizer.decode(ids).rstrip("\ufffd")


def _check(max_tokens: int | None, temperature: float, top_k: int, top_p: float) -> None:
    if max_tokens is not None and max_tokens < 1:
        raise Error(f"max_tokens is {max_tokens}; expected 1 or more", Code.USAGE)
    if not (temperature >= 0 and math.isfinite(temperature)):
        raise Error(
            f"temperature is {temperature}; expected a number from 0 on, where 0 takes the likeliest token",
            Code.USAGE)
    if top_k < 0:
        raise Error(f"top_k is {top_k}; expected 1 or more, or 0 for all tokens", Code.USAGE)
    if not 0 <= top_p <= 1:
        raise Error(f"top_p is {top_p}; expected a number from 0 to 1", Code.USAGE)
    if temperature == 0 and (top_k or top_p < 1):
        raise Error(
            "top_k and top_p draw among likely tokens, which temperature=0 does not; expected temperature above 0",
            Code.USAGE)


def stream(model: Model, prompt: Any, max_tokens: int | None, temperature: float, top_k: int,
           top_p: float, seed: int, stop: Iterable[int] | int | None,
           tokenizer: Any) -> Iterator[Any]:
    """What Model.stream says. All checks come before the first token."""
    try:
        import numpy as np
    except ImportError:
        raise Error("generation needs NumPy; install it", Code.USAGE) from None
    _check(max_tokens, temperature, top_k, top_p)
    text = None if tokenizer is None else _tokenizer(tokenizer)
    if isinstance(prompt, str):
        if text is None:
            raise Error("the prompt is a text, and there is no tokenizer; expected tokenizer=\"tokenizer.json\", or the numbers of "
                        "tokens", Code.USAGE)
        ids = _ids(text.encode(prompt))
    else:
        ids = [operator.index(token)
               for token in np.asarray(prompt).reshape(-1).tolist()] if np.ndim(prompt) else []
        if np.ndim(prompt) > 1 and np.shape(prompt)[0] != 1:
            raise Error(
                f"the prompt has the shape {np.shape(prompt)}; expected the tokens of one text",
                Code.USAGE)
    decoder = _Decoder(model, np)
    if not ids:
        raise Error("the prompt is empty; expected one token or more", Code.USAGE)
    if decoder.vocabulary is not None and not all(0 <= token < decoder.vocabulary for token in ids):
        wrong = next(token for token in ids if not 0 <= token < decoder.vocabulary)
        raise Error(f"token {wrong} of the prompt is none of the model's {decoder.vocabulary}",
                    Code.USAGE)
    room = model.cache_capacity - len(ids) + 1  # the last token is not read any more
    if room < 1:
        raise Error(f"the prompt has {len(ids)} tokens, and the model's cache holds {model.cache_capacity}; shorten it, or compile "
                    "the model with a larger cache", Code.USAGE)
    if max_tokens is not None and max_tokens > room:
        raise Error(f"max_tokens={max_tokens} after a prompt of {len(ids)} tokens need a cache of {len(ids) + max_tokens - 1} "
                    f"positions, and the model's holds {model.cache_capacity}; at most {room} fit, or compile the model with a larger "
                    "cache", Code.USAGE)
    stops = _end_tokens(text) if stop is None else {stop} if isinstance(stop, int) else set(stop)
    return _tokens(decoder, ids, max_tokens or room, (temperature, top_k, top_p, seed), stops, text)


def _tokens(decoder: _Decoder, ids: list[int], count: int, sampling: tuple[float, int, float, int],
            stops: set[int], tokenizer: Any) -> Iterator[Any]:
    decoder.model.reset()
    logits = decoder.read(ids)
    made: list[int] = []
    said = ""
    while True:
        token = _choose(decoder.np, logits, *sampling, len(made))
        if token in stops:
            break
        made.append(token)
        if tokenizer is None:
            yield token
        elif (text := _whole_text(tokenizer, made)) != said:
            yield text[len(said):]
            said = text
        if len(made) == count:
            break
        logits = decoder.read([token])
    if tokenizer is not None and (text := tokenizer.decode(made)) != said:
        yield text[len(said):]
