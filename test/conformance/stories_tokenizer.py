"""The tokenizer of stories260k as a tokenizer.json. llama2.c keeps it as tok512.bin: for each token its score, length and bytes, after the
length of the longest one. It is SentencePiece's, by merges: the pair whose result has the largest score is merged first."""
import json
import struct

BEGIN, END, FIRST_BYTE, FIRST_WORD = 1, 2, 3, 259


def read(path):
    """The bytes of the tokens, by id."""
    with open(path, "rb") as file:
        data = file.read()
    tokens, at = [], 4
    while at < len(data):
        _, size = struct.unpack_from("<fi", data, at)
        tokens.append(data[at + 8:at + 8 + size])
        at += 8 + size
    return tokens


def write(tokens, path):
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    names += [token.decode().replace(" ", "▁") for token in tokens[FIRST_WORD:]]
    ids = {name: i for i, name in enumerate(names)}
    merges = []
    for name in names[FIRST_WORD:]:  # whose scores fall
        pairs = [(name[:cut], name[cut:]) for cut in range(1, len(name))]
        pairs = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
        merges += sorted(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    special = [{"id": i, "content": names[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for i in range(3)]
    begin = {"id": "<s>", "ids": [BEGIN], "tokens": ["<s>"]}
    single = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    file = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                                                           {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "single": single, "special_tokens": {"<s>": begin},
                           "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}]},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                                                     {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": True, "byte_fallback": True, "vocab": ids, "merges": [" ".join(pair) for pair in merges]},
    }
    with open(path, "w", encoding="utf-8") as out:
        json.dump(file, out)
