"""grammar.py ROOT: the TextMate grammar against the lexer's tokens and against every model of the
repository.

Walks text as editors do: at each place the pattern that matches first wins, the earlier one of two
at the same place."""
import json
import os
import re
import subprocess
import sys

ROOT = sys.argv[1]
with open(os.path.join(ROOT, "tools/editors/syntaxes/dl.tmLanguage.json"),
          encoding="utf-8") as source:
    GRAMMAR = json.load(source)


def flatten(patterns):
    for pattern in patterns:
        if "include" in pattern:
            target = GRAMMAR["repository"][pattern["include"].lstrip("#")]
            yield from flatten(
                target["patterns"] if "match" not in target and "begin" not in target else [target])
        else:
            yield {**pattern, "regex": re.compile(pattern.get("match") or pattern["begin"])}


PATTERNS = list(flatten(GRAMMAR["patterns"]))


def scopes(line):
    """The scope of each character of the line, None where no pattern matches."""
    found, at = [None] * len(line), 0
    while at < len(line):
        best = None
        for pattern in PATTERNS:
            match = pattern["regex"].search(line, at)
            if match and match.end() > match.start() and (best is None
                                                          or match.start() < best[1].start()):
                best = pattern, match
        if best is None:
            break
        pattern, match = best
        end = match.end()
        if "begin" in pattern:
            close = re.compile(pattern["end"])
            while not (stop := close.match(line, end)):
                end += 2 if line[end] == "\\" else 1
                end = min(end, len(line))
            end = stop.end()
        name = pattern.get("name")
        for i in range(match.start(), end):
            found[i] = name or found[i]
        for group, capture in pattern.get("captures", {}).items():
            for i in range(*match.span(int(group))):
                found[i] = capture["name"]
        at = end
        if not name:  # what a pattern only captures is coloured by the others
            spans = [match.span(int(group)) for group in pattern["captures"]]
            for i in range(match.start(), end):
                if found[i] is None and not any(a <= i < b
                                                for a, b in spans) and line[i] in "[](){},:;=.":
                    found[i] = "punctuation.dl"
    return found


def scope_of(line, part):
    at = line.index(part)
    return scopes(line)[at]


tokens = open(os.path.join(ROOT, "frontend/dl/syntax/Tokens.def"), encoding="utf-8").read()
words = {
    kind: re.findall(rf'^{kind}\(\w+, "([^"]+)"\)', tokens, re.M)
    for kind in ("KEYWORD", "LITERAL", "PUNCTUATION")
}
dtypes = re.findall(r"^DTYPE\((\w+)",
                    open(os.path.join(ROOT, "ir/dl/base/DTypes.def"), encoding="utf-8").read(),
                    re.M)
# A line for each word that has its meaning in one place alone.
SAMPLES = {
    "dl": "dl 1", "dim": "dim N = 1..64", "const": "const H = 3", "include": 'include "b.dl"',
    "block": "block B(n) {", "model": "model M {",
    "sequential": "sequential S(x: f32[4,4,4,1] layout NHWC) {",
    "layout": "(x: f32[4,4,4,1] layout NHWC)", "state": "  state k: f16[N,8,512,64]",
    "forward": "  forward(x: f32[4]) -> (y: f32[4]) {", "weights": 'weights "w.safetensors"'
}
failures = []


def expect(line, part, *prefixes):
    scope = scope_of(line, part)
    if not (scope and scope.startswith(prefixes)):
        failures.append(f"{part!r} in {line!r} is {scope}, expected {' or '.join(prefixes)}")


for word in words["KEYWORD"]:
    if word not in SAMPLES:
        failures.append(
            f"the keyword {word!r} has no sample here, and perhaps no pattern in the grammar")
        continue
    expect(SAMPLES[word], word, "keyword", "storage")
    expect(f"    y = softmax(x, {word}=1)", word + "=", "variable.parameter")  # it is a name, too
for word in words["LITERAL"]:
    expect(f"  y = a {word} b", word + " ", "constant.language", "keyword")
for word in words["PUNCTUATION"]:
    expect(f"  y = a {word} b", word, "keyword.operator", "punctuation")
for word in dtypes:
    expect(f"  forward(x: {word}[N,4])", word, "support.type.dtype")
for word in ("f32", "f16", "bf16", "no_fuse"):
    expect(f"  fc: Linear(4, 4) @{word}", "@", "storage.modifier.annotation")
for word in ("prefix", "rename", "transpose", "tie", "allow_extra"):
    expect(f'  {word} "a"', word, "keyword.other.weights")
expect("  layer1.0.conv1: Conv2d(1, 2)", "layer1", "variable.other.property")
expect("  layer1.0.conv1: Conv2d(1, 2)", "Conv2d", "entity.name.type.layer")
expect("  x = relu(x)", "relu", "entity.name.function")
expect("  x = 1.5e-3", "1.5e-3", "constant.numeric")
expect('  s = "a#b"', "#", "string.quoted")
expect("  x = y # z", "# z", "comment")

models = subprocess.run(["git", "ls-files", "*.dl"], cwd=ROOT, capture_output=True,
                        text=True).stdout.split()
models = [name for name in models if os.path.exists(os.path.join(ROOT, name))
          ] or ["examples/digits/digits.dl"]
lines = 0
for model in models:
    for number, line in enumerate(open(os.path.join(ROOT, model), encoding="utf-8"), 1):
        lines += 1
        line = line.rstrip("\n")
        for character, scope in zip(line, scopes(line)):
            if scope is None and not character.isspace():
                failures.append(f"{model}:{number}: nothing matches {character!r} in {line!r}")
                break
print(
    "\n".join(failures) or
    f"{len(PATTERNS)} patterns, {sum(map(len, words.values()))} words, {len(models)} models: as expected"
)
sys.exit(bool(failures))
