#!/usr/bin/env python3
"""Every example of the language in docs/*.md and README.md is a test: `dlc check --no-weights` must
say of it what the page says.

A fence marked `dl` is a whole file. A line of it may end in `# error: TEXT` or `# warning: TEXT`,
or such comments may stand on lines of their own below it: then exactly that is reported for the
line (a text that ends in `...` may go on); what is announced nowhere must not be reported.

    ```dl file=blocks.dl    a file that later examples of the page include; one of them must
    ```dl fragment          a part of a file. It is completed by what it lacks: `dl 1`, dims B, N,
                            T, H and W where it declares none, a model around layers, a forward
                            around statements. Statements may use these values: x: f32[N,3,32,32],
                            y: f32[N,3,32,32], h: f32[N,T,64], ids: i64[N,T], mask: bool[N,T], a, b:
                            f32[N,16] and those of a comment `<!-- dl: q: f32[N,8,T,64], steps:
                            i32[N] -->` in front of the fence. Warnings do not count in a fragment.
                            It is taken for statements unless it begins like a declaration or a
                            layer; `dl fragment members` says that it stands among layers.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DLC = os.path.join(os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build")), "bin", "dlc")

VALUES = {
    "x": "f32[N,3,32,32]", "y": "f32[N,3,32,32]", "h": "f32[N,T,64]", "ids": "i64[N,T]",
    "mask": "bool[N,T]", "a": "f32[N,16]", "b": "f32[N,16]"
}
DIMS = "BNTHW"
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```\s*$",
                   re.M | re.S)
CONTEXT = re.compile(r"<!--\s*dl:(.*?)-->\s*\Z", re.S)
EXPECTED = re.compile(r"#\s*(error|warning):\s*(.+?)\s*$")
DECLARATION = re.compile(r"(dim|const|include|weights|block|model|sequential)\b(?!\s*[=.:(\[])")
MEMBER = re.compile(
    r"([\w.]+(\[[^\]]*\][\w.]*)*\s*:\s*(\w+\.)*[A-Z]\w*\s*\(|forward\s*\(|(for|if)\b.*\{$)")


class Example:
    def __init__(self, page, line, info, body, context):
        self.where, self.words, self.body = f"{page}:{line}", info.split()[1:], body
        self.isFragment = "fragment" in self.words
        self.file = next((w[len("file="):] for w in self.words if w.startswith("file=")), None)
        self.values = {**VALUES, **{k.strip(): v.strip() for k, v in
                                    re.findall(r"(\w+)\s*:\s*(\w+\[[^\]]*\])", context or "")}}
        self.isMembers = "members" in self.words
        unknown = [
            w for w in self.words if w not in ("fragment", "members") and not w.startswith("file=")
        ]
        self.problem = f"unknown words in the fence: {' '.join(unknown)}" if unknown else None


def examples(page, text):
    for match in FENCE.finditer(text):
        info = match["info"].strip()
        if info.split()[:1] == ["dl"]:
            body = re.sub("^" + match["indent"], "", match["body"], flags=re.M)
            context = CONTEXT.search(text, 0, match.start())
            yield Example(page,
                          text.count("\n", 0, match.start()) + 1, info, body, context
                          and context.group(1))


def complete(example):
    """The fragment as a whole file, and how many lines stand before it."""
    body = example.body
    lines = [
        line for line in (re.sub(r"#.*", "", l).rstrip() for l in body.splitlines())
        if line.strip()
    ]
    first = lines[0].strip() if lines else ""
    head = "" if re.match(r"dl\s+\d", first) else "dl 1\n"
    declared = set(re.findall(r"^\s*(?:dim|const)\s+(\w+)", body, re.M))
    head += "".join(f"dim {name} = 1..64\n" for name in DIMS if name not in declared)
    ports = ", ".join(f"{name}: {kind}" for name, kind in example.values.items()
                      if name not in declared)
    forward = f"forward({ports}, _z: f32[4]) -> (_o: f32[4]) {{ _o = relu(_z)\n"
    if re.match(r"dl\s+\d", first) or DECLARATION.match(first):
        tail = "" if re.search(r"^\s*(model|sequential)\s+\w", body,
                               re.M) else f"\nmodel _M {{ {forward} }}\n}}\n"
        return head + body + tail, head.count("\n")
    if example.isMembers or MEMBER.match(first):
        head += "model _M {\n"
        tail = "\n}\n" if re.search(r"^\s*forward\s*\(", body, re.M) else f"\n{forward} }}\n}}\n"
        return head + body + tail, head.count("\n")
    head += "model _M {\n" + forward
    return head + body + "\n}\n}\n", head.count("\n")


def run(example, folder):
    """What is wrong with the example; None if nothing is."""
    if example.problem:
        return example.problem
    text, offset = complete(example) if example.isFragment else (example.body, 0)
    path = os.path.join(folder, "example.dl")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    done = subprocess.run([DLC, "check", "--no-weights", "--json", path], capture_output=True,
                          text=True, timeout=60)
    if done.returncode not in (0, 1):
        return f"dlc check ended with {done.returncode}: {done.stderr.strip()}"
    wanted, about = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        about = about if line.strip().startswith("#") else number
        if match := EXPECTED.search(line):
            wanted.append((about, *match.groups()))
    problems = []
    for finding in json.loads(done.stdout)["diagnostics"]:
        line, severity, message = finding.get("line", 0), finding["severity"], finding["message"]
        if example.isFragment and severity == "warning":
            continue
        fits = [
            w for w in wanted if w[:2] == (line, severity) and
            (message == w[2] or (w[2].endswith("...") and message.startswith(w[2][:-3].rstrip())))
        ]
        if fits:
            wanted.remove(fits[0])
        else:
            problems.append(f"line {line - offset} of it: {severity}: {message}")
    problems += [
        f"line {line - offset} of it: expected {severity}: {message}"
        for line, severity, message in wanted
    ]
    return "\n    ".join(problems) or None


def main():
    pages = [
        os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    ]
    passed, failures = 0, []
    for page in pages:
        name = os.path.relpath(page, ROOT)
        with open(page, encoding="utf-8") as source:
            found = list(examples(name, source.read()))
        if name == "docs/language.md" and not found:
            failures.append(f"{name}: no ```dl example")
        with tempfile.TemporaryDirectory() as folder:
            unused = {}
            for example in found:
                for included in re.findall(r'^\s*include\s+"([^"]+)"', example.body, re.M):
                    if unused.pop(included, None):
                        passed += 1
                if example.file:
                    if os.path.basename(example.file) != example.file:
                        failures.append(
                            f"{example.where}: file={example.file}: a name without folders is expected"
                        )
                        continue
                    with open(os.path.join(folder, example.file), "w", encoding="utf-8") as out:
                        out.write(example.body)
                    unused[example.file] = example
                    continue
                problem = run(example, folder)
                if problem:
                    failures.append(f"{example.where}: {problem}")
                else:
                    passed += 1
            failures += [
                f"{e.where}: no later example of the page includes '{name}'"
                for name, e in unused.items()
            ]
    for failure in failures:
        print("FAILED", failure)
    print(f"{passed} passed, {len(failures)} failed")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
