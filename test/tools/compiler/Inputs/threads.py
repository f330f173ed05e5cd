"""threads.py FOLDER: compiles a model of many kernels on one processor and on all, and compares
what comes out."""
import os
import subprocess
import sys

folder = sys.argv[1]
MODEL = """dl 1
dim N = 1..64
model Many {
  forward(x: f32[N,64], image: f32[N,8,12,12], w: f32[64,64], k: f32[16,8,3,3], h: i8[64,64])
      -> (y: f32[N,64], scores: f32[N,N], z: f32[N,16], sums: f32[N,64], turned: f32[64,N]) {
    a = softmax(relu(linear(x, w)), dim=1)
    for i in 0..4 { a = softmax(linear(a, w) * float(i + 1), dim=1) }
    y = scaled_dot_product_attention(a, x, a)
    scores = softmax(a @ transpose(x, 0, 1), dim=1)
    z = mean(relu(conv2d(image, k, padding=1)), dim=[2, 3])
    sums = cumsum(a @ h.to(f32), dim=1)
    turned = transpose(sums, 0, 1)
  }
}
"""
model = os.path.join(folder, "many.dl")
with open(model, "w", encoding="utf-8") as out:
    out.write(MODEL)


def compiled(name, processors):
    """The model's bytes and the scheduled IR, as one list."""
    texts = []
    for arguments in ([], ["--compile-to=schedule"]):
        path = os.path.join(folder, name)
        subprocess.run(["dlc", "compile", model, "-q", "-o", path, *arguments], check=True,
                       preexec_fn=lambda: os.sched_setaffinity(0, processors))
        with open(path, "rb") as file:
            texts.append(file.read())
    return texts


every = os.sched_getaffinity(0)
one = compiled("one", {min(every)})
for attempt in range(3):
    assert compiled("all", every) == one, "the bytes depend on the threads"
print(one[1].count(b"dlx.kernel @"), "kernels, the same on 1 and on", len(every), "processors")
