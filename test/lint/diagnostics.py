"""Each message has a test: all words of a diagnostic stand, as they are, in some file of the tests
or of the documentation.

A piece of a message is a string literal of our sources (adjacent ones joined, split where a value
is put in) that holds at least two words. What no user reads does not count: assertions, help of the
command line (held by its own tests), schemas."""
import re

FOLDERS = ("codegen/", "frontend/", "ir/", "passes/", "runtime/", "tools/")
# The texts where a piece may stand. The documentation's examples run as tests.
TESTS = ("test/", "docs/", "examples/")
# Calls whose strings are no messages.
SILENT = {
    "assert", "static_assert", "llvm_unreachable", "report_fatal_error", "notifyMatchFailure",
    "add_option", "add_flag", "add_subcommand", "addChoice", "footer", "description", "LLVM_DEBUG",
    "registerPassPipeline"
}
# File -> piece of a message -> why no test can provoke it. Not a place for what is merely hard to
# reach.
UNREACHED = {
    "codegen/cpu/lower/LowerKernels.cpp": {
        "expansion of math functions did not end": "the expansions are fixed, and each leaves what none of them matches",
    },
    "codegen/cpu/image/MachineCode.cpp": {
        "LLVM has no code generator for": "the LLVM that dlc is built with has x86-64",
        "LLVM cannot write x86-64 objects": "the LLVM that dlc is built with has x86-64",
    },
    "frontend/dl/format/Format.cpp": {
        "this file cannot be formatted without changing it, which is a bug of dlc; please report it": "our own bug, looked for in release builds too, since it would cost somebody a model",
    },
    "frontend/arrays/IdxFile.cpp": {
        "zlib cannot start: out of memory": "it asks for a few KiB, where all before it got its memory",
    },
    "frontend/arrays/NpzFile.cpp": {
        "zlib cannot start: out of memory": "it asks for a few KiB, where all before it got its memory",
    },
    "frontend/onnx/Importer.cpp": {
        "was not imported, and no message says why, which is a bug of dlc; please report it": "our own bug, looked for in release builds too, since the model would lose outputs",
    },
    "runtime/core/api/Api.cpp": {
        "internal error": "an exception of the standard library that is no bad_alloc: none is known",
    },
    "runtime/core/package/Plan.cpp": {
        "the placement of the buffers failed its check; please report this with the model": "our own bug, looked for in release builds too, since a wrong placement corrupts results",
    },
    "tools/driver/cli/DoctorCommand.cpp": {
        "unknown processor": "the machines of the tests have names",
        "unusable: dlc needs AVX2 and FMA": "the other tests need a processor with these",
    },
    "tools/driver/run/Session.cpp": {
        "' has changed while it was read": "another process would have to write between two reads of a file",
    },
}

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|(?P<raw>R"(?P<mark>\w*)\(.*?\)(?P=mark)")|"(?P<text>(?:[^"\\\n]|\\.)*)"'
                   r"|'(?:[^'\\]|\\.)+'|(?P<word>\w+)|(?P<space>\s+)|.", re.S)
# What a format puts in: {0}, {1:E1}, %s, %zu.
HOLE = re.compile(r"\{\d+[^}]*\}|%[\d.*]*(?:ll|[zl])?[a-zA-Z]|\n")
ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
# A regular expression: it reads texts and says none.
REGEX = re.compile(r"\[[^]]+\]\+|\(\.\*\)")
SCHEMA = re.compile(r"\((?:\w+(?:\?|\[\d*\]\??)* \w+(?:=.*?)?(?:, |\)$))*")


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: ESCAPE.get(m.group(1), m.group(1)), text, flags=re.S)


def literals(source):
    """(line, text) of each string literal outside silent calls, adjacent literals joined."""
    line, calls, callee, joined = 1, [], None, None
    for token in TOKEN.finditer(source):
        text, start = token.group(0), line
        line += text.count("\n")
        if text.startswith(("//", "/*")) or token.group("space"):
            continue
        if token.group("text") is not None:
            at, before = joined or (start, "")
            joined = at, before + unescaped(token.group("text"))
            continue
        if joined and not SILENT.intersection(calls):
            yield joined
        joined = None
        if text in "([{":
            calls.append(callee if text == "(" else None)
        elif text in ")]}" and calls:
            calls.pop()
        callee = token.group("word")


def pieces(source):
    """(line, piece) of the messages of a source file."""
    for line, text in literals(source):
        if not SCHEMA.fullmatch(text) and not REGEX.search(text):
            for piece in HOLE.split(text):
                if re.search(r"[a-z']+ +['a-z]+", piece):
                    yield line, piece.strip()


def joined_literals(text):
    """A test's text with literals that go on in the next line made one, and escapes undone."""
    for quote in "\"'":
        text = re.sub(rf"{quote}\s*\n\s*[frb]*{quote}", "", text)
    return unescaped(text)


def check(tree):
    expected = "\n".join(joined_literals(tree.text(path) or "") for path in tree.paths
                         if path.startswith(TESTS) and not path.startswith("test/lint/"))
    problems = []
    for path in tree.paths:
        if not path.startswith(FOLDERS) or not path.endswith((".cpp", ".h")):
            continue
        unreached = set(UNREACHED.get(path, ()))
        for line, piece in pieces(tree.text(path)):
            if piece not in expected and piece not in UNREACHED.get(path, ()):
                problems.append(
                    f"{path}:{line}: no test expects '{piece}'; add one with the message's exact text"
                )
            unreached.discard(piece)
        problems += [
            f"{path}: no message says '{piece}'; remove it from UNREACHED in test/lint/diagnostics.py"
            for piece in sorted(unreached)
        ]
    return problems


CLEAN = {
    "passes/A.cpp": 'void a() {\n  assert(x && "never said to a user");\n'
    '  error(loc) << "the pad of " << x\n             << " is wider than "\n                "the tensor";\n}\n',
    "passes/R.cpp": 'void r() {\n  Regex number("([0-9]+) of (.*) and so on");\n}\n',
    "test/unit/A.cpp": 'EXPECT_EQ(message, "the pad of 3 is wider than the "\n          "tensor");\n',
}
PLANTED = [
    ({"passes/B.cpp": 'void b() { error() << "no test says this"; }\n'},
     "passes/B.cpp:1: no test expects 'no test says this'"),
    ({"passes/B.cpp": 'void b() {\n  error() << formatv("a wide {0} of b", x);\n}\n'},
     "no test expects 'a wide'"),
    ({"passes/B.cpp": 'void b() { line("%lld wide lines", x); }\n'},
     "no test expects 'wide lines'"),
    ({"test/unit/A.cpp": 'EXPECT_EQ(message, "the pad of 3");\n'},
     "no test expects 'is wider than the tensor'"),
    ({"runtime/core/api/Api.cpp": 'void c() { error() << "the module is null"; }\n'},
     "no message says 'internal error'"),
]
