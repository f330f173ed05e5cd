"""dlc refit: the file that a compile with the new weights would have written, or the old one and
every reason."""
import os
import sys

import numpy as np
from weight_cases import LINEAR, Suite, dlc, numbers, save, tensors

suite = Suite(sys.argv[1])
expect = suite.expect

CLAUSE = (
    'weights "old.safetensors" {\n  prefix "bert."\n  rename "encoder" -> "enc"\n  transpose "enc.fc.weight"\n'
    '  tie "tail.weight" = "head.weight"; tie "tail.bias" = "head.bias"\n  allow_extra "ids"\n}\n')
MODEL = LINEAR.replace("head: Linear(4, 2)", "head: Linear(4, 2)\n  tail: Linear(4, 2)").replace(
    "y = head(relu(enc.fc(x)))", "h = relu(enc.fc(x))\n    y = head(h) + tail(h)") + CLAUSE


def checkpoint(seed, **changes):
    made = tensors(lambda name: "bert." + name.replace("enc.", "encoder."), seed=seed)
    made["bert.encoder.fc.weight"] = numbers(3, 4, seed=seed)
    made["ids"] = np.arange(3)
    made.update({name.replace("__", "."): value for name, value in changes.items()})
    return {name: value for name, value in made.items() if value is not None}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def reference(weights, x):
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    hidden = np.maximum(x @ w["bert.encoder.fc.weight"] + w["bert.encoder.fc.bias"], 0)
    return 2 * (hidden @ w["bert.head.weight"].T + w["bert.head.bias"])


def says(what, status, stderr, *arguments):
    run = dlc(*arguments)
    expect(what, (run.returncode, run.stderr.splitlines()), (status, stderr))


with open("m.dl", "w", encoding="utf-8") as out:
    out.write(MODEL)
save("old.safetensors", checkpoint(1))
save("new.safetensors", checkpoint(2))
save("new.npz", checkpoint(2))
for name in ("old", "new"):
    says(f"compile with the {name} weights", 0, [], "compile", "m.dl", "-q", "--weights",
         name + ".safetensors", "-o", name + ".bin")
old, fresh = read("old.bin"), read("new.bin")
expect("other weights, another file", old == fresh, False)

says("refit to another file", 0,
     ["note: the model does not use 'ids'", "refitted.bin: 4 weights replaced"], "refit", "old.bin",
     "--weights", "new.safetensors", "-o", "refitted.bin")
expect("the file of a fresh compile", read("refitted.bin") == fresh, True)
expect("the old file stays", read("old.bin") == old, True)
says("refit from npz", 0, [], "refit", "old.bin", "-q", "--weights", "new.npz", "-o",
     "from-npz.bin")
expect("the same file from npz", read("from-npz.bin") == fresh, True)
says("refit in place", 0, [], "refit", "refitted.bin", "-q", "--weights", "old.safetensors")
expect("and back again", read("refitted.bin") == old, True)
expect("refit to standard output",
       dlc("refit", "old.bin", "-q", "--weights", "new.safetensors", "-o", "-").returncode, 0)
half = {name: value for name, value in checkpoint(2).items() if "head" in name}
save("a.safetensors", half)
save("b.npz", {name: value for name, value in checkpoint(2).items() if name not in half})
says("refit from two files", 0, [], "refit", "old.bin", "-q", "--weights", "a.safetensors",
     "--weights", "b.npz", "-o", "two.bin")
expect("the same file from two", read("two.bin") == fresh, True)

x = numbers(2, 3, seed=5)
np.save("x.npy", x)
for device in ("cpu", "cuda-emu"):
    for name, seed in (("old", 1), ("from-npz", 2)):
        np.save("y.npy", reference(checkpoint(seed), x).astype(np.float32))
        run = dlc("run", name + ".bin", "--device", device, "--input", "@x.npy",
                  "--expected-output", "@y.npy")
        expect(f"what {name}.bin computes on {device}", (run.returncode, run.stdout),
               (0, "y: as expected\n"))

# Every reason at once, and nothing written.
save(
    "bad.safetensors",
    checkpoint(2, bert__head__bias=None, bert__haed__bias=numbers(2),
               bert__encoder__fc__bias=numbers(5),
               bert__head__weight=numbers(2, 4).astype(np.float16)))
kept = read("refitted.bin")
says("all that does not fit", 1, [
    "error: weight 'enc.fc.bias' ('bert.encoder.fc.bias' in its file) is f32[5] in 'bad.safetensors'; the model was compiled for "
    "f32[4]",
    "error: weight 'head.weight' ('bert.head.weight' in its file) is f16[2,4] in 'bad.safetensors'; the model was compiled for "
    "f32[2,4]",
    "error: weight 'head.bias' ('bert.head.bias' in its file) f32[2] is not in 'bad.safetensors'",
    "note: the model does not use 'bert.haed.bias', 'ids'",
    "note: 'refitted.bin' is left as it was; for weights of other names, shapes or dtypes compile the model again"
], "refit", "refitted.bin", "--weights", "bad.safetensors")
says("a tensor in two files", 1, [
    "error: 'bert.head.weight' is in two of the files 'new.safetensors', 'a.safetensors'; expected it in one",
    "error: 'bert.head.bias' is in two of the files 'new.safetensors', 'a.safetensors'; expected it in one",
    "note: the model does not use 'ids'",
    "note: 'refitted.bin' is left as it was; for weights of other names, shapes or dtypes compile the model again"
], "refit", "refitted.bin", "--weights", "new.safetensors", "--weights", "a.safetensors")
says("no weights file", 5, ["error: cannot read 'none.npz': No such file or directory"],
     "refit", "refitted.bin", "--weights", "none.npz")
with open("cut.safetensors", "wb") as out:
    out.write(read("new.safetensors")[:-1])
run = dlc("refit", "refitted.bin", "--weights", "cut.safetensors")
expect("a damaged weights file", (run.returncode, "damaged or truncated" in run.stderr), (1, True))
with open("cut.bin", "wb") as out:
    out.write(old[:-1])
expect("a damaged package", dlc("refit", "cut.bin", "--weights", "new.safetensors").returncode, 6)
expect("after all of these", read("refitted.bin") == kept, True)
tiny = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny.dl")
says("a model without weights", 0, [], "compile", tiny, "-q", "--target", "cpu", "-o", "plain.bin")
says("no weights in the model", 2, ["error: the model 'plain.bin' has no weights to replace"],
     "refit", "plain.bin", "--weights", "new.safetensors")
expect("an output that is a folder",
       dlc("refit", "old.bin", "--weights", "new.safetensors", "-o", ".").returncode, 5)
nan = checkpoint(2)
nan["bert.head.bias"][0] = np.nan
save("nan.safetensors", nan)
says("NaN", 0, ["warning: weight 'head.bias' holds 1 NaN among its 2 numbers in 'nan.safetensors'"],
     "refit", "old.bin", "-q", "--weights", "nan.safetensors", "-o", "nan.bin")

save("many.safetensors", {**checkpoint(2), **{f"more{i:02}": numbers(1) for i in range(11)}})
says("many that the model does not use", 0, [
    "note: the model does not use 'ids', 'more00', 'more01', 'more02', 'more03', 'more04', 'more05', 'more06', 'more07', 'more08' "
    "and 2 others", "many.bin: 4 weights replaced"
], "refit", "old.bin", "--weights", "many.safetensors", "-o", "many.bin")

# What dlc inspect shows of the files.
expect("inspect", dlc("inspect", "new.npz").stdout.splitlines()[:2],
       ["Weights 'new.npz'", "  'bert.encoder.fc.weight'  f32[3,4]  48 bytes"])
expect("the totals", dlc("inspect", "new.safetensors").stdout.splitlines()[-4:],
       ["Totals", "  5 tensors, 29 numbers, 128 bytes", "  f32: 4 tensors, 26 numbers, 104 bytes",
        "  i64: 1 tensors, 3 numbers, 24 bytes"])
expect("inspect --json", '"numbers": 29' in dlc("inspect", "new.safetensors", "--json").stdout,
       True)
expect("inspect a damaged file", dlc("inspect", "cut.safetensors").returncode, 6)
suite.finish()
