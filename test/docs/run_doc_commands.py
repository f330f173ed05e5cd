#!/usr/bin/env python3
"""Every command that the pages show is run as it stands there, in a folder of its own for each
section.

A command is a line of an indented block that begins with a program of ours (or pip, cd, npm,
cmake), up to two spaces or `#`, or a line `$ COMMAND` in a fence; there, the lines below it are
what it prints, and `...` stands for any lines. Numbers with a fraction may differ in the last
digits, percentages by a few hundredths of themselves. A GPU is emulated. `dlc SUBCOMMAND --flag`,
`--flag` and `tools/scripts/NAME` in running text must exist. Files that commands read are made when
a command names them."""
import fnmatch
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [
    os.path.join(ROOT, "test", "frontend", "onnx", "Inputs"),
    os.path.join(ROOT, "examples")
]
from page_files import FILES, SETTINGS  # noqa: E402

BUILD = os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build"))
PYTHON = os.environ.get("DLC_PYTHON", sys.executable)
PAGES = [
    "README.md", "CONTRIBUTING.md", "docs/*.md", "tools/editors/README.md", "examples/*/README*"
]
PROGRAMS = re.compile(r"(dlc|dlc-\w+|tools/scripts/\S+|pip|cd|npm|npx|cmake|ninja)(\s|$)")
TIMEOUT = 600
# Commands that are not run, as patterns, and why.
LEFT_OUT = {
    "pip install *": "needs the network",
    "cmake --install *": "the test kind install does it",
    "cd tools/editors && npm *": "needs the network and VS Code",
    "tools/scripts/setup*": "the test run has done it",
    "tools/scripts/build*": "the test run has done it",
    "tools/scripts/test*": "it runs this test",
    "tools/scripts/wheel*": "the kind wheel runs it",
    "tools/scripts/quickstart": "it sets up and builds; its commands are those of the digits here",
}
# Pythons with packages of their own, made by setup --tests, for commands that need them.
PYTHONS = {
    "tools/scripts/export_torch.py": ("aten", ("torch", "torchvision")),
    "tools/scripts/import_keras.py": ("keras", ("keras", )), "retrain.py": ("torch", ("torch", ))
}


class Command:
    def __init__(self, where, section, text, output=None):
        self.where, self.section, self.text, self.output = where, section, text, output


def commands(page, text):
    """Commands of a page; `output` is None where the page does not show it."""
    found, section, in_fence, session = [], "", False, None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{page}:{number}"
        if line.lstrip().startswith("```"):
            in_fence, session = not in_fence, None
        elif in_fence:
            if line.startswith("$ "):
                session = Command(where, section, line[2:].strip(), [])
                found.append(session)
            elif session and session.text.endswith("\\"):  # goes on
                session.text = session.text[:-1] + line.strip()
            elif session:
                session.output.append(line)
        elif line.startswith("#"):
            section = line.lstrip("# ")
        elif line.startswith("    ") and PROGRAMS.match(line.strip()):
            found.append(Command(where, section, re.split(r"\s{2,}|\s#\s", line.strip())[0]))
    return found


#===- Running -------------------------------------------------------------------------------------#

def environment(folder, command):
    """PATH with our tools first; the emulator for the GPU; a home of its own."""
    python = os.path.dirname(PYTHON)
    for script, (name, _) in PYTHONS.items():
        own = os.path.join(BUILD, f"python-{name}", "bin")
        if command.startswith(script) and os.path.isdir(own):
            python = own
    path = [
        os.path.join(BUILD, "bin"),
        os.path.join(ROOT, "examples", "digits"), python, os.environ["PATH"]
    ]
    lib = os.path.join(BUILD, "lib")
    return {
        **os.environ, "KERAS_BACKEND": "jax", "PATH": os.pathsep.join(path), "HOME": folder,
        "XDG_CACHE_HOME": os.path.join(BUILD, "test-logs", "cache"),
        "DLC_LIBCUDA": os.path.join(lib, "libdlc_cuda_emu.so"),
        "DLC_LIBNVRTC": os.path.join(lib, "libdlc_nvrtc_emu.so"),
        "DLC_LIBCUBLASLT": os.path.join(lib, "libdlc_cublaslt_emu.so")
    }


def whyLeftOut(command, env):
    for pattern, reason in LEFT_OUT.items():
        if fnmatch.fnmatchcase(command, pattern):
            return reason
    for script, (_, packages) in PYTHONS.items():
        if command.startswith(script):
            probe = subprocess.run(["python3", "-c", f"import {', '.join(packages)}"], env=env,
                                   capture_output=True)
            if probe.returncode:
                return f"no {' and '.join(packages)} here (tools/scripts/setup --tests)"
    return None


def makeFiles(command, folder, section):
    """Makes what the command reads and no command of the section has written: a word that names a
    file, after '=' and '@' too."""
    written = re.findall(r"(?:-o|--output|--trace)\s+(?:\w+=@)?(\S+)", command)
    for word in re.split(r"[\s=@]+", command):
        if word in FILES and word not in written and not os.path.exists(os.path.join(folder, word)):
            FILES[word](folder, **SETTINGS.get(section, {}))


def isNumberLike(one, other, tolerance):
    """Equal, or numbers with a fraction that are nearly equal."""
    if one == other:
        return True
    try:
        return "." in one and abs(float(one) - float(other)) <= tolerance * abs(float(one))
    except ValueError:
        return False


def sameLine(expected, actual):
    split = lambda line: re.split(r"([\s(),]+)", line.rstrip())
    one, other = split(expected), split(actual)
    # Sums that are added in another order, on a processor with other vectors, may make another
    # weight of two alike the smaller one, which the percentages of a table of pruning show.
    tolerances = [0.03 if after.strip() == "%" else 1e-4 for after in [*one[2:], "", ""]]
    return len(one) == len(other) and all(map(isNumberLike, one, other, tolerances))


def sameOutput(expected, actual):
    """Whether the lines are those of the page, in which '...' stands for any number of them."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(sameOutput(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and sameLine(expected[0], actual[0]) and sameOutput(
        expected[1:], actual[1:])


def run(command, folder, env):
    """What is wrong with the command; None if nothing is."""
    makeFiles(command.text, folder, command.section)
    text = re.sub(r"(?<![\w/])(tools/scripts|examples)/", lambda m: f"{shlex.quote(ROOT)}/{m[1]}/",
                  command.text)
    try:
        done = subprocess.run(text, shell=True, cwd=folder, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"did not end in {TIMEOUT} s"
    printed = done.stdout.rstrip().splitlines()
    said = "\n      ".join(printed[-12:])
    # A page may show how an error looks; then it shows what is printed.
    if done.returncode and not (command.output and any("error:" in line
                                                       for line in command.output)):
        return f"exit status {done.returncode}\n      {said}"
    if command.output is not None and not sameOutput([line.rstrip()
                                                      for line in command.output], printed):
        return f"it prints\n      {said}"
    return None


#===- Words in running text -----------------------------------------------------------------------#

class Words:
    """Which subcommands, flags and scripts there are."""

    def __init__(self):
        env = environment(ROOT, "")
        ask = lambda *words: subprocess.run(["dlc", *words, "--help"], env=env, capture_output=True,
                                            text=True)
        self.subcommands = {}
        for name in re.findall(r"^  (\w+) {2,}", ask().stdout, re.M):
            done = ask(name)
            if done.returncode == 0:
                self.subcommands[name] = done.stdout
        scripts = [
            p for p in glob.glob(os.path.join(ROOT, "tools", "scripts", "*")) if os.path.isfile(p)
        ]
        self.texts = list(
            self.subcommands.values()) + [open(p, encoding="utf-8").read() for p in scripts]

    def problem(self, code):
        """What is wrong with a piece of inline code, "" if nothing is; None if it is none of ours.
        """
        words = code.split()
        flags = [w.split("=")[0] for w in words if re.match(r"--[a-z]", w)]
        if words[0] == "dlc" and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
            if words[1] == "help" and len(words) > 2:
                words = ["dlc", *words[2:]]
            if words[1] not in self.subcommands:
                return f"dlc has no subcommand '{words[1]}'"
            texts = [self.subcommands[words[1]]]
        elif words[0].startswith("tools/scripts/"):
            path = os.path.join(ROOT, words[0])
            if not os.path.exists(path) and "NN" not in words[0]:
                return f"there is no {words[0]}"
            texts = [open(path, encoding="utf-8").read()] if os.path.isfile(path) else self.texts
        elif words[0].startswith("--"):
            texts = self.texts
        else:
            return None
        for flag in flags:
            if not any(re.search(re.escape(flag) + r"(?![\w-])", text) for text in texts):
                return f"there is no {flag}"
        return ""


def inlineCode(text):
    """(line, code) of running text."""
    for part in re.finditer(
            r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)",
            re.sub(r"^( *)```.*?^\1```", lambda m: "\n" * m[0].count("\n"), text,
                   flags=re.M | re.S)):
        yield text.count("\n", 0, part.start()) + 1, part[1]


#===- Self-test -----------------------------------------------------------------------------------#

def faults(words):
    """What this test would miss."""
    page = "# A\n\n    dlc check a.dl   says so\n\n```\n$ dlc fmt b.dl\none 0.51 two\n...\nend\n```\n"
    found = [(c.text, c.output) for c in commands("p", page)]
    if found != [("dlc check a.dl", None), ("dlc fmt b.dl", ["one 0.51 two", "...", "end"])]:
        yield f"finds {found}"
    expected = ["one 0.51 two", "...", "end"]
    for lines, good in ((["one 0.510001 two", "x", "end"], True), (["one 0.52 two", "end"], False),
                        (["one 0.51 two", "x"], False), (["one 0.51 two", "end", "more"], False)):
        if sameOutput(expected, lines) != good:
            yield f"takes {lines} for {'other' if good else 'the same'} output"
    for line, good in (("43.33 %  5", True), ("47.33 %  5", False), ("43.85 %  5.1", False),
                       ("43.85 MB  5", False)):
        if sameLine("43.85 %  5", line) != good:
            yield f"takes '{line}' for {'other' if good else 'the same'} output"
    for code, good in (("dlc compile --target", True), ("dlc compile --tarket", False),
                       ("dlc complie", False), ("tools/scripts/none",
                                                False), ("--no-such-flag", False), ("x = 1", True)):
        if (not words.problem(code)) != good:
            yield f"misjudges '{code}'"


def main():
    words = Words()
    failures = [f"self-test: {fault}" for fault in faults(words)]
    passed, left, told = 0, {}, set()
    paths = [path for pattern in PAGES for path in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    for path in paths:
        page = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        for line, code in inlineCode(text):
            problem = words.problem(code)
            failures += [f"{page}:{line}: `{code}`: {problem}"] if problem else []
            passed += problem == ""
        folder, section = None, None
        for command in commands(page, text):
            if section != command.section:
                if folder:
                    shutil.rmtree(folder)
                folder, section = tempfile.mkdtemp(), command.section
            env = environment(folder, command.text)
            reason = whyLeftOut(command.text, env)
            if reason:
                left[reason] = left.get(reason, 0) + 1
            elif command.text in told and command.output is None and "-o " not in command.text:
                continue
            elif problem := run(command, folder, env):
                failures.append(f"{command.where}: {command.text}: {problem}")
            else:
                passed += 1
            told.add(command.text)
        if folder:
            shutil.rmtree(folder)
    for failure in failures:
        print("FAILED", failure)
    for reason, count in left.items():
        print(f"{count} left out ({reason})")
    print(f"{passed} passed, {len(failures)} failed")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
