#!/usr/bin/env python3
"""The tokenizer files of this folder, and what Hugging Face's package `tokenizers` makes of texts
with them (TokenizerTest.cpp).

  make_tokenizers.py              trains NAME.json anew and writes NAME.cases, in this folder; needs
                                  the package, here 0.23.3, and sentencepiece
  make_tokenizers.py FOLDER       the same with larger vocabularies and hundreds of texts;
                                  DLC_TOKENIZERS=FOLDER tells the test

A case is a text, its ids, and the text that these ids are, as JSON."""
import json
import os
import random
import sys
import tempfile
import unicodedata

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

HERE = os.path.dirname(os.path.abspath(__file__))
SENTENCES = [
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park.",
    "One day, she saw a big, red ball. It's Lily's ball, and they'll play; we've 12 balls, I'd say 3,456.78!",
    "The quick brown fox jumps over the lazy dog. THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. Größe, Maß, naïve café.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Привет, мир!",
    "私はガラスを食べられます。それは私を傷つけません。東京都 日本語の文章です。",
    "我能吞下玻璃而不伤身体。今天天气很好，我们去公园玩吧。",
    "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요. 안녕하세요 세계",
    "أنا قادر على أكل الزجاج و هذا لا يؤلمني. ١٢٣ مرحبا",
    "मैं काँच खा सकता हूँ और मुझे उससे कोई चोट नहीं पहुंचती। १२३",
    "Μπορώ να φάω σπασμένα γυαλιά χωρίς να πάθω τίποτα. ΟΔΟΣ",
    "אני יכול לאכול זכוכית וזה לא מזיק לי. שלום",
    "ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ",
    "def f(x):\n    if x > 0:\n\treturn x ** 2  # square\n\n    return {'a': [1, 2, 3]}\n",
    "😀 🎉 👩‍👩‍👧‍👦 🇩🇪 ❤️ 👍🏽 fun",
]
TEXTS = [
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    " \n ",
    "a",
    " a",
    "a ",
    "  a  b   c    ",
    "Once upon a time",
    "It's they'll WE'VE i'D I'm",
    "Hello, world! 123 4567 8 ½ ² ①",
    "Größe café naïve über",
    "cafe\u0301 e\u0301\u0301 \u1100\u1161\u11a8 ﬁ ½ Å Ａ",
    "Привет, мир",
    "東京都です",
    "今天天气",
    "안녕 세계",
    "مرحبا ١٢٣",
    "काँच १२३",
    "שלום",
    "ฉันกิน",
    "😀👩‍👩‍👧‍👦🇩🇪❤️",
    "\x00\x01\x7f\x1b[0m",
    "a\r\nb\r\n\r\nc",
    "a\u00a0b\u2003c\u3000d\u200be",
    "\ufeffx\ufffdy",
    "x    y\n\n\n   z  \t\t w   ",
    "<s>a</s>",
    "<s> a </s> b",
    "a<|endoftext|>b",
    " <mask> x  <mask>",
    "theword word words the word.",
    "İSTANBUL ǅ ß ſ K",
    "▁a▁▁b",
    "Ġa",
    "<0x41><0xE2>",
    "a" * 40,
    "😀" * 5,
    "\U0010ffff\ue000",
    "don't'll 's 'S ''",
    "if x:\n    y = 1\n\n",
    "end of line  \n  next",
]
ALPHABET = [
    "a", "b", "th", "e ", " ", "  ", "\n", "\t", "é", "e\u0301", "ß", "İ", "Ж", "日", "本", "語", "한",
    "ع", "क", "्", "😀", "\u200d", "\ufe0f", "1", "23", "½", "'s", "'", ".", ",", "!?", "-", "▁",
    "Ġ", "<s>", "</s>", "<mask>", "word", "\u00a0", "\u3000", "\x00", "\U0001f1e9\U0001f1ea", "A",
    "Z", "_", "(", "{", "\\", "\"", "<0x0A>", "\r\n"
]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def template(begin="", end=""):
    def make(tokenizer):
        names = [name for name in (begin, end) if name]
        return processors.TemplateProcessing(
            single=" ".join(filter(None, (begin, "$A", end))),
            special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])
    return make


def trained(model, trainer, texts, normalizer=None, pre=None, decoder=None, post=None, added=()):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    tokenizer.train_from_iterator(texts, trainer)
    if added:
        tokenizer.add_tokens(list(added))
    if post:
        tokenizer.post_processor = post(tokenizer)
    if decoder:
        tokenizer.decoder = decoder
    return tokenizer


def bpe(size, special=(), **options):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False,
                               **options)


BYTES = pre_tokenizers.ByteLevel.alphabet()
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def character_map(isLarge):
    """A "precompiled_charsmap" as SentencePiece makes it: that of its rules nmt_nfkc, or of a few
    of our own."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as schema
    rules = {
        "ﬁ": "fi", "①": "1", "½": "1⁄2", "Ａ": "A", "e\u0301": "é", "\n": " ", "\t": " ",
        "\u200d": "", "한": "han", "ß": "ss"
    }
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rules.tsv")
        with open(path, "w", encoding="utf-8") as out:
            for old, new in rules.items():
                out.write("\t".join(" ".join(f"{ord(c):X}" for c in text)
                                    for text in (old, new)) + "\n")
        chosen = {"normalization_rule_name": "nmt_nfkc"
                  } if isLarge else {"normalization_rule_tsv": path}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(SENTENCES[:3]),
                                                 model_prefix=os.path.join(folder,
                                                                           "m"), vocab_size=100,
                                                 hard_vocab_limit=False, minloglevel=2, **chosen)
        model = schema.ModelProto()
        with open(os.path.join(folder, "m.model"), "rb") as file:
            model.ParseFromString(file.read())
    return model.normalizer_spec.precompiled_charsmap


def make(size):
    """Tokenizers by name; `size` tokens come beside the alphabets."""
    texts = SENTENCES
    yield "gpt2", trained(models.BPE(), bpe(256 + size, ["<|endoftext|>"], initial_alphabet=BYTES),
                          texts, pre=pre_tokenizers.ByteLevel(add_prefix_space=False),
                          decoder=decoders.ByteLevel(),
                          post=lambda _: processors.ByteLevel(trim_offsets=False))
    llama = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    yield "llama", trained(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        bpe(300 + size, ["<unk>", "<s>", "</s>", *BYTE_TOKENS], limit_alphabet=60), texts,
        normalizer=llama, decoder=decoders.Sequence([
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0)
        ]), post=template("<s>"))
    yield "llama3", trained(
        models.BPE(ignore_merges=True),
        bpe(256 + size, ["<|begin_of_text|>", "<|end_of_text|>"], initial_alphabet=BYTES), texts,
        pre=pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        ]), decoder=decoders.ByteLevel(), post=lambda t: processors.Sequence(
            [processors.ByteLevel(trim_offsets=False),
             template("<|begin_of_text|>")(t)]))
    yield "nfc", trained(
        models.BPE(), bpe(256 + size, ["<|endoftext|>"],
                          initial_alphabet=BYTES), texts, normalizer=normalizers.NFC(),
        pre=pre_tokenizers.ByteLevel(add_prefix_space=True), decoder=decoders.ByteLevel(), added=[
            AddedToken("<mask>", lstrip=True, normalized=False),
            AddedToken("word", single_word=True)
        ])
    yield "t5", trained(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=140 + size, special_tokens=["<pad>", "</s>",
                                                                       "<unk>"], unk_token="<unk>",
                                show_progress=False), texts[:5], normalizer=normalizers.Sequence(
                                    [normalizers.NFKC(),
                                     normalizers.Replace(Regex(" {2,}"), " ")]),
        pre=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), post=template("", "</s>"))
    yield "metaspace", trained(
        models.BPE(unk_token="<unk>", byte_fallback=True),
        bpe(300 + size, ["<unk>", "<s>", *BYTE_TOKENS], limit_alphabet=50), texts,
        pre=pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        decoder=decoders.Sequence(
            [decoders.Replace("▁", " "),
             decoders.ByteFallback(),
             decoders.Fuse()]), added=[
                 AddedToken("</s>", rstrip=True, special=True, normalized=False),
                 AddedToken("<mask>", lstrip=True, rstrip=True)
             ])
    unigram = trained(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=380 + size, special_tokens=["<unk>", *BYTE_TOKENS],
                                unk_token="<unk>", show_progress=False), texts[:4],
        pre=pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.Metaspace(prepend_scheme="never")
        ]), decoder=decoders.Sequence(
            [decoders.ByteFallback(),
             decoders.Metaspace(prepend_scheme="never"),
             decoders.Fuse()]))
    changed = json.loads(unigram.to_str())
    changed["model"]["byte_fallback"] = True
    yield "unigram-bytes", Tokenizer.from_str(json.dumps(changed))
    yield "lower", trained(
        models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"),
        bpe(100 + size, ["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=60,
            continuing_subword_prefix="##"), texts, normalizer=normalizers.Sequence([
                normalizers.NFD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
                normalizers.Strip()
            ]),
        pre=pre_tokenizers.Sequence(
            [pre_tokenizers.Whitespace(),
             pre_tokenizers.Punctuation(),
             pre_tokenizers.Digits()]), post=lambda t: processors.BertProcessing(
                 ("[SEP]", 2), ("[CLS]", 1)), added=[AddedToken("word", single_word=True)])
    split = pre_tokenizers.Split
    yield "behaviors", trained(
        models.BPE(unk_token="?", fuse_unk=True, end_of_word_suffix="</w>"),
        bpe(160 + size, ["?"], end_of_word_suffix="</w>", limit_alphabet=80), texts,
        pre=pre_tokenizers.Sequence([
            split("\n", "merged_with_previous"),
            split(Regex(r"\s"), "merged_with_next"),
            split(Regex("[aeiou]+"), "contiguous"),
            split(Regex(r"[\w\s]+"), "isolated", invert=True),
            split(".", "removed"),
            pre_tokenizers.CharDelimiterSplit("_")
        ]))
    words = sorted({word for text in texts[:3] for word in text.split()})
    yield "precompiled", trained(
        models.WordLevel(unk_token="<unk>"),
        trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False), texts,
        normalizer=normalizers.Sequence([
            normalizers.Precompiled(character_map(size > 500)),
            normalizers.Replace(Regex(" {2,}"), " ")
        ]), pre=pre_tokenizers.Split(Regex("."), "isolated"), decoder=decoders.Fuse())
    yield "words", trained(models.WordLevel(unk_token="<unk>"),
                           trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False),
                           words, pre=pre_tokenizers.WhitespaceSplit())


def rewritten(name, text):
    """As published files are: tokens of bytes are none of the added ones; of one file the merges
    are strings, as older ones have them."""
    data = json.loads(text)
    data["added_tokens"] = [
        token for token in data["added_tokens"] if token["content"] not in BYTE_TOKENS
    ]
    if name == "gpt2":
        data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    os.makedirs(folder, exist_ok=True)
    isLarge = folder != HERE
    texts = list(TEXTS)
    if isLarge:
        draw = random.Random(5)
        texts += SENTENCES + [
            "".join(draw.choices(ALPHABET, k=draw.randint(1, 30))) for _ in range(500)
        ]
        # Those of Unicode 3.2, of which all versions since say the same.
        known = [
            chr(code) for code in range(1, 0x20000)
            if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs")
        ]
        texts += [
            "".join(draw.choices(known[:5000], k=10) + draw.choices(known, k=10))
            for _ in range(100)
        ]
    for name, tokenizer in make(1000 if isLarge else 60):
        text = rewritten(name, tokenizer.to_str())
        tokenizer = Tokenizer.from_str(text)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as out:
            out.write(text + "\n")
        with open(os.path.join(folder, name + ".cases"), "w", encoding="utf-8") as out:
            for one in texts:
                ids = tokenizer.encode(one).ids
                out.write(json.dumps([one, ids, tokenizer.decode(ids)], ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
