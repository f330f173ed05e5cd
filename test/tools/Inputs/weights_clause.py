"""The weights clause: what binds, and what is said where it does not."""
import json
import sys

import numpy as np
from weight_cases import LINEAR, Suite, numbers, tensors

suite = Suite(sys.argv[1])


def clause(rules, files='"w.safetensors"'):
    return LINEAR + f"weights {files} {{\n{rules}\n}}\n"


W = {"w.safetensors": tensors()}
BERT = {"w.safetensors": tensors(lambda name: "bert." + name)}
HF = {"w.safetensors": tensors(lambda name: name.replace("enc.", "encoder."))}
check = suite.check

# What binds.
check("no rules", LINEAR + 'weights "w.safetensors"\n', W, [], 0)
check("prefix", clause('prefix "bert."'), BERT, [], 0)
check("a prefix that some names lack", clause('prefix "bert."'),
      {"w.safetensors": tensors(lambda name: name if name.startswith("head") else "bert." + name)},
      [], 0)
check("rename", clause('rename "encoder" -> "enc"'), HF, [], 0)
check(
    "renames in braces",
    clause('rename { "encoder" -> "enc"; "scale" -> "weight", "shift" -> "bias" }'), {
        "w.safetensors": tensors(lambda name: name.replace("enc.", "encoder.").replace(
            "weight", "scale").replace("bias", "shift"))
    }, [], 0)
check("a rename in front", clause('rename "" -> "enc."; rename "enc.head" -> "head"'),
      {"w.safetensors": tensors(lambda name: name.removeprefix("enc."))}, [], 0)
check("transpose", clause('transpose "fc.weight", "he?d.w*"'),
      {"w.safetensors": tensors(enc__fc__weight=numbers(3, 4), head__weight=numbers(4, 2))}, [], 0)
check("allow_extra", clause('allow_extra "position_ids"; allow_extra "junk.*"'), {
    "w.safetensors": tensors(emb__position_ids=np.arange(3), junk__a=numbers(1),
                             junk__b__c=numbers(1))
}, [], 0)
check(
    "two files", clause("", '"w.safetensors", "v.npz"'), {
        "w.safetensors": tensors(head__weight=None, head__bias=None), "v.npz": {
            "head.weight": np.asfortranarray(numbers(2, 4)), "head.bias": numbers(2).astype(">f4")
        }
    }, [], 0)
check(
    "half and double", LINEAR + 'weights "w.safetensors"\n', {
        "w.safetensors": {
            name: value.astype(np.float16 if "bias" in name else np.float64)
            for name, value in tensors().items()
        }
    }, [], 0)
check("a later clause's file wins", LINEAR + 'weights "w.safetensors"\nweights "v.safetensors"\n',
      {**W, "v.safetensors": {"head.bias": numbers(2, seed=1)}}, [], 0)
check("--weights keeps the rules", clause('prefix "bert."', '"missing.safetensors"'), BERT, [], 0,
      "--weights", "w.safetensors")
check("--weights twice", LINEAR, {"w.safetensors": tensors(head__weight=None, head__bias=None),
                                  "v.npz": {"head.weight": numbers(2, 4), "head.bias": numbers(2)}},
      [], 0, "--weights", "w.safetensors", "--weights", "v.npz")

# A sharded checkpoint in the manner of Hugging Face: one clause names its index.
PARTS = {"part-1.safetensors": tensors(head__weight=None, head__bias=None),
         "part-2.safetensors": {"head.weight": numbers(2, 4), "head.bias": numbers(2)}}
INDEX = {
    "metadata": {"total_size": 104},
    "weight_map": {name: path for path, held in PARTS.items() for name in held}
}
SHARDED = clause("", '"model.safetensors.index.json"')


def index(what, held, findings=(), model=SHARDED, status=1, *arguments):
    with open("model.safetensors.index.json", "w", encoding="utf-8") as out:
        out.write(held if isinstance(held, str) else json.dumps(held))
    check(what, model, PARTS, list(findings), status, *arguments)


def moved(name, path):
    return {**INDEX, "weight_map": {**INDEX["weight_map"], name: path}}


ITS = "; expected the index of a sharded checkpoint, as in {\"weight_map\": {\"fc.weight\": \"model-00001-of-00002.safetensors\"}}"
FOLDER = "names a file in the folder of this one, got"
index("shards", INDEX, status=0)
index("shards by --weights", INDEX, (), LINEAR, 0, "--weights", "model.safetensors.index.json")
index("a shard that is missing", moved("head.bias", "part-3.safetensors"), [
    "m.dl:9:9: error: cannot read 'part-3.safetensors': No such file or directory"])
index("a shard without the tensor", moved("head.bias", "part-1.safetensors"), [
    "m.dl:9:9: error: 'model.safetensors.index.json' says that 'part-1.safetensors' holds 'head.bias', which it does not; the two are not of "
    "one checkpoint"])
for path in ("../part-1.safetensors", "/etc/passwd", "a/../../b.safetensors"):
    index("a shard outside: " + path, moved("head.bias", path), [
        f"m.dl:9:9: error: 'model.safetensors.index.json' {FOLDER} '{path}'; put the files of a checkpoint into one folder"
    ])
for what, held, problem in (("no JSON", "{", "is no JSON: [1:1, byte=1]: Expected object key"),
                            ("no map", {"metadata": {}}, "has no weight_map"),
                            ("a map of numbers", {"weight_map": {"head.bias": 3}},
                             "names no file for 'head.bias'"),
                            ("a nest", "[" * 100000, "is larger or nests deeper than any index"),
                            ("a list", "[1]", "has no weight_map")):
    index(what, held, [f"m.dl:9:9: error: 'model.safetensors.index.json' {problem}{ITS}"])

TIED = LINEAR.replace("head: Linear(4, 2)", "head: Linear(4, 2)\n  tail: Linear(4, 2)").replace(
    "y = head(relu(enc.fc(x)))", "h = relu(enc.fc(x))\n    y = head(h) + tail(h)")
TIES = '\nweights "w.safetensors" {\n  tie "tail.weight" = "head.weight"\n  tie "tail.bias" = "head.bias"\n}\n'
check("tie", TIED + TIES, W, [], 0)
check("a tied weight that is there, too", TIED + TIES,
      {"w.safetensors": tensors(tail__bias=tensors()["head.bias"])}, [], 0)

# What does not: every problem in one run.
check(
    "everything at once", LINEAR + 'weights "w.safetensors"\n', {
        "w.safetensors": tensors(lambda name: name.replace("head.bias", "haed.bias"),
                                 enc__fc__weight=numbers(3, 4), enc__fc__bias=np.zeros(
                                     4, np.int32), zzz=numbers(1))
    }, [
        "m.dl:3:3: error: weight 'enc.fc.weight' is f32[3,4] in 'w.safetensors'; the layer needs [4,3]; it is stored [in,out]: "
        "add 'transpose \"enc.fc.weight\"' to the weights clause",
        "m.dl:3:3: error: weight 'enc.fc.bias' has the dtype i32 in 'w.safetensors'; expected f64, f32, f16 or bf16",
        "m.dl:4:3: error: weight 'head.bias' [2] is not in 'w.safetensors'; did you mean 'haed.bias'?",
        "m.dl:9:1: error: 'w.safetensors' holds 'haed.bias' f32[2], which no layer owns; did you mean 'head.bias'?",
        "m.dl:9:1: error: 'w.safetensors' holds 'zzz' f32[1], which no layer owns; allow_extra \"zzz\" in the weights clause leaves it out"
    ])
check("a prefix is guessed", LINEAR + 'weights "w.safetensors"\n', BERT, [
    "m.dl:3:3: error: weight 'enc.fc.weight' [4,3] is not in 'w.safetensors'; did you mean 'bert.enc.fc.weight'?",
    "m.dl:9:1: note: all of the file's unused names begin with 'bert.': add 'prefix \"bert.\"' to the weights clause",
    "m.dl:3:3: error: weight 'enc.fc.bias' [4] is not in 'w.safetensors'; did you mean 'bert.enc.fc.bias'?",
    "m.dl:4:3: error: weight 'head.weight' [2,4] is not in 'w.safetensors'; did you mean 'bert.head.weight'?",
    "m.dl:4:3: error: weight 'head.bias' [2] is not in 'w.safetensors'; did you mean 'bert.head.bias'?",
    *(f"m.dl:9:1: error: 'w.safetensors' holds 'bert.{name}' f32{shape}, which no layer owns; did you mean '{name}'?"
      for name, shape in (("enc.fc.weight", "[4,3]"), ("enc.fc.bias", "[4]"),
                          ("head.weight", "[2,4]"), ("head.bias", "[2]")))
])
LONG = "dl 1\nmodel M {\n" + "".join(f"  l.{i}: Linear(2, 2)\n" for i in range(12)) + \
    "  forward(x: f32[1,2]) -> (y: f32[1,2]) {\n" + "".join(f"    x = l.{i}(x)\n"
                                                            for i in range(12)) + \
    '    y = x\n  }\n}\nweights "w.safetensors"\n'
LAYERS = [(f"l.{i}.{leaf}", shape) for i in range(12)
          for leaf, shape in (("weight", (2, 2)), ("bias", (2, )))]


def text(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def listed(rename, hint):
    missing = [
        f"  weight '{name}' {text(shape)} is not in 'w.safetensors'; did you mean '{rename(name)}'?"
        for name, shape in LAYERS
    ]
    extra = [
        f"  'w.safetensors' holds '{rename(name)}' f32{text(shape)}, which no layer owns; did you mean '{name}'?"
        for name, shape in LAYERS
    ]
    return ["m.dl:31:1: error: 24 weights are missing:", *missing, "m.dl:31:1: note: " + hint,
            "m.dl:31:1: error: 24 tensors are left over:", *extra]


def many(rename):
    return {"w.safetensors": {rename(name): numbers(*shape) for name, shape in LAYERS}}


def nested(name):
    return "a." + name


check(
    "many, listed under one error for each kind", LONG, many(nested),
    listed(
        nested,
        "all of the file's unused names begin with 'a.': add 'prefix \"a.\"' to the weights clause")
)


def gamma(name):
    return name.replace("weight", "waight").replace("bias", "bius")


check(
    "a rename is guessed", LONG, many(gamma),
    listed(
        gamma,
        "12 names have 'bius' where the model has 'bias': add 'rename \"bius\" -> \"bias\"' to the weights clause"
    ))
check("a missing prefix is guessed", LONG.replace("l.", "q.l."), many(lambda name: name), [
    "m.dl:31:1: error: 24 weights are missing:",
    *(f"  weight 'q.{name}' {text(shape)} is not in 'w.safetensors'; did you mean '{name}'?"
      for name, shape in LAYERS),
    "m.dl:31:1: note: the file's names lack 'q.' in front: add 'rename \"\" -> \"q.\"' to the weights clause",
    "m.dl:31:1: error: 24 tensors are left over:",
    *(f"  'w.safetensors' holds '{name}' f32{text(shape)}, which no layer owns; did you mean 'q.{name}'?"
      for name, shape in LAYERS)
])
prefixed = listed(nested,
                  "names in the file begin with 'a.': add 'prefix \"a.\"' to the weights clause")
prefixed[prefixed.index(
    "m.dl:31:1: error: 24 tensors are left over:")] = "m.dl:31:1: error: 25 tensors are left over:"
check("a prefix of most is guessed", LONG, {
    "w.safetensors": {**many(nested)["w.safetensors"], "zz": numbers(1)}
}, [
    *prefixed,
    "  'w.safetensors' holds 'zz' f32[1], which no layer owns; allow_extra \"zz\" in the weights clause leaves it out"
])
check("many that do not fit", LONG, {
    "w.safetensors": {name: numbers(*shape, 1) for name, shape in LAYERS}
}, [
    "m.dl:31:1: error: 24 weights do not fit their layers:",
    *(f"  weight '{name}' is f32{text((*shape, 1))} in 'w.safetensors'; the layer needs {text(shape)}"
      for name, shape in LAYERS)
])
check("a transpose too many", clause('transpose "head.weight"'), W, [
    "m.dl:4:3: error: weight 'head.weight' is f32[2,4] in 'w.safetensors', which 'transpose' makes [4,2]; the layer needs [2,4]; "
    "it is stored [out,in]: take it out of 'transpose'"])
check("shape and dtype", LINEAR + 'weights "w.safetensors"\n', {
    "w.safetensors": tensors(head__bias=np.zeros(3, np.int64))
}, [
    "m.dl:4:3: error: weight 'head.bias' is i64[3] in 'w.safetensors'; the layer needs [2]",
    "m.dl:4:3: error: weight 'head.bias' has the dtype i64 in 'w.safetensors'; expected f64, f32, f16 or bf16"
])

# A Parameter's declared dtype is that of the file, as it is.
PARAMETER = "dl 1\nmodel M {\n  scale: Parameter(4, dtype=f16)\n  steps: Buffer(4, dtype=i64)\n  free: Parameter(4)\n" \
    "  forward(x: f32[4]) -> (y: f32[4]) {\n    y = x * scale + steps + free\n  }\n}\nweights \"p.safetensors\"\n"


def declared(scale, steps, free):
    return {
        "p.safetensors": {
            "scale": np.zeros(4, scale), "steps": np.zeros(4, steps), "free": np.zeros(4, free)
        }
    }


check("declared dtypes", PARAMETER, declared(np.float16, np.int64, np.float32), [], 0)
check("other dtypes than declared", PARAMETER, declared(np.float32, np.int32, np.int64), [
    "m.dl:3:3: error: weight 'scale' has the dtype f32 in 'p.safetensors'; expected f16",
    "m.dl:4:3: error: weight 'steps' has the dtype i32 in 'p.safetensors'; expected i64",
    "m.dl:5:3: error: weight 'free' has the dtype i64 in 'p.safetensors'; expected f64, f32, f16 or bf16"
])
check("a Parameter without dtype has the file's", PARAMETER,
      declared(np.float16, np.int64, np.float64), [
          "m.dl:7:5: error: output 'y' is f64[4], declared as f32[4]; change one of them",
          "m.dl:6:26: note: declared here"
      ])
check(
    "names of the file in errors", clause('prefix "bert."'), {
        "w.safetensors": tensors(lambda name: "bert." + name, bert__head__bias=numbers(3),
                                 bert__zzz=numbers(1))
    }, [
        "m.dl:4:3: error: weight 'head.bias' is f32[3] in 'w.safetensors' (its 'bert.head.bias'); the layer needs [2]",
        "m.dl:9:1: error: 'w.safetensors' holds 'bert.zzz' f32[1], in the model 'zzz', which no layer owns; allow_extra \"bert.zzz\" in the weights clause leaves it out"
    ])
check("held twice", clause("", '"w.safetensors", "v.safetensors"'), {
    **W, "v.safetensors": {"head.bias": numbers(2)}
}, [
    "m.dl:9:1: error: weight 'head.bias' is held twice: by 'w.safetensors' and 'v.safetensors'; expected it once in the files of a "
    "clause"
])
check(
    "an unknown tie", LINEAR + 'weights "w.safetensors" { tie "haed.weight" = "head.weight" }\n', W,
    [
        "m.dl:9:31: error: 'tie' names 'haed.weight', which is no weight of the model; did you mean 'head.weight'?"
    ])
check(
    "tied twice", TIED + TIES.replace("head.bias", "enc.fc.bias").replace(
        "\n}", '\n  tie "tail.bias" = "head.bias"\n}'), W,
    [
        "m.dl:15:7: error: weight 'tail.bias' is tied twice; expected one 'tie' for it",
        "m.dl:14:7: error: 'tie' gives weight 'tail.bias' [2] the weight 'enc.fc.bias' [4]; expected weights of one shape"
    ])
check("tied to itself", LINEAR + 'weights "w.safetensors" { tie "head.bias" = "head.bias" }\n', W, [
    "m.dl:9:31: error: weight 'head.bias' is tied to itself; expected another weight"])
check("tied, and yet other numbers", TIED + TIES, {
    "w.safetensors": tensors(tail__bias=numbers(2, seed=9))
}, [
    "m.dl:14:7: error: 'tie' gives weight 'tail.bias' the weight 'head.bias', but 'w.safetensors' holds other numbers for it; remove "
    "the 'tie'"
])
check("rules that fit nothing",
      clause('prefix "bert."\nrename "gamma" -> "weight"\ntranspose "fc.wait"'), W, [
          "m.dl:10:8: warning: no name in 'w.safetensors' begins with 'bert.'",
          "m.dl:11:8: warning: no name in 'w.safetensors' has the part 'gamma'",
          "m.dl:12:11: warning: 'transpose' fits no weight of two dims: 'fc.wait'"
      ], 0)
check(
    "--weights for several clauses", LINEAR + 'weights "w.safetensors"\nweights "v.safetensors"\n',
    W, [
        "m.dl:9:1: error: the model's 2 weights clauses name 2 files, --weights names 1; give it once for each of them, in their order"
    ], 1, "--weights", "w.safetensors")

# What cannot be read.
check("no file", clause("", '"none.safetensors"'), {},
      ["m.dl:9:9: error: cannot read 'none.safetensors': No such file or directory"])
check("not a file", clause("", '"."'), {},
      ["m.dl:9:9: error: cannot read '.': it is a directory; expected a file"])
check("outside of the folder", clause("", '"../w.safetensors"'), {}, [
    "m.dl:9:9: error: 'weights' names a file in the folder of the model, got '../w.safetensors'; use --weights for one elsewhere"
])
for name, content, what in (
    ("w.pt", b"PK\3\4" + bytes(26) + b"archive/data.pkl" + bytes(100),
     "a PyTorch checkpoint (pickle), which dlc never loads; save it with "
     "safetensors.torch.save_file(model.state_dict(), ...)"),
    ("w.pkl", b"\x80\2}q\0.",
     "a Python pickle, which dlc never loads; save the weights as safetensors"),
    ("w.h5", b"\x89HDF\r\n\x1a\n",
     "an HDF5 file; save the weights with numpy.savez or as safetensors"),
    ("w.npy", b"\x93NUMPY\1\0", "a single npy array; save named arrays with numpy.savez")):
    with open(name, "wb") as out:
        out.write(content)
    check(name, clause("", f'"{name}"'), {}, [f"m.dl:9:9: error: '{name}' is {what}"])

# The text of the clause.
EXPECTED = "expected 'prefix', 'rename', 'transpose', 'tie' or 'allow_extra' in a weights clause, got "
check("no such rule", clause('prefx "a."'), W,
      ["m.dl:10:1: error: " + EXPECTED + "'prefx'; did you mean 'prefix'?"])
check("no rule at all", clause('= "a."'), W, ["m.dl:10:1: error: " + EXPECTED + "'='"])
check("no file name", LINEAR + "weights { }\n", W, [
    "m.dl:9:9: error: expected the name of a file after 'weights', as in 'weights \"model.safetensors\"', got '{'"
])
check("no prefix", clause("prefix x"), W, [
    "m.dl:10:8: error: expected how the names in the file begin, as in 'prefix \"bert.\"', got 'x'"
])
check("no rename", clause('rename "a" = "b"'), W, [
    "m.dl:10:12: error: expected '->' in a rename such as '\"LayerNorm.gamma\" -> \"LayerNorm.weight\"', got '='"
])
check("no transpose", clause("transpose 1"), W, [
    "m.dl:10:11: error: expected the paths of weights that are stored [in,out], as in 'transpose \"*.c_attn.weight\"', got '1'"
])
check("no tie", clause('tie "a" -> "b"'), W, [
    "m.dl:10:9: error: expected '=' in a tie such as 'tie \"lm_head.weight\" = \"wte.weight\"', got '->'"
])
check("no extras", clause("allow_extra"), W, [
    "m.dl:10:12: error: expected names that the model does not need, as in 'allow_extra \"position_ids\"', got the end of the line"
])
check("no end of the renames", LINEAR + 'weights "w.safetensors" {\nrename { "a" -> "b"', W, [
    "m.dl:10:20: error: expected '}' at the end of the renames, got the end of the file",
    "m.dl:10:8: note: to match this {",
    "m.dl:10:20: error: expected '}' at the end of the weights clause, got the end of the file",
    "m.dl:9:25: note: to match this {"])

# NaN: said, and no error.
nan = tensors()
nan["head.weight"][0, 1] = np.nan
nan["enc.fc.bias"][:] = -np.nan
nan["enc.fc.weight"][0, 0] = np.inf
check("NaN", LINEAR + 'weights "w.safetensors"\n', {"w.safetensors": nan}, [
    "m.dl:3:3: warning: weight 'enc.fc.bias' holds 4 NaNs among its 4 numbers in 'w.safetensors'",
    "m.dl:4:3: warning: weight 'head.weight' holds 1 NaN among its 8 numbers in 'w.safetensors'"
], 0)
suite.finish()
