"""format_properties.py ROOT FOLDER: what `dlc fmt` promises, over every model of the repository and
spoiled copies of them.

Formatting twice changes nothing; the module that is imported is the same; comments stay; how a text
was spaced, and where lines were broken within brackets, makes no difference."""
import os
import random
import re
import subprocess
import sys

ROOT, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOKEN = re.compile(r"""(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<space>[ \t\r]+)|"[^"\n]*"|'[^'\n]*'|@[A-Za-z_]\w*|[A-Za-z_]\w*(\.\w+)*|
    (\d+(\.(?!\.)\d*)?|\.\d+)([eE][-+]?\d+)?|->|\.\.\.|\.\.|\*\*|//|[=!<>]=|.""", re.X)
random.seed(7)
failures = []


def fmt(text):
    run = subprocess.run(["dlc", "fmt", "-"], input=text.encode(), capture_output=True)
    if run.returncode:
        raise ValueError(f"exit status {run.returncode}: {run.stderr.decode()}")
    return run.stdout.decode()


def module(text, like):
    """The module of the text, as if it stood in the folder of `like`; None where it has errors
    anyway."""
    path = os.path.join(os.path.dirname(like), f".fmt-{os.getpid()}.dl")
    try:
        with open(path, "w") as out:
            out.write(text)
        run = subprocess.run(["dlc-translate", "--import-dl", "--mlir-print-debuginfo=false", path],
                             capture_output=True, text=True)
    finally:
        os.remove(path)
    return run.stdout if run.returncode == 0 else None


def spoil(text):
    """Other spaces between tokens, other line ends, and lines broken and joined within brackets."""
    out, depth, last = [], 0, ""
    for match in TOKEN.finditer(text):
        token = match.group()
        if match["space"]:
            continue
        if match["comment"]:
            out.append(random.choice(["", "  ", "\t"]) + token)
            last = ""
            continue
        if match["newline"]:
            # Within brackets a line may end anywhere; a comment ends only with its line.
            out.append("\n" if depth == 0 or not last else random.choice([" ", "\n"]))
            continue
        if depth > 0 and last and token != "=":  # a keyword and its '=' share a line
            out.append(random.choice(["", " ", "  ", "\n", "\n    "]))
        else:
            out.append(random.choice(["", " ", "   ", "\t"]))
        if token == "[" and depth == 0:
            out[-1] = ""  # layer[i]: the bracket follows its name
        if (token.startswith("@") or last == "@") and not out[-1]:
            out.append(" ")  # an annotation has a space in front, a matrix product one behind
        # Two words must stay two; so must a number and the dots behind it, and operators that would
        # merge.
        if last and (last[-1].isalnum() or last[-1] in "_.") and (
                token[0].isalnum() or token[0] in "_.") or (last and not last[-1].isalnum()
                                                            and not token[0].isalnum()):
            out.append(" ")
        depth += (token in "([") - (token in ")]")
        out.append(token)
        last = token
    return "".join(out)


listed = subprocess.run(["git", "ls-files", "*.dl"], cwd=ROOT, capture_output=True,
                        text=True).stdout.split()
models = [os.path.join(ROOT, name) for name in listed if os.path.exists(os.path.join(ROOT, name))
          ] or [os.path.join(ROOT, "examples/digits/digits.dl")]
formatted = spoiled = imported = 0
for path in models:
    name = os.path.relpath(path, ROOT)
    text = open(path, encoding="utf-8").read()
    try:
        once = fmt(text)
    except ValueError as error:
        if "error:" not in str(error):
            failures.append(f"{name}: {error}")
        continue  # a file of errors stays as it is: format.test
    formatted += 1
    if fmt(once) != once:
        failures.append(f"{name}: formatting twice changes it")
    if re.findall(r"#.*", once) != [c.rstrip() for c in re.findall(r"#.*", text)]:
        failures.append(f"{name}: comments have changed")
    if max(len(re.sub(r"\s*#.*", "", line)) for line in once.splitlines()) > 100:
        failures.append(f"{name}: a line is longer than 100 characters")
    before = module(text, path)
    if before is not None:
        imported += 1
        if module(once, path) != before:
            failures.append(f"{name}: it means something else than before")
    plain = re.sub(r",(\s*[)\]])", r"\1", text)  # a comma behind the last element asks for lines
    once = fmt(plain)
    for _ in range(3):
        other = spoil(plain)
        spoiled += 1
        try:
            if fmt(other) != once:
                failures.append(f"{name}: the spacing makes a difference:\n{other}")
                break
        except ValueError as error:
            failures.append(f"{name}: a spoiled copy has errors: {error}\n{other}")
            break
print("\n".join(failures)
      or f"{formatted} formatted, {imported} imported, {spoiled} spoiled copies: as promised")
sys.exit(bool(failures) or formatted < len(models) // 2)
